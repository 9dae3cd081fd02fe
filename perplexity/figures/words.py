"""Numbers in English and German words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple


class WordedNumber(NamedTuple):
    """A number in words, from `start` up to, not including, `end`; `dozens` is 2 for two dozen, else 0."""

    start: int
    end: int
    value: Decimal
    dozens: Decimal = Decimal(0)


_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_GERMAN = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
_ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_ENGLISH_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_GERMAN_ORDINALS = "erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte"
_GERMAN_ENDINGS = ("", "n", "r", "s", "m")


@cache
def ordinal_words() -> dict[str, int]:
    """Return the ordinals from 1 to 99 by their words, in lower case: "twenty-first", "einundzwanzigsten"."""
    english = _ENGLISH_ORDINALS.split(" ") + [f"{word}th" for word in _ENGLISH.split(" ")[13:]]
    german = _GERMAN_ORDINALS.split(" ") + [f"{word}te" for word in _GERMAN.split(" ")[13:]]
    found = dict(zip(english, range(1, 20), strict=True))
    ending = dict(zip(german, range(1, 20), strict=True))
    units = ("", "ein", *_GERMAN.split(" ")[2:10])
    for tens, (one, other) in enumerate(zip(_ENGLISH_TENS.split(" "), _GERMAN_TENS.split(" "), strict=True), 2):
        found[f"{one[:-1]}ieth"] = 10 * tens
        found |= {f"{one}-{word}": 10 * tens + unit for unit, word in enumerate(english[:9], 1)}
        ending |= {f"{word}und{other}ste" if word else f"{other}ste": 10 * tens + n for n, word in enumerate(units)}
    return found | {word + more: number for word, number in ending.items() for more in _GERMAN_ENDINGS}


@cache
def number_words() -> dict[str, int]:
    """Return the numbers from 2 to 99 and the ordinals from 3 to 99 by their words, in lower case."""
    english, german = _ENGLISH.split(" "), _GERMAN.split(" ")
    words = dict(zip(english, range(20), strict=True)) | dict(zip(german, range(20), strict=True))
    for place, (one, other) in enumerate(zip(_ENGLISH_TENS.split(" "), _GERMAN_TENS.split(" "), strict=True), 2):
        words |= {one: 10 * place, other: 10 * place}
        for unit in range(1, 10):
            ones = "ein" if unit == 1 else german[unit]
            words |= {f"{one}-{english[unit]}": 10 * place + unit, f"{ones}und{other}": 10 * place + unit}
    words |= {word: number for word, number in ordinal_words().items() if number > 2}
    return {word: number for word, number in words.items() if number > 1}


@cache
def words_of(number: int) -> tuple[str, ...]:
    """Return how a number from 2 to 99 may be written in words, without repeated beginnings."""
    words = sorted(word for word, value in number_words().items() if value == number)
    return tuple(word for word in words if not any(word.startswith(other) for other in words if other != word))


@lru_cache(maxsize=512)
def phrases_of(number: Decimal) -> tuple[str, ...]:
    """Return how a number from 0.5 to 999 may be written in words: "three hundred and fifty", "dreieinhalb".

    Twelve is a dozen, too; a half is there only with a whole number.
    """
    whole = int(number)
    if number == Decimal("0.5"):
        return ("half a", "half", "halbe")
    if number - whole == Decimal("0.5") and whole < 100:
        more = ("anderthalb",) if whole == 1 else ()
        english, german = ("one", "ein") if whole == 1 else ("", "")
        before = (*words_of(whole), *filter(None, (english, german)))
        return (*more, *[f"{one}{end}" for one in before for end in (" and a half", "-and-a-half", "einhalb")])
    if number != whole or not 1 < whole < 1000:
        return ()
    if whole < 100:
        counts: tuple[str, ...] = ("a", "one", "ein") if whole == 12 else ()
        if whole == 6:
            counts = ("half a", "halbes", "halben")
        elif whole % 12 == 0 and not counts:
            counts = words_of(whole // 12)
        return (*words_of(whole), *[f"{count} {dozen}" for count in counts for dozen in ("dozen", "dutzend")])
    hundreds, rest = divmod(whole, 100)
    english_heads = [f"{one} hundred" for one in (words_of(hundreds) if hundreds > 1 else ("a", "one"))]
    german_heads = [f"{one}hundert" for one in (words_of(hundreds) if hundreds > 1 else ("ein", ""))]
    if not rest:
        return (*english_heads, *german_heads)
    ends = words_of(rest) if rest > 1 else ("one", "eins")
    return (
        *[f"{head}{joint}{end}" for head in english_heads for joint in (" and ", " ") for end in ends],
        *[f"{head}{joint}{end}" for head in german_heads for joint in ("", "und") for end in ends],
    )


def whole_words(lower: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield where a word is in a text, both in lower case, not as part of a longer word."""
    place = lower.find(word)
    while place >= 0:
        end = place + len(word)
        if not (lower[place - 1 : place].isalpha() if place else False) and not lower[end : end + 1].isalpha():
            yield place, end
        place = lower.find(word, end)


_REFERS_BACK = re.compile(r"(?<!\w)(?:the|these|those|die|den|der|diese|diesen|dieser) \Z")
_ONE = re.compile(
    r"(?<![\w-])(half an?|(?:an?[ -]|one[ -]|three[ -])?quarters?[ -]of an?|eine[rs]? halben?|eine[rs]? viertel|"
    r"dreiviertel|anderthalb|eineinhalb|an?|one|eine?[mnrs]?) \Z"
)
_LONGEST_ONE = 24
OF_ONE = frozenset(
    ["hundred", "thousand", "million", "billion", "trillion", "decade", "century", "milliarde", "dozen", "dutzend"]
)
OF_PART = frozenset(["hour", "year", "tonne", "ton", "mile", "kilometre", "metre", "litre", "pound", "inch", "stunde"])
"""What half or a quarter of is a figure, but not one of."""
_DOZENS = frozenset({"dozen", "dutzend"})
_HALVES = {"half": "0.5", "halbe": "0.5", "halben": "0.5", "anderthalb": "1.5", "eineinhalb": "1.5",
           "three": "0.75", "dreiviertel": "0.75", "quarter": "0.25", "viertel": "0.25"}  # fmt: skip
_HUNDREDS = re.compile(r"(?<!\w)([a-z]+)[ -]hundred (?:and )?([a-z]+(?:-[a-z]+)?)(?!\w)")
_AFTER_HUNDREDS = re.compile(r"hundred (?:and )?\Z")
_MORE = re.compile(
    r"(?P<half>[ -]and[ -]a[ -]half)(?![^\W\d_])|(?P<dozen> (?:dozen|dutzend))(?![^\W\d_])|-(?P<ones>[a-z]+)"
)


_GERMAN_COMPOUND = re.compile(r"(?:(\w*?)tausend)?(?:und)?(?:(\w*?)hundert)?(?:und)?(\w*)")

_LONGEST_NUMBER = 60


def _compound(word: str) -> int:
    """Return the number that a German word with "tausend" or "hundert" is, 0 if it is none."""
    match = _GERMAN_COMPOUND.fullmatch(word) if len(word) <= _LONGEST_NUMBER else None
    if match is None:
        return 0
    ones = number_words() | {"ein": 1, "eins": 1}
    values = [
        0 if part is None else ones.get(part, -1) if part else int(factor > 1)
        for part, factor in zip(match.groups(), (1000, 100, 1), strict=True)
    ]
    thousands, hundreds, rest = values
    return 0 if -1 in values else 1000 * thousands + 100 * hundreds + rest


def _english_hundreds(lower: str, words: Set[str]) -> Iterator[WordedNumber]:
    known = number_words()
    for match in _HUNDREDS.finditer(lower) if "hundred" in words else ():
        hundreds, rest = known.get(match[1], 1 if match[1] in {"a", "one"} else 0), known.get(match[2], 0)
        if hundreds and rest:
            yield WordedNumber(*match.span(), Decimal(100 * hundreds + rest))


def _german_compounds(lower: str, words: Set[str]) -> Iterator[WordedNumber]:
    for word in words if "einhalb" in lower else ():
        if whole := number_words().get(word.removesuffix("einhalb"), 0) if word.endswith("einhalb") else 0:
            for start, end in whole_words(lower, word):
                yield WordedNumber(start, end, whole + Decimal("0.5"))
    if "tausend" in lower or "hundert" in lower:
        for word in words - {"tausend", "hundert"}:
            if ("tausend" in word or "hundert" in word) and (value := _compound(word)):
                for start, end in whole_words(lower, word):
                    yield WordedNumber(start, end, Decimal(value))


def find_worded(lower: str, words: Set[str]) -> Iterator[WordedNumber]:
    """Yield the numbers in words of a text in lower case; if two overlap, the first counts. `words` are its words."""
    known = number_words()
    yield from _english_hundreds(lower, words)
    yield from _german_compounds(lower, words)
    for word in words & (OF_ONE | OF_PART):
        for place, end in whole_words(lower, word):
            if one := _ONE.search(lower, max(0, place - _LONGEST_ONE), place):
                if word in OF_PART and not any(part in one[1] for part in ("half", "quarter", "halbe", "viertel")):
                    continue
                value = Decimal(next((_HALVES[part] for part in re.split("[ -]", one[1]) if part in _HALVES), "1"))
                is_dozen = word in _DOZENS
                yield WordedNumber(one.start(), end if is_dozen else one.end(1), value * 12 if is_dozen else value)
    for word in words & known.keys():
        for start, end in whole_words(lower, word):
            if lower[start - 1 : start] == "-" or _AFTER_HUNDREDS.search(lower, max(0, start - 12), start):
                continue
            if known[word] > 2 or not _REFERS_BACK.search(lower, max(0, start - 9), start):
                yield _with_more(lower, start, end, known[word])


def _with_more(lower: str, start: int, end: int, value: int) -> WordedNumber:
    """Return a number with the words after it that change it: "two dozen", "three and a half", "twenty-five"."""
    more = _MORE.match(lower, end)
    if more and more["half"]:
        return WordedNumber(start, more.end(), value + Decimal("0.5"))
    if more and more["dozen"]:
        return WordedNumber(start, more.end(), Decimal(12 * value), Decimal(value))
    if more and (ones := number_words().get(more["ones"], 0)):
        return WordedNumber(start, more.end(), Decimal(value + ones))
    return WordedNumber(start, end, Decimal(value))


_SMALL = {
    (1, True): ("first", "erst", "one", "ein"),
    (1, False): ("first", "erst"),
    (2, True): (
        "both", "pair", "couple", "twin", "doubl", "twice", "dual", "second", "2nd", "beid", "paar", "doppel", "zweit",
    ),
    (2, False): ("second", "zweit", "2nd", "twice", "doubl", "doppel"),
    **dict.fromkeys([(3, True), (3, False)], ("tripl", "treble", "thrice", "hat-trick", "hat trick", "hattrick")),
    **dict.fromkeys([(4, True), (4, False)], ("quadrupl", "quartet")),
}  # fmt: skip
"""What else says a small number, by whether the sentence has it in words."""
_ROMAN = [
    f"{tens}{ones}"
    for tens in ("", "X", "XX", "XXX", "XL", "L", "LX")
    for ones in ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
]
_WHOLE = {
    ("second", 60): "minute", ("minute", 60): "hour|stunde", ("hour", 24): "day|tag", ("day", 7): "week|woche",
    ("month", 12): "year|jahr", ("month", 3): "quarter|vierteljahr|quartal", ("month", 6): "half|halbjahr|halbes jahr",
    ("week", 2): "fortnight", ("day", 14): "fortnight", ("month", 18): "year and a half",
}  # fmt: skip


def says_length(lower: str, unit: str, value: Decimal) -> bool:
    """Return whether a text in lower case has a length of time as one of a longer unit, such as "a day"."""
    name = _WHOLE.get((unit, int(value)))
    return (
        name is not None
        and re.search(rf"\b(?:an?|one|last|past|eine?[mnrs]?|letzte[mnrs]?)[ -](?:{name})", lower) is not None
    )


def small_words(value: Decimal, *, in_words: bool) -> tuple[str, ...]:
    """Return beginnings of other words for a small number, such as "both"; `in_words` is how the sentence has it."""
    return _SMALL.get((int(value), in_words), ()) if value % 1 == 0 else ()


def roman(value: Decimal) -> str:
    """Return a whole number from 1 to 69 in Roman digits; "" for others and for 1 and 50, which are letters."""
    return _ROMAN[int(value)] if value % 1 == 0 and value < len(_ROMAN) and value not in {1, 50} else ""
