"""What the asker reads in place of an answer: what went wrong, and the next step."""

from __future__ import annotations

from perplexity.formatting import format_duration

TRY_AGAIN = "Try again"
PAST_WEEK = "Past week"

TIMED_OUT = "Sorry, no search service answered in time. I’ve kept your question, so you can try again."
ALL_FAILED = "Sorry, no search service could answer this just now. I’ve kept your question, so you can try again."
NO_RESULTS = "Sorry, I found nothing for this. Try other or fewer words, or fewer options."
NONE_CONFIGURED = "Sorry, no search service is configured. I’ve kept your question. Please tell the app’s admin."
NO_AGENT = "Sorry, no agent is set up here. Ask without `--agent`, or ask the app’s admin to set one up."
NOT_TAKEN = "Sorry, the search service doesn’t accept this request. Try other words or fewer options."
INTERRUPTED = (
    "Sorry, I was interrupted several times while I worked on this. I’ve kept your question, so you can try again."
)
INTERNAL_ERROR = "Sorry, something went wrong on my side. I’ve kept your question, so you can try again."

COMMAND_NOT_SAVED = (
    "I can’t reach my database just now, so your question may not have been saved. "
    "If you have no answer within a minute, please ask again."
)
MESSAGE_NOT_SAVED = (
    "I can’t reach my database just now. I’ll keep trying for about five minutes. "
    "If you have no answer by then, please ask again."
)
FORM_NOT_SAVED = "I can’t reach my database just now. Please try again in a minute."
NO_DIRECT_MESSAGE = "Slack couldn’t open our direct messages. Please try again in a minute."

NOT_SET_UP = "is not set up"
NOT_ASKED = "was not asked"
"""What happened to a service, after its name in `all_failed`."""

PAGES_UNKNOWN = "I no longer have these pages. Please search again."
NO_PAGE_ALLOWED = "This channel’s settings no longer allow any of these pages. Please search again."
NOTHING_TO_CHECK = "I found no claim in this text that I could check."

PRIVATE_SITE = "a site to search"
"""How a site is called in `not_allowed` that an admin keeps from search services."""
KEPT_PRIVATE = "your admin keeps this name from search services"
"""Why it is not allowed."""


def all_failed(reasons: str, *, tell_admin: bool) -> str:
    """Return that no service answered, and why: one reason for each, with semicolons between them."""
    sentence = f"Sorry, no search service could answer this just now: {reasons}. I’ve kept your question"
    return f"{sentence}. Please tell the app’s admin." if tell_admin else f"{sentence}, so you can try again."


def not_allowed(value: str, field: str, *, allowed: str) -> str:
    """Return that a value cannot be used, and what is allowed for its field."""
    return f"Sorry, `{value}` cannot be used as {field}: {allowed}."


def only_sites(hosts: str) -> str:
    """Return what a channel allows, for `not_allowed`: these sites alone."""
    return f"answers in this channel come from {hosts} only"


def never_sites(hosts: str) -> str:
    """Return what a channel allows, for `not_allowed`: all but these sites."""
    return f"answers in this channel never come from {hosts}"


def reference(code: str) -> str:
    """Return the short id in the log, for an admin who looks for what happened."""
    return f"Reference {code}"


def tried(providers: str, seconds: float | None) -> str:
    """Return which services were asked, and for how long if that is known."""
    if seconds is None:
        return f"tried {providers}"
    total = format_duration(seconds) if seconds < 10 else format_duration(seconds).replace(".0 s", " s")
    return f"tried {providers} in {total}"
