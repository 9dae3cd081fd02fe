"""Renders digests: new stories, results of the `watch` command, and notices to owners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from bot.blocks import messages
from bot.blocks.elements import (
    actions,
    button,
    channel,
    confirmation,
    context,
    header,
    join_lines,
    leaf,
    notes_block,
    person,
    section,
    warning_blocks,
)
from bot.blocks.escaping import code, escape, one_line, shorten
from bot.blocks.news import story_blocks
from bot.blocks.spoken import spoken
from bot.features.digests.model import (
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
from bot.features.digests.schedules import format_days, format_slot, text_with_zone
from bot.model.admin import DIRECT
from bot.model.message import Block, OutgoingMessage
from perplexity.formatting import format_dollars, pluralize
from perplexity.news.summary import news_stand_in

DIGEST_EXAMPLE = 'technology "open source databases" weekdays 9:00'
"""An example of the arguments of `watch`."""

NO_ZONE = (
    "I couldn’t find your time zone, so the time may not be yours. Set your time zone in Slack, "
    "then delete the digest and set it up again."
)

MAX_WITH_BUTTONS = 20
"""The most digests of a list that have buttons: a message has 50 blocks."""

_TITLE = 200
_STATES = {State.ACTIVE: "switched off here", State.PAUSED: "paused", State.STOPPED: "stopped"}

FAILED = "the last one failed"

STOP_DIGEST = "admin_stop_digest"
"""The id of the button that stops another person's digest."""

MAX_OWN, MAX_OF_WORKSPACE = 12, 8
"""The most digests that a person's home tab and the page for admins show."""

_MAX_HOME_TITLE = 150


def digest_result_message(
    reply: DigestResult, *, command: str, channel: str, with_app: bool = False
) -> OutgoingMessage:
    """Render the result of a `watch` command; `command` is the text to type it, `channel` its channel.

    `with_app` is set if the channel is known to be the person's direct message with the app.
    """
    said = _result_lines(reply, command=command, channel=channel)
    hint = _hint(reply, command=command, with_app=with_app)
    listed = reply.digests[:MAX_WITH_BUTTONS] if isinstance(reply, DigestList) else ()
    blocks = [section(said[0])] if listed else []
    for line, digest in zip(said[1:], listed, strict=False):
        blocks += [section(line), home_buttons(digest)]
    blocks += [section(text) for text in join_lines(said[len(listed) + 1 :] if listed else said)]
    blocks += [context(hint)] if hint else []
    return spoken(*blocks)


def digest_name(digest: Digest) -> str:
    """Return the name of a digest: "Digest 2 (Technology: databases)"."""
    return f"Digest {digest.number} ({digest_title(digest.title)})"


def digest_title(text: str) -> str:
    """Return the title of a digest as mrkdwn."""
    return escape(shorten(one_line(text), _TITLE))


def schedule_text(digest: Digest) -> str:
    """Return a digest's schedule with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return escape(text_with_zone(digest.spec.schedule))


def next_run_text(digest: Digest) -> str:
    """Return the time of the next run, or the state of a digest without one."""
    if digest.next_at is None:
        return _STATES[digest.state]
    return f"next on {format_slot(digest.next_at, tz=digest.spec.schedule.tz)}"


def _result_lines(reply: DigestResult, *, command: str, channel: str) -> list[str]:
    match reply:
        case Created(digest=digest, zone_known=known):
            return [_created(digest), *([] if known else [NO_ZONE])]
        case Updated(action=action, digest=digest):
            return [_updated(action, digest)]
        case DigestList(digests=listed) if listed:
            return ["*Your digests*", *(_entry(digest, channel) for digest in listed)]
        case DigestList():
            return ["You have no digests yet."]
        case _:
            return [_error(reply)]


def _error(reply: LimitReached | AlreadyRunning | DigestNotFound | NotOwner) -> str:
    match reply:
        case LimitReached():
            return _limit_reached(reply)
        case AlreadyRunning(digest=digest):
            return f"{digest_name(digest)} is already running."
        case DigestNotFound(number=number, numbers=numbers):
            return "This digest was deleted." if number is None else _not_found(number, numbers)
        case NotOwner():
            return "Only the person who set up this digest can change it."


def _created(digest: Digest) -> str:
    quiet = digest.spec.report_empty_on
    always = f" When nothing is new, I’ll say so ({format_days(quiet)})." if quiet else ""
    when = f"{schedule_text(digest)}, only when something is new: {next_run_text(digest)}."
    return f"*{digest_name(digest)} is set up.*\nI’ll post it here {when}{always}"


def _updated(action: DigestAction, digest: Digest) -> str:
    name = digest_name(digest)
    match action:
        case DigestAction.PAUSE:
            return f"{name} is paused."
        case DigestAction.RESUME:
            return f"{name} is active again, {schedule_text(digest)}: {next_run_text(digest)}."
        case DigestAction.DELETE:
            return f"{name} is deleted."
        case DigestAction.RUN:
            return f"{name} is running now. I’ll post it in its usual place."


def _limit_reached(reply: LimitReached) -> str:
    if reply.limit == 0:
        return "Digests are switched off here."
    count = pluralize(reply.limit, "digest")
    if reply.share:
        return (
            f"You have {count} in this channel already, the most one person can have here. "
            "Delete one of yours first, or set this one up in a direct message with me."
        )
    if reply.channel:
        return f"This channel has {count} already, the most it can have. Delete one first."
    return f"You have {count} already, the most you can have. Delete one first."


def _entry(digest: Digest, channel: str) -> str:
    place = "posted here" if digest.channel_id == channel else "posted elsewhere"
    runs = f"{pluralize(digest.runs, 'run')} in 30 days" if digest.runs else ""
    rest = " · ".join(filter(None, (schedule_text(digest), next_run_text(digest), place, runs, *_cost(digest))))
    return f"*{digest.number}*  {digest_title(digest.title)}\n{rest}"


def _cost(digest: Digest) -> Iterator[str]:
    """Yield the cost of the runs, and the number of runs with unknown cost."""
    if digest.unpriced < digest.runs:
        yield format_dollars(digest.cost_usd)
        yield f"{digest.unpriced} of unknown cost" if digest.unpriced else ""
    elif digest.runs:
        yield "cost unknown"


def _hint(reply: DigestResult, *, command: str, with_app: bool) -> str:
    match reply:
        case Created(digest=digest) if not with_app:
            return _after_creation(command, direct=digest.channel_id.startswith("D"))
        case Created() | LimitReached(channel=False) | LimitReached(share=True):
            return _list_hint(command)
        case Updated(action=DigestAction.PAUSE, digest=digest):
            return _resume_hint(command, digest.number)
        case DigestList(digests=listed) if listed:
            return f"`{command}` sets up another one."
        case DigestList():
            return f"For example `{command} {DIGEST_EXAMPLE}`"
    return ""


def owner_gone_message(subject: str, *, command: str) -> OutgoingMessage:
    """Render the notice that a digest was deleted because its owner's account is closed; `subject` is its title."""
    text = f"*The digest “{digest_title(subject)}” has ended.* The account of the person who set it up is closed."
    return _message(text, context(f"`{command}` sets up a new one."))


def _message(text: str, *below: Block) -> OutgoingMessage:
    return spoken(section(text), *below)


def redirected_message(digest: Digest, *, reason: str) -> OutgoingMessage:
    """Render why a digest comes as a direct message this time; `reason` is a sentence."""
    return _message(f"*{digest_name(digest)} couldn’t be posted in its channel*, so here it is. {escape(reason)}")


def skipped_message(digest: Digest, *, reason: str) -> OutgoingMessage:
    """Render why a manual run was skipped; `reason` is a sentence."""
    return _message(f"*{digest_name(digest)} was skipped.* {escape(reason)}")


def undeliverable_message(*, reason: str, reference: str) -> OutgoingMessage:
    """Render that a digest cannot be posted, if the digest could not be read."""
    text = f"One of your digests couldn’t be posted in its channel. {escape(reason)}"
    shown = f"Reference {code(reference)}"
    return spoken(section(text), context(shown))


ACTION_PREFIX = "digest_"
"""A button's action id is this and the action's name; its value is the digest's id."""

_LABELS = {DigestAction.RUN: "Run now", DigestAction.PAUSE: "Pause", DigestAction.DELETE: "Delete"}


def digest_messages(report: DigestReport) -> tuple[OutgoingMessage, ...]:
    """Render the report of a run; return no message if there is nothing to post."""
    if not report.should_post:
        return ()
    if not report.stories or report.summary is None:
        return (_nothing_new(report),)
    entries = [block for number, story in enumerate(report.stories, 1) for block in story_blocks(number, story)]
    above = [_header(report), *_late(report), *warning_blocks([news_stand_in(report.summary)])]
    blocks = [*above, *entries, *notes_block(report.summary.notes), digest_buttons(report.digest.id)]
    return messages.pack(blocks)


def digest_failed_message(*, subject: str, digest_id: UUID, sentence: str, reference: str) -> OutgoingMessage:
    """Render that a run failed; `subject` is the digest's title and `sentence` the reason, both not escaped yet."""
    text = f"The digest “{digest_title(subject)}” failed this time. {escape(shorten(sentence, 1_000))}"
    shown = f"Reference {code(reference)}"
    return spoken(section(text), actions(_button(DigestAction.RUN, digest_id)), context(shown))


def digest_stopped_message(digest: Digest, *, reason: str, command: str) -> OutgoingMessage:
    """Render the notice that a digest was stopped; `reason` is a sentence."""
    text = f"*{digest_name(digest)} has stopped.* {escape(reason)}"
    return _message(text, context(_resume_hint(command, digest.number)))


def digest_buttons(digest_id: UUID) -> Block:
    """Return the row of buttons for the owner."""
    return actions(*(_button(action, digest_id) for action in _LABELS))


def home_buttons(digest: Digest) -> Block:
    """Return the owner's buttons in the home tab that apply to the digest's current state."""
    change = DigestAction.PAUSE if digest.state is State.ACTIVE else DigestAction.RESUME
    return actions(*(_button(action, digest.id) for action in (DigestAction.RUN, change, DigestAction.DELETE)))


def _header(report: DigestReport) -> Block:
    count, since = len(report.stories), _since(report)
    new = f"{count} new stor{'y' if count == 1 else 'ies'}{f' {since}' if since else ''}"
    return context(f"*{digest_title(report.digest.title)}* · {new}")


def _nothing_new(report: DigestReport) -> OutgoingMessage:
    since = _since(report)
    line = f"*{digest_title(report.digest.title)}* · Nothing new{f' {since}' if since else ''}."
    blocks = (section(line), *_late(report), digest_buttons(report.digest.id))
    return spoken(*blocks)


def _since(report: DigestReport) -> str:
    if report.since is None:
        return ""
    return format_since(report.since, now=report.now, tz=report.digest.spec.schedule.tz)


def _late(report: DigestReport) -> Iterator[Block]:
    if report.trigger is Trigger.LATE:
        tz = report.digest.spec.schedule.tz
        yield context(f"This is late: it was due on {format_slot(report.slot, tz=tz)} ({escape(tz.key)}).")


def _button(action: DigestAction, digest_id: UUID) -> Block:
    label = _LABELS.get(action, "Resume")
    action_id, value = f"{ACTION_PREFIX}{action}", str(digest_id)
    if action is DigestAction.DELETE:
        options = [{"text": {"type": "plain_text", "text": label}, "value": value}]
        told = "Its posts stay. You can’t undo this, but you can set up a new digest."
        confirm = confirmation("Delete this digest?", told, "Delete")
        return {"type": "overflow", "action_id": action_id, "options": options, "confirm": confirm}
    return button(label, action_id, value)


def _after_creation(slash: str, *, direct: bool) -> str:
    where = (
        "I can post in a direct message only if it is the one with me."
        if direct
        else "In a channel, add me first with `/invite` if I’m not a member yet."
    )
    return f"{where} {_list_hint(slash)}"


def _not_found(number: int, numbers: Sequence[int]) -> str:
    if not numbers:
        return f"You have no digest {number}. You have none."
    if len(numbers) == 1:
        return f"You have no digest {number}. Yours is number {numbers[0]}."
    listed = ", ".join(map(str, numbers[:-1]))
    return f"You have no digest {number}. Yours are {listed} and {numbers[-1]}."


def _list_hint(slash: str) -> str:
    return f"`{slash} list` shows your digests."


def _resume_hint(slash: str, number: int) -> str:
    return f"`{slash} resume {number}` resumes it."


def home_blocks(digests: Sequence[Digest]) -> list[Block]:
    """Return a person's digests, as far as the home tab has room; empty without digests."""
    shown = [block for one in digests[:MAX_OWN] for block in _own(one)]
    return [header("Your digests"), *shown] if shown else []


def _own(one: Digest) -> Iterator[Block]:
    # Slack shows a channel's name for its id to those who may know it; in mrkdwn, `sanitize_view` allows no mention.
    direct = one.channel_id.startswith("D")
    place = leaf("in our direct messages") if direct else {"type": "channel", "channel_id": one.channel_id}
    failed = f"{FAILED}, “Run now” tries again · " if one.failed else ""
    facts = f"{failed}{text_with_zone(one.spec.schedule)} · {next_run_text(one)} · {'' if direct else 'in '}"
    title = leaf(f"{shorten(one_line(one.title), _MAX_HOME_TITLE)}\n") | {"style": {"bold": True}}
    line = {"type": "rich_text_section", "elements": [title, leaf(facts), place]}
    yield {"type": "rich_text", "elements": [line]}
    yield home_buttons(one)


def workspace_blocks(digests: Sequence[Digest]) -> Iterator[Block]:
    """Yield everyone's digests, for admins, as far as there is room."""
    yield section("*Everyone’s digests*" + ("" if digests else "\nThere are none."))
    yield from workspace_rows(digests[:MAX_OF_WORKSPACE])
    if len(digests) > MAX_OF_WORKSPACE:
        yield context(f"{MAX_OF_WORKSPACE} of {len(digests)} are shown.")


def workspace_rows(digests: Iterable[Digest]) -> list[Block]:
    """Return digests, with a button that stops one while it is active."""
    return [block for digest in digests for block in _of_workspace(digest)]


def _of_workspace(digest: Digest) -> Iterator[Block]:
    yield {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [*_digest_line(digest)]}]}
    if digest.state is State.ACTIVE:
        yield actions(_stop_button(digest))


def _digest_line(digest: Digest) -> Iterator[Block]:
    """Yield the details of a digest; Slack fills in the names of the channel and the person, and mentions nobody.

    For a digest in a direct message, only the category is named, since the topic is private.
    """
    private = digest.channel_id.startswith(DIRECT)
    subject = shorten(one_line(digest.spec.category.capitalize() if private else digest.title), 100)
    yield leaf(f"Digest {digest.number}") | {"style": {"bold": True}}
    yield leaf(" of ")
    yield person(digest.owner.user_id)
    facts = (subject, schedule_text(digest), FAILED if digest.failed else "", next_run_text(digest))
    yield leaf(f" · {' · '.join(filter(None, facts))} · in ")
    yield channel(digest.channel_id)
    if cost := format_dollars(digest.cost_usd):
        yield leaf(f" · {cost} in 30 days")


def _stop_button(digest: Digest) -> Block:
    told = "Its owner is told that an admin stopped it, and can resume it."
    confirm = confirmation("Stop this digest?", told, "Stop")
    return button("Stop", STOP_DIGEST, str(digest.id)) | {"confirm": confirm}
