"""Renders an answer as messages: the question, notes that affect how to read the text, the text, and the sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.blocks import messages
from bot.blocks.elements import MAX_TEXT, context, notes_block, question_line, quote_question, section, warning_blocks
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.sources import link_url, source_line, source_titles
from bot.blocks.words import warning
from bot.model.message import Audience, Block, OutgoingMessage
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.citations import CitedText, number_citations
from perplexity.notes import fallback_notice
from perplexity.types import Answer, AnswerKind, Passage, Source, shorten_answer, shorten_text

EMPTY = N_("The answer came back empty.")


def passage_blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    """Return the blocks of the quoted passages, and the blocks of the sources, numbered in the order of first use."""
    used = _used_sources(answer.passages, answer.sources)
    numbers = {source.number: place for place, source in enumerate(used, 1)}
    quotes = [
        _quote(text, numbers.get(passage.source), used)
        for passage in answer.passages
        for text in _texts(clean(passage.text))
    ]
    others = [source for source in answer.sources if source.number not in numbers]
    return quotes, source_line(used, others)


def no_model_notice(answer: Answer) -> str:
    """Return a sentence on why an answer has only passages: no answer model is configured, or none answered."""
    return fallback_notice(answer) or _(
        "No answer model is configured, so these are the passages that fit best, word for word."
    )


def _used_sources(passages: Sequence[Passage], sources: Sequence[Source]) -> list[Source]:
    by_number = {source.number: source for source in reversed(sources)}
    first_use = dict.fromkeys(passage.source for passage in passages)
    return [by_number[number] for number in first_use if number in by_number]


def _texts(text: str) -> Iterator[str]:
    yield from (text[start : start + MAX_TEXT] for start in range(0, len(text), MAX_TEXT))


def _quote(text: str, number: int | None, used: Sequence[Source]) -> Block:
    elements: list[Block] = [{"type": "text", "text": f"{text} "}]
    if number is not None:
        label, address = f"[{number}]", link_url(used[number - 1])
        reference = {"type": "link", "url": address} if address else {"type": "text"}
        elements.append(reference | {"text": label})
    return {"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": elements}]}


def answer_messages(answer: Answer, *, audience: Audience, question: str = "") -> tuple[OutgoingMessage, ...]:
    """Render an answer as one message, or as several numbered ones; the last has the sources.

    `question` is quoted above the answer if the answer's readers do not see the question otherwise.
    """
    blocks, titles = render_answer(shorten_answer(answer), original=answer)
    asked, quote = question_line(question, audience), quote_question(question, audience)
    return messages.pack([*asked, *blocks], sources=titles, quote=quote)


def titles_of(answer: Answer) -> str:
    """Return the titles of an answer's sources for the text of its last message."""
    return render_answer(answer)[1]


def render_answer(answer: Answer, *, original: Answer | None = None) -> tuple[list[Block | Part], str]:
    """Return the blocks of the notes, the text and the sources, and the sources' titles for the last message's text.

    If `answer` is only a part of an answer, `original` is the whole one, whose notes are rendered.
    """
    body: Sequence[Block | Part]
    used: Sequence[Source]
    if answer.kind is AnswerKind.PASSAGES and answer.passages:
        used, others = _used_sources(answer.passages, answer.sources), answer.sources
        body, tail = passage_blocks(answer)
    else:
        cited = number_citations(clean(answer.text), answer.sources)
        used, others = cited.sources, cited.others
        body, tail = _text_blocks(cited), source_line(used, others)
    return [*_notes(original or answer), *body, *tail], source_titles(used, others)


def answer_ending(answer: Answer, cited: CitedText) -> tuple[Block, ...]:
    """Return the blocks that follow the text of an answer if the text is already shown: the notes and the sources."""
    return (*_notes(answer), *source_line(cited.sources, cited.others))


def _text_blocks(cited: CitedText) -> Sequence[Block | Part]:
    parts = split_markdown(insert_placeholders(cited), [link_url(source) for source in cited.sources])
    return parts or [section(_(EMPTY))]


def _notes(answer: Answer) -> Iterator[Block]:
    """Yield the notes that affect how to read an answer. The modal with its sources shows the other notes."""
    passages = answer.kind is AnswerKind.PASSAGES and bool(answer.passages)
    notice = no_model_notice(answer) if passages else fallback_notice(answer)
    yield from warning_blocks([notice, answer.as_of, *shorten_text(answer.text)[1]])
    if answer.incomplete is not None:
        reason = escape(shorten(one_line(answer.incomplete), 200))
        named = _("This answer is incomplete: the model stopped early ({reason}).").format(reason=reason)
        yield context(warning(named if reason else _("This answer is incomplete: the model stopped early.")))
    if answer.notes and (notice or not number_citations(clean(answer.text), answer.sources).sources):
        yield from notes_block(answer.notes)
    if not answer.sources and answer.text.strip():
        yield context(_("This answer has no sources, so nothing in it can be checked here."))
