"""Long hostile texts: what reads them takes time in proportion to their length."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from perplexity.citations import cite
from perplexity.prose import regions
from perplexity.providers.handbook import Handbook
from perplexity.types import Query, Source

SOURCES = (Source(number=1, title="A", url="https://a.example/1"),)
SHORT, LONG = 4_000, 64_000


def cited(text: str) -> object:
    return cite(text, SOURCES)


def seconds(work: Callable[[str], object], text: str) -> float:
    """Return the best of three, so that a busy machine does not count."""
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        work(text)
        best = min(best, time.perf_counter() - started)
    return best


@pytest.mark.parametrize(
    ("work", "beginning", "repeated"),
    [
        (cited, "[x](", " "),
        (cited, "[x](http://a", " "),
        (cited, "[", " "),
        (cited, "", "[x]("),
        (cited, "", "[1,"),
        (cited, "", "[x](a(b)"),
        (cited, "", "[x](a '"),
        (regions, "", "$a\n"),
        (regions, "", "$a "),
        (regions, "", "$1$ "),
        (regions, "", "a $5\n"),
        (regions, "", r"\( "),
    ],
)
def test_sixteen_times_the_text_takes_well_under_sixteen_squared(
    work: Callable[[str], object], beginning: str, repeated: str
) -> None:
    short, long = (beginning + repeated * (length // len(repeated)) for length in (SHORT, LONG))

    assert seconds(work, long) < 60 * seconds(work, short) + 0.05


async def test_a_pasted_document_is_looked_up_by_its_beginning() -> None:
    handbook = Handbook({"a.md": "# Ports\n\nThe port is 3000.\n" * 300}, base_url="")
    started = time.perf_counter()

    await handbook.search(Query(text="port " + "".join(f"w{number} " for number in range(200_000))))

    assert time.perf_counter() - started < 5
