"""What rendering an answer costs, next to one parse of its Markdown."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from markdown_it import MarkdownIt

from bot.blocks.answer import answer_messages
from bot.model.message import Audience
from perplexity.types import Answer, Source
from tests.benchmarks.answers import answer_text, pages
from tests.benchmarks.measure import Figure, compare

BAR = 1.5
LENGTHS = {"4 KB": 4_000, "40 KB": 40_000}


async def figures(rounds: int) -> list[Figure]:
    """Measure both lengths. Each round renders a text of its own, so that no cache knows it."""
    return [await _figure(name, length, rounds) for name, length in LENGTHS.items()]


async def _figure(name: str, length: int, rounds: int) -> Figure:
    parser = MarkdownIt("commonmark").enable("table")
    sources = tuple(
        Source(number=page["id"], title=page["title"], url=page["url"], date=page["date"]) for page in pages()
    )

    async def rendered(number: int) -> float:
        answer = Answer(text=answer_text(length, number=number), sources=sources, provider="Perplexity")
        return _seconds(lambda: answer_messages(answer, audience=Audience.ASKER))

    async def parsed(number: int) -> float:
        text = answer_text(length, number=number)
        return _seconds(lambda: parser.parse(text))

    found = await compare(rendered, parsed, rounds=rounds)
    detail = f"rendering {found.ours * 1000:.1f} ms, one parse {found.reference * 1000:.1f} ms"
    return Figure(name=f"rendering {name}", measured=found.ratio, bar=BAR, detail=detail)


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor's time for one call."""
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began
