"""Numbers in words, in lower case: English and German up to 99, French, Spanish and Italian up to twelve."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


_ENGLISH = _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """)
_GERMAN = _words("""
    null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn
    achtzehn neunzehn
    """)
_ENGLISH_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_GERMAN_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_TENS = tuple(zip(range(20, 100, 10), _ENGLISH_TENS, _GERMAN_TENS, strict=True))
_ENGLISH_ORDINALS = (
    *_words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
    *(f"{word}th" for word in _ENGLISH[13:]),
)
_GERMAN_ORDINALS = (
    *_words("erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte"),
    *(f"{word}te" for word in _GERMAN[13:]),
)
_GERMAN_ONES = ("ein", *_GERMAN[2:10])


def _ordinals() -> dict[str, int]:
    english = dict(zip(_ENGLISH_ORDINALS, range(1, 20), strict=True))
    german = dict(zip(_GERMAN_ORDINALS, range(1, 20), strict=True))
    for tens, one, other in _TENS:
        english[f"{one[:-1]}ieth"] = tens
        german[f"{other}ste"] = tens
        english |= {f"{one}-{word}": tens + unit for unit, word in enumerate(_ENGLISH_ORDINALS[:9], 1)}
        german |= {f"{word}und{other}ste": tens + unit for unit, word in enumerate(_GERMAN_ONES, 1)}
    return english | {word + ending: number for word, number in german.items() for ending in ("", *"nrsm")}


def _cardinals() -> dict[str, int]:
    words = dict(zip(_ENGLISH, range(20), strict=True)) | dict(zip(_GERMAN, range(20), strict=True))
    for tens, one, other in _TENS:
        words |= {one: tens, other: tens}
        words |= {f"{one}-{word}": tens + unit for unit, word in enumerate(_ENGLISH[1:10], 1)}
        words |= {f"{word}und{other}": tens + unit for unit, word in enumerate(_GERMAN_ONES, 1)}
    return words


ORDINALS = _ordinals()
"""The ordinals from 1 to 99 in English and German: "twenty-first", "einundzwanzigsten"."""
NUMBERS = {word: number for word, number in _cardinals().items() if number > 1} | {
    word: number for word, number in ORDINALS.items() if number > 2
}
"""The numbers from 2 to 99 and the ordinals from 3 to 99 in English and German.

"One", "first" and "second" are left out, because they have other meanings.
"""
_ROMANCE_IN_LINES = """
    deux dos due
    trois tres tre
    quatre cuatro quattro
    cinq cinco cinque
    six seis sei
    sept siete sette
    huit ocho otto
    neuf nueve nove
    dix diez dieci
    onze once undici
    douze doce dodici
"""
ROMANCE_NUMBERS = {
    word: number for number, line in enumerate(_ROMANCE_IN_LINES.strip().splitlines(), 2) for word in line.split()
}
"""The numbers from 2 to 12 in French, Spanish and Italian; some of these words mean others in English or German."""
