"""Redacts the kinds of data and the patterns that an admin has configured.

Data are found in the plain letters of a text (`bot.privacy.confusables`), and removed from the text as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from bot.privacy.confusables import Span, plain_letters, readings
from bot.privacy.detectors import KINDS
from bot.translation import gettext as _
from perplexity.errors import InvalidRequest
from perplexity.filters import Filters
from perplexity.steps import Request
from perplexity.types import Query

MAX_PATTERNS = 20
MAX_PATTERN = 500
"""The most patterns that an admin can set, and the most characters of a pattern."""


class Redaction(NamedTuple):
    """A piece of removed data: the name of its kind, and its text as converted by `plain_letters`."""

    kind: str
    text: str


OWN = "private"
"""The kind of data that an admin's own pattern finds."""

LABELS = {name: kind.label for name, kind in KINDS.items()} | {OWN: "private term"}


def parse_kinds(words: str) -> tuple[str, ...]:
    """Return the names of kinds in `REDACT`. Raises ValueError, which names the first invalid name."""
    names = tuple(dict.fromkeys(name.strip().lower() for name in words.split(",") if name.strip()))
    if wrong := [name for name in names if name not in KINDS]:
        raise ValueError(f"{wrong[0]} is not allowed; it takes {', '.join(KINDS)}, separated by commas")
    return names


def compile_patterns(words: str) -> tuple[Any, ...]:
    r"""Return the patterns in `REDACT_PATTERNS`, which are separated by spaces.

    The patterns have the syntax of RE2 (https://github.com/google/re2/wiki/Syntax). RE2 needs time in proportion to the
    length of a text, whatever the pattern is. Raises ValueError, whose message says what is wrong.
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
    """Redacts texts. `kinds` are names in `KINDS`, and `patterns` are the admin's compiled patterns."""

    kinds: tuple[str, ...] = ()
    patterns: tuple[Any, ...] = ()

    @property
    def is_set(self) -> bool:
        """Whether anything is configured for redaction."""
        return bool(self.kinds or self.patterns)

    def redact(self, text: str) -> tuple[str, tuple[Redaction, ...]]:
        """Return the text with a label in place of each removed piece of data, and the removed pieces."""
        pieces, left_out, end = [], [], 0
        for start, stop, kind in self._spans(text):
            if start >= end:
                pieces += [text[end:start], f"[{LABELS[kind]}]"]
                left_out.append(Redaction(kind, plain_letters(text[start:stop])[0]))
                end = stop
        return "".join([*pieces, text[end:]]), tuple(left_out)

    def _spans(self, text: str) -> list[tuple[int, int, str]]:
        """Return the spans to remove, in order, each with its kind; overlapping spans are merged into one."""
        found = [(*span, len(KINDS), OWN) for span in self._own_spans(text)]
        for reading in readings(text):
            for rank, name in enumerate(name for name in KINDS if name in self.kinds):
                found += [(*reading.in_text(span), rank, name) for span in KINDS[name].find(reading.letters)]
            if reading.letters != text:
                found += [(*reading.in_text(span), len(KINDS), OWN) for span in self._own_spans(reading.letters)]
        return [
            (start, stop, name)
            for start, stop, __, name in _merged(sorted(found, key=lambda one: (one[0], one[2], -one[1])))
        ]

    def _own_spans(self, text: str) -> Iterator[Span]:
        """Yield the spans that the admin's patterns find."""
        for pattern in self.patterns:
            for found in pattern.finditer(text):
                if found.start() < found.end():
                    yield found.span()

    def request(self, request: Request) -> tuple[Request, tuple[Redaction, ...]]:
        """Return a request with its texts and filters redacted, and the removed data.

        Raises InvalidRequest as `filters` does.
        """
        left_out: list[Redaction] = []

        def redacted(text: str) -> str:
            text, found = self.redact(text)
            left_out.extend(found)
            return text

        texts: dict[str, Any]
        if isinstance(request, Query):
            texts = {"text": redacted(request.text)}
        else:
            messages = tuple(replace(one, content=redacted(one.content)) for one in request.messages)
            texts = {"messages": messages, "standalone": redacted(request.standalone)}
        filters, hidden = self.filters(request.filters)
        left_out.extend(hidden)
        return (replace(request, filters=filters, **texts) if left_out else request), tuple(left_out)

    def filters(self, filters: Filters) -> tuple[Filters, tuple[Redaction, ...]]:
        """Return redacted filters, and the removed data.

        A redacted site that the filters exclude is not sent, but its pages are still dropped from the results. Raises
        InvalidRequest if the filters limit the search to a redacted site: without this limit, the search would cover
        other sites.
        """
        # Host names ignore case, so both cases are tried: a pattern may match only one of them.
        found = {domain: self.redact(domain)[1] or self.redact(domain.upper())[1] for domain in filters.domains}
        hidden = {domain: left_out for domain, left_out in found.items() if left_out}
        if not hidden:
            return filters, ()
        if only := [domain for domain in hidden if not domain.startswith("-")]:
            raise InvalidRequest(
                "a site that must not leave",
                field=_("a site to search"),
                value=only[0],
                allowed=_("your admin keeps this name from search services"),
            )
        domains = tuple(domain for domain in filters.domains if domain not in hidden)
        excluded = (*filters.excluded, *(domain.removeprefix("-") for domain in hidden))
        return replace(filters, domains=domains, excluded=excluded), tuple(chain.from_iterable(hidden.values()))


NO_REDACTION = Redactor()
"""Redacts nothing."""


def _merged(found: Iterable[tuple[int, int, int, str]]) -> list[tuple[int, int, int, str]]:
    """Merge overlapping spans, which are sorted by their start; a merged span has the kind with the lowest rank."""
    merged: list[tuple[int, int, int, str]] = []
    for start, stop, rank, name in found:
        if merged and start < merged[-1][1]:
            before = merged[-1]
            best = min((before[2], before[3]), (rank, name))
            merged[-1] = (before[0], max(before[1], stop), *best)
        else:
            merged.append((start, stop, rank, name))
    return merged
