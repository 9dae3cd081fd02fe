"""What is said about digests to their owner: that one is set up, what there are, what became of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.blocks.base import OutgoingMessage
from bot.blocks.elements import context, lines, section
from bot.blocks.escaping import code, escape, one_line, shorten
from bot.blocks.grey_line import dollars
from bot.digests.base import (
    EXAMPLE,
    Added,
    AlreadyRunning,
    Changed,
    Digest,
    Full,
    Listed,
    NoSuchDigest,
    SomebodyElses,
    State,
    Verb,
    WatchReply,
)
from bot.digests.schedule import days_in_words, moment_in_words

_TITLE = 200
_STATES = {State.ACTIVE: "switched off here", State.PAUSED: "paused", State.STOPPED: "stopped itself"}
NO_ZONE = (
    "I could not find out your time zone, so it goes by UTC. To change that, set your time zone in Slack, "
    "delete the digest and set it up again."
)
DIRECT = "I can post in a direct message only if it is the one with me."
INVITE = "In a channel, add me first with `/invite` if I’m not a member yet."


def watch_message(reply: WatchReply, *, call: str, channel: str) -> OutgoingMessage:
    """Render what came of a wish; `call` is how the command is called, `channel` where it was typed."""
    said = _said(reply, call=call, channel=channel)
    hint = _hint(reply, call=call)
    blocks = [section(text) for text in lines(said)] + ([context(hint)] if hint else [])
    return OutgoingMessage(text=shorten("\n".join(said), 3_000), blocks=tuple(blocks))


def named(digest: Digest) -> str:
    """Return how a text calls a digest: "Digest 2 (Technology: databases)"."""
    return f"Digest {digest.number} ({title(digest.title)})"


def title(text: str) -> str:
    """Return what a digest is about, as mrkdwn."""
    return escape(shorten(one_line(text), _TITLE))


def when(digest: Digest) -> str:
    """Return a digest's schedule with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return escape(digest.wish.schedule.words_with_zone)


def next_time(digest: Digest) -> str:
    """Return when a digest is posted next, or why it is not."""
    if digest.next_at is None:
        return _STATES[digest.state]
    return f"next on {moment_in_words(digest.next_at, tz=digest.wish.schedule.tz)}"


def _said(reply: WatchReply, *, call: str, channel: str) -> list[str]:
    match reply:
        case Added(digest=digest, zone_known=known):
            return [_added(digest), *([] if known else [NO_ZONE])]
        case Changed(verb=verb, digest=digest):
            return [_changed(verb, digest)]
        case Listed(digests=digests) if digests:
            return ["*Your digests*", *(_entry(digest, channel) for digest in digests)]
        case Listed():
            return ["You have no digests yet."]
        case _:
            return [_refused(reply)]


def _refused(reply: Full | AlreadyRunning | NoSuchDigest | SomebodyElses) -> str:
    match reply:
        case Full():
            return _full(reply)
        case AlreadyRunning(digest=digest):
            return f"{named(digest)} is being made just now."
        case NoSuchDigest(number=None):
            return "This digest is deleted."
        case NoSuchDigest(number=number, numbers=numbers):
            return f"You have no digest {number}. {_numbers(numbers)}"
        case SomebodyElses():
            return "Only the person who set up this digest can change it."


def _added(digest: Digest) -> str:
    silence = digest.wish.silence
    always = f" When nothing is new, I’ll say so ({days_in_words(silence)})." if silence else ""
    return (
        f"*{named(digest)} is set up.*\nI’ll post it here {when(digest)}, only when something is new: "
        f"{next_time(digest)}.{always}"
    )


def _changed(verb: Verb, digest: Digest) -> str:
    match verb:
        case Verb.PAUSE:
            return f"{named(digest)} is paused."
        case Verb.RESUME:
            return f"{named(digest)} goes on, {when(digest)}: {next_time(digest)}."
        case Verb.DELETE:
            return f"{named(digest)} is deleted."
        case Verb.RUN:
            return f"{named(digest)} is being made now; I post it where it always is."


def _full(reply: Full) -> str:
    count = f"{reply.limit} digest{'' if reply.limit == 1 else 's'}"
    if reply.limit == 0:
        return "Digests are switched off here."
    if reply.share:
        return (
            f"You have {count} in this channel already, the most that one person can have here. "
            "Delete one of yours first, or set this one up in a direct message with me."
        )
    if reply.channel:
        return f"This channel has {count} already, and may have no more. Somebody must delete one first."
    return f"You have {count} already, and may have no more. Please delete one first."


def _entry(digest: Digest, channel: str) -> str:
    place = "posted here" if digest.channel_id == channel else "posted elsewhere"
    runs = f"{digest.runs} run{'' if digest.runs == 1 else 's'} in 30 days" if digest.runs else ""
    rest = " · ".join(filter(None, (when(digest), next_time(digest), place, runs, *_cost(digest))))
    return f"*{digest.number}*  {title(digest.title)}\n{rest}"


def _cost(digest: Digest) -> Iterator[str]:
    """Yield what the runs cost, and of how many nobody knows it."""
    if digest.unpriced < digest.runs:
        yield dollars(digest.cost_usd)
        yield f"{digest.unpriced} of unknown cost" if digest.unpriced else ""
    elif digest.runs:
        yield "cost unknown"


def _numbers(numbers: Sequence[int]) -> str:
    if not numbers:
        return "You have none."
    *others, last = map(str, numbers)
    return f"There {'are' if others else 'is'} {' and '.join(filter(None, (', '.join(others), last)))}."


def _hint(reply: WatchReply, *, call: str) -> str:
    match reply:
        case Added(digest=digest):
            where = DIRECT if digest.channel_id.startswith("D") else INVITE
            return f"{where} {code(f'{call} list')} shows your digests."
        case Full(channel=False) | Full(share=True):
            return f"{code(f'{call} list')} shows your digests."
        case Changed(verb=Verb.PAUSE, digest=digest):
            return f"{code(f'{call} resume {digest.number}')} lets it go on."
        case Listed(digests=digests) if digests:
            return f"{code(f'{call} pause N')}, and so {code('resume')}, {code('delete')} and {code('run')}"
        case Listed():
            return f"For example {code(f'{call} {EXAMPLE}')}"
    return ""
