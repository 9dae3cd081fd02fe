"""Which texts fit a question best, by the words they share: Okapi BM25, small and pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

# A letter of a script that writes no spaces is a word of its own.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+"
)
_ENDINGS = ("ing", "ies", "ed", "es", "s")
_COMMONEST = (
    "a about an and are as at be been but by can could did do does for from had has have how i if in is it its me my "
    "no not of on or our should so tell that the their them then there these they this those to us was we were what "
    "when where which who whose why will with would you your"
)
_STOP = frozenset(_COMMONEST.split())


def words(text: str) -> list[str]:
    """Return the words of a text, lower case and without the commonest English endings, in order."""
    return [_stem(word) for word in _WORD.findall(text.casefold())]


def scores(question: str, texts: Sequence[str]) -> list[float]:
    """Return one number a text: 0 where it shares no word with the question, higher where it fits better.

    Words such as "the" count only when no text shares any other word with the question. The formula is BM25 with
    k1 = 1.2 and b = 0.75: https://en.wikipedia.org/wiki/Okapi_BM25
    """
    bags = [Counter(words(text)) for text in texts]
    wanted = set(words(question))
    telling = _bm25(wanted - _STOP, bags)
    return telling if any(telling) else _bm25(wanted, bags)


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    return word[: len(word) - len(ending)]


def _bm25(wanted: set[str], bags: Sequence[Counter[str]]) -> list[float]:
    average = sum(bag.total() for bag in bags) / max(len(bags), 1) or 1.0
    # A long question has many words, and many texts have few of them: only those that a text has are looked at.
    shared = [wanted & bag.keys() for bag in bags]
    holders = Counter(word for words in shared for word in words)
    rarity = {word: _rarity(count, len(bags)) for word, count in holders.items()}
    return [
        sum(rarity[word] * _weight(bag[word], bag.total() / average) for word in words)
        for bag, words in zip(bags, shared, strict=True)
    ]


def _rarity(holders: int, total: int) -> float:
    return log(1 + (total - holders + 0.5) / (holders + 0.5))


def _weight(count: int, length: float) -> float:
    return count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length))
