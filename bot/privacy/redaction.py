"""What must not leave in a question: e-mail addresses, phone and card numbers, keys, and patterns of the admin's own.

The text is compared in plain letters: without invisible characters and accents, and with ASCII's letters and digits for
those that look like them (https://www.unicode.org/reports/tr39/). What is found is cut out of the text as it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from bot.texts import failures, notices
from perplexity.errors import InvalidRequest
from perplexity.filters import Filters
from perplexity.types import Query, Question

MAX_PATTERNS = 20
MAX_PATTERN = 500
"""How many patterns an admin can set, and how long each may be."""

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of what is left out: the label in its place, how many there were in words, and how it is found.

    `find` yields the places in plain letters.
    """

    label: str
    counted: Callable[[int], str]
    find: Callable[[str], Iterator[Span]]


class LeftOut(NamedTuple):
    """Something that was left out: the name of its kind, and what it was, in plain letters."""

    kind: str
    text: str


_ALIKE = dict(
    zip(
        "аеорсухіјѕԁһӏԛԝкмтвнАВЕКМНОРСТУХІЈЅԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧαορνικτυ∙·․‐‑‒–—―−⁃⁄∕﹫",
        "aeopcyxijsdhlqwkmtbhABEKMHOPCTYXIJSGABEZHIKMNOPTYXaopviktu...--------//@",
        strict=True,
    )
)
"""Characters outside ASCII that look like one of ASCII, and that compatibility forms do not cover."""

_NOT_SEEN = frozenset({"Cf", "Mn", "Me"})
"""The categories of characters that are not seen, or only as a part of another one."""


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return what a character looks like in ASCII, if it does; empty for one that is not seen."""
    if unicodedata.category(char) in _NOT_SEEN:
        return ""
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    if char in _ALIKE:
        return _ALIKE[char]
    letters = unicodedata.normalize("NFKD", char)
    return "".join(_ALIKE.get(one, one) for one in letters if unicodedata.category(one) not in _NOT_SEEN)


def plain_letters(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in plain letters, and for each of them the place in the text that it comes from."""
    if text.isascii():
        return text, range(len(text))
    letters, places = [], []
    for place, char in enumerate(text):
        plain = char if char < "\x80" else _plain(char)
        letters.append(plain)
        places.extend([place] * len(plain))
    return "".join(letters), places


# Each begins with the first of its characters in a row and gives nothing back, so that it reads a text once.
_WORD = r"[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]"  # without the scripts that have no spaces between words
_LOCAL = rf"(?:{_WORD}|[.%+'-])"
_EMAIL = re.compile(rf"(?<!{_WORD})(?<![.%+'-]){_LOCAL}++@(?:{_WORD}|-)++(?:\.(?:{_WORD}|-)++)+")
_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)\(?\d(?:[ .()/-]{0,3}\d){7,15}")
_NATIONAL = re.compile(r"(?<![\w.,:/+(-])\(?0(?:[ .()/-]{0,3}+\d){8,12}+(?!\d)")
_NORTH_AMERICAN = re.compile(r"(?<![\w-])(?:1[ .-]?)?\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4}(?![\w-])")
_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
_DECIMAL = re.compile(r"\d+\.\d+")
_CARD = re.compile(r"(?<![\w+])[2-6](?:[ -]?\d){12,18}")
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"xox[a-z]-[\w-]{8,}+|xapp-[\w-]{8,}+|xwfp-[\w-]{8,}+"
    r"|sk-[\w-]{16,}+|[sr]k_(?:live|test)_\w{8,}+|pplx-\w{16,}+|xai-\w{16,}+"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}+|gh[opsur]_\w{20,}+|github_pat_\w{20,}+|glpat-[\w-]{16,}+"
    r"|eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+)"
)
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----")


def _emails(text: str) -> Iterator[Span]:
    for found in _EMAIL.finditer(text):
        yield found.span()


def _phones(text: str) -> Iterator[Span]:
    for pattern in (_INTERNATIONAL, _NORTH_AMERICAN):
        for found in pattern.finditer(text):
            yield found.span()
    for found in _NATIONAL.finditer(text):
        if not (_DATE.match(found[0]) or _DECIMAL.fullmatch(found[0])):
            yield found.span()


def _cards(text: str) -> Iterator[Span]:
    """Yield the numbers of 13 to 19 digits with a check digit; other digits may follow after a space."""
    start = 0
    while (found := _CARD.search(text, start)) is not None:
        start = found.start() + 1
        places = [place for place in range(*found.span()) if text[place].isdigit()]
        for length in range(len(places), 12, -1):
            end = places[length - 1] + 1
            if not text[end : end + 1].isdigit() and _luhn([int(text[place]) for place in places[:length]]):
                yield found.start(), end
                start = end
                break


def _luhn(digits: Sequence[int]) -> bool:
    """Return whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = [digit * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _keys(text: str) -> Iterator[Span]:
    for found in _KEY.finditer(text):
        yield found.span()
    end = 0
    while (begin := _PEM.search(text, end)) is not None:
        closing = _PEM_END.search(text, begin.end())
        end = closing.end() if closing is not None else len(text)
        yield begin.start(), end


KINDS: Mapping[str, Kind] = {
    "key": Kind(label=notices.KEY, counted=notices.keys, find=_keys),
    "email": Kind(label=notices.EMAIL_ADDRESS, counted=notices.email_addresses, find=_emails),
    "card": Kind(label=notices.CARD_NUMBER, counted=notices.card_numbers, find=_cards),
    "phone": Kind(label=notices.PHONE_NUMBER, counted=notices.phone_numbers, find=_phones),
}
"""The kinds by the names that `REDACT` takes; of two that overlap, the first one counts."""

OWN = "private"
"""The kind of what an admin's own pattern finds."""

LABELS = {name: kind.label for name, kind in KINDS.items()} | {OWN: notices.PRIVATE_TERM}
COUNTED = {name: kind.counted for name, kind in KINDS.items()} | {OWN: notices.private_terms}


def parse_kinds(words: str) -> tuple[str, ...]:
    """Return the names in `REDACT`. Raises ValueError, which names what is not allowed."""
    names = tuple(dict.fromkeys(name.strip().lower() for name in words.split(",") if name.strip()))
    if wrong := [name for name in names if name not in KINDS]:
        raise ValueError(f"{wrong[0]} is not allowed; it takes {', '.join(KINDS)}, separated by commas")
    return names


def compile_patterns(words: str) -> tuple[Any, ...]:
    r"""Return the patterns in `REDACT_PATTERNS`, which are separated by spaces.

    They are RE2's, which reads a text in time proportional to its length, whatever the pattern is
    (https://github.com/google/re2/wiki/Syntax). Raises ValueError, which names the pattern and what is wrong with it.
    """
    patterns = words.split()
    if len(patterns) > MAX_PATTERNS:
        raise ValueError(f"it takes at most {MAX_PATTERNS} patterns, separated by spaces")
    return tuple(map(_compile, patterns))


def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"a pattern has {len(pattern)} characters; it takes at most {MAX_PATTERN}")
    try:
        compiled = re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(rf"{pattern} is not a pattern: {reason}; write a space as \s") from None
    if compiled.search("") is not None:
        raise ValueError(f"{pattern} would match everywhere, also between two letters")
    return compiled


@dataclass(frozen=True, kw_only=True)
class Redactor:
    """Leaves things out of texts: `kinds` are names of `KINDS`, `patterns` an admin's own."""

    kinds: tuple[str, ...] = ()
    patterns: tuple[Any, ...] = ()

    @property
    def is_set(self) -> bool:
        """Whether there is anything to leave out."""
        return bool(self.kinds or self.patterns)

    def redact(self, text: str) -> tuple[str, tuple[LeftOut, ...]]:
        """Return the text with a label for each thing that is left out, and these things."""
        letters, places = plain_letters(text)
        pieces, left_out, end = [], [], 0
        for start, stop, kind in self._spans(text, letters, places):
            if start >= end:
                pieces += [text[end:start], f"[{LABELS[kind]}]"]
                left_out.append(LeftOut(kind, plain_letters(text[start:stop])[0]))
                end = stop
        return "".join([*pieces, text[end:]]), tuple(left_out)

    def _spans(self, text: str, letters: str, places: Sequence[int]) -> list[tuple[int, int, str]]:
        """Return what is to be left out, in order and without overlaps: a longer one that begins earlier counts."""
        found: list[tuple[int, int, int, str]] = []
        for rank, name in enumerate(name for name in KINDS if name in self.kinds):
            found += [(*_in_text(span, places), rank, name) for span in KINDS[name].find(letters)]
        for pattern in self.patterns:
            found += [(*span, len(KINDS), OWN) for span in _matches(pattern, text)]
            if letters != text:
                found += [(*_in_text(span, places), len(KINDS), OWN) for span in _matches(pattern, letters)]
        return [
            (start, stop, name)
            for start, stop, _, name in _merged(sorted(found, key=lambda one: (one[0], one[2], -one[1])))
        ]

    def question(self, question: Question) -> tuple[Question, tuple[LeftOut, ...]]:
        """Return a question without these things in any of its texts and filters. Raises as `filters`."""
        left_out: list[LeftOut] = []

        def redacted(text: str) -> str:
            text, found = self.redact(text)
            left_out.extend(found)
            return text

        messages = tuple(replace(one, content=redacted(one.content)) for one in question.messages)
        filters, hidden = self.filters(question.filters)
        left_out.extend(hidden)
        changed = replace(question, messages=messages, standalone=redacted(question.standalone), filters=filters)
        return (changed if left_out else question), tuple(left_out)

    def query(self, query: Query) -> tuple[Query, tuple[LeftOut, ...]]:
        """Return a query without these things. Raises as `filters`."""
        text, left_out = self.redact(query.text)
        filters, hidden = self.filters(query.filters)
        left_out += hidden
        return (replace(query, text=text, filters=filters) if left_out else query), left_out

    def filters(self, filters: Filters) -> tuple[Filters, tuple[LeftOut, ...]]:
        """Return filters without these things: a site that is left out anyway is still dropped from what comes back.

        Raises InvalidRequest if only such a site is to be searched: without it, others would be.
        """
        # A host's name has no case, and was typed in any.
        found = {domain: self.redact(domain)[1] or self.redact(domain.upper())[1] for domain in filters.domains}
        hidden = {domain: left_out for domain, left_out in found.items() if left_out}
        if not hidden:
            return filters, ()
        if only := [domain for domain in hidden if not domain.startswith("-")]:
            raise InvalidRequest(
                "a site that must not leave",
                field=failures.PRIVATE_SITE,
                value=only[0],
                allowed=failures.KEPT_PRIVATE,
            )
        domains = tuple(domain for domain in filters.domains if domain not in hidden)
        excluded = (*filters.excluded, *(domain.removeprefix("-") for domain in hidden))
        return replace(filters, domains=domains, excluded=excluded), tuple(chain.from_iterable(hidden.values()))


def _matches(pattern: Any, text: str) -> Iterator[Span]:
    for found in pattern.finditer(text):
        start, stop = found.span()
        if start < stop:
            yield start, stop


def _in_text(span: Span, places: Sequence[int]) -> Span:
    """Return where in the text something is that was found in plain letters."""
    start, stop = span
    return places[start], places[stop - 1] + 1


def _merged(found: Iterable[tuple[int, int, int, str]]) -> list[tuple[int, int, int, str]]:
    """Return the spans with those that overlap made one."""
    merged: list[tuple[int, int, int, str]] = []
    for start, stop, rank, name in found:
        if merged and start < merged[-1][1]:
            before = merged[-1]
            best = min((before[2], before[3]), (rank, name))
            merged[-1] = (before[0], max(before[1], stop), *best)
        else:
            merged.append((start, stop, rank, name))
    return merged


def count_left_out(left_out: Iterable[LeftOut]) -> dict[str, int]:
    """Return how many different things of each kind were left out."""
    different = set(left_out)
    return {name: count for name in COUNTED if (count := sum(one.kind == name for one in different))}


def left_out_text(counts: Mapping[str, int]) -> str:
    """Return a sentence about what was left out, such as "2 e-mail addresses were left out."; empty for nothing."""
    counted = [COUNTED[name](count) for name, count in counts.items() if name in COUNTED and count]
    return notices.left_out(counted, one=sum(counts.values()) == 1) if counted else ""
