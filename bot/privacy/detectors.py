"""Patterns of e-mail addresses, phone and card numbers, bank accounts and keys, in plain letters.

So that no text takes long, a pattern either starts only where a word or number starts and never backtracks, or it
matches a bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.privacy.confusables import Span


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of redacted data: the label in its place, and the function that finds it.

    `find` yields the spans of such data in a text of plain letters.
    """

    label: str
    find: Callable[[str], Iterator[Span]]


_WORD = r"[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]"  # Excludes scripts that are written without spaces.
_LOCAL = rf"(?:{_WORD}|[.%+'-])"
_AT = r"(?:\"?@| {1,2}+@ {1,2}+| {0,2}+[\[({<] ?(?:(?i:at)|@) ?[\])}>] {0,2}+)"
_DOT = r"(?:\.| {0,2}+[\[({<] ?(?:(?i:dot)|\.) ?[\])}>] {0,2}+)"
"""The dot of an address; it may be in brackets, as people write it to hide the address from programs."""
_EMAIL = re.compile(
    rf"(?<!{_WORD})(?<![.%+'-]){_LOCAL}++{_AT}"
    rf"(?:(?:{_WORD}|-)++(?:{_DOT}((?:{_WORD}|-)++))+|\[(?i:IPv6:)?[0-9A-Fa-f.:]{{7,45}}\])"
)
"""Only words in the pattern, such as `at`, ignore case: compiling all of it that way would take 20 milliseconds."""

_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)\(?[1-9](?:[ .()/\t-]{0,3}\d){7,15}")
_NATIONAL = re.compile(r"(?<![\w,/+(-])(?<!\d[.:])\(?0(?:[ .()/\t-]{0,3}+\d){8,12}+(?!\d)")
_NORTH_AMERICAN = re.compile(
    r"(?<![\w-])(?:1[ ./-]?)?(?:\(\d{3}\)[ ./-]{0,2}\d{3}[ .-]?\d{4}|\d{3}[ ./-]{1,2}\d{3}[ .-]\d{4})(?![\w-])"
)
_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
_DECIMALS = re.compile(r"\+?\d+\.\d+(?: +[+-]?\d+(?:\.\d*)?)*")
_BOOK = re.compile(r"ISBN(?:-1[03])?[: ]{0,2}$", re.IGNORECASE)

_CARD = re.compile(r"(?<![\w+])(?<!\d\.)(?:2[ -]?[2-7]|[3-6][ -]?[0-9])")
_CARD_NUMBER = re.compile(r"\d(?:(?:[ .,_/\t-]|[ \t]?\r?\n[ \t]?)?\d){12,18}")
_CARD_GROUPS = re.compile(r"(?:4|5[1-5]|2[2-7]|3[47]|6[0-9])")
"""The first digits of the card numbers of widely accepted issuers."""

_ACCOUNT = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}")

_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"xox[a-z](?:\.xox[a-z])?-[\w-]{8,}+|xapp-[\w-]{8,}+|xwfp-[\w-]{8,}+"
    r"|hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[\w/-]{16,}+"
    r"|sk-(?!learn)[\w-]{16,}+|[srp]k_(?:live|test)_\w{8,}+|whsec_[\w+/-]{16,}+|pplx-\w{16,}+|xai-\w{16,}+"
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|AIza[\w-]{30,}+|ya29\.[\w-]{20,}+|GOCSPX-[\w-]{16,}+"
    r"|gh[opsur]_\w{20,}+|github_pat_\w{20,}+|gl(?:pat|ptt|dt|rt)-[\w-]{16,}+"
    r"|npm_[A-Za-z0-9]{30,}+|pypi-[\w-]{40,}+|hf_[A-Za-z]{30,}+|gsk_\w{30,}+|tvly-[\w-]{16,}+|BSA[\w-]{24,}+"
    r"|SG\.[\w-]{16,}+\.[\w-]{16,}+|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,}+|dop_v1_[0-9a-f]{32,}+"
    r"|eyJ[\w-]{5,}+(?:\.[\w-]*+){2,4}"
    r")"
)
_AFTER_WORD = re.compile(
    r"(?<![A-Za-z0-9])(?:bearer {1,3}|"
    r"(?:password|passwd|pwd|passphrase|secret(?:[_-]access)?[_-]key|(?:client|app|signing)[_-]secret"
    r"|api[_-]?key|access[_-]?key|(?:auth|access|api|refresh|bot)[_-]token)[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?)"
    r"(?=[^\s\"',;&]{0,60}[0-9])(?=[^\s\"',;&]{0,60}[A-Za-z])([^\s\"',;&<>]{8,}+)",
    re.IGNORECASE,
)
"""A value of letters and digits after a word, such as `password`, that says what the value is."""
_IN_ADDRESS = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/@:?#]{0,200}:[^\s/@?#]{1,200})@")
"""A name and a password in an address."""
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def _emails(text: str) -> Iterator[Span]:
    for found in _EMAIL.finditer(text):
        last = found[1] or "a"
        # The version of a package (`name@1.2`) and the address of a repository (`git@host:`) name no person.
        if last[0].isalpha() and not (
            found[0].startswith("git@") and text[found.end() : found.end() + 1] in {":", "/"}
        ):
            yield found.span()


def _phones(text: str) -> Iterator[Span]:
    for pattern in (_INTERNATIONAL, _NORTH_AMERICAN, _NATIONAL):
        for found in pattern.finditer(text):
            number, start, end = found[0], *found.span()
            if _DECIMALS.fullmatch(number):
                continue
            before = text[max(0, start - 10) : start]
            if number.startswith("0") and (
                re.match(r"[A-Za-z0-9_]", text[end : end + 1])  # More characters follow, as in a checksum.
                or _DATE.match(number)
                or _is_book(number, before)
                or _is_rest(number, before)
            ):
                continue
            yield start, end


def _is_rest(number: str, before: str) -> bool:
    """Return whether the digits are the last groups of a large number that is written in groups of three."""
    return re.search(r"\d[ .]$", before) is not None and re.fullmatch(r"\d{3}(?:[ .]\d{3})+", number) is not None


def _is_book(number: str, before: str) -> bool:
    """Return whether a number is a ten-digit ISBN, by check digit (ISO 2108) and by its form or the word before it."""
    digits = [int(char) for char in number if char.isdigit()]
    return (
        len(digits) == 10
        and sum(weight * digit for weight, digit in zip(range(10, 0, -1), digits, strict=True)) % 11 == 0
        and (number.startswith("0-") or _BOOK.search(before) is not None)
    )


def _cards(text: str) -> Iterator[Span]:
    """Yield the spans of card numbers: 13 to 19 digits, the last a check digit. A separator and digits may follow."""
    start = 0
    while (begin := _CARD.search(text, start)) is not None:
        start = begin.start() + 1
        found = _CARD_NUMBER.match(text, begin.start())
        if found is None:
            continue
        places = [place for place in range(*found.span()) if text[place].isdigit()]
        for length in range(len(places), 12, -1):
            end = places[length - 1] + 1
            if (
                not text[end : end + 1].isdigit()
                and _luhn([int(text[place]) for place in places[:length]])
                and _grouped(text[found.start() : end])
            ):
                yield found.start(), end
                start = end
                break


def _grouped(number: str) -> bool:
    """Return whether a number is grouped as on a card; True if it has only spaces and hyphens between its digits."""
    if not set(number) & set(".,_/\n\t"):
        return True
    groups = [len(group) for group in re.split(r"\D+", number)]
    return _CARD_GROUPS.match(number) is not None and (
        groups in ([4, 6, 5], [4, 6, 4]) or (set(groups[:-1]) == {4} and groups[-1] <= 4)
    )


def _luhn(digits: Sequence[int]) -> bool:
    """Return whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = [digit * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _accounts(text: str) -> Iterator[Span]:
    """Yield the spans of IBANs (ISO 13616) with valid check digits and ten or more digits, even if words follow."""
    start = 0
    while (found := _ACCOUNT.search(text, start)) is not None:
        start = found.start() + 1
        places = [place for place in range(*found.span()) if text[place].isalnum()]
        for length in range(len(places), 14, -1):
            end = places[length - 1] + 1
            number = "".join(text[place] for place in places[:length])
            if (
                not text[end : end + 1].isalnum()
                and sum(char.isdigit() for char in number) >= 10
                and int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1
            ):
                yield found.start(), end
                start = end
                break


def _keys(text: str) -> Iterator[Span]:
    for found in _KEY.finditer(text):
        yield found.span()
    for pattern in (_AFTER_WORD, _IN_ADDRESS):
        for found in pattern.finditer(text):
            yield found.span(1)
    end = 0
    while (begin := _PEM.search(text, end)) is not None:
        closing = _PEM_END.search(text, begin.end())
        end = closing.end() if closing is not None else len(text)
        yield begin.start(), end


KINDS: Mapping[str, Kind] = {
    "key": Kind(label="key", find=_keys),
    "email": Kind(label="e-mail address", find=_emails),
    "card": Kind(label="card number", find=_cards),
    "iban": Kind(label="bank account", find=_accounts),
    "phone": Kind(label="phone number", find=_phones),
}
"""The kinds by their names in `REDACT`. If data of two kinds overlap, the kind that comes first here counts."""
