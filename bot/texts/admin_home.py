"""The part of the home tab for admins: use, limits, problems, budgets, everyone's digests, the audit log."""

from __future__ import annotations

TITLE = "For admins"
WHO_SEES = "Only admins of this workspace see this part. It has no texts of questions."

USE_AND_COST = "*Use and cost*"
NO_QUESTIONS = "No one has asked anything in the last 30 days."
BY_DAY = "*Use and cost by day*"
BY_PERSON = "*By person, in the last 30 days*"
BY_CHANNEL = "*By channel, in the last 30 days*"
BY_SERVICE = "*By service, in the last 30 days*"
DAY = "Day (UTC)"
PERSON = "Person"
CHANNEL = "Channel"
SERVICE = "Service"
QUESTIONS = "Questions"
DOLLARS = "Dollars"
THE_APP = "the app"
ERASED = "erased"
ERASED_OR_APP = "erased people, and the app"
"""Who asked, in sums: the ledger has no one's id of both."""
DIRECT_MESSAGES = "direct messages"

LIMITS = "*Limits*"
PERSONS_DIGESTS = "Digests of a person"
CHANNELS_DIGESTS = "Digests in a channel"
NOTHING = "–"

HEALTH = "*Health*"
NOTHING_WRONG = "Nothing is wrong."
SET_NEW_KEY = "Set a new key for it, then restart the app."
BUY_CREDIT = "Buy credit for it."
RUN_DOCTOR = "Run `python -m bot doctor`, which says what to do."
NO_WORKER = "No worker is running, so no question is answered."
START_WORKER = "Start one."

BUDGETS = "*Budgets*"
ALL_PAUSED = "*All paid searches are paused.*"
ALLOW_SEARCHES = "Allow paid searches"
PAUSE_SEARCHES = "Pause paid searches"
PAUSE_TITLE = "Pause paid searches?"
PAUSE_WARNING = "No paid search is made until an admin allows them again. People who ask are told so."
PAUSE = "Pause"
GO_ON = "Go on"
CHANGE_BUDGETS = "Change budgets"
PAUSED = "Paid searches are paused. All of them stop within seconds."
RESUMED = "Paid searches are allowed again."
NO_CHANGE = "There was nothing to change."

BUDGETS_TITLE = "Budgets"
SAVE = "Save"
CANCEL = "Cancel"
OTHER_BUDGETS = "To set the budget of one person or one channel, type `budget` after the app’s command."
BUDGETS_SAVED = "The budgets are saved."

DIGESTS = "*Everyone’s digests*"
NO_DIGESTS = "There are none."
BEFORE_OWNER = " · by "
STOP = "Stop"
STOP_TITLE = "Stop this digest?"
STOP_WARNING = "Its owner is told that an admin stopped it, and can resume it."
KEEP = "Keep"
UNKNOWN_DIGEST = "This digest no longer exists."
DIGEST_STOPPED = "The digest is stopped, and I’ll tell its owner."

AUDIT_LOG = "*Audit log*"
RECORDED_LATELY = "*Audit log*, the last 7 days"
NOTHING_RECORDED = "No admin has changed anything in the last 7 days."
WHEN = "When (UTC)"
WHO = "Who"
WHAT = "What"
WHERE = "Where"
CHANGE = "Change"

NOT_ADMIN = "Only admins of this workspace can do this, and Slack says that you are not one. Nothing was changed."
NOT_CHECKED = "I couldn’t check with Slack that you are an admin, so nothing was changed. Please click again."


def needs_admin(service: str, trouble: str) -> str:
    """Return what is wrong with a service; `trouble` is "is out of credit"."""
    return f"{service} {trouble}."


def shown_of(shown: int, count: int) -> str:
    """Return how many of the digests are listed."""
    return f"{shown} of {count} are shown."


def before_channel(schedule: str, next_run: str) -> str:
    """Return what is between a digest's subject and its channel's name, which Slack fills in."""
    return f" · {schedule} · {next_run} · in "


def after_owner(cost: str) -> str:
    """Return what comes after the name of a digest's owner: its cost."""
    return f" · {cost} in 30 days"


def budget_hint(off: str) -> str:
    """Return what the form for budgets takes; `off` is the word for no limit."""
    return f"Dollars such as 2.50, or {off} for no limit. Empty it to go back to what the app is set up with."


def budget_not_taken(text: str, allowed: str, off: str) -> str:
    """Return that a budget cannot be used, and what is allowed."""
    return f"“{text}” cannot be used: it takes {allowed}, {off}, or nothing."
