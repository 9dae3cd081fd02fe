"""The public messages of a shared private answer, and their preview; one function makes both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from bot.blocks.answer import render_answer, titles_of
from bot.blocks.elements import context, quote_question
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.render import Part
from bot.blocks.markdown.rich_text import rich_text_blocks
from bot.blocks.messages import pack, strip_markdown
from bot.blocks.sources import result_blocks
from bot.blocks.words import ago
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import Result, SearchPage
from bot.translation import ENGLISH, speaking
from bot.translation import gettext as _
from perplexity.citations import drop_markers, number_citations
from perplexity.markdown import BlockKind, Document, parse
from perplexity.types import Answer, AnswerKind, Passage, Query, Source, shorten_answer

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
    """Return the sections, at most ten: the text below each top heading, otherwise paragraphs, passages or results."""
    if isinstance(result, SearchPage):
        pages = [Section(label=_label(one.title or one.url), results=(one,)) for one in result.results.results]
        return tuple(_joined(group) for group in _groups(pages, MAX_SECTIONS))
    answer = shorten_answer(result)
    if answer.kind is AnswerKind.PASSAGES and answer.passages:
        quotes = [Section(label=_label(one.text), passages=(one,)) for one in answer.passages]
        return tuple(_joined(group) for group in _groups(quotes, MAX_SECTIONS))
    document = parse(clean(answer.text))
    return tuple(Section(label=_label(_beginning(text, answer.sources)), text=text) for text in _texts(document))


def _beginning(text: str, sources: Sequence[Source]) -> str:
    """Return the first block of a section, such as its heading, without markup; the whole text if that is empty."""
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
    grouped = [group[0] for group in _groups(starts, MAX_SECTIONS)]
    texts = (document.stretch(start, end) for start, end in pairwise([0, *grouped[1:], len(document.lines) - 1]))
    return [text for text in texts if text.strip()]


def _level(markup: str) -> int:
    return len(markup) if markup.startswith("#") else "=-".index(markup[0]) + 1


def _groups(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """Group neighbours into at most this many groups of similar size."""
    count = min(most, len(items))
    return [items[place * len(items) // count : (place + 1) * len(items) // count] for place in range(count)]


def _joined(group: Sequence[Section]) -> Section:
    first, more = group[0], len(group) - 1
    return Section(
        label=_("{first} + {more} more").format(first=shorten(first.label, MAX_LABEL - 12), more=more)
        if more
        else first.label,
        passages=tuple(passage for one in group for passage in one.passages),
        results=tuple(source for one in group for source in one.results),
    )


def _label(text: str) -> str:
    return shorten(one_line(text), MAX_LABEL) or "…"


def shareable_sections(shared: SharedAnswer) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    """Return the first sections, which a preview can show together, and the others, which cannot be shared."""
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

    Sections come with their own sources.
    """
    with speaking(shared.language):
        result = shared.result if chosen is None else _only(shared.result, chosen)
        if isinstance(result, SearchPage):
            body: Sequence[Block | Part] = result_blocks(result.results, query=shared.query)
        else:
            original = shared.result if isinstance(shared.result, Answer) else result
            body, __ = render_answer(shorten_answer(result), original=original)
        words = clean(comment).strip()[:MAX_COMMENT]
        return [context(_head(shared)), *([_comment(words)] if words else []), *body]


def _only(result: Result, chosen: Iterable[Section]) -> Result:
    """Return an answer made of the chosen sections."""
    sections = tuple(chosen)
    if isinstance(result, SearchPage):
        pages = tuple(page for section in sections for page in section.results)
        return SearchPage(results=replace(result.results, results=pages))
    passages = tuple(passage for section in sections for passage in section.passages)
    text = "\n\n".join(section.text for section in sections)
    if passages:
        used = {passage.source for passage in passages}
        sources = tuple(source for source in result.sources if source.number in used)
    else:
        cited = number_citations(clean(result.text), result.sources).sources
        # If the answer has markers, only the sources that the chosen sections cite are listed, otherwise all.
        sources = number_citations(text, result.sources).sources if cited else result.sources
    return replace(result, text=text, passages=passages, sources=sources)


def _head(shared: SharedAnswer) -> str:
    """Return the question and who shares its answer, with its age if it is more than an hour."""
    by = escape(shorten(one_line(shared.by), 80))
    asked = _("asked {time}").format(time=ago(shared.asked)) if shared.asked >= HOUR else ""
    said = _("shared by *{person}*").format(person=by)
    return " · ".join(filter(None, (quote_question(shared.query.text, Audience.CHANNEL), said, asked)))


def preview_blocks(blocks: Sequence[Block | Part]) -> list[Block]:
    """Return the blocks of a message for a modal, with every word and every link."""
    shown = _preview(blocks, few=False)
    return shown if len(shown) <= MAX_PREVIEW_BLOCKS else _preview(blocks, few=True)


def _preview(blocks: Sequence[Block | Part], *, few: bool) -> list[Block]:
    return [
        shown
        for block in blocks
        for shown in (rich_text_blocks(block.text, few=few) if isinstance(block, Part) else [block])
    ]


def shared_messages(
    shared: SharedAnswer, chosen: Sequence[Section] | None, *, comment: str
) -> tuple[OutgoingMessage, ...]:
    """Return the public messages: the content of the preview, with the comment as the asker's own words."""
    result = shared.result if chosen is None else _only(shared.result, chosen)
    titles = titles_of(result) if isinstance(result, Answer) else ""
    return pack(shared_blocks(shared, chosen, comment=comment), sources=titles)


def _comment(words: str) -> Block:
    """Quote the comment as text in which nothing is a mention or a link."""
    text = {"type": "text", "text": words}
    return {"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": [text]}]}
