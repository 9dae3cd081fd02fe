"""Digests: what a run posts, the replies to what their owners ask for, the form, and notices to owners."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.formatting import pluralize

FORM_TITLE = "News on a schedule"
SET_UP = "Set up"
CANCEL = "Cancel"
CATEGORY = "Category"
TOPIC = "Topic"
TOPIC_HINT = "Leave it empty for all news of the category."
DAYS = "Days"
TIME = "Time"
WHERE_TO_POST = "Where to post"
IN_THIS_CHANNEL = "In this channel"
IN_DIRECT_MESSAGES = "In our direct messages"
NO_DAYS = "Choose at least one day."
NO_TIME = "Choose a time."
YOU_ASKED = "You asked for a digest:"

RUN_NOW = "Run now"
PAUSE = "Pause"
RESUME = "Resume"
DELETE = "Delete"
KEEP = "Keep"
DELETE_TITLE = "Delete this digest?"
DELETE_WARNING = "Its posts stay. You can’t undo this, but you can set up a new digest."

SWITCHED_OFF = "switched off here"
PAUSED = "paused"
STOPPED = "stopped itself"
POSTED_HERE = "posted here"
POSTED_ELSEWHERE = "posted elsewhere"
COST_UNKNOWN = "cost unknown"

YOUR_DIGESTS = "*Your digests*"
NO_DIGESTS = "You have no digests yet."
ALREADY_DELETED = "This digest was deleted."
NOT_OWNER = "Only the person who set up this digest can change it."
NO_ZONE = (
    "I couldn’t find your time zone, so times are in UTC. To change that, set your time zone in Slack, "
    "then delete the digest and set it up again."
)
SWITCHED_OFF_HERE = "Digests are switched off here."

NOT_A_MEMBER = "I’m not in its channel, so I can’t post there. Add me with `/invite` first."
FOREIGN_DIRECT_MESSAGE = (
    "I can’t post in a direct message between others. Set it up in the one with me, or in a channel."
)
NOT_ALLOWED = "The settings of this workspace don’t let me post in its channel. An admin can change that."
CHANNEL_ARCHIVED = "Its channel is archived."
OWNER_LEFT_CHANNEL = "You’re no longer in its channel. Join it again first."
OWNER_NOT_FOUND = "Slack didn’t find your account in this workspace."
OWNER_MAY_NOT_ASK = (
    "In its channel only some people may ask me, and you’re not one of them. Ask the channel’s creator to change that."
)
STOPPED_BY_ADMIN = "An admin of this workspace stopped it."
"""Why a digest is not posted, for its owner."""

OWNER_NOT_CHECKED = (
    "I couldn’t check with Slack whether you may ask in its channel. The next digest covers what this one missed."
)


def not_posted(error: str) -> str:
    """Return why a digest is not posted for which there is no sentence; `error` is Slack's name for it."""
    return f"Slack doesn’t let me post there, and calls the reason “{error}”."


def in_channel(name: str) -> str:
    """Return the choice to post in a channel."""
    return f"In #{name}"


def name_of(number: int, title: str) -> str:
    """Return the name of a digest: "Digest 2 (Technology: databases)"."""
    return f"Digest {number} ({title})"


def next_on(moment: str) -> str:
    """Return when the next run is."""
    return f"next on {moment}"


def created(name: str, *, schedule: str, next_run: str, empty_days: str) -> str:
    """Return that a digest is set up; on `empty_days`, if any, it says that nothing is new."""
    always = f" When nothing is new, I’ll say so ({empty_days})." if empty_days else ""
    return f"*{name} is set up.*\nI’ll post it here {schedule}, only when something is new: {next_run}.{always}"


def after_creation(slash: str, *, direct: bool) -> str:
    """Return what to know of a new digest: where I can post it, and how to list digests by the command `slash`."""
    where = (
        "I can post in a direct message only if it is the one with me."
        if direct
        else "In a channel, add me first with `/invite` if I’m not a member yet."
    )
    return f"{where} {list_hint(slash)}"


def paused(name: str) -> str:
    """Return that a digest is paused."""
    return f"{name} is paused."


def resumed(name: str, *, schedule: str, next_run: str) -> str:
    """Return that a digest runs again."""
    return f"{name} is active again, {schedule}: {next_run}."


def deleted(name: str) -> str:
    """Return that a digest is deleted."""
    return f"{name} is deleted."


def running(name: str) -> str:
    """Return that a digest runs now because its owner asked for it."""
    return f"{name} is running now. I’ll post it in its usual place."


def already_running(name: str) -> str:
    """Return that a digest runs already."""
    return f"{name} is already running."


def not_found(number: int, numbers: Sequence[int]) -> str:
    """Return that a person has no digest with a number, and which ones they have."""
    if not numbers:
        return f"You have no digest {number}. You have none."
    if len(numbers) == 1:
        return f"You have no digest {number}. Yours is number {numbers[0]}."
    listed = ", ".join(map(str, numbers[:-1]))
    return f"You have no digest {number}. Yours are {listed} and {numbers[-1]}."


def too_many_of_yours_here(limit: int) -> str:
    """Return that a person has as many digests in a channel as one person can have."""
    return (
        f"You have {count_digests(limit)} in this channel already, the most one person can have here. "
        "Delete one of yours first, or set this one up in a direct message with me."
    )


def too_many_here(limit: int) -> str:
    """Return that a channel has as many digests as it can have."""
    return f"This channel has {count_digests(limit)} already, the most it can have. Delete one first."


def too_many_of_yours(limit: int) -> str:
    """Return that a person has as many digests as they can have."""
    return f"You have {count_digests(limit)} already, the most you can have. Delete one first."


def count_digests(count: int) -> str:
    """Return a number of digests."""
    return pluralize(count, "digest")


def runs(count: int) -> str:
    """Return how often a digest ran in the last 30 days."""
    return f"{pluralize(count, 'run')} in 30 days"


def unpriced(count: int) -> str:
    """Return how many of the runs have no known cost."""
    return f"{count} of unknown cost"


def list_hint(slash: str) -> str:
    """Return how to list one's digests; `slash` is the command for digests."""
    return f"`{slash} list` shows your digests."


def resume_hint(slash: str, number: int) -> str:
    """Return how to resume a digest."""
    return f"`{slash} resume {number}` resumes it."


def change_hint(slash: str) -> str:
    """Return how to change one of the listed digests."""
    return f"`{slash} pause N` pauses a digest; `resume`, `delete` and `run` work the same way"


def example_hint(slash: str, example: str) -> str:
    """Return how to set up a first digest."""
    return f"For example `{slash} {example}`"


def new_hint(slash: str) -> str:
    """Return how to set up a new digest."""
    return f"`{slash}` sets up a new one."


def owner_gone(title: str) -> str:
    """Return that a digest was deleted with its owner's account."""
    return f"*The digest “{title}” has ended.* The account of the person who set it up is closed."


def redirected(name: str, reason: str) -> str:
    """Return why a digest comes as a direct message; `reason` is a sentence."""
    return f"*{name} couldn’t be posted in its channel*, so here it is. {reason}"


def skipped(name: str, reason: str) -> str:
    """Return why a run was skipped that its owner asked for; `reason` is a sentence."""
    return f"*{name} was skipped.* {reason}"


def undeliverable(reason: str) -> str:
    """Return that a digest cannot be posted of which nothing else is known; `reason` is a sentence."""
    return f"One of your digests couldn’t be posted in its channel. {reason}"


def failed(title: str, reason: str) -> str:
    """Return that a run failed; `reason` is a sentence."""
    return f"The digest “{title}” failed this time. {reason}"


def stopped(name: str, reason: str) -> str:
    """Return that a digest stopped itself; `reason` is a sentence."""
    return f"*{name} has stopped.* {reason}"


def heading(title: str, *, stories: int, since: str, moment: str) -> str:
    """Return the line above the stories; `since` is "since Tuesday", empty for the first run."""
    new = f"{stories} new stor{'y' if stories == 1 else 'ies'}"
    return f"*{title}* · {f'{new} {since}' if since else new} · as of {moment}"


def nothing_new(title: str, since: str) -> str:
    """Return that a run found nothing new; `since` as in `heading`."""
    return f"*{title}* · Nothing new{f' {since}' if since else ''}."


def late(due: str, zone: str) -> str:
    """Return when a late run was due, by a zone's clock."""
    return f"This is late: it was due on {due} ({zone})."


def number_of(number: int) -> str:
    """Return a digest's number, for its footer."""
    return f"digest {number}"
