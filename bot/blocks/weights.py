"""What a text costs of the room that Slack gives a message, known before it is rendered and never less than it will be.

Slack counts `&` as 5 characters, `<` and `>` as 4, and about 100 more for a heading, up to some 13,200 in a message; it
is found by measuring (https://github.com/slackapi/bolt-js/issues/2509) and documented nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from bot.blocks.marks import MARK, Addresses, link, number_of

PART = 9_000
"""The most that one markdown block may weigh."""
MESSAGE = 11_000
"""The most that all blocks of a message may weigh."""
PART_BLOCKS = 36
MESSAGE_BLOCKS = 44
"""The most blocks, after Slack has taken a markdown block apart; Slack's own limit is 50."""
HEADING = 100

_SHOWN = {"&": 5, "<": 4, ">": 4}
# The joiners that `defusing` may put beside a character.
_JOINERS = {"&": 1, "<": 1, ".": 2, ":": 1, "/": 1, "]": 1, "@": 1, "*": 1, "\\": 1, "!": 1}
_WEIGHTS = {sign: _SHOWN.get(sign, 1) + _JOINERS.get(sign, 0) for sign in {*_SHOWN, *_JOINERS}}


def counted(text: str) -> int:
    """Return how many characters Slack counts for a text that is already rendered."""
    return len(text) + sum(text.count(sign) * (weight - 1) for sign, weight in _SHOWN.items())


def weight(text: str, addresses: Addresses) -> int:
    """Return the most that a text with marks can come to."""
    return sum(_of_characters(text, addresses))


def running(text: str, addresses: Addresses) -> list[int]:
    """Return the weight of the first n characters for every n from 0 to the length."""
    return list(accumulate(_of_characters(text, addresses), initial=0))


def _of_characters(text: str, addresses: Addresses) -> Iterator[int]:
    place = 0
    for mark in MARK.finditer(text):
        yield from (_WEIGHTS.get(character, 1) for character in text[place : mark.start()])
        yield counted(link(number_of(mark), addresses)) + 1
        yield from [0] * (len(mark[0]) - 1)
        place = mark.end()
    yield from (_WEIGHTS.get(character, 1) for character in text[place:])
