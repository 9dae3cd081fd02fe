"""How long it takes to find what is new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as count_up
from itertools import islice, product
from time import thread_time
from zlib import crc32

from perplexity.news.stories import Story, fingerprint, unseen
from perplexity.types import Source
from tests.fakes.stories import make_story

WORDS = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]


def _many(count: int, *, seed: int) -> list[Story]:
    """Return stories of four sites each, all of one topic and else of words drawn from some thousands."""
    drawn = (WORDS[crc32(f"{seed} {place}".encode()) % len(WORDS)] for place in count_up())

    def headline() -> str:
        return " ".join(["PostgreSQL database", *islice(drawn, 7)])

    def pages(number: int) -> tuple[Source, ...]:
        return tuple(
            Source(number=n, title=headline(), url=f"https://{n}.example/{number}", date="2026-11-20")
            for n in (2, 3, 4)
        )

    return [
        replace(
            make_story(headline(), url=f"https://{number % 40}.example/{number}", sentence=headline()),
            others=pages(number),
        )
        for number in range(count)
    ]


def test_a_month_of_stories_is_looked_through_at_once() -> None:
    """Some 0.1 s of the processor, for which others wait: three yardsticks, since machines differ; ten are too many."""
    today, seen = _many(8, seed=1), [fingerprint(story) for story in _many(500, seed=2)]

    def measured() -> float:
        started = thread_time()
        assert len(unseen(today, seen)) == len(today)
        return thread_time() - started

    assert min(measured() for _ in range(3)) < 10 * min(_yardstick(seen) for _ in range(3))


def _yardstick(texts: Sequence[str]) -> float:
    """Return how long it takes to find every word of the texts, and to compare as many sets as there are pairs."""
    started = thread_time()
    sets = [{word.casefold() for word in re.findall(r"\w+", text)} for text in texts]
    assert sum(len(one & other) > 1 for one in sets[:56] for other in sets) == 56 * len(texts)
    return thread_time() - started
