"""Share: a preview of a private answer, in which the asker chooses sections and adds a comment before posting it.

`shared_blocks` renders the content of both the preview and the public messages.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import SHARE, is_undo, render_answer, titles_of
from bot.blocks.elements import context as context_block
from bot.blocks.elements import divider, quote_question
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.render import Part
from bot.blocks.markdown.rich_text import rich_text_blocks
from bot.blocks.messages import pack, strip_markdown
from bot.blocks.sources import result_blocks
from bot.blocks.words import ago, warning
from bot.commands.help import text_message
from bot.commands.search import SearchRequest
from bot.features.sharing.posting import Share, ShareState, Sharing
from bot.listeners.clicks import (
    NOT_YOUR_ANSWER,
    TEXT_DELETED,
    UNKNOWN_ANSWER,
    UNNAMED_CHANNELS,
    Click,
    ClickReply,
    TextDeleted,
    button,
    command_of,
    find_question,
    is_public,
    text_reply,
)
from bot.listeners.context import ListenerContext
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import KeptResult, QuestionRow, Result, SearchPage
from bot.slack.views import NotOpened, View
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.translation import ENGLISH, N_, language_of, speaking
from bot.translation import gettext as _
from bot.views.base import MAX_TITLE, Response, Submission, changes, errors, modal, open_for_click, shows, submission
from bot.views.forms import checkboxes, choice, input_block, text_input
from perplexity.citations import drop_markers, number_citations
from perplexity.markdown import BlockKind, Document, parse
from perplexity.threads import run_in_thread_if_long
from perplexity.types import Answer, AnswerKind, Passage, Query, Source, shorten_answer

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
    """The state of an open view, kept in the view's metadata.

    `by`, `asked` and `language` are the asker's name, the question's age in seconds and the language for the preview.
    `response_url` is the response_url of the click, and `posts_there` is whether the click was in the question's
    channel. `shown` are the positions, from 0, of the sections that the preview shows.
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
        """The channel as notices to the asker name it: by its name with `#`, or as "that channel"."""
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
    """Start deleting a share that was posted within the last minute; if it is older, reply that it is too late."""
    row = await find_question(click.id, context, needs_text=False)
    if row is not None and not click.is_by_asker(row):
        return text_reply(_(NOT_YOUR_ANSWER))
    channel_id, *stamps = click.choice.split(":")
    if row is None or not await shares.store.take_back(row.id, channel_id):
        return ClickReply(message=text_message(_(TOO_LATE_TO_UNDO)), replaces=True)
    context.start(shares.delete(channel_id, stamps, response_url=click.response_url))
    return None


async def open_share(click: Click, context: ListenerContext, *, shares: Sharing) -> ClickReply | None:
    """Open the preview for the asker of a private answer that is not shared yet."""
    row = await find_question(click.id, context)
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
    view = await _in_thread(share_view, _shared(row, kept, opened, context), opened)
    if view is None:
        return text_reply(_(TOO_LONG))
    return await open_for_click(click, context, view, on_top=click.in_modal)


def share_view(shared: SharedAnswer, opened: _Opened, chosen: Collection[int] | None = None) -> View | None:
    """Build the view, by default with every section chosen; None if not even the first section fits."""
    sections, others = shareable_sections(shared)
    if not sections:
        return None
    everything = range(len(sections))
    places = everything if chosen is None else [place for place in everything if place in chosen]
    title = _("Share in #{channel}").format(channel=opened.channel) if opened.channel else _(_TITLE)
    comment = text_input(COMMENT, multiline=True, max_length=MAX_COMMENT, placeholder=_("Say why you share it"))
    blocks = [input_block(COMMENT, _("Your comment"), comment, optional=True)]
    if len(sections) > 1:
        parts = [choice(str(place), section.label) for place, section in enumerate(sections)]
        element = checkboxes(PARTS, parts, chosen=map(str, places))
        blocks.append(input_block(PARTS, _("What to share"), element, optional=True, dispatch=True))
    blocks += [divider(), context_block(_("Preview, without your comment"))]
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
    shared, opened, _ = found
    view = await _in_thread(share_view, shared, opened, _places(changed))
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
    shared, opened, row = found
    places = _places(submitted)
    if places is not None and places != set(opened.shown):
        # The last update of the preview failed, or is still in progress.
        view = await _in_thread(share_view, shared, opened, places)
        return errors(**{COMMENT: _(TOO_LONG)}) if view is None else shows(view)
    comment = str(submitted.value(COMMENT) or "")
    messages = await _in_thread(_messages, shared, places, comment)
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
    """Return the messages that share the sections at `places`, or all shareable sections if `places` is None.

    Return an empty tuple if there is no such section.
    """
    sections, others = shareable_sections(shared)
    wanted = range(len(sections)) if places is None else [place for place in places if place < len(sections)]
    return shared_messages(shared, _chosen(sections, others, wanted), comment=comment) if wanted else ()


async def _find(submitted: Submission, context: ListenerContext) -> tuple[SharedAnswer, _Opened, QuestionRow] | str:
    """Return the answer of a view, the view's state and the question.

    Return a sentence instead if the answer is gone, or if the person cannot share it.
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
    return _shared(row, kept, opened, context), opened, row


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
    """Return the positions of the chosen sections; None if the view has no checkboxes: all sections are then shared."""
    if not any(block.get("block_id") == PARTS for block in submitted.view.get("blocks") or ()):
        return None
    return {int(value) for value in submitted.value(PARTS) or () if str(value).isdecimal()}


async def _in_thread(call: Any, shared: SharedAnswer, *arguments: Any) -> Any:
    """Call a function with the answer as its first argument; use a thread if the answer is long."""
    length = len(shared.result.text) if isinstance(shared.result, Answer) else 0
    return await run_in_thread_if_long(length, call, shared, *arguments)


def _already(state: ShareState) -> str:
    return _(ALREADY_SHARED if state is ShareState.POSTED else MAYBE_SHARED)


MAX_SECTIONS = 10
"""The most checkboxes. https://docs.slack.dev/reference/block-kit/block-elements/checkboxes-element"""

MAX_LABEL = 75
MAX_COMMENT = 3_000

MAX_MESSAGES = 4
"""The most messages of a share: a response_url has five uses, and the last one is for a notice to the asker."""

MAX_PREVIEW_BLOCKS = 90
MAX_PREVIEW_SIZE = 200_000
"""The most characters of the preview as JSON; a view may have 250 KB. https://docs.slack.dev/reference/views"""

MAX_TEXT = 40_000
"""The most characters of all sections; more do not fit into the messages, whatever they contain."""


HOUR = 3600.0

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of an answer that can be left out: a piece of its text, or some of its passages or results."""

    label: str
    text: str = ""
    passages: tuple[Passage, ...] = ()
    results: tuple[Source, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SharedAnswer:
    """An answer to share: the result, the question, the person who shares it, and the question's age in seconds.

    `language` is the channel's, for the texts around the answer, as in `bot.translation`.
    """

    result: Result
    query: Query
    by: str
    asked: float
    language: str = ENGLISH


def split_sections(result: Result) -> tuple[Section, ...]:
    """Return at most ten sections: search results, passages, or the parts of a text.

    A text is split at its headings of the highest level if it has several, otherwise at its paragraphs and headings.
    """
    if isinstance(result, SearchPage):
        pages = [Section(label=_label(one.title or one.url), results=(one,)) for one in result.results.results]
        return tuple(map(_joined, _groups(pages)))
    answer = shorten_answer(result)
    if answer.kind is AnswerKind.PASSAGES and answer.passages:
        quotes = [Section(label=_label(one.text), passages=(one,)) for one in answer.passages]
        return tuple(map(_joined, _groups(quotes)))
    document = parse(clean(answer.text))
    return tuple(Section(label=_label(_beginning(text, answer.sources)), text=text) for text in _texts(document))


def _beginning(text: str, sources: Sequence[Source]) -> str:
    """Return the first block of a text, such as a heading, without markup; the whole text if the block is empty."""
    first = parse(text.strip()).blocks[:1]
    return strip_markdown(drop_markers(first[0].content if first and first[0].content else text, sources))


def _texts(document: Document) -> list[str]:
    """Return the sections of a text; each of its lines is in one section."""
    blocks = [block for block in document.blocks if block.depth == 0]
    headings = [block for block in blocks if block.kind is BlockKind.HEADING]
    top = min((_level(block.markup) for block in headings), default=0)
    starts = [block.start for block in headings if _level(block.markup) == top]
    if len(starts) < 2:
        # A list, a table or a quotation belongs to the words above it.
        starts = [block.start for block in blocks if block.kind in {BlockKind.PARAGRAPH, BlockKind.HEADING}]
    if blocks and blocks[0].start not in starts[:1]:
        starts.insert(0, blocks[0].start)
    grouped = [group[0] for group in _groups(starts)]
    texts = (document.stretch(start, end) for start, end in pairwise([0, *grouped[1:], len(document.lines) - 1]))
    return [text for text in texts if text.strip()]


def _level(markup: str) -> int:
    return len(markup) if markup.startswith("#") else "=-".index(markup[0]) + 1


def _groups(items: Sequence[T]) -> list[Sequence[T]]:
    """Group neighbours into at most `MAX_SECTIONS` groups of similar size."""
    count = min(MAX_SECTIONS, len(items))
    return [items[place * len(items) // count : (place + 1) * len(items) // count] for place in range(count)]


def _joined(group: Sequence[Section]) -> Section:
    label, more = group[0].label, len(group) - 1
    if more:
        label = _("{first} + {more} more").format(first=shorten(label, MAX_LABEL - 12), more=more)
    return Section(
        label=label,
        passages=tuple(passage for one in group for passage in one.passages),
        results=tuple(source for one in group for source in one.results),
    )


def _label(text: str) -> str:
    return shorten(one_line(text), MAX_LABEL) or "…"


def shareable_sections(shared: SharedAnswer) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    """Return as many of the first sections as one share can contain, and the other sections, which are left out."""
    sections = split_sections(shared.result)
    count = len(sections)
    while count and not _fits(shared, sections, count):
        count -= 1
    return sections[:count], sections[count:]


def _fits(shared: SharedAnswer, sections: Sequence[Section], count: int) -> bool:
    chosen = sections[:count]
    if sum(len(section.text) for section in chosen) > MAX_TEXT:
        return False
    blocks = shared_blocks(shared, None if count == len(sections) else chosen)
    preview = preview_blocks(blocks)
    small = len(preview) <= MAX_PREVIEW_BLOCKS and len(json.dumps(preview)) <= MAX_PREVIEW_SIZE
    return small and len(pack([_comment("x" * MAX_COMMENT), *blocks])) <= MAX_MESSAGES


def shared_blocks(shared: SharedAnswer, chosen: Sequence[Section] | None, *, comment: str = "") -> list[Block | Part]:
    """Return the public blocks: the question, the comment, and all of the answer or the `chosen` sections.

    With `chosen`, sources that only other sections cite are left out.
    """
    with speaking(shared.language):
        result = shared.result if chosen is None else _only(shared.result, chosen)
        if isinstance(result, SearchPage):
            body: Sequence[Block | Part] = result_blocks(result.results, query=shared.query)
        else:
            original = shared.result if isinstance(shared.result, Answer) else result
            body, __ = render_answer(shorten_answer(result), original=original)
        words = clean(comment).strip()[:MAX_COMMENT]
        return [context_block(_head(shared)), *([_comment(words)] if words else []), *body]


def _only(result: Result, chosen: Sequence[Section]) -> Result:
    """Return an answer made of the chosen sections."""
    joined = _joined(chosen)
    if isinstance(result, SearchPage):
        return SearchPage(results=replace(result.results, results=joined.results))
    text = "\n\n".join(section.text for section in chosen)
    if joined.passages:
        used = {passage.source for passage in joined.passages}
        sources = tuple(source for source in result.sources if source.number in used)
    else:
        cited = number_citations(clean(result.text), result.sources).sources
        # If the answer has markers, only the sources that the chosen sections cite are listed, otherwise all.
        sources = number_citations(text, result.sources).sources if cited else result.sources
    return replace(result, text=text, passages=joined.passages, sources=sources)


def _head(shared: SharedAnswer) -> str:
    """Return a line with the question, the person who shares, and the question's age if it is an hour or more."""
    by = escape(shorten(one_line(shared.by), 80))
    asked = _("asked {time}").format(time=ago(shared.asked)) if shared.asked >= HOUR else ""
    said = _("shared by *{person}*").format(person=by)
    return " · ".join(filter(None, (quote_question(shared.query.text, Audience.CHANNEL), said, asked)))


def preview_blocks(blocks: Sequence[Block | Part], *, few: bool = False) -> list[Block]:
    """Return the blocks of a message as blocks for a modal, with every word and every link.

    If they are too many, or with `few`, several paragraphs are joined in each block.
    """
    shown: list[Block] = []
    for block in blocks:
        shown += rich_text_blocks(block.text, few=few) if isinstance(block, Part) else [block]
    return shown if few or len(shown) <= MAX_PREVIEW_BLOCKS else preview_blocks(blocks, few=True)


def shared_messages(
    shared: SharedAnswer, chosen: Sequence[Section] | None, *, comment: str
) -> tuple[OutgoingMessage, ...]:
    """Return the public messages: the content of the preview, with the asker's comment."""
    result = shared.result if chosen is None else _only(shared.result, chosen)
    titles = titles_of(result) if isinstance(result, Answer) else ""
    return pack(shared_blocks(shared, chosen, comment=comment), sources=titles)


def _comment(words: str) -> Block:
    """Quote the comment as text in which nothing is a mention or a link."""
    text = {"type": "text", "text": words}
    return {"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": [text]}]}
