"""Passages as quotes, word for word, and the notice that no model wrote an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.blocks.base import Block
from bot.blocks.elements import LONGEST_TEXT
from bot.blocks.escaping import clean
from bot.blocks.sources import address_of, source_blocks
from perplexity.stand_in import NO_MODEL, stand_in
from perplexity.types import Answer, Passage, Source

_WHAT = "so these are the passages that fit best, word for word."


def passage_blocks(answer: Answer) -> tuple[list[Block], list[Block]]:
    """Return quotes, and the sources. Sources are numbered by first use."""
    used = _used(answer.passages, answer.sources)
    numbers = {source.number: place for place, source in enumerate(used, 1)}
    quotes = [
        _quote(text, numbers.get(passage.source), used)
        for passage in answer.passages
        for text in _texts(clean(passage.text))
    ]
    others = [source for source in answer.sources if source.number not in numbers]
    return quotes, source_blocks(used, others)


def notice(answer: Answer) -> str:
    """Return why there are only passages: no answer model is configured, or those that are did not answer."""
    return stand_in(answer) or f"{NO_MODEL.removesuffix('.')}, {_WHAT}"


def _used(passages: Sequence[Passage], sources: Sequence[Source]) -> list[Source]:
    by_number = {source.number: source for source in reversed(sources)}
    first_use = dict.fromkeys(passage.source for passage in passages)
    return [by_number[number] for number in first_use if number in by_number]


def _texts(text: str) -> Iterator[str]:
    yield from (text[start : start + LONGEST_TEXT] for start in range(0, len(text), LONGEST_TEXT))


def _quote(text: str, number: int | None, used: Sequence[Source]) -> Block:
    elements: list[Block] = [{"type": "text", "text": f"{text} "}]
    if number is not None:
        label, address = f"[{number}]", address_of(used[number - 1])
        reference = {"type": "link", "url": address} if address else {"type": "text"}
        elements.append(reference | {"text": label})
    return {"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": elements}]}
