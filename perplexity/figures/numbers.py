"""Reads numbers with the words around them, and decides whether the numbers of two texts can be the same."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property

from perplexity.figures.amounts import (
    SPACES,
    Amount,
    digits_of,
    read_amounts,
    read_suffix,
    unit_before,
    with_suffix,
)
from perplexity.lexicon.common_words import ENGLISH, GERMAN
from perplexity.lexicon.units import CURRENCIES, find_unit

_LETTERS_BEFORE = re.compile(r"([^\W\d_]+)([-‑]?)\Z")
_LETTERS_AFTER = re.compile(r"[^\W\d_]{1,40}")
_ORDINAL_END = re.compile(r"(?:st|nd|rd|th|s|x|fold|er|ern|te[nrsm]?|fach\w{0,2}|mal)(?![^\W\d_])")
_WORD_BEFORE = re.compile(r"([^\W\d_]+)\s\Z")
_WORD_AFTER = re.compile(r"[-‑ \u00a0]{0,2}([^\W\d_]{1,40})")
_POINTS = {"point", "points", "punkt", "punkte", "punkten", "zähler", "zählern"}
_LOOSE_WORDS = "nearly only overall plus year years month months week weeks day days just new today"
_LOOSE = ENGLISH | GERMAN | set(_LOOSE_WORDS.split(" "))
"""Words after a number that do not name the things counted."""
_RELATED: tuple[set[str], ...] = ({"°", "°C"}, {"°", "°F"}, {"J", "year"}, {"m³", "m³/m²"},
    {"kr", "SEK"}, {"kr", "NOK"}, {"kr", "DKK"},
)  # fmt: skip
"""Pairs of units that may mean the same: "12 J." may be "12 Jahre", and litres of rain are litres per m²."""
_HEDGE = re.compile(
    r"(?<!\w)(?:"
    r"(?P<over>over|more than|above|at least|exceed(?:s|ing|ed)|upwards of|über|mehr als|mindestens|gut)|"
    r"(?P<under>under|less than|fewer than|below|up to|at most|unter|weniger als|bis zu|höchstens|maximal)|"
    r"(?P<nearly>nearly|almost|close to|just under|knapp|fast|annähernd|nahezu|beinahe)|"
    r"(?P<about>about|around|approximately|approx\.?|roughly|some|circa|ca\.?|c\.|estimated|"
    r"rund|etwa|ungefähr|zirka|schätzungsweise)|(?P<sign>[~≈∼>]))"
    r"[ \u00a0]?(?:US|C|A)?[$€£¥]?[ \u00a0]?\Z",
    re.IGNORECASE,
)
_SIDES = frozenset({"over", "under", "nearly"})
_LONGEST_HEDGE = 24
_DECIMAL_END = re.compile(r"[.,]\d{1,2}\Z")


_MINUS = re.compile(
    r"(?:(?<![^\s(|:=])[-−–](?:US|C|A)?[$€£¥]?|[$€£¥][-−]|"
    r"(?<!or )(?<!oder )(?:minus|negative|negativ)[ \u00a0][$€£¥]?)\Z"
)
_BELOW = re.compile(
    r"(?<![^\W\d_])(?:(?:minus|negativ|loss|lost|los|fell|fall|drop|declin|decreas|shr[aiu]nk|contract|deficit|slump|plung|"
    r"slid|tumbl|reduc|cut|below|under|down|lower|less|few|short|behind|sank|sunk|sink|debt|outflow|verlust|verlor|gesunken|"
    r"fiel|gefallen|rückgang|zurück|defizit|schrumpf|unter|weniger|niedriger|geringer|einbruch|abnahme|abgenommen)[a-zäöü]*)",
    re.IGNORECASE,
)


_IN = re.compile(r"(?<!\w)(?:in|since|until|im|seit|bis|jahr)[ \u00a0]\Z", re.IGNORECASE)


def hedge_before(text: str, start: int) -> str:
    """Return the kind of hedge before a number: "over", "under", "nearly", "about", or an empty string."""
    match = _HEDGE.search(text, max(0, start - _LONGEST_HEDGE), start)
    return "" if match is None else "about" if match["sign"] else match.lastgroup or ""


_NAME_BEFORE = re.compile(r"(?:(?<=[^\W\d_] )|(?<=, ))([A-ZÄÖÜ][^\W\d_]{3,20}) \Z")
_AGE = re.compile(r"(?<!\w)(?:aged?|age of|was|at|turned|Alter von|mit)[ \u00a0]\Z")
_OLD = re.compile(r"[- \u00a0]?(?:years?[- ]|Jahre )?(?:old|alt|jährig)")


_RATE = re.compile(r"[ -]?(?:per [^\W\d_]{1,20} )?(?:/ ?|per |an? |each |every |pro |je )([^\W\d_]{1,20})")


class Number:
    """A number in a text, from `start` to `end`. `value` is None for a number in digits."""

    def __init__(self, text: str, start: int, end: int, value: Decimal | None = None) -> None:
        self.text, self.start, self.end = text, start, end
        self.written = text[start:end]
        self.before, self.after = text[max(0, start - 2) : start], text[end : end + 2]
        self.value = value
        self.in_words = value is not None
        self.has_four_digits = len(self.written) == 4 and self.written.isdecimal()
        self.digits = digits_of(self.written) if value is None else f"{value:f}".replace(".", "").strip("0")

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """The possible amounts; empty for a version or a number that is too long."""
        if self.value is None:
            return read_amounts(self.text, self.start, self.end)
        step = Decimal(1) if self.value % 1 == 0 else Decimal("0.05")
        return with_suffix((Amount(self.value, "", step),), read_suffix(self.text, self.end), "")

    @cached_property
    def end_of_unit(self) -> int:
        """The place at which the number's multiplier and unit end."""
        return read_suffix(self.text, self.end).end

    @cached_property
    def is_scaled(self) -> bool:
        """Whether the number is written with a multiplier."""
        return any(amount.is_scaled for amount in self.amounts)

    @property
    def is_year(self) -> bool:
        """Whether the number may be a year."""
        return self.has_four_digits and "1000" <= self.written < "2200"

    @cached_property
    def rate(self) -> str:
        """The unit after "per" or "a", as in "$12 a month"; empty if there is none."""
        match = _RATE.match(self.text, self.end_of_unit)
        known = find_unit(match[1]) if match else None
        return known[0] if known and known[0] not in {"W", "Wh"} else ""

    @property
    def is_age(self) -> bool:
        """Whether the words around the number say that it is an age."""
        return bool(_AGE.search(self.text, max(0, self.start - 12), self.start) or _OLD.match(self.text, self.end))

    @cached_property
    def name(self) -> str:
        """The capitalised word that forms a name with the number, in lower case; "" if there is none.

        It is "voyager" for the 1 in "Voyager 1".
        """
        match = _NAME_BEFORE.search(self.text, max(0, self.start - 24), self.start)
        is_short = self.written.isdecimal() and len(self.written) < 4 and not self.amounts[0].unit
        if not match or not is_short or names_what(self.text, self.end_of_unit) or match[1].lower() in _LOOSE:
            return ""
        return match[1].lower()

    @cached_property
    def letters(self) -> tuple[str, str]:
        """The letters before and after the number that form a name with it, as in "A380", "COVID-19" and "5G"."""
        text, start, end = self.text, self.start, self.end
        prefix = suffix = ""
        is_name = self.before[1:] in {"-", "‑"} or self.before[1:].isalpha()
        before = _LETTERS_BEFORE.search(text, max(0, start - 16), start) if is_name else None
        joins = before and before[2] and text[before.start() - 2 : before.start() - 1].isdecimal()
        if before and not joins and before[1].lower() not in {"v", "x", "s"} and not unit_before(text, start):
            year = end - start == 4 and text[start] in "12"
            if not before[2] or (not year and before[1].lower() not in {"minus", "bis", "und", "to"}):
                prefix = before[0]
        after = _LETTERS_AFTER.match(text, end) if self.after[:1].isalpha() else None
        if after and not _ORDINAL_END.match(text, end):
            is_money = unit_before(text, start) != ""
            suffix = after[0] if read_suffix(text, end, is_money=is_money).end == end else ""
        return prefix, suffix

    @cached_property
    def counts(self) -> bool:
        """Whether the word after the number names the things counted."""
        return counts(self.text, self.end)

    @cached_property
    def is_negative(self) -> bool:
        """Whether the number has a minus."""
        return _MINUS.search(self.text, max(0, self.start - 12), self.start) is not None

    @cached_property
    def may_be_negative(self) -> bool:
        """Whether the number has a minus or brackets, or a word near it says that something is less."""
        below = _BELOW.search(self.text, max(0, self.start - 60), self.end + 50)
        return self.is_negative or self.before.strip("$€£").endswith("(") or below is not None

    def has_sign_of(self, other: Number) -> bool:
        """Return whether the signs of two numbers, or the words for them, can be the same."""
        return other.may_be_negative if self.is_negative else self.may_be_negative or not other.is_negative

    @property
    def _is_after_in(self) -> bool:
        return _IN.search(self.text, max(0, self.start - 9), self.start) is not None

    def is_other_kind_of_year(self, other: Number) -> bool:
        """Return whether, of two equal numbers, one is a year and the other has a separator, which no year has."""
        if self.is_year and not self.counts and self._is_after_in:
            return other.written[1:2] in {",", "."}
        return self.counts and self.written[1:2] in {",", "."} and other.has_four_digits and other._is_after_in

    @cached_property
    def hedge(self) -> str:
        """The kind of hedge before the number: "over", "under", "nearly", "about", or an empty string."""
        return hedge_before(self.text, self.start)

    def as_one(self) -> tuple[str, ...]:
        """Return other ways to write the number 1 with the word after it, such as "one goal" and "number one"."""
        after = _WORD_AFTER.match(self.text, self.end)
        nouns = [after[1].lower()] if after and self.counts else []
        ones = [f"{one} {noun}" for noun in nouns for one in ("one", "ein", "eine", "single")]
        return ("number one", "nummer eins", "platz eins", *ones)


def span_with_unit(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of a number together with its currency, its multiplier and its unit."""
    money, first = unit_before(text, start), start
    if money:
        first -= 1 + (text[start - 1] in SPACES)
        while first > max(0, start - 5) and not text[first - 1].isspace() and text[first - 1] not in "(-–—/":
            first -= 1
    return first, max(end, read_suffix(text, end, is_money=money != "").end)


def has_same_name(mine: Number, other: Number) -> bool:
    """Return whether the letters around `other`, the excerpt's number, as in "A380", are also around `mine`."""
    prefix, suffix = other.letters
    word = prefix.rstrip("-‑").lower()
    before = mine.text[max(0, mine.start - len(word) - 1) : mine.start]
    if not before.rstrip("-‑ \u00a0").lower().endswith(word):
        return False
    after = mine.text[mine.end : mine.end + 1 + len(suffix)].lower()
    return after.endswith(suffix.lower()) or (len(suffix) == 1 and suffix.lower() in _initials(mine))


def _initials(number: Number) -> set[str]:
    """Return the first letters, in lower case, of the words next to a number: "d" for "3 dimensions", which is "3D"."""
    before = _WORD_BEFORE.search(number.text, max(0, number.start - 24), number.start)
    after = _WORD_AFTER.match(number.text, number.end)
    return {match[1][0].lower() for match in (before, after) if match}


def counts(text: str, end: int) -> bool:
    """Return whether the word after a number may name the things counted."""
    match = _WORD_AFTER.match(text, end)
    return match is not None and match[1].lower() not in _LOOSE


_BEINGS = frozenset(["people", "men", "women", "children", "staff", "personnel", "units", "votes"])


def names_what(text: str, end: int) -> bool:
    """Return whether the word after a number looks like a counted noun: a plural, or a German noun."""
    match = _WORD_AFTER.match(text, end)
    if match is None or match[1].lower() in _LOOSE or len(match[1]) < 4:
        return False
    return match[1].endswith("s") or match[1] in _BEINGS or match[1][0].isupper()


def unit_follows(text: str, end: int, unit: str) -> bool:
    """Return whether a unit follows a number directly, after one or two other words, or as the end of a German word."""
    for _ in range(3):
        match = _WORD_AFTER.match(text, end)
        if match is None or read_suffix(text, end).unit == unit:
            break
        word, end = match[1], match.end()
        if word[0].isupper() and any((find_unit(word[n:]) or ("",))[0] == unit for n in range(3, len(word) - 2)):
            return True
        if unit == "%" and word.lower() in _POINTS:
            return True
    return read_suffix(text, end).unit == unit


def in_table(amount: Amount) -> bool:
    """Return whether an amount without a unit was multiplied because it is in a table (see `Excerpt._scaled`)."""
    return amount.unit == "?"


def are_alike(mine: Amount, other: Amount) -> bool:
    """Return whether two amounts have the same unit or units that may mean the same, or `other` is from a table."""
    return mine.unit == other.unit or {mine.unit, other.unit} in _RELATED or in_table(other)


def _is_money(mine: Amount, other: Amount) -> bool:
    """Return whether one of two amounts is money, and the other has a multiplier but no unit: "nearly a billion"."""
    without, with_unit = (mine, other) if mine.unit == "" else (other, mine)
    return without.unit == "" and without.is_scaled and with_unit.unit in CURRENCIES


def is_about(mine: Decimal, other: Decimal, hedge: str) -> bool:
    """Return whether `other` is at most a tenth of `mine` away from it, in a direction that the hedge allows."""
    difference = other - mine
    return 10 * abs(difference) <= mine and (hedge == "about" or (difference >= 0) == (hedge == "over"))


def rounds(number: Number, mine: Amount, other: Amount) -> bool:
    """Return whether the sentence's amount, `mine`, is the excerpt's amount, `other`, rounded as the wording allows.

    Equal amounts do not count as rounded, nor does a whole number below 10 that has no unit, multiplier or hedge.

    Any other number may be rounded at its last written digit, if the difference is at most a quarter of the number, or
    half of a number with decimals. In the direction opposite to a hedge, it is at most a twentieth.

    Without a hedge, the number may also be rounded at its last digit other than zero, if the difference is at most one
    percent. A hedge allows a larger difference, measured in units of the last digit other than zero:

    - "about": half a unit, or a whole unit if the digit is a five or the number is 1, 10, 100 and so on, but at most a
      tenth of the number.
    - "over", "under" and "nearly": less than a unit, in the direction of the hedge, and at most a fifth of the number;
      after "over" and "under", at most half of it if it is 1, 10, 100 and so on.
    """
    difference = other.value - mine.value
    is_small = mine.value < 10 and mine.step >= 1 and not (mine.unit or mine.is_scaled or number.hedge)
    if not (are_alike(mine, other) or _is_money(mine, other)) or not other.value or not difference or is_small:
        return False
    written = f"{mine.bare:f}" if number.in_words and not mine.is_scaled else number.written
    zeros = 0 if _DECIMAL_END.search(written) else written[len(written.rstrip("0.,' \u00a0\u202f’")) :].count("0")
    rough, distance = mine.step.scaleb(zeros), abs(difference)
    if 2 * distance <= mine.step:
        is_contrary = number.hedge in _SIDES and (difference > 0) != (number.hedge == "over")
        is_near = (20 if is_contrary else 4 if mine.step >= 1 else 2) * distance <= mine.value
        if is_near or is_contrary or not number.hedge:
            return is_near
    if number.hedge == "about":
        is_coarse = number.digits == "1" or number.digits.endswith("5")
        return distance <= min(rough if is_coarse else rough / 2, mine.value / 10)
    if number.hedge:
        return (
            (difference > 0) == (number.hedge == "over")
            and distance < rough
            and (2 if number.digits == "1" and number.hedge != "nearly" else 5) * distance <= mine.value
        )
    return len(number.digits) > 1 and 2 * distance <= rough and 100 * distance <= mine.value
