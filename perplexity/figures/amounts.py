"""Numbers as they are written in English and German, with their multiplier, unit and currency.

"1,234.5", "1.234,5", "1 234.5" and "1'234.5" are one number; "1.2 million", "1,2 Mio." and "1,200,000" are another. A
number that can be read in two ways, such as "1.234", is both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from perplexity.lexicon.units import CONVERSIONS, CURRENCIES, INITIALS, UNITS, find_multiplier, find_unit

NUMBER = re.compile(
    r"(?:\.(?<![\w.,]\.)(?=\d))?[\d½¼¾⅓⅔⅛⅜⅝⅞](?:(?<=\d)\d*"
    r"(?:[.,'’·٫٬]\d+|[\u00a0\u2009\u202f\u2007]\d{3}(?!\d)|(?<!\d{4}) \d{3}(?!\d))*[½¼¾⅓⅔⅛⅜⅝⅞]?)?"
)
"""Matches a number in digits of any script, with its separators."""
MAX_DIGITS = 24
"""The most digits of an amount; a longer number is no amount."""
SPACES = " \u00a0\u2009\u202f\u2007"

_FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75", "⅓": ".333", "⅔": ".667", "⅛": ".125", "⅜": ".375", "⅝": ".625"}
_FRACTIONS["⅞"] = ".875"
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}")


class Amount(NamedTuple):
    """A value in the base unit of its dimension, such as metres; `unit` is "" for none.

    `step` is the change of the value if the last written digit grows by one. `is_scaled` says whether a
    multiplier such as "million" is written. `bare` is the value without the unit. "1.5 km" has the value 1,500, the
    step 100 and the bare value 1.5.
    """

    value: Decimal
    unit: str
    step: Decimal
    is_scaled: bool = False
    bare: Decimal = Decimal(0)


def digits_of(written: str) -> str:
    """Return the digits of a number without zeros at both ends, so that separators and multipliers do not matter."""
    if written[-1] in _FRACTIONS:
        values = read_number(written)
        return str(values[0].value).replace(".", "").strip("0") if values else ""
    return "".join([str(int(c)) for c in written if c.isdecimal()]).strip("0")


def read_number(written: str) -> tuple[Amount, ...]:
    """Return the readings of a number in digits, without the words around it; empty for a version or a long number."""
    if written[-1] in _FRACTIONS:
        whole = written[:-1]
        if len(whole) > MAX_DIGITS or not (whole == "" or whole.isdecimal()):
            return ()
        return (Amount(Decimal((whole or "0") + _FRACTIONS[written[-1]]), "", Decimal("0.001")),)
    text = "".join(str(int(c)) if c.isdecimal() else c for c in written.translate(_SIGNS))
    return tuple(_readings(text)) if len(text) - text.count(".") - text.count(",") <= MAX_DIGITS else ()


_SIGNS = str.maketrans(dict.fromkeys("'’·" + SPACES, None) | {"٫": ".", "٬": ","})


def _readings(text: str) -> Iterator[Amount]:
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        decimal = "." if text.rfind(".") > text.rfind(",") else ","
        whole, _, part = text.rpartition(decimal)
        if decimal not in whole and _GROUPED.fullmatch(whole):
            yield _plain(whole, part)
        return
    if dots + commas == 0 or _GROUPED.fullmatch(text):
        yield _plain(text, "")
    if dots + commas == 1:
        whole, _, part = text.replace(",", ".").partition(".")
        yield _plain(whole, part)


def _plain(whole: str, part: str) -> Amount:
    whole = whole.replace(".", "").replace(",", "")
    return Amount(Decimal(f"{whole}.{part}" if part else whole), "", Decimal((0, (1,), -len(part))))


_WITH_POINT = frozenset(["mio.", "mrd.", "tsd.", "bio.", "mia.", "std.", "min.", "sek.", "sec.", "fr.", "u.s."])
_WORD = re.compile(
    r"[ \u00a0\u2009\u202f\u2007]?(?:[-‑–](?=[^\W\d_]))?"
    r"(v\. ?H\.?|%-Punkten?|US-Dollars?|D-Mark|[^\W\d_]{1,40}-?[Hh]ours?(?![^\W\d_])|dB\(A\)"
    r"|[^\W\d_]{1,40}(?:²|³|[23](?![\d.,])|/(?:[hsd]|m²)(?!\w))|U\.S\.|T€|(?:C|A|R|HK|US|S)?[$]"
    r"|[^\W\d_]{1,40}\.?|[°][CF]?|[%٪‰€£¥₹₩₽₿℃])"
)
_POWER = re.compile(
    r"(?:[ \u00a0]?[×x·*⋅][ \u00a0]?10\^[({]?|[eE]\+?)([-−–]?\d{1,2})(?!\w)[)}]?"
    r"|[ \u00a0]?[×x·*⋅][ \u00a0]?10([⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})"
)
_POWER_ALONE = re.compile(r"\^[({]?([-−–]?\d{1,2})(?!\d)[)}]?|([⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})(?![\w])")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−–", "-0123456789--")
_JOINED = re.compile(
    r"[ \u00a0\u2009\u202f]?(?:[-–—−/,&±]|to|bis|and|und|or|oder|auf|from|von|versus|vs\.?|(?:,|and|und) \w{2,9})"
    r"[ \u00a0\u2009\u202f]?(?:US|C|A)?[$€£¥]?(?=\d)"
)
_DEEPEST = 4
_MOST_WORDS = 5


class Suffix(NamedTuple):
    """The multiplier and the unit after a number; `end` is the position where they end.

    `exponents` are the powers of ten that the multiplier and the unit may mean together. `unit_exponent` is the power
    of ten of the unit alone. `unit` is "" for none, and `is_scaled` is True if there is a multiplier.
    """

    exponents: tuple[int, ...] = (0,)
    unit: str = ""
    is_scaled: bool = False
    end: int = 0
    unit_exponent: int = 0


def read_suffix(text: str, end: int, *, is_money: bool = False) -> Suffix:
    """Return the multiplier and the unit of a number that ends at `end`.

    `is_money` says whether a currency is before the number, so that the "m" of "$5m" cannot be metres.
    """
    exponents: tuple[int, ...] = (0,)
    place, unit, shift = end, "", 0
    if power := _POWER.match(text, end):
        exponents, place = (_exponent(power),), power.end()
    for _ in range(_MOST_WORDS):
        match = _WORD.match(text, place)
        if match is None:
            break
        glued = match.start(1) == end
        if match[1] == "in" and text[match.end() : match.end() + 1] == ")":  # "(12 in)"
            return Suffix(exponents, "inch", exponents != (0,), match.end())
        word = match[1][0] if len(match[1]) == 2 and match[1][1] == "." else match[1]
        if not unit and (powers := find_multiplier(word, glued=glued, is_money=is_money)):
            exponents = tuple([a + b for a in exponents for b in powers])
            place = match.end()
            # "1.2m" may be metres, and "5t" tonnes.
            if glued and not is_money and word in UNITS and word not in {"K", "k"}:
                return Suffix((*powers, UNITS[word][1]), "", is_scaled=True, end=place)
            continue
        known = _unit(text, match, word)
        if known is None or unit:
            break
        unit, shift, place = known
    if place > end and text[place - 1] == "." and not text[place : place + 1].isalnum():
        # A full stop that is not part of an abbreviation ends the sentence, so it is left out.
        place -= text[max(end, place - 5) : place].lstrip(" \u00a0").lower() not in _WITH_POINT
    return Suffix(tuple([e + shift for e in exponents]), unit, exponents != (0,), place, shift)


def in_base(amount: Amount) -> tuple[str, Decimal, Decimal]:
    """Return the unit in which an amount is compared with other units, and the amount's value and step in that unit."""
    factor, unit = CONVERSIONS.get("lb" if amount.unit == "GBP" else amount.unit, ("1", amount.unit))
    return unit, amount.value * Decimal(factor), amount.step * Decimal(factor)


def power_end(text: str, start: int, end: int) -> int:
    """Return where the power of ten after a number ends, as in "3 × 10^8" and "10^6"; `end` if there is no power."""
    power = _POWER.match(text, end) or (_POWER_ALONE.match(text, end) if text[start:end] == "10" else None)
    return power.end() if power else end


def _exponent(power: re.Match[str]) -> int:
    return int((power[1] or power[2]).translate(_SUPERSCRIPTS))


def _unit(text: str, match: re.Match[str], word: str) -> tuple[str, int, int] | None:
    """Return the unit that starts with `word`, its power of ten, and its end in the text; None if there is none."""
    end, phrase = match.end(), word
    for _ in range(3 if word in INITIALS or word.lower() in INITIALS else 0):
        following = _WORD.match(text, end)
        if following is None:
            break
        end, phrase = following.end(), f"{phrase} {following[1]}"
        if known := find_unit(phrase):
            return (*known, end)
    known = find_unit(word)
    return (*known, match.end()) if known else None


_MONEY_BEFORE = {"fr.": "CHF", "sfr.": "CHF", "rs": "INR", "rs.": "INR", "kr": "SEK"}


def unit_before(text: str, start: int) -> str:
    """Return the currency before a number, or an empty string."""
    before = text[max(0, start - 6) : start]
    before = before[:-1] if before.endswith(tuple(SPACES)) else before
    code, known = before[-3:], None
    if before.endswith(tuple("$€£¥₹₩₽₿")):
        known = UNITS.get(before[-2:].lower()) or UNITS.get(code.lower()) or UNITS.get(before[-1])
    elif before.endswith((".", "r", "s", "M")):
        return _MONEY_BEFORE.get(before[-5:].rpartition(" ")[2].lower(), "")
    elif code.isupper() and len(code) == 3 and not before[-4:-3].isalnum():
        known = find_unit(code)
    return known[0] if known and known[0] in CURRENCIES else ""


def read_amounts(text: str, start: int, end: int) -> tuple[Amount, ...]:
    """Return the possible amounts of the number from `start` to `end`, with the words around it.

    The first number of "10 to 15 million euros" is read both as 10 million euros and as 10.
    """
    plain = read_number(text[start:end])
    if not plain:
        return ()
    money = unit_before(text, start)
    # Brackets may stand for a loss, as in "(4.2) million".
    in_brackets = text[end : end + 1] == ")" and text[start - 1 : start] == "("
    suffix = read_suffix(text, end + in_brackets, is_money=money != "")
    if text[start:end] == "10" and (power := _POWER_ALONE.match(text, end)):
        value = Decimal(10).scaleb(_exponent(power) - 1)
        return (Amount(value, "", Decimal(1), is_scaled=True, bare=value),)
    amounts = with_suffix(plain, suffix, money)
    later = _suffix_of_range(text, suffix, money)
    powers = later if not suffix.is_scaled and not suffix.unit else suffix
    is_scaled = suffix.is_scaled or later.is_scaled
    taken = Suffix(powers.exponents, suffix.unit or later.unit, is_scaled, 0, powers.unit_exponent)
    return amounts if taken[:3] == suffix[:3] else (*amounts, *with_suffix(plain, taken, money))


def _suffix_of_range(text: str, suffix: Suffix, money: str) -> Suffix:
    """Return the suffix of the last number in a range: "million" for the 10 in "10 to 15 million".

    `suffix` is the suffix of the first number. It is returned if it has a multiplier and a unit, or if there is no
    range.
    """
    if suffix.unit and suffix.is_scaled:
        return suffix
    for _ in range(_DEEPEST):
        joined = _JOINED.match(text, suffix.end)
        following = joined and NUMBER.match(text, joined.end())
        if not following:
            break
        suffix = read_suffix(text, following.end(), is_money=money != "")
        if suffix.exponents != (0,) or suffix.unit:
            break
    return suffix


def with_suffix(plain: tuple[Amount, ...], suffix: Suffix, money: str) -> tuple[Amount, ...]:
    """Return the possible amounts of a number with its suffix and the currency before it."""
    unit, shift = money or suffix.unit, suffix.unit_exponent
    return tuple(
        Amount(value.scaleb(n), unit, step.scaleb(n), suffix.is_scaled, value.scaleb(n - shift))
        for value, _, step, *_ in plain
        for n in suffix.exponents
    )
