"""Words that several surfaces share: warnings, ages, durations and moments."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.budgets import format_rounded
from bot.model.spending import Spending
from bot.translation import N_, day, money, ngettext
from bot.translation import gettext as _
from perplexity.formatting import format_date

NO_LIMIT = N_("no limit")

_WARNING = ":warning:"
STOPPED = N_("You stopped this answer.")
STILL_WRITING = N_("still writing…")
STATES = (_WARNING, STOPPED, STILL_WRITING)
"""The beginnings of the small lines that tell a message's state; `all_words` puts these lines first."""


def warning(sentence: str) -> str:
    """Return a sentence with a warning sign."""
    return f"{_WARNING} {sentence}"


def spending_sentence(spending: Spending) -> str:
    """Return a sentence on the spending, as mrkdwn."""
    amounts = (spending.today, spending.month, spending.reserved)
    today, month, reserved = (money(format_rounded(amount)) for amount in amounts)
    if spending.reserved:
        said = _("*Spent*  {today} today, {month} this month, and up to {reserved} by calls under way.")
    else:
        said = _("*Spent*  {today} today, {month} this month.")
    return said.format(today=today, month=month, reserved=reserved)


def ago(seconds: float) -> str:
    """Return a time in words such as "5 minutes ago"."""
    if seconds < 60:
        return _("just now")
    if seconds < 3_600:
        return ngettext("{count} minute ago", "{count} minutes ago", int(seconds // 60))
    if seconds < 86_400:
        return ngettext("{count} hour ago", "{count} hours ago", int(seconds // 3_600))
    return ngettext("{count} day ago", "{count} days ago", int(seconds // 86_400))


def age(seconds: float) -> str:
    """Return an age in full hours, such as "2 hours", or in minutes if it is less than one hour."""
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours:
        return ngettext("{count} hour", "{count} hours", hours)
    return ngettext("{count} minute", "{count} minutes", minutes)


def full_seconds(seconds: float) -> str:
    """Return a duration without parts of a second: "12 s", "1 min 5 s"."""
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def moment(at: datetime) -> str:
    """Return a date and time as mrkdwn in the reader's time zone, with UTC as the fallback.

    https://docs.slack.dev/messaging/formatting-message-text#date-formatting
    """
    shown = _("{day} at {time}").format(day="{date_short_pretty}", time="{time}")
    return f"<!date^{int(at.timestamp())}^{shown}|{_date_and_time(at)}>"


def short_moment(at: datetime) -> str:
    """Return a date and time as `moment` does, but without a word such as "at" between them."""
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{_date_and_time(at)}>"


def moment_or_day(at: datetime) -> str:
    """Return a date and time as `moment` does, but with the day alone as the fallback."""
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}}, {{time}}|{day(f'{at.astimezone(UTC):%d %b %Y}')}>"


def time_of_day(at: datetime) -> str:
    """Return a time of day as mrkdwn in the reader's time zone, with UTC as the fallback."""
    return f"<!date^{int(at.timestamp())}^{{time_secs}}|{at.astimezone(UTC):%H:%M:%S} UTC>"


def short_time(at: datetime) -> str:
    """Return a time of day as `time_of_day` does, but without seconds."""
    return f"<!date^{int(at.timestamp())}^{{time}}|{at.astimezone(UTC):%H:%M} UTC>"


def utc_minute(at: datetime) -> str:
    """Return a moment for a record, to the minute: "2026-11-22 10:05 UTC"."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def utc_second(at: datetime) -> str:
    """Return a moment for a record, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _date_and_time(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{day(format_date(at.date()))} {at:%H:%M} UTC"
