"""The milliseconds that rendering 4 KB of an answer takes: as answers mostly are, and of one kind of text."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median

from bot.blocks.answer import answer_messages
from bot.model.message import Audience
from perplexity.domains import filter_answer
from perplexity.types import Answer, Source
from tests.benchmarks.answers import answer_text, pages
from tests.benchmarks.measure import Figure
from tests.benchmarks.texts import KINDS, text_of

BAR = 10.0
LENGTHS = {"4 KB": 4_000, "40 KB": 40_000}
"""The time of the longer text is given for each 4 KB of it; `test_linear_time` holds that it is linear."""
TOGETHER = 80_000
"""Characters that are measured together, so that a text of a fraction of a millisecond is measured well."""
DOMAINS = ("-site3.example",)
SOURCES = tuple(Source(number=page["id"], title=page["title"], url=page["url"], date=page["date"]) for page in pages())

TextOf = Callable[..., str]
"""Returns a text of a length; each `number` gives another, so that no cache knows it."""


async def figures(rounds: int, *, kinds: Iterable[str] = KINDS, together: int = TOGETHER) -> list[Figure]:
    """Measure the usual answer, and answers of each kind of text: the worst of both lengths, filtered and not."""
    texts: dict[str, TextOf] = {"rendering": answer_text}
    texts |= {f"rendering: {kind}": partial(text_of, kind) for kind in kinds}
    return [_figure(name, text, rounds, together) for name, text in texts.items()]


def _figure(name: str, text: TextOf, rounds: int, together: int) -> Figure:
    times: dict[str, float] = {}
    for label, length in LENGTHS.items():
        for domains in ((), DOMAINS):
            times[f"{label}{' by domain' if domains else ''}"] = _time(text, length, domains, rounds, together)
    detail = ", ".join(f"{label} {time:.1f}" for label, time in times.items())
    measured = max(time for label, time in times.items() if label.startswith("4 KB"))
    return Figure(name=name, measured=measured, bar=BAR, unit="ms", detail=detail)


def _time(text: TextOf, length: int, domains: Sequence[str], rounds: int, together: int) -> float:
    """Return the milliseconds for each 4 KB. The first round, which fills caches, does not count."""
    count = max(together // length, 1)

    def render(text: str) -> None:
        answer = filter_answer(Answer(text=text, sources=SOURCES, provider="Perplexity"), domains)
        answer_messages(answer, audience=Audience.ASKER)

    def seconds(number: int) -> float:
        return _seconds(render, [text(length, number=number * count + place) for place in range(count)])

    taken = [seconds(number) for number in range(rounds + 1)]
    return median(taken[1:]) * 1_000 * LENGTHS["4 KB"] / (count * length)


def _seconds(work: Callable[[str], object], texts: Sequence[str]) -> float:
    """Return the processor's time for all of the texts."""
    gc.collect()
    began = time.process_time()
    for text in texts:
        work(text)
    return time.process_time() - began
