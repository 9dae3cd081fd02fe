"""Renders digests: new stories, results of the `watch` command, notices to owners, and lists for the home tab."""

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
    rich_line,
    section,
    spoken,
    warning_blocks,
)
from bot.blocks.escaping import code, escape, one_line, shorten
from bot.blocks.sources import story_blocks
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
    format_days,
    format_since,
    format_slot,
    text_with_zone,
)
from bot.model.admin import DIRECT
from bot.model.message import Block, OutgoingMessage
from bot.translation import N_, listing, money, ngettext
from bot.translation import gettext as _
from perplexity.formatting import format_dollars
from perplexity.news.summary import news_stand_in

DIGEST_EXAMPLE = 'technology "open source databases" weekdays 9:00'
"""An example of the arguments of `watch`."""

NO_ZONE = N_(
    "I couldn’t find your time zone, so the time may not be yours. Set your time zone in Slack, "
    "then delete the digest and set it up again."
)

MAX_WITH_BUTTONS = 20
"""The most digests of a list that have buttons: a message has 50 blocks."""

_TITLE = 200
_STATES = {State.ACTIVE: N_("switched off here"), State.PAUSED: N_("paused"), State.STOPPED: N_("stopped")}

STOP_DIGEST = "admin_stop_digest"
"""The id of the button that stops another person's digest."""

MAX_OWN, MAX_OF_WORKSPACE = 12, 8
"""The most digests that a person's home tab shows, and the most that the page for admins shows."""

_MAX_HOME_TITLE = 150


def digest_result_message(
    reply: DigestResult, *, command: str, channel: str, with_app: bool = False
) -> OutgoingMessage:
    """Render the result of a `watch` command or of a digest's button.

    `command` is what people type for the command. `channel` is where the person typed it or clicked.

    `with_app` is set if the channel is known to be the person's direct message with the app.
    """
    said = [*_result_lines(reply, channel=channel)]
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
    return _("Digest {number} ({title})").format(number=digest.number, title=digest_title(digest.title))


def digest_title(text: str) -> str:
    """Return the title of a digest as mrkdwn."""
    return escape(shorten(one_line(text), _TITLE))


def schedule_text(digest: Digest) -> str:
    """Return a digest's schedule with its zone: "weekdays at 9:00 (Europe/Berlin)"."""
    return escape(text_with_zone(digest.spec.schedule))


def next_run_text(digest: Digest) -> str:
    """Return the time of the next run, or the state of a digest without one."""
    if digest.next_at is None:
        return _(_STATES[digest.state])
    return _("next on {time}").format(time=format_slot(digest.next_at, tz=digest.spec.schedule.tz))


def _result_lines(reply: DigestResult, *, channel: str) -> Iterator[str]:
    match reply:
        case Created(digest=digest, zone_known=known):
            yield _created(digest)
            if not known:
                yield _(NO_ZONE)
        case Updated(action=action, digest=digest):
            yield _updated(action, digest)
        case DigestList(digests=listed):
            yield _("*Your digests*") if listed else _("You have no digests yet.")
            yield from (_entry(digest, channel) for digest in listed)
        case LimitReached():
            yield _limit_reached(reply)
        case AlreadyRunning(digest=digest):
            yield _("{digest} is already running.").format(digest=digest_name(digest))
        case DigestNotFound(number=number, numbers=numbers):
            yield _("This digest was deleted.") if number is None else _not_found(number, numbers)
        case NotOwner():
            yield _("Only the person who set up this digest can change it.")


def _created(digest: Digest) -> str:
    quiet = digest.spec.report_empty_on
    said = _("*{digest} is set up.*\nI’ll post it here {schedule}, only when something is new: {next}.").format(
        digest=digest_name(digest), schedule=schedule_text(digest), next=next_run_text(digest)
    )
    always = _("When nothing is new, I’ll say so ({days}).").format(days=format_days(quiet))
    return f"{said} {always}" if quiet else said


def _updated(action: DigestAction, digest: Digest) -> str:
    match action:
        case DigestAction.PAUSE:
            said = _("{digest} is paused.")
        case DigestAction.RESUME:
            said = _("{digest} is active again, {schedule}: {next}.")
        case DigestAction.DELETE:
            said = _("{digest} is deleted.")
        case DigestAction.RUN:
            said = _("{digest} is running now. I’ll post it in its usual place.")
    return said.format(digest=digest_name(digest), schedule=schedule_text(digest), next=next_run_text(digest))


def _limit_reached(reply: LimitReached) -> str:
    if reply.limit == 0:
        return _("Digests are switched off here.")
    if reply.share:
        said = _(
            "You have {digests} in this channel already, the most one person can have here. "
            "Delete one of yours first, or set this one up in a direct message with me."
        )
    elif reply.channel:
        said = _("This channel has {digests} already, the most it can have. Delete one first.")
    else:
        said = _("You have {digests} already, the most you can have. Delete one first.")
    return said.format(digests=ngettext("{count} digest", "{count} digests", reply.limit))


def _entry(digest: Digest, channel: str) -> str:
    place = _("posted here") if digest.channel_id == channel else _("posted elsewhere")
    runs = ngettext("{count} run in 30 days", "{count} runs in 30 days", digest.runs) if digest.runs else ""
    rest = " · ".join(filter(None, (schedule_text(digest), next_run_text(digest), place, runs, *_cost(digest))))
    return f"*{digest.number}*  {digest_title(digest.title)}\n{rest}"


def _cost(digest: Digest) -> Iterator[str]:
    """Yield the cost of the runs, and the number of runs with unknown cost."""
    if digest.unpriced < digest.runs:
        yield money(format_dollars(digest.cost_usd))
        yield _("{count} of unknown cost").format(count=digest.unpriced) if digest.unpriced else ""
    elif digest.runs:
        yield _("cost unknown")


def _hint(reply: DigestResult, *, command: str, with_app: bool) -> str:
    match reply:
        case Created(digest=digest) if not with_app:
            where = _("In a channel, add me first with `/invite` if I’m not a member yet.")
            if digest.channel_id.startswith("D"):
                where = _("I can post in a direct message only if it is the one with me.")
            return f"{where} {_list_hint(command)}"
        case Created() | LimitReached(channel=False) | LimitReached(share=True):
            return _list_hint(command)
        case Updated(action=DigestAction.PAUSE, digest=digest):
            return _resume_hint(command, digest.number)
        case DigestList(digests=listed) if listed:
            return _("`{command}` sets up another one.").format(command=command)
        case DigestList():
            return _("For example {example}").format(example=f"`{command} {DIGEST_EXAMPLE}`")
    return ""


def owner_gone_message(subject: str, *, command: str) -> OutgoingMessage:
    """Render the notice that a digest was deleted because its owner's account is closed; `subject` is the title."""
    text = _("*The digest “{title}” has ended.* The account of the person who set it up is closed.")
    below = context(_("`{command}` sets up a new one.").format(command=command))
    return spoken(section(text.format(title=digest_title(subject))), below)


def not_posted_message(digest: Digest, *, reason: str, skipped: bool) -> OutgoingMessage:
    """Render the notice that a run was skipped, or that it comes as a direct message; `reason` is a sentence."""
    text = _("*{digest} couldn’t be posted in its channel*, so here it is. {reason}")
    if skipped:
        text = _("*{digest} was skipped.* {reason}")
    return spoken(section(text.format(digest=digest_name(digest), reason=escape(reason))))


def undeliverable_message(*, reason: str, reference: str) -> OutgoingMessage:
    """Render the notice that a digest cannot be posted, without its name, which could not be read."""
    text = _("One of your digests couldn’t be posted in its channel. {reason}").format(reason=escape(reason))
    shown = _("Reference {reference}").format(reference=code(reference))
    return spoken(section(text), context(shown))


ACTION_PREFIX = "digest_"
"""The beginning of a button's `action_id`, before the action's name; the button's value is the digest's id."""

_LABELS = {DigestAction.RUN: N_("Run now"), DigestAction.PAUSE: N_("Pause"), DigestAction.DELETE: N_("Delete")}


def digest_messages(report: DigestReport) -> tuple[OutgoingMessage, ...]:
    """Render the report of a run; return no message if there is nothing to post."""
    if not report.should_post:
        return ()
    if not report.stories or report.summary is None:
        return (_nothing_new(report),)
    blocks = [_header(report), *_late(report), *warning_blocks([news_stand_in(report.summary)])]
    blocks += [block for number, story in enumerate(report.stories, 1) for block in story_blocks(number, story)]
    return messages.pack([*blocks, *notes_block(report.summary.notes), digest_buttons(report.digest.id)])


def digest_failed_message(*, subject: str, digest_id: UUID, sentence: str, reference: str) -> OutgoingMessage:
    """Render the notice that a run failed; `subject` is the digest's title, `sentence` the reason, both not escaped."""
    text = _("The digest “{title}” failed this time. {reason}").format(
        title=digest_title(subject), reason=escape(shorten(sentence, 1_000))
    )
    shown = _("Reference {reference}").format(reference=code(reference))
    return spoken(section(text), actions(_button(DigestAction.RUN, digest_id)), context(shown))


def digest_stopped_message(digest: Digest, *, reason: str, command: str) -> OutgoingMessage:
    """Render the notice that a digest was stopped; `reason` is a sentence."""
    text = _("*{digest} has stopped.* {reason}").format(digest=digest_name(digest), reason=escape(reason))
    return spoken(section(text), context(_resume_hint(command, digest.number)))


def digest_buttons(digest_id: UUID) -> Block:
    """Return the row of buttons for the owner."""
    return actions(*(_button(action, digest_id) for action in _LABELS))


def home_buttons(digest: Digest) -> Block:
    """Return the owner's buttons below a digest in the home tab or in a list, which depend on the digest's state."""
    change = DigestAction.PAUSE if digest.state is State.ACTIVE else DigestAction.RESUME
    return actions(*(_button(action, digest.id) for action in (DigestAction.RUN, change, DigestAction.DELETE)))


def _header(report: DigestReport) -> Block:
    count, since = len(report.stories), _since(report)
    if since:
        new = ngettext("{count} new story {since}", "{count} new stories {since}", count, since=since)
    else:
        new = ngettext("{count} new story", "{count} new stories", count)
    return context(f"*{digest_title(report.digest.title)}* · {new}")


def _nothing_new(report: DigestReport) -> OutgoingMessage:
    since = _since(report)
    said = _("Nothing new {since}.").format(since=since) if since else _("Nothing new.")
    line = f"*{digest_title(report.digest.title)}* · {said}"
    return spoken(section(line), *_late(report), digest_buttons(report.digest.id))


def _since(report: DigestReport) -> str:
    if report.since is None:
        return ""
    return format_since(report.since, now=report.now, tz=report.digest.spec.schedule.tz)


def _late(report: DigestReport) -> Iterator[Block]:
    if report.trigger is Trigger.LATE:
        tz = report.digest.spec.schedule.tz
        due = _("This is late: it was due on {time} ({zone}).")
        yield context(due.format(time=format_slot(report.slot, tz=tz), zone=escape(tz.key)))


def _button(action: DigestAction, digest_id: UUID) -> Block:
    label = _(_LABELS.get(action) or N_("Resume"))
    action_id, value = f"{ACTION_PREFIX}{action}", str(digest_id)
    if action is DigestAction.DELETE:
        options = [{"text": {"type": "plain_text", "text": label}, "value": value}]
        told = _("Its posts stay. You can’t undo this, but you can set up a new digest.")
        confirm = confirmation(_("Delete this digest?"), told, _("Delete"))
        return {"type": "overflow", "action_id": action_id, "options": options, "confirm": confirm}
    return button(label, action_id, value)


def _not_found(number: int, numbers: Sequence[int]) -> str:
    if not numbers:
        return _("You have no digest {number}. You have none.").format(number=number)
    said = _("You have no digest {number}. Yours is number {yours}.")
    if len(numbers) > 1:
        said = _("You have no digest {number}. Yours are {yours}.")
    return said.format(number=number, yours=listing([*map(str, numbers)]))


def _list_hint(slash: str) -> str:
    return _("`{command} list` shows your digests.").format(command=slash)


def _resume_hint(slash: str, number: int) -> str:
    return _("`{command} resume {number}` resumes it.").format(command=slash, number=number)


def home_blocks(digests: Sequence[Digest]) -> list[Block]:
    """Return blocks for a person's digests, at most `MAX_OWN` of them; no blocks if there are none."""
    shown = [block for one in digests[:MAX_OWN] for block in _own(one)]
    return [header(_("Your digests")), *shown] if shown else []


def _own(one: Digest) -> Iterator[Block]:
    # The line is rich text, because `sanitize_view` allows no mention in mrkdwn. Slack replaces the id by the channel's
    # name for people who may know it.
    direct = one.channel_id.startswith("D")
    place = leaf(_("in our direct messages")) if direct else channel(one.channel_id)
    failed = _("the last one failed, “Run now” tries again") if one.failed else ""
    facts = " · ".join(filter(None, (failed, text_with_zone(one.spec.schedule), next_run_text(one))))
    facts = f"{facts} · " if direct else _("{facts} · in ").format(facts=facts)
    title = leaf(f"{shorten(one_line(one.title), _MAX_HOME_TITLE)}\n") | {"style": {"bold": True}}
    yield rich_line("{title}{facts}{place}", title=title, facts=leaf(facts), place=place)
    yield home_buttons(one)


def workspace_blocks(digests: Sequence[Digest]) -> Iterator[Block]:
    """Yield blocks for everyone's digests, at most `MAX_OF_WORKSPACE` of them, for admins."""
    yield section(_("*Everyone’s digests*") if digests else _("*Everyone’s digests*\nThere are none."))
    yield from workspace_rows(digests[:MAX_OF_WORKSPACE])
    if len(digests) > MAX_OF_WORKSPACE:
        yield context(_("{shown} of {count} are shown.").format(shown=MAX_OF_WORKSPACE, count=len(digests)))


def workspace_rows(digests: Iterable[Digest]) -> list[Block]:
    """Return digests, each with a button that stops it if it is active."""
    told = _("Its owner is told that an admin stopped it, and can resume it.")
    confirm = {"confirm": confirmation(_("Stop this digest?"), told, _("Stop"))}
    blocks: list[Block] = []
    for digest in digests:
        line = {"type": "rich_text_section", "elements": [*_digest_line(digest)]}
        blocks.append({"type": "rich_text", "elements": [line]})
        if digest.state is State.ACTIVE:
            blocks.append(actions(button(_("Stop"), STOP_DIGEST, str(digest.id)) | confirm))
    return blocks


def _digest_line(digest: Digest) -> Iterator[Block]:
    """Yield the details of a digest; Slack fills in the names of the channel and the person, and mentions nobody.

    For a digest in a direct message, only the category is named, since the topic is private.
    """
    private = digest.channel_id.startswith(DIRECT)
    subject = shorten(one_line(_(digest.spec.category.capitalize()) if private else digest.title), 100)
    yield leaf(_("Digest {number}").format(number=digest.number)) | {"style": {"bold": True}}
    yield leaf(_(" of "))
    yield person(digest.owner.user_id)
    facts = (subject, schedule_text(digest), _("the last one failed") if digest.failed else "", next_run_text(digest))
    yield leaf(_(" · {facts} · in ").format(facts=" · ".join(filter(None, facts))))
    yield channel(digest.channel_id)
    if cost := money(format_dollars(digest.cost_usd)):
        yield leaf(_(" · {cost} in 30 days").format(cost=cost))
