"""Renders digests: new stories, results of the `watch` command, and notices to owners."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from bot.blocks import messages
from bot.blocks.elements import context, footer, join_lines, note_lines, section, warning_blocks
from bot.blocks.escaping import code, escape, one_line, shorten
from bot.blocks.messages import fallback_text
from bot.blocks.news import story_block
from bot.model.digest import (
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
    format_since,
)
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.schedule import format_days, format_slot
from bot.texts import digests, failures, pplx, times
from perplexity.formatting import format_dollars
from perplexity.news.summary import news_stand_in

_TITLE = 200
_STATES = {State.ACTIVE: digests.SWITCHED_OFF, State.PAUSED: digests.PAUSED, State.STOPPED: digests.STOPPED}


def digest_result_message(reply: DigestResult, *, command: str, channel: str) -> OutgoingMessage:
    """Render the result of a `watch` command; `command` is the text to type it, `channel` its channel."""
    said = _result_lines(reply, command=command, channel=channel)
    hint = _hint(reply, command=command)
    blocks = [section(text) for text in join_lines(said)] + ([context(hint)] if hint else [])
    return OutgoingMessage(text=shorten("\n".join(said), 3_000), blocks=tuple(blocks))


def digest_name(digest: Digest) -> str:
    """Return the name of a digest: "Digest 2 (Technology: databases)"."""
    return digests.name_of(digest.number, digest_title(digest.title))


def digest_title(text: str) -> str:
    """Return the title of a digest as mrkdwn."""
    return escape(shorten(one_line(text), _TITLE))


def schedule_text(digest: Digest) -> str:
    """Return a digest's schedule with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return escape(digest.spec.schedule.text_with_zone)


def next_run_text(digest: Digest) -> str:
    """Return the time of the next run, or the state of a digest without one."""
    if digest.next_at is None:
        return _STATES[digest.state]
    return digests.next_on(format_slot(digest.next_at, tz=digest.spec.schedule.tz))


def _result_lines(reply: DigestResult, *, command: str, channel: str) -> list[str]:
    match reply:
        case Created(digest=digest, zone_known=known):
            return [_created(digest), *([] if known else [digests.NO_ZONE])]
        case Updated(action=action, digest=digest):
            return [_updated(action, digest)]
        case DigestList(digests=listed) if listed:
            return [digests.YOUR_DIGESTS, *(_entry(digest, channel) for digest in listed)]
        case DigestList():
            return [digests.NO_DIGESTS]
        case _:
            return [_error(reply)]


def _error(reply: LimitReached | AlreadyRunning | DigestNotFound | NotOwner) -> str:
    match reply:
        case LimitReached():
            return _limit_reached(reply)
        case AlreadyRunning(digest=digest):
            return digests.already_running(digest_name(digest))
        case DigestNotFound(number=number, numbers=numbers):
            return digests.ALREADY_DELETED if number is None else digests.not_found(number, numbers)
        case NotOwner():
            return digests.NOT_OWNER


def _created(digest: Digest) -> str:
    return digests.created(
        digest_name(digest),
        schedule=schedule_text(digest),
        next_run=next_run_text(digest),
        empty_days=format_days(digest.spec.report_empty_on) if digest.spec.report_empty_on else "",
    )


def _updated(action: DigestAction, digest: Digest) -> str:
    name = digest_name(digest)
    match action:
        case DigestAction.PAUSE:
            return digests.paused(name)
        case DigestAction.RESUME:
            return digests.resumed(name, schedule=schedule_text(digest), next_run=next_run_text(digest))
        case DigestAction.DELETE:
            return digests.deleted(name)
        case DigestAction.RUN:
            return digests.running(name)


def _limit_reached(reply: LimitReached) -> str:
    if reply.limit == 0:
        return digests.SWITCHED_OFF_HERE
    if reply.share:
        return digests.too_many_of_yours_here(reply.limit)
    return digests.too_many_here(reply.limit) if reply.channel else digests.too_many_of_yours(reply.limit)


def _entry(digest: Digest, channel: str) -> str:
    place = digests.POSTED_HERE if digest.channel_id == channel else digests.POSTED_ELSEWHERE
    runs = digests.runs(digest.runs) if digest.runs else ""
    rest = " · ".join(filter(None, (schedule_text(digest), next_run_text(digest), place, runs, *_cost(digest))))
    return f"*{digest.number}*  {digest_title(digest.title)}\n{rest}"


def _cost(digest: Digest) -> Iterator[str]:
    """Yield the cost of the runs, and the number of runs with unknown cost."""
    if digest.unpriced < digest.runs:
        yield format_dollars(digest.cost_usd)
        yield digests.unpriced(digest.unpriced) if digest.unpriced else ""
    elif digest.runs:
        yield digests.COST_UNKNOWN


def _hint(reply: DigestResult, *, command: str) -> str:
    match reply:
        case Created(digest=digest):
            return digests.after_creation(command, direct=digest.channel_id.startswith("D"))
        case LimitReached(channel=False) | LimitReached(share=True):
            return digests.list_hint(command)
        case Updated(action=DigestAction.PAUSE, digest=digest):
            return digests.resume_hint(command, digest.number)
        case DigestList(digests=listed) if listed:
            return digests.change_hint(command)
        case DigestList():
            return digests.example_hint(command, pplx.DIGEST_EXAMPLE)
    return ""


def owner_gone_message(subject: str, *, command: str) -> OutgoingMessage:
    """Render the notice that a digest was deleted because its owner's account is closed; `subject` is its title."""
    text = digests.owner_gone(digest_title(subject))
    on = context(digests.new_hint(command))
    return OutgoingMessage(text=text, blocks=(section(text), on))


def redirected_message(digest: Digest, *, reason: str) -> OutgoingMessage:
    """Render why a digest comes as a direct message this time; `reason` is a sentence."""
    text = digests.redirected(digest_name(digest), escape(reason))
    return OutgoingMessage(text=text, blocks=(section(text),))


def skipped_message(digest: Digest, *, reason: str) -> OutgoingMessage:
    """Render why a manual run was skipped; `reason` is a sentence."""
    text = digests.skipped(digest_name(digest), escape(reason))
    return OutgoingMessage(text=text, blocks=(section(text),))


def undeliverable_message(*, reason: str, reference: str) -> OutgoingMessage:
    """Render that a digest cannot be posted, if the digest could not be read."""
    text = digests.undeliverable(escape(reason))
    blocks = (section(text), context(failures.reference(code(reference))))
    return OutgoingMessage(text=f"{text} {failures.reference(code(reference))}", blocks=blocks)


ACTION_PREFIX = "digest_"
"""A button's action id is this and the action's name; its value is the digest's id."""

_LABELS = {DigestAction.RUN: digests.RUN_NOW, DigestAction.PAUSE: digests.PAUSE, DigestAction.DELETE: digests.DELETE}


def digest_messages(report: DigestReport) -> tuple[OutgoingMessage, ...]:
    """Render the report of a run; return no message if there is nothing to post."""
    if not report.should_post:
        return ()
    if not report.stories or report.summary is None:
        return (_nothing_new(report),)
    entries = [story_block(number, story) for number, story in enumerate(report.stories, 1)]
    notes = [context(note) for note in note_lines(report.summary.notes)]
    last_line = footer(
        report.summary.provider,
        seconds=report.summary.seconds,
        cost_usd=report.summary.cost_usd,
        extra=_schedule_facts(report),
        audience=Audience.CHANNEL,
    )
    above = warning_blocks([news_stand_in(report.summary)])
    blocks = [
        *above,
        _header(report),
        *_late(report),
        *entries,
        *notes,
        last_line,
        digest_buttons(report.digest.id),
    ]
    return messages.pack(blocks, summary="")


def digest_failed_message(*, subject: str, digest_id: UUID, sentence: str, reference: str) -> OutgoingMessage:
    """Render that a run failed; `subject` is the digest's title and `sentence` the reason, both not escaped yet."""
    text = digests.failed(digest_title(subject), escape(shorten(sentence, 1_000)))
    blocks = (
        section(text),
        _actions(_button(DigestAction.RUN, digest_id)),
        context(failures.reference(code(reference))),
    )
    return OutgoingMessage(text=f"{text} {failures.reference(code(reference))}", blocks=blocks)


def digest_stopped_message(digest: Digest, *, reason: str, command: str) -> OutgoingMessage:
    """Render that a digest stopped itself; `reason` is a sentence."""
    text = digests.stopped(digest_name(digest), escape(reason))
    on = context(digests.resume_hint(command, digest.number))
    return OutgoingMessage(text=text, blocks=(section(text), on))


def digest_buttons(digest_id: UUID) -> Block:
    """Return the row of buttons for the owner."""
    return _actions(*(_button(action, digest_id) for action in _LABELS))


def home_buttons(digest: Digest) -> Block:
    """Return the row of buttons for the owner in the home tab: what can be done with the digest as it is."""
    change = DigestAction.PAUSE if digest.state is State.ACTIVE else DigestAction.RESUME
    return _actions(*(_button(action, digest.id) for action in (DigestAction.RUN, change, DigestAction.DELETE)))


def _header(report: DigestReport) -> Block:
    title, moment = digest_title(report.digest.title), times.moment(report.now)
    return context(digests.heading(title, stories=len(report.stories), since=_since(report), moment=moment))


def _nothing_new(report: DigestReport) -> OutgoingMessage:
    line = digests.nothing_new(digest_title(report.digest.title), _since(report))
    last_line = context(escape(" · ".join(filter(None, (*_schedule_facts(report), format_dollars(report.cost_usd))))))
    blocks = (section(line), *_late(report), last_line, digest_buttons(report.digest.id))
    return OutgoingMessage(text=fallback_text(blocks), blocks=blocks)


def _since(report: DigestReport) -> str:
    if report.since is None:
        return ""
    return format_since(report.since, now=report.now, tz=report.digest.spec.schedule.tz)


def _late(report: DigestReport) -> Iterator[Block]:
    if report.trigger is Trigger.LATE:
        tz = report.digest.spec.schedule.tz
        yield context(digests.late(format_slot(report.slot, tz=tz), escape(tz.key)))


def _schedule_facts(report: DigestReport) -> Iterator[str]:
    """Yield the schedule with its time zone, and the next run if there is one; not escaped yet."""
    schedule = report.digest.spec.schedule
    yield digests.number_of(report.digest.number)
    yield schedule.text_with_zone
    if report.digest.next_at is not None:
        yield digests.next_on(format_slot(report.digest.next_at, tz=schedule.tz))


def _actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def _button(action: DigestAction, digest_id: UUID) -> Block:
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": _LABELS.get(action, digests.RESUME)},
        "action_id": f"{ACTION_PREFIX}{action}",
        "value": str(digest_id),
    }
    return button | {"style": "danger", "confirm": _deletion_dialog()} if action is DigestAction.DELETE else button


def _deletion_dialog() -> Block:
    """Return the confirmation dialog of the delete button.

    https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
    """
    texts = {
        "title": digests.DELETE_TITLE,
        "text": digests.DELETE_WARNING,
        "confirm": digests.DELETE,
        "deny": digests.KEEP,
    }
    return {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
