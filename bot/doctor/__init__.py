"""Looks at everything the app needs, and says what is wrong and how to mend it. A new check is a line in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.doctor import database, naming, port, provider, slack, socket
from bot.doctor.configuration import configuration_findings
from bot.doctor.examining import Case, Check, examine
from bot.doctor.report import Finding
from bot.settings import Settings

_NETWORK = "Check the network, and a proxy or firewall between here and there."

CHECKS = (
    Check(about=naming.ABOUT, run=naming.check, seconds=1, late="Please report this as a bug."),
    Check(about=database.ABOUT, run=database.check, seconds=5, late=f"{_NETWORK} Is the host in DATABASE_URL right?"),
    Check(about=slack.ABOUT, run=slack.check, seconds=6, late=_NETWORK),
    Check(about=socket.ABOUT, run=socket.check, seconds=6, late=_NETWORK),
    Check(about=provider.ABOUT, run=provider.check, seconds=6, late=_NETWORK),
    Check(about=port.ABOUT, run=port.check, seconds=3, late="Check HOST."),
)
"""In the order of the report; they run side by side."""


async def diagnose(settings: Settings, faults: Sequence[str], *, now: Callable[[], float]) -> tuple[Finding, ...]:
    """Return every finding: first `faults`, which reading the settings brought up. Raises nothing."""
    found = await examine(Case(settings=settings, now=now), CHECKS)
    return (*configuration_findings(settings, faults), *found)
