"""The time that a check takes, as a ratio to one plain pass of `re` over the same text, on whatever machine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from perplexity.citations import number_citations
from perplexity.figures import check_figures
from perplexity.types import Source

FACT = "Revenue rose {n}.4 percent to $1.{n} billion in the third quarter of 2025, from {n}0,500 units on 3 May 2024. "
SAID = "On May 3, 2024 there were {n}0,500 units; revenue rose {n}.4 % to $1.{n} billion in Q3 2025 [{n}]. "
FILLER = (
    "Analysts expect growth to slow as competition increases, although demand had been strong in most regions. " * 3
)


MOST_PASSES = 40
"""Some 20 ms; a thread of its own checks an answer once it is complete."""


def passes(work: Callable[[], object], text: str) -> float:
    """Return how many plain passes over a text take as long as the work, by the least of a hundred times of each.

    They take turns, so that other processes leave both as little of the processor's cache.
    """
    words = re.compile(r"\w+|\d+")
    times = [(seconds(work), seconds(lambda: words.findall(text))) for _ in range(100)]
    return min(took for took, _ in times) / min(plain for _, plain in times)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor's time for one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


@pytest.mark.rare
def test_an_answer_of_4_kb_with_ten_excerpts_of_2_kb_is_checked_in_some_passes() -> None:
    sources = tuple(
        Source(number=n, title="", url=f"https://a.example/{n}", snippet=((FACT.format(n=n) + FILLER) * 9)[:2_048])
        for n in range(1, 11)
    )
    answer = "\n\n".join(SAID.format(n=n) + FILLER for n in range(1, 11))[:4_096]
    cited = number_citations(answer, sources)
    whole = answer + "".join(source.snippet for source in sources)

    assert [one.not_found for one in check_figures(cited)] == [()] * 10
    assert passes(lambda: check_figures(cited), whole) < MOST_PASSES


BANK = (
    "The European Central Bank kept its key deposit rate at 2.00 percent on Thursday, 11 September 2025, after "
    "eight cuts of 25 basis points since June 2024. Inflation in the euro area was 2.1% in August, close to the "
    "medium-term target of 2%. The bank now expects growth of 1.2% in 2025, up from the 0.9% it forecast in June, "
    "and 1.0% in 2026. Markets see a chance of less than 50 percent for another cut before the end of next year. "
    "The euro rose 0.3% to $1.1735 after the decision; the German 10-year yield stood at 2.66%. The next meeting "
    "takes place in Florence on 30 October."
)
SALES = (
    "Apple reported revenue of $102.5 billion for its fiscal fourth quarter, up 8 percent from a year ago, with "
    "diluted earnings per share of $1.85. iPhone sales were $49.03 billion, slightly below the $50.19 billion "
    "that analysts had expected, while services brought in a record $28.75 billion. For the full year the company "
    "earned $112 billion on sales of $416 billion. The board declared a dividend of $0.26 per share, payable on "
    "November 13, 2025. Shares rose as much as 5 percent in extended trading, and have gained 8.4 percent this "
    "year."
)
QUAKE = (
    "Ein Erdbeben der Stärke 6,3 hat am 3. November 2025 den Norden Afghanistans erschüttert. Nach Angaben der "
    "Behörden kamen mindestens 27 Menschen ums Leben, mehr als 950 wurden verletzt. Das Beben ereignete sich um "
    "0.59 Uhr Ortszeit in einer Tiefe von 28 Kilometern nahe der Stadt Masar-e Scharif mit rund 500.000 "
    "Einwohnern. Ende August waren bei einem Beben mehr als 2.200 Menschen gestorben. Die Vereinten Nationen "
    "stellten 10 Millionen Dollar bereit."
)
NEWS = """The ECB left its deposit rate unchanged at 2% on 11 September 2025 [1]. It raised its growth forecast for \
2025 from 0.9% to 1.2%, and inflation was 2.1 percent in August [4]. The euro climbed to $1.17 after the \
decision [7].

Apple's quarterly revenue rose 8% to $102.5 billion, and services reached $28.75 billion [2]. Sales of \
about $49 billion missed expectations of $50.19 billion [5]. A dividend of $0.26 a share will be paid on \
November 13, 2025 [8].

Beim Beben der Stärke 6,3 starben mindestens 27 Menschen, über 950 wurden verletzt [3]. Am 3.11.2025 \
bebte die Erde in 28 km Tiefe [6]. Im August waren mehr als 2200 Menschen gestorben [3]. Die UN gaben \
zehn Millionen Dollar [6]."""


def test_the_ten_sentences_of_an_answer_with_eight_sources_are_checked_in_some_passes() -> None:
    sources = tuple(
        Source(number=n, title="", url=f"https://a.example/{n}", snippet=(QUAKE, BANK, SALES)[n % 3])
        for n in range(1, 9)
    )
    cited = number_citations(NEWS, sources)
    whole = NEWS + "".join(source.snippet for source in sources)

    assert [one.not_found for one in check_figures(cited)] == [()] * 10
    assert passes(lambda: check_figures(cited), whole) < MOST_PASSES
