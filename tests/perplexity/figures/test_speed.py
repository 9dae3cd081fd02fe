"""The time that a check takes, as a ratio to one plain pass of `re` over the same text: about seven."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from perplexity.citations import number_citations
from perplexity.figures import check_figures
from perplexity.figures.excerpts import read_excerpt
from perplexity.types import Source

FACT = "Revenue rose {n}.4 percent to $1.{n} billion in the third quarter of 2025, from {n}0,500 units on 3 May 2024. "
SAID = "On May 3, 2024 there were {n}0,500 units; revenue rose {n}.4 % to $1.{n} billion in Q3 2025 [{n}]. "
FILLER = (
    "Analysts expect growth to slow as competition increases, although demand had been strong in most regions. " * 3
)


def best(work: Callable[[], object]) -> float:
    """Return the processor's seconds, the least of twenty."""
    times = []
    for _ in range(20):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def test_an_answer_of_4_kb_with_ten_excerpts_of_2_kb_is_checked_in_a_few_passes() -> None:
    sources = tuple(
        Source(number=n, title="", url=f"https://a.example/{n}", snippet=((FACT.format(n=n) + FILLER) * 9)[:2_048])
        for n in range(1, 11)
    )
    answer = "\n\n".join(SAID.format(n=n) + FILLER for n in range(1, 11))[:4_096]
    cited = number_citations(answer, sources)
    whole = answer + "".join(source.snippet for source in sources)
    words = re.compile(r"\w+|\d+")

    def check() -> object:
        read_excerpt.cache_clear()
        return check_figures(cited)

    assert [one.not_found for one in check_figures(cited)] == [()] * 10
    assert best(check) < 15 * best(lambda: words.findall(whole))
