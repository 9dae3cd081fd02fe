"""Notices about an answer or in place of one: limits, budgets, guests, and what an answer had to do without."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from perplexity.formatting import pluralize

MEMBERS_ONLY = (
    "I only answer full members of this workspace, and Slack lists you as a guest or as someone from outside. "
    "Please ask a member to send me your question."
)
MEMBER_UNKNOWN = "I couldn’t check with Slack whether you’re a member of this workspace. Please ask again later."
MEMBER_FORBIDDEN = (
    "I can’t check whether you’re a member of this workspace, because Slack doesn’t let me read profiles. "
    "Please ask an admin to reinstall me with the permission `users:read`."
)
NOT_ALLOWED_HERE = (
    "In this channel only some people may ask me. You can ask me in our direct messages, or ask the channel’s creator "
    "to change that."
)
ALLOWED_UNKNOWN = "I couldn’t check with Slack whether you may ask here. Please ask again later."

TOO_MANY_OPEN = "You have too many unanswered questions. Ask again when one of them is answered."
THREAD_FULL = "I’ve reached the limit of answers per minute in this thread. Please ask again in a minute."

ERASED = "This question was erased."
PAUSED = "An admin has paused all paid searches, so I can’t answer now. Ask again when they are resumed."
BUDGET_UNKNOWN = "I can’t reach my database, so I can’t check the budget. Ask again in a minute."
FASTER = "Answered fast instead of with reasoning: the rest of the budget wouldn’t cover it."

PERSONS_BUDGET = "Your budget for today"
CHANNELS_BUDGET = "This channel’s budget for today"
WORKSPACES_BUDGET = "This workspace’s budget for this month"

NO_MEMORY = "I keep no text of earlier questions, so this answer doesn’t build on them."
OTHER_PAGES = "No model could read the pages that you asked about, so these are from a search for your question."
UNCITED = "The answer cites none of the pages, so you can’t check what it rests on."
EARLIER_NOT_ALLOWED = (
    "The earlier answer rests on pages that its channel’s settings no longer allow, so I didn’t compare the two."
)


def ahead(questions: int) -> str:
    """Return that so many questions are answered before this one."""
    return f"I’m busy: {questions} questions are ahead of yours."


def open_questions(count: int, *, more: bool) -> str:
    """Return the line above the open questions of a person who has too many; `more` is whether some are not listed."""
    if more:
        return (
            f"You have {count} or more unanswered questions; these are the oldest. "
            "Ask again when one of them is answered."
        )
    if count > 1:
        return f"You have {count} unanswered questions. Ask again when one of them is answered."
    return "You have an unanswered question. Ask again when it is answered."


def too_fast(wait: str, *, in_channel: bool) -> str:
    """Return why a question is refused that came too fast, of one person or `in_channel`; `wait` is "in a minute"."""
    many = "Many questions were asked in this channel" if in_channel else "You’ve asked a lot"
    return f"{many} in a short time. Ask again {wait}."


def no_budget(budget: str) -> str:
    """Return that a budget, such as `PERSONS_BUDGET`, is nothing, which an admin has set."""
    return f"{budget} is $0.00, so I can’t make paid searches for it. Ask an admin for more."


def used_up(budget: str, *, allowed: str, wait: str) -> str:
    """Return that nothing is left of a budget; `wait` is when it resets."""
    return f"{budget} ({allowed}) is used up. It resets {wait}. Ask again then, or ask an admin for more."


def too_expensive(budget: str, *, left: str, allowed: str, cost: str, wait: str) -> str:
    """Return that what is left of a budget is less than the most that a call may cost; `wait` as in `used_up`."""
    return (
        f"{budget} has {left} left of {allowed}, and this may cost up to {cost}. It resets {wait}. "
        "Ask with less effort, such as `--model fast`, or ask an admin for more."
    )


def persons_budget(user: str, day: date) -> str:
    """Return, for an admin, whose budget it is; `user` is a mention."""
    return f"{user}’s budget for {day:%-d %B}"


def channels_budget(channel: str, day: date) -> str:
    """Return, for an admin, which channel's budget it is; `channel` is a link."""
    return f"{channel}’s budget for {day:%-d %B}"


def workspaces_budget(month: date) -> str:
    """Return, for an admin, that it is the workspace's budget."""
    return f"The workspace’s budget for {month:%B}"


def budget_used(budget: str, *, percent: int, spent: str, allowed: str, slash: str) -> str:
    """Return, for an admin, how much of a budget is spent; `slash` is the umbrella command."""
    share = "is used up" if percent >= 100 else f"is {percent}% used"
    what = "I refuse further questions. " if percent >= 100 else ""
    return f"{budget} {share}: {spent} of {allowed}. {what}Change it with `{slash} budget`."


KEY = "key"
EMAIL_ADDRESS = "e-mail address"
CARD_NUMBER = "card number"
PHONE_NUMBER = "phone number"
BANK_ACCOUNT = "bank account"
PRIVATE_TERM = "private term"


def keys(count: int) -> str:
    """Return how many keys were left out."""
    return pluralize(count, KEY)


def email_addresses(count: int) -> str:
    """Return how many e-mail addresses were left out."""
    return f"{count} {EMAIL_ADDRESS if count == 1 else 'e-mail addresses'}"


def card_numbers(count: int) -> str:
    """Return how many card numbers were left out."""
    return pluralize(count, CARD_NUMBER)


def phone_numbers(count: int) -> str:
    """Return how many phone numbers were left out."""
    return pluralize(count, PHONE_NUMBER)


def bank_accounts(count: int) -> str:
    """Return how many numbers of bank accounts were left out."""
    return pluralize(count, BANK_ACCOUNT)


def private_terms(count: int) -> str:
    """Return how many terms were left out that match an admin's patterns."""
    return pluralize(count, PRIVATE_TERM)


def left_out(counted: Sequence[str], *, one: bool) -> str:
    """Return that things such as "2 e-mail addresses" were not sent; `one` is whether it is a single thing in all."""
    listed = counted[0] if len(counted) == 1 else f"{', '.join(counted[:-1])} and {counted[-1]}"
    return f"{listed} {'was' if one else 'were'} left out of what I sent to search services."
