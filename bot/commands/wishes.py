"""What follows `watch`, read as a digest: a category, a topic, days, a time. Pure.

Days and time stand at the end. A topic in quotes ends where the quotes do. One without ends before the first word that
could belong to days or a time; from there on every word must, or the whole is refused: a digest that came on other days
than somebody typed would be noticed late.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from bot.commands.categories import read_category
from bot.commands.hints import quoted
from bot.commands.timing import DAY_WORDS, SPELLED, Timing, beginning, read_days, read_timing, unsure
from bot.commands.words import DOUBLE_QUOTES
from bot.digests.base import EXAMPLE, Wish
from bot.digests.schedule import DAILY, Schedule, days_in_words
from bot.errors import UsageError
from perplexity.errors import InvalidRequest
from perplexity.queries import parse_query

_PHRASE = re.compile(rf"(?<!\w)[{DOUBLE_QUOTES}][^{DOUBLE_QUOTES}]*[{DOUBLE_QUOTES}]")
_DOTTED = re.compile(r"\d+\.\d+(?=$|[ ,])")
"""A time such as 17.05, or else a number such as the version 3.14."""

_LOOKED_AT = 3
"""Words at the end of a topic that may be misspelt days."""
_ALIKE = 0.82


def read_wish(text: str, *, silence: Iterable[str] = ()) -> Wish:
    """Read `technology "open source databases" weekdays 9:00`; `silence` are words for days.

    The schedule has no zone yet. Raises UsageError.
    """
    text = " ".join(text.split()).rstrip(" ,.")
    place = beginning(_PHRASE.sub(lambda phrase: "x" * len(phrase[0]), text))
    subject, timing = text[:place].rstrip(" ,"), read_timing(text[place:])
    first, _, topic = subject.partition(" ")
    named = read_category(first)
    if topic and not _PHRASE.fullmatch(topic):
        _check_end(topic, timing, behind=text[place:])
    days = DAILY if timing.days is None else timing.days
    return Wish(
        category=named,
        topic=_topic(topic),
        schedule=Schedule(days=days, at=timing.at, zone=""),
        silence=frozenset().union(*(_silence(words, days) for words in silence)),
    )


def _check_end(topic: str, timing: Timing, *, behind: str) -> None:
    """Raise UsageError where a topic without quotes may go on in `behind`, or where days may be misspelt in it."""
    words = topic.split()[-_LOOKED_AT:]
    if timing.days is None:
        raise UsageError(
            f"On which days? It takes {DAY_WORDS}. Every day is meant without them only where "
            f"the topic is in quotes, as in `{EXAMPLE}`."
        )
    if dotted := _DOTTED.match(behind):
        raise unsure(f"{words[-1]} {dotted[0]}")
    for word in words:
        if get_close_matches(word.casefold().strip(",.;:"), SPELLED, n=1, cutoff=_ALIKE):
            raise unsure(word)


def _silence(words: str, days: frozenset[int]) -> frozenset[int]:
    """Return the days of the digest on which silence is told."""
    told = read_days(words) & days
    if not told:
        raise UsageError(f"On {quoted(words)} this digest never runs: its days are {days_in_words(days)}.")
    return told


def _topic(text: str) -> str:
    if _PHRASE.fullmatch(text):
        text = text[1:-1]
    if not text.strip():
        return ""
    try:
        return parse_query(text)
    except InvalidRequest as error:
        raise UsageError(
            f"That topic cannot be used: {error.value or 'it is empty'}. {_sentence(error.allowed)}"
        ) from None


def _sentence(allowed: str | None) -> str:
    return re.sub(r"(?:^|(?<=\? ))\w", lambda match: match[0].upper(), allowed or "") + "."
