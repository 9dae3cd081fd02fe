"""What a person reads who typed `/pplx budget`, `pause`, `resume`, `settings`, `status` or `watch`.

A name such as `setting` is shown as code here; a `value` of the person's comes as code already.
"""

from __future__ import annotations

from collections.abc import Sequence

FOR_ADMINS = "Only admins of this workspace can see and change its budgets."
FOR_ADMINS_TO_PAUSE = "Only admins of this workspace can pause and resume paid searches."
NOT_SWITCHED = "I can’t reach my database just now, so this may not have been done. Please send the command again."
ADMIN_NOT_CHECKED = (
    "I couldn’t check with Slack that you are an admin, so nothing was changed. Please send the command again."
)
STATUS_FOR_ADMINS = "Only admins of this workspace can see how the search services are doing."

NO_BUDGETS = "There are no budgets here."
BUDGET_SAVED = "Saved."
NO_CHANNEL_BUDGET = (
    "A direct message has no budget of its own: a question there counts toward the asker’s budget. Type this in a "
    "channel, or name one by its id, such as C012AB3CD."
)
LEAST_AMOUNT = "under $0.0001"

RESUMED = "Paid searches are allowed again."
NOT_PAUSED = "Paid searches are not paused."

DIGEST_EXAMPLE = 'technology "open source databases" weekdays 9:00'
"""An example of the arguments of `watch`."""
WHICH_DIGEST = "Which digest?"
DAYS = "`daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or `mon-fri`"
TIMES = "such as `9:00`, `17:30` or `9am`"


def paused(slash: str) -> str:
    """Return that all spending is paused now; `slash` is the umbrella command."""
    return (
        "Paused. I start no more paid searches, and I’m cancelling those under way. "
        f"Type `{slash} resume` to allow them again."
    )


def paused_already(slash: str) -> str:
    """Return that all spending was paused before; `slash` is the umbrella command."""
    return f"Paid searches are paused already. Type `{slash} resume` to allow them again."


def amounts(most: int) -> str:
    """Return which amounts a budget takes, up to `most` dollars."""
    return f"an amount in dollars from 0 to {most:,}, such as 2.50, with at most six decimals"


def no_such_budget(value: str, *, meant: str | None) -> str:
    """Return which budgets there are; `meant` is the one that a word resembles."""
    hint = f"Did you mean `{meant}`? " if meant else ""
    return f"{value} has no budget. {hint}Choose from: `user`, `channel` and `workspace`."


def amount_missing(budget: str, *, allowed: str) -> str:
    """Return that the amount of a budget is missing; `allowed` is what `amounts` returns."""
    return f"Add an amount for `{budget}`: {allowed}, `off` or `reset`."


def amount_not_allowed(budget: str, value: str, *, allowed: str) -> str:
    """Return that a budget cannot be this amount; `allowed` is what `amounts` returns."""
    return f"The budget of `{budget}` cannot be {value}. It takes {allowed}, `off` or `reset`."


def only_amount(value: str) -> str:
    """Return that the workspace's budget takes no id."""
    return f"`workspace` takes an amount only. Leave out {value}."


def not_a_user(value: str) -> str:
    """Return how a person is named."""
    return f"{value} isn’t a user. Use an id such as U012AB3CD, or leave it out."


def not_a_channel(value: str) -> str:
    """Return how a channel is named."""
    return f"{value} isn’t a channel. Use `here` or an id such as C012AB3CD, or leave it out."


def setting_missing(setting: str, *, allowed: str) -> str:
    """Return that the value of a setting is missing, and what is allowed."""
    return f"Add a value for `{setting}`: {allowed}; or `reset`."


def setting_of_yours(value: str) -> str:
    """Return that a channel has no such setting, but a person has."""
    return f"{value} is a personal setting: leave out `channel`."


def setting_of_channel(value: str) -> str:
    """Return that a person has no such setting, but a channel has."""
    return f"{value} is a channel setting: add `channel`."


def no_such_setting(value: str, *, meant: str | None, settings: Sequence[str]) -> str:
    """Return which settings there are; `meant` is the one that a word resembles."""
    hint = f"Did you mean `{meant}`? " if meant else ""
    names = [f"`{name}`" for name in settings]
    return f"{value} isn’t a setting. {hint}Choose from: {', '.join(names[:-1])} and {names[-1]}."


def digest_number_missing(action: str, listing: str) -> str:
    """Return that an action needs a digest's number, which the command `listing` shows."""
    return f"{WHICH_DIGEST} {_takes_number(action, listing)}"


def no_digest_number(value: str, action: str, listing: str) -> str:
    """Return that a value is no digest's number, as `digest_number_missing` does."""
    return f"{value} isn’t a digest number. {_takes_number(action, listing)}"


def _takes_number(action: str, listing: str) -> str:
    return f"`{action}` takes a number, such as `{action} 2`; `{listing}` shows them."


def write_digest_like(example: str) -> str:
    """Return how to type a digest."""
    return f"Write it like `{example}`, or type `watch` alone for a form."


def time_missing(*, hint: str) -> str:
    """Return that a digest's time is missing; `hint` is what `write_digest_like` returns."""
    return f"At what time of day? Put it at the end, {TIMES}. {hint}"


def several_times(values: Sequence[str], *, hint: str) -> str:
    """Return that a digest has one time; `hint` as in `time_missing`."""
    return f"There are several times: {', '.join(values)}. Create one digest for each. {hint}"


def no_time(value: str) -> str:
    """Return that a value is no time of day."""
    return f"{value} isn’t a time of day. Use one from `0:00` to `23:59`, {TIMES}."


def no_days(value: str, *, hint: str) -> str:
    """Return that words are neither days nor a time; `hint` as in `time_missing`."""
    return (
        f"I don’t understand {value}. Days are {DAYS}; the time comes last, {TIMES}. "
        f"A topic goes in quotes, before them. {hint}"
    )


def no_zone(value: str) -> str:
    """Return that a value is no time zone."""
    return f"`--zone` cannot be {value}. It takes a time zone such as Europe/Berlin."


def not_its_days(value: str, *, days: str) -> str:
    """Return that `--always` has days on which a digest does not run; `days` are those on which it does."""
    return f"This digest doesn’t run on {value}. Its days are {days}."
