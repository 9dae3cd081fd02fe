"""An answer as messages: the text after what changes how it is to be read, then its sources, then how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.blocks import messages
from bot.blocks.elements import MAX_TEXT, context, footer, note_lines, quote_question, section, warning_blocks
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.sources import link_url, source_blocks
from bot.blocks.words import warning
from bot.model.message import Audience, Block, OutgoingMessage
from perplexity.attempts import cost_with_failures
from perplexity.citations import CitedText, number_citations
from perplexity.figures import check_figures
from perplexity.formatting import pluralize
from perplexity.notes import NO_MODEL, fallback_notice
from perplexity.types import Answer, AnswerKind, Passage, Source
from perplexity.validation import shorten_answer

EMPTY = "The answer came back empty."


def passage_blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    """Return quotes, and the sources. Sources are numbered by first use."""
    used = _used_sources(answer.passages, answer.sources)
    numbers = {source.number: place for place, source in enumerate(used, 1)}
    quotes = [
        _quote(text, numbers.get(passage.source), used)
        for passage in answer.passages
        for text in _texts(clean(passage.text))
    ]
    others = [source for source in answer.sources if source.number not in numbers]
    return quotes, source_blocks(used, others)


def no_model_notice(answer: Answer) -> str:
    """Return why there are only passages: no answer model is configured, or those that are did not answer."""
    return (
        fallback_notice(answer)
        or f"{NO_MODEL.removesuffix('.')}, so these are the passages that fit best, word for word."
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
    """Render an answer as one message, or as several numbered ones; the last has the sources and the footer.

    `question` is the question, which a private answer quotes.
    """
    shown = render_answer(shorten_answer(answer))
    blocks = [*shown.blocks, _footer(answer, shown.cited, audience, question)]
    summary = pluralize(len(answer.sources), "source")
    return messages.pack(blocks, summary=summary, quote=quote_question(question, audience))


@dataclass(frozen=True, kw_only=True)
class RenderedAnswer:
    """An answer without its footer: `blocks` in order, how many sources they list, and its text; None for passages."""

    blocks: Sequence[Block | Part]
    listed: int
    cited: CitedText | None


def render_answer(answer: Answer, *, original: Answer | None = None) -> RenderedAnswer:
    """Render the warnings, the text, the sources and the notes; of a part of an answer those of the `original`."""
    original = original or answer
    passages = answer.kind is AnswerKind.PASSAGES and bool(answer.passages)
    body: Sequence[Block | Part]
    if passages:
        body, tail = passage_blocks(answer)
        listed, cited = len(answer.sources), None
    else:
        cited = number_citations(clean(answer.text), answer.sources)
        body, tail = _text_blocks(cited), source_blocks(cited.sources, cited.others)
        listed = len(cited.sources or cited.others)
    notes = [context(note) for note in _notes(original)]
    above = warning_blocks([no_model_notice(original) if passages else fallback_notice(original), original.as_of])
    return RenderedAnswer(blocks=[*above, *body, *tail, *notes], listed=listed, cited=cited)


def answer_ending(answer: Answer, cited: CitedText, *, audience: Audience, question: str = "") -> tuple[Block, ...]:
    """Return what follows an answer whose text is shown already: warnings, sources, notes and the footer."""
    above = warning_blocks([fallback_notice(answer), answer.as_of])
    notes = [context(note) for note in _notes(answer)]
    sources = source_blocks(cited.sources, cited.others)
    return (*above, *sources, *notes, _footer(answer, cited, audience, question))


def _text_blocks(cited: CitedText) -> Sequence[Block | Part]:
    parts = split_markdown(insert_placeholders(cited), [link_url(source) for source in cited.sources])
    return parts or [section(EMPTY)]


def _notes(answer: Answer) -> Iterator[str]:
    if answer.incomplete is not None:
        reason = escape(shorten(one_line(answer.incomplete), 200))
        yield warning(f"This answer is incomplete: the model stopped early{f' ({reason})' if reason else ''}.")
    if not answer.sources and answer.text.strip():
        yield "This answer has no sources, so nothing in it can be checked here."
    yield from note_lines(answer.notes)


def _footer(answer: Answer, cited: CitedText | None, audience: Audience, question: str) -> Block:
    return footer(
        answer.provider,
        effort=answer.effort or answer.model,
        seconds=answer.seconds,
        cost_usd=cost_with_failures(answer.usage.cost_usd, answer.failed),
        extra=() if cited is None else doubts(cited),
        audience=audience,
        question=question,
    )


def references_removed(count: int) -> str:
    """Return how many citations led nowhere."""
    return f"{pluralize(count, 'reference')} without a source removed"


def doubts(cited: CitedText) -> Iterator[str]:
    """Yield what was removed from an answer's text, and what of it cannot be found in the excerpts of its sources."""
    if cited.dangling:
        yield references_removed(cited.dangling)
    if missing := sum(len(sentence.not_found) for sentence in check_figures(cited)):
        yield f"{pluralize(missing, 'figure')} not in the excerpts"
