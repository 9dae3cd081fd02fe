"""The clock of this machine against Slack's: where they are too far apart, every request of Slack's is refused.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

from bot.doctor.report import Finding, fault, warning, well

ABOUT = "Clock"

WARN_SKEW = 60
FAULT_SKEW = 240
"""Seconds; at 300 every request is refused."""


def clock_findings(headers: Mapping[str, str], *, now: float) -> Iterator[Finding]:
    """Compare `now`, in seconds since 1970, with the `Date` of an answer that just came. Pure."""
    try:
        skew = now - parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError:
        return
    # The header counts whole seconds.
    where = "ahead of" if skew > 0 else "behind"
    text = f"This machine's clock is about {round(abs(skew), -1):.0f} seconds {where} Slack's."
    if abs(skew) > FAULT_SKEW:
        fix = "Set the clock (NTP): at 300 seconds every request of Slack's is refused as too old."
        yield fault(ABOUT, text, fix=fix)
    elif abs(skew) > WARN_SKEW:
        yield warning(ABOUT, text, fix="Set the clock (NTP) before it drifts further.")
    else:
        yield well(ABOUT, "It agrees with Slack's.")
