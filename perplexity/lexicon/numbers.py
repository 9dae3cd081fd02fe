"""Numbers in words, in lower case: English and German up to 99, French, Spanish and Italian up to twelve."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


_ENGLISH = _words("""
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen
    """)
_GERMAN = _words("""
    eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn
    neunzehn
    """)
_ENGLISH_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_GERMAN_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_TENS = list(zip(range(20, 100, 10), _ENGLISH_TENS, _GERMAN_TENS, strict=True))
DECADES = {word: tens for tens, one, other in _TENS for word in (f"{one[:-1]}ies", f"{other}er")}
"""The tens of decades in words: 20 for "twenties" and "zwanziger"."""
_FIRST_TWELVE = _words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")
_ERSTE_ZWOELF = _words("erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte")


def _up_to_99(english: list[str], german: list[str], *, tens_ending: str) -> dict[str, int]:
    """Return the numbers from 1 to 99 by their words, which are made from the words for 1 to 19 and for the tens.

    `tens_ending` is the ending of German ordinals such as "zwanzigste"; for cardinals, it is "".
    """
    words = dict(zip((*english, *german), (*range(1, 20), *range(1, 20)), strict=True))
    for tens, one, other in _TENS:
        words[f"{one[:-1]}ieth" if tens_ending else one] = words[f"{other}{tens_ending}"] = tens
        words |= {f"{one}-{word}": tens + unit for unit, word in enumerate(english[:9], 1)}
        words |= {f"{word}und{other}{tens_ending}": tens + unit for unit, word in enumerate(["ein", *_GERMAN[1:9]], 1)}
    return words


_CARDINALS = _up_to_99(_ENGLISH, _GERMAN, tens_ending="")
_BASIC_ORDINALS = _up_to_99(
    [*_FIRST_TWELVE, *(f"{word}th" for word in _ENGLISH[12:])],
    [*_ERSTE_ZWOELF, *(f"{word}te" for word in _GERMAN[12:])],
    tens_ending="ste",
)
ORDINALS = _BASIC_ORDINALS | {
    word + case: number for word, number in _BASIC_ORDINALS.items() if word.endswith("e") for case in "nrsm"
}
"""The ordinals from 1 to 99 in English and German: "twenty-first", "einundzwanzigsten"."""
NUMBERS = {word: number for word, number in _CARDINALS.items() if number > 1} | {
    word: number for word, number in ORDINALS.items() if number > 2
}
"""The numbers from 2 to 99 and the ordinals from 3 to 99 in English and German.

"One", "first" and "second" are left out, because they have other meanings.
"""
_ROMANCE = (
    _words("deux trois quatre cinq six sept huit neuf dix onze douze"),
    _words("dos tres cuatro cinco seis siete ocho nueve diez once doce"),
    _words("due tre quattro cinque sei sette otto nove dieci undici dodici"),
)
ROMANCE_NUMBERS = {word: number for words in _ROMANCE for number, word in enumerate(words, 2)}
"""The numbers from 2 to 12 in French, Spanish and Italian; some of them are other words in English or German."""
