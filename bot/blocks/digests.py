"""What a digest posts: its new stories, or that there are none; and what its owner is told when it cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from bot.blocks import messages
from bot.blocks.elements import context, join_lines, note_lines, section, warning_blocks
from bot.blocks.escaping import code, escape, one_line, shorten
from bot.blocks.footer import dollars, footer
from bot.blocks.messages import fallback_text
from bot.blocks.news import format_moment, story_block
from bot.model.digest import (
    EXAMPLE,
    AlreadyRunning,
    Created,
    Digest,
    DigestAction,
    DigestList,
    DigestNotFound,
    DigestReport,
    DigestResult,
    LimitReached,
    NotOwner,
    State,
    Trigger,
    Updated,
    format_days,
    format_since,
    format_slot,
)
from bot.model.message import Audience, Block, OutgoingMessage
from perplexity.news.summary import news_stand_in

_TITLE = 200
_STATES = {State.ACTIVE: "switched off here", State.PAUSED: "paused", State.STOPPED: "stopped itself"}
NO_ZONE = (
    "I could not find out your time zone, so it goes by UTC. To change that, set your time zone in Slack, "
    "delete the digest and set it up again."
)
DIRECT = "I can post in a direct message only if it is the one with me."
INVITE = "In a channel, add me first with `/invite` if I’m not a member yet."


def digest_result_message(reply: DigestResult, *, command: str, channel: str) -> OutgoingMessage:
    """Render what came of a wish; `command` is how the command is called, `channel` where it was typed."""
    said = _result_lines(reply, command=command, channel=channel)
    hint = _hint(reply, command=command)
    blocks = [section(text) for text in join_lines(said)] + ([context(hint)] if hint else [])
    return OutgoingMessage(text=shorten("\n".join(said), 3_000), blocks=tuple(blocks))


def digest_name(digest: Digest) -> str:
    """Return how a text calls a digest: "Digest 2 (Technology: databases)"."""
    return f"Digest {digest.number} ({digest_title(digest.title)})"


def digest_title(text: str) -> str:
    """Return what a digest is about, as mrkdwn."""
    return escape(shorten(one_line(text), _TITLE))


def schedule_text(digest: Digest) -> str:
    """Return a digest's schedule with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return escape(digest.spec.schedule.text_with_zone)


def next_run_text(digest: Digest) -> str:
    """Return when a digest is posted next, or why it is not."""
    if digest.next_at is None:
        return _STATES[digest.state]
    return f"next on {format_slot(digest.next_at, tz=digest.spec.schedule.tz)}"


def _result_lines(reply: DigestResult, *, command: str, channel: str) -> list[str]:
    match reply:
        case Created(digest=digest, zone_known=known):
            return [_created(digest), *([] if known else [NO_ZONE])]
        case Updated(action=verb, digest=digest):
            return [_updated(verb, digest)]
        case DigestList(digests=digests) if digests:
            return ["*Your digests*", *(_entry(digest, channel) for digest in digests)]
        case DigestList():
            return ["You have no digests yet."]
        case _:
            return [_error(reply)]


def _error(reply: LimitReached | AlreadyRunning | DigestNotFound | NotOwner) -> str:
    match reply:
        case LimitReached():
            return _limit_reached(reply)
        case AlreadyRunning(digest=digest):
            return f"{digest_name(digest)} is being made just now."
        case DigestNotFound(number=None):
            return "This digest is deleted."
        case DigestNotFound(number=number, numbers=numbers):
            return f"You have no digest {number}. {_numbers(numbers)}"
        case NotOwner():
            return "Only the person who set up this digest can change it."


def _created(digest: Digest) -> str:
    silence = digest.spec.report_empty_on
    always = f" When nothing is new, I’ll say so ({format_days(silence)})." if silence else ""
    return (
        f"*{digest_name(digest)} is set up.*\nI’ll post it here {schedule_text(digest)}, only when something is new: "
        f"{next_run_text(digest)}.{always}"
    )


def _updated(verb: DigestAction, digest: Digest) -> str:
    match verb:
        case DigestAction.PAUSE:
            return f"{digest_name(digest)} is paused."
        case DigestAction.RESUME:
            return f"{digest_name(digest)} goes on, {schedule_text(digest)}: {next_run_text(digest)}."
        case DigestAction.DELETE:
            return f"{digest_name(digest)} is deleted."
        case DigestAction.RUN:
            return f"{digest_name(digest)} is being made now; I post it where it always is."


def _limit_reached(reply: LimitReached) -> str:
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
    rest = " · ".join(filter(None, (schedule_text(digest), next_run_text(digest), place, runs, *_cost(digest))))
    return f"*{digest.number}*  {digest_title(digest.title)}\n{rest}"


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


def _hint(reply: DigestResult, *, command: str) -> str:
    match reply:
        case Created(digest=digest):
            where = DIRECT if digest.channel_id.startswith("D") else INVITE
            return f"{where} {code(f'{command} list')} shows your digests."
        case LimitReached(channel=False) | LimitReached(share=True):
            return f"{code(f'{command} list')} shows your digests."
        case Updated(action=DigestAction.PAUSE, digest=digest):
            return f"{code(f'{command} resume {digest.number}')} lets it go on."
        case DigestList(digests=digests) if digests:
            return f"{code(f'{command} pause N')}, and so {code('resume')}, {code('delete')} and {code('run')}"
        case DigestList():
            return f"For example {code(f'{command} {EXAMPLE}')}"
    return ""


def owner_gone_message(subject: str, *, command: str) -> OutgoingMessage:
    """Tell a channel that a digest is deleted, since its owner's account is closed; `subject` is what it is about."""
    text = f"*The digest “{digest_title(subject)}” has ended.* The account of whoever set it up is closed."
    on = context(f"{code(command)} sets up a new one.")
    return OutgoingMessage(text=text, blocks=(section(text), on))


def redirected_message(digest: Digest, *, reason: str) -> OutgoingMessage:
    """Tell the owner why a digest comes as a direct message this time; `reason` is a sentence."""
    text = f"*{digest_name(digest)} could not be posted in its channel*, so you get it here. {escape(reason)}"
    return OutgoingMessage(text=text, blocks=(section(text),))


def skipped_message(digest: Digest, *, reason: str) -> OutgoingMessage:
    """Tell the owner why a digest that they wanted now was not made; `reason` is a sentence."""
    text = f"*{digest_name(digest)} was not made.* {escape(reason)}"
    return OutgoingMessage(text=text, blocks=(section(text),))


def undeliverable_message(*, reason: str, reference: str) -> OutgoingMessage:
    """Tell the owner that some digest cannot be posted, where it could not even be looked up which."""
    text = f"One of your digests could not be posted in its channel. {escape(reason)}"
    blocks = (section(text), context(f"Reference {code(reference)}"))
    return OutgoingMessage(text=f"{text} Reference {code(reference)}", blocks=blocks)


ACTION_PREFIX = "digest_"
"""The buttons' actions are this and a verb; their value is the digest's id."""

_LABELS = {DigestAction.RUN: "Run now", DigestAction.PAUSE: "Pause", DigestAction.DELETE: "Delete"}
_SURE = "Its posts stay. It cannot be brought back; you can set up another one."


def digest_messages(report: DigestReport) -> tuple[OutgoingMessage, ...]:
    """Render what a run found; nothing where it has nothing to say."""
    if not report.should_post:
        return ()
    if not report.stories or report.summary is None:
        return (_nothing_new(report),)
    entries = [story_block(number, story) for number, story in enumerate(report.stories, 1)]
    remarks = [context(note) for note in note_lines(report.summary.notes)]
    grey = footer(
        report.summary.provider,
        seconds=report.summary.seconds,
        cost_usd=report.summary.cost_usd,
        extra=_schedule_facts(report),
        audience=Audience.CHANNEL,
    )
    above = warning_blocks([news_stand_in(report.summary)])
    blocks = [*above, _header(report), *_late(report), *entries, *remarks, grey, digest_buttons(report.digest.id)]
    return messages.pack(blocks, summary="")


def digest_failed_message(*, subject: str, digest_id: UUID, sentence: str, reference: str) -> OutgoingMessage:
    """Tell the owner that a run failed; `subject` is what the digest is about, `sentence` says why, both as text."""
    text = f"There is no digest “{digest_title(subject)}” this time. {escape(shorten(sentence, 1_000))}"
    blocks = (section(text), _actions(_button(DigestAction.RUN, digest_id)), context(f"Reference {code(reference)}"))
    return OutgoingMessage(text=f"{text} Reference {code(reference)}", blocks=blocks)


def digest_stopped_message(digest: Digest, *, reason: str, command: str) -> OutgoingMessage:
    """Tell the owner that a digest stopped itself; `reason` is a sentence."""
    text = f"*{digest_name(digest)} has stopped.* {escape(reason)}"
    on = context(f"{code(f'{command} resume {digest.number}')} lets it go on.")
    return OutgoingMessage(text=text, blocks=(section(text), on))


def digest_buttons(digest_id: UUID) -> Block:
    """Return the row of what the owner can do with the digest."""
    return _actions(*(_button(verb, digest_id) for verb in _LABELS))


def _header(report: DigestReport) -> Block:
    count = len(report.stories)
    new = f"{count} new stor{'y' if count == 1 else 'ies'}"
    told = " ".join(filter(None, (new, _since(report))))
    return context(f"*{digest_title(report.digest.title)}* · {told} · as of {format_moment(report.now)}")


def _nothing_new(report: DigestReport) -> OutgoingMessage:
    line = f"*{digest_title(report.digest.title)}* · {' '.join(filter(None, ('Nothing new', _since(report))))}."
    grey = context(escape(" · ".join(filter(None, (*_schedule_facts(report), dollars(report.cost_usd))))))
    blocks = (section(line), *_late(report), grey, digest_buttons(report.digest.id))
    return OutgoingMessage(text=fallback_text(blocks), blocks=blocks)


def _since(report: DigestReport) -> str:
    if report.since is None:
        return ""
    return format_since(report.since, now=report.now, tz=report.digest.spec.schedule.tz)


def _late(report: DigestReport) -> Iterator[Block]:
    if report.trigger is Trigger.LATE:
        tz = report.digest.spec.schedule.tz
        yield context(f"This is late: it was due on {format_slot(report.slot, tz=tz)} ({escape(tz.key)}).")


def _schedule_facts(report: DigestReport) -> Iterator[str]:
    """Yield when the digest comes by whose clock, and where it still does, when next; not escaped yet."""
    schedule = report.digest.spec.schedule
    yield f"digest {report.digest.number}"
    yield schedule.text_with_zone
    if report.digest.next_at is not None:
        yield f"next on {format_slot(report.digest.next_at, tz=schedule.tz)}"


def _actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def _button(verb: DigestAction, digest_id: UUID) -> Block:
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": _LABELS[verb]},
        "action_id": f"{ACTION_PREFIX}{verb}",
        "value": str(digest_id),
    }
    return button | {"style": "danger", "confirm": _deletion_dialog()} if verb is DigestAction.DELETE else button


def _deletion_dialog() -> Block:
    """Return the question before a deletion.

    https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
    """
    texts = {"title": "Delete this digest?", "text": _SURE, "confirm": "Delete", "deny": "Keep"}
    return {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
