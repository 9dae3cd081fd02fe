"""Share: a preview of a private answer; its asker leaves out sections, adds a comment, then posts it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any
from uuid import UUID

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import SHARE, is_undo
from bot.blocks.elements import context as context_block
from bot.blocks.escaping import escape, shorten
from bot.blocks.words import warning
from bot.commands.help import text_message
from bot.commands.search import SearchRequest
from bot.features.sharing.posting import Share, ShareState, Sharing
from bot.features.sharing.rendering import (
    MAX_COMMENT,
    Section,
    SharedAnswer,
    preview_blocks,
    shareable_sections,
    shared_blocks,
    shared_messages,
)
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    TEXT_DELETED,
    UNKNOWN_ANSWER,
    UNNAMED_CHANNELS,
    Click,
    ClickReply,
    TextDeleted,
    button,
    clicked_question,
    command_of,
    find_question,
    is_public,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Block, OutgoingMessage
from bot.model.question import KeptResult, QuestionRow, SearchPage
from bot.slack.views import NotOpened, View
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import ENGLISH, N_, language_of
from bot.translation import gettext as _
from bot.views.base import MAX_TITLE, Response, Submission, changes, errors, modal, open_for_click, shows, submission
from bot.views.forms import checkboxes, choice, input_block, text_input
from perplexity.threads import run_in_thread_if_long
from perplexity.types import Query

log = logging.getLogger(__name__)

CALLBACK_ID = "share_modal"
COMMENT, PARTS = "comment", "parts"

_TITLE = N_("Share this answer")
ALREADY_PUBLIC = N_("Everyone here sees this answer already.")
ALREADY_SHARED = N_("You’ve shared this answer already.")
MAYBE_SHARED = N_("You’ve shared this answer already, but Slack didn’t confirm it. Look in the channel.")
TOO_LONG = N_("This answer is too long for a preview, so I can’t share it. Ask for a shorter one, and share that.")
TOO_LATE_TO_UNDO = N_("It’s too late to undo this share. An admin can delete the post.")
NO_PARTS = N_("Choose at least one part.")
_NOTHING_CHOSEN = N_("Nothing is chosen, so nothing would be shared.")


@dataclass(frozen=True, kw_only=True)
class _Opened:
    """The state of an open view, which is kept in its metadata.

    `by`, `asked` and `language` are the asker's name, the question's age in seconds and the language for the preview.
    `response_url` is that of the click, and `posts_there` is whether it leads to the question's channel. `shown` are
    the places of the sections that the preview shows.
    """

    question: UUID
    by: str
    asked: int
    channel: str
    response_url: str = field(repr=False)
    posts_there: bool
    language: str = ENGLISH
    shown: tuple[int, ...] = ()

    @property
    def metadata(self) -> dict[str, Any]:
        """The state as values of JSON, for the view's metadata."""
        return vars(self) | {"question": str(self.question)}

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> _Opened | None:
        """Return the state from a view's metadata; None if another version of the app has written it."""
        try:
            opened = cls(**metadata)
            shown = tuple(map(int, opened.shown))
            return replace(opened, question=UUID(str(opened.question)), asked=int(opened.asked), shown=shown)
        except (TypeError, ValueError):
            return None

    @property
    def place(self) -> str:
        """The asker's name for the channel."""
        return f"#{self.channel}" if self.channel else _("that channel")


def register(app: AsyncApp, context: ListenerContext, *, shares: Sharing) -> None:
    """Listen to the button below an answer, to the checkboxes of the view, and to its submission."""
    button(app, context, SHARE, partial(share_or_undo, shares=shares))
    submission(app, context, CALLBACK_ID, partial(share_answer, shares=shares), first_input=COMMENT)
    changes(app, context, (PARTS,), start_update)


async def share_or_undo(click: Click, context: ListenerContext, *, shares: Sharing) -> ClickReply | None:
    """Open the preview, or delete a share of the last minute for the asker."""
    return await (undo if is_undo(click.action) else open_share)(click, context, shares=shares)


async def undo(click: Click, context: ListenerContext, *, shares: Sharing) -> ClickReply | None:
    """Start deleting a share of the last minute; say so if it is too late."""
    row = await clicked_question(click, context, needs_text=False)
    if row is not None and not click.is_by_asker(row):
        return text_reply(_(NOT_YOUR_ANSWER))
    channel_id, *stamps = click.choice.split(":")
    if row is None or not await shares.store.take_back(row.id, channel_id):
        return ClickReply(message=text_message(_(TOO_LATE_TO_UNDO)), replaces=True)
    context.start(shares.delete(channel_id, stamps, response_url=click.response_url))
    return None


async def open_share(click: Click, context: ListenerContext, *, shares: Sharing) -> ClickReply | None:
    """Open the preview for the asker of a private answer that is not shared yet."""
    row = await clicked_question(click, context)
    kept = await context.questions.result(row.id) if row is not None else None
    if row is None or kept is None:
        return text_reply(_(UNKNOWN_ANSWER))
    if not click.is_by_asker(row):
        return text_reply(_(NOT_YOUR_ANSWER))
    if not _is_private(row, context):
        return text_reply(_(ALREADY_PUBLIC))
    if (state := await shares.store.state(row.id, row.channel_id)) is not None:
        return text_reply(_already(state))
    posts_there = click.channel == row.channel_id
    of_place = await context.preferences.get(team_id=row.team_id, user_id=row.user_id, channel_id=row.channel_id)
    opened = _Opened(
        question=row.id,
        by=shorten(click.user_name, 80) or _("a member"),
        asked=int(monotonic() - row.received),
        channel="" if click.channel_name in UNNAMED_CHANNELS or not posts_there else click.channel_name,
        response_url=click.response_url or "",
        posts_there=posts_there,
        language=language_of(of_place.channel.language),
    )
    view = await _in_thread(kept, share_view, _shared(row, kept, opened, context), opened)
    if view is None:
        return text_reply(_(TOO_LONG))
    return await open_for_click(click, context, view, on_top=click.in_modal)


def share_view(shared: SharedAnswer, opened: _Opened, chosen: Collection[int] | None = None) -> View | None:
    """Build the view, by default with every section chosen; None if the preview cannot show even the first."""
    sections, others = shareable_sections(shared)
    if not sections:
        return None
    everything = range(len(sections))
    places = everything if chosen is None else [place for place in everything if place in chosen]
    title = _("Share in #{channel}").format(channel=opened.channel) if opened.channel else _(_TITLE)
    blocks: list[Block] = [_comment_input()]
    if len(sections) > 1:
        blocks.append(_parts_input(sections, places))
    blocks += [{"type": "divider"}, context_block(_("Preview, without your comment"))]
    if others:
        names = ", ".join(f"“{escape(shorten(section.label, 60))}”" for section in others)
        said = _("Too long for one share, so these are left out: {names}").format(names=names)
        blocks.append(context_block(warning(said)))
    blocks += (
        preview_blocks(shared_blocks(shared, _chosen(sections, others, places)))
        if places
        else [context_block(_(_NOTHING_CHOSEN))]
    )
    return modal(
        CALLBACK_ID,
        title if len(title) <= MAX_TITLE else _(_TITLE),
        blocks,
        submit=_("Share"),
        close=_("Cancel"),
        metadata=replace(opened, shown=tuple(places)).metadata,
    )


def _comment_input() -> Block:
    element = text_input(COMMENT, multiline=True, max_length=MAX_COMMENT, placeholder=_("Say why you share it"))
    return input_block(COMMENT, _("Your comment"), element, optional=True)


def _parts_input(sections: Sequence[Section], chosen: Collection[int]) -> Block:
    options = [choice(str(place), section.label) for place, section in enumerate(sections)]
    element = checkboxes(PARTS, options, chosen=map(str, chosen))
    return input_block(PARTS, _("What to share"), element, optional=True, dispatch=True)


def _chosen(
    sections: Sequence[Section], others: Sequence[Section], places: Collection[int]
) -> Sequence[Section] | None:
    """Return the chosen sections; None if they are the whole answer."""
    whole = not others and len(places) == len(sections)
    return None if whole else [sections[place] for place in sorted(places)]


async def start_update(changed: Submission, context: ListenerContext) -> None:
    """Start updating the preview, to show the current choice."""
    context.start(_update_preview(changed, context))


async def _update_preview(changed: Submission, context: ListenerContext) -> None:
    """Show the current choice, unless it has changed again in the meantime. Raises nothing."""
    try:
        found = await _find(changed, context)
    except DATABASE_UNAVAILABLE as error:
        log.warning("view.not_updated", extra={"error": type(error).__name__, "view": CALLBACK_ID})
        return
    if isinstance(found, str):
        return
    shared, opened, _, kept = found
    view = await _in_thread(kept, share_view, shared, opened, _places(changed))
    if view is None:
        return
    result = await context.views.update(changed.view_id, view, hash=changed.view_hash)
    if isinstance(result, NotOpened):
        log.warning("view.not_updated", extra={"error": result.error, "view": CALLBACK_ID})


async def share_answer(submitted: Submission, context: ListenerContext, *, shares: Sharing) -> Response | None:
    """Post the chosen sections once, for the asker. If the preview shows other sections, only update the preview."""
    found = await _find(submitted, context)
    if isinstance(found, str):
        return errors(**{COMMENT: found})
    shared, opened, row, kept = found
    places = _places(submitted)
    if places is not None and places != set(opened.shown):
        # The last update of the preview failed, or is still in progress.
        view = await _in_thread(kept, share_view, shared, opened, places)
        return errors(**{COMMENT: _(TOO_LONG)}) if view is None else shows(view)
    comment = str(submitted.value(COMMENT) or "")
    messages = await _in_thread(kept, _messages, shared, places, comment)
    if not messages:
        return errors(**{PARTS: _(NO_PARTS)})
    share = Share(
        question_id=row.id,
        user_id=row.user_id,
        channel_id=row.channel_id,
        channel=opened.place,
        messages=messages,
        response_url=opened.response_url or None,
        posts_there=opened.posts_there,
    )
    if not await shares.store.begin(share.question_id, share.channel_id):
        state = await shares.store.state(row.id, row.channel_id)
        return errors(**{COMMENT: _(UNKNOWN_ANSWER) if state is None else _already(state)})
    context.start(shares.post(share))
    return None


def _messages(shared: SharedAnswer, places: Collection[int] | None, comment: str) -> tuple[OutgoingMessage, ...]:
    """Return the messages to post, with the chosen sections, all if `places` is None; empty if none is chosen."""
    sections, others = shareable_sections(shared)
    wanted = range(len(sections)) if places is None else [place for place in places if place < len(sections)]
    return shared_messages(shared, _chosen(sections, others, wanted), comment=comment) if wanted else ()


async def _find(
    submitted: Submission, context: ListenerContext
) -> tuple[SharedAnswer, _Opened, QuestionRow, KeptResult] | str:
    """Return the answer of a view, the view's state, the question and its result.

    Return a sentence if the answer is gone, or if it is not an answer that the person can share.
    """
    opened = _Opened.of(submitted.metadata)
    try:
        row = await find_question(opened.question, context) if opened is not None else None
    except TextDeleted:
        return _(TEXT_DELETED)
    kept = await context.questions.result(row.id) if row is not None else None
    if opened is None or row is None or kept is None:
        return _(UNKNOWN_ANSWER)
    if row.user_id != submitted.user or row.team_id not in submitted.teams or not _is_private(row, context):
        return _(NOT_YOUR_ANSWER)
    return _shared(row, kept, opened, context), opened, row, kept


def _is_private(row: QuestionRow, context: ListenerContext) -> bool:
    """Return whether the question was asked by a command or a click, and only the asker sees the answer."""
    return row.surface in {"slash", "click"} and not is_public(row, context.commands)


def _shared(row: QuestionRow, kept: KeptResult, opened: _Opened, context: ListenerContext) -> SharedAnswer:
    command = command_of(row, context.commands)
    request = command.parse(row.text) if command is not None and isinstance(kept.result, SearchPage) else None
    question = command.parse_question_text(row.text) if command is not None else ""
    query = request.query if isinstance(request, SearchRequest) else Query(text=question)
    return SharedAnswer(result=kept.result, query=query, by=opened.by, asked=opened.asked, language=opened.language)


def _places(submitted: Submission) -> set[int] | None:
    """Return the places of the chosen sections; None if the view has no checkboxes, so that all sections are shared."""
    if not any(block.get("block_id") == PARTS for block in submitted.view.get("blocks") or ()):
        return None
    return {int(value) for value in submitted.value(PARTS) or () if str(value).isdecimal()}


async def _in_thread(kept: KeptResult, call: Any, *arguments: Any) -> Any:
    """Call a function in a thread if the answer is long."""
    length = len(kept.result.text) if not isinstance(kept.result, SearchPage) else 0
    return await run_in_thread_if_long(length, call, *arguments)


def _already(state: ShareState) -> str:
    return _(ALREADY_SHARED if state is ShareState.POSTED else MAYBE_SHARED)
