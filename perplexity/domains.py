"""Removes sources, markers and links outside the requested domains from results and answers, without I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import unquote

from perplexity.citations import drop_foreign, renumber
from perplexity.filters import MAX_HOST_LENGTH, punycode
from perplexity.notes import join_clauses
from perplexity.scope import say
from perplexity.types import JSON, Answer, SearchResults, Source

_MOST_NAMED = 3
_LONGEST_AUTHORITY = 1_000
# Addresses are parsed as browsers parse them: https://url.spec.whatwg.org/#concept-basic-url-parser
_IGNORED = re.compile(r"[\t\n\r]")
_AUTHORITY = re.compile(r"(?:https?:[/\\]*|[/\\]{2,}|(?=www\.))([^/\\?#]*)", re.IGNORECASE)
_PORT = re.compile(r":[0-9]*$")
# An ASCII name with such labels is its own punycode, so it need not be encoded.
_LABELS = re.compile(r"(?:[^.]{1,63}\.)*[^.]{0,63}")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?")

_LEAST_GROWTH = 6
"""A streamed text is examined again when at least a sixth of it (1 / `_LEAST_GROWTH`) is new."""
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")
_LAST_SPACE = re.compile(r"(?<=\S)\s+(?=\S*\Z)")
_PAIRS = (("[", "]"), ("(", ")"), ("【", "】"), ("［", "］"), ("<", ">"))
_MAY_GO_ON = re.compile(r"[`$\\]")


def requested_host(url: str) -> str | None:
    """Return the host that a browser would contact for a web address; None if it has no usable host.

    The host is in lower case and punycode, without a user name, a port and a final point.
    """
    match = _AUTHORITY.match(_IGNORED.sub("", url.strip()))
    return _host(match[1]) if match and len(match[1]) <= _LONGEST_AUTHORITY else None


def _host(authority: str) -> str | None:
    name = unquote(_PORT.sub("", authority.rpartition("@")[2])).strip()
    # Long names are rejected here, because encoding takes time in proportion to the square of the length.
    if len(name) > MAX_HOST_LENGTH + 1:
        return None
    if not (name.isascii() and _LABELS.fullmatch(name)):
        try:
            name = punycode(name)
        except UnicodeError:
            return None
    name = name.lower().rstrip(".")
    return name if _HOST.fullmatch(name) and ".." not in name else None


@dataclass(frozen=True)
class DomainPolicy:
    """Decides which addresses a search may return. `domains` are the domains of validated `Filters`.

    `sub.a.example` belongs to a.example, and `nota.example` does not. `www.a.example` and `a.example` count as one
    site, whichever was named.
    """

    domains: Sequence[str]

    @cached_property
    def _allowed(self) -> tuple[str, ...]:
        return tuple(domain for domain in self.domains if not domain.startswith("-"))

    @cached_property
    def _denied(self) -> tuple[str, ...]:
        return tuple(domain[1:] for domain in self.domains if domain.startswith("-"))

    def excludes(self, url: str) -> bool:
        """Return whether an address must not be shown.

        An address without a usable host is excluded only if the policy names domains that are allowed.
        """
        name = requested_host(url)
        if name is None:
            return bool(self._allowed)
        return _matches(name, self._denied) or (bool(self._allowed) and not _matches(name, self._allowed))

    def split(self, sources: Sequence[Source]) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
        """Return the sources that may be shown, and those that may not."""
        foreign = {source for source in sources if self.excludes(source.url)}
        return tuple(one for one in sources if one not in foreign), tuple(one for one in sources if one in foreign)

    @property
    def place(self) -> str:
        """The location of foreign sources, such as "outside a.example", "on b.example", or both with an "or"."""
        places = ((say("outside {sites}"), self._allowed), (say("on {sites}"), self._denied))
        return say(" or ").join(where.format(sites=_listed(names)) for where, names in places if names)


def _listed(names: Sequence[str]) -> str:
    listed, more = list(names[:_MOST_NAMED]), len(names) - _MOST_NAMED
    if more > 0:
        listed.append(say("{count} more").format(count=more))
    return join_clauses(listed)


def filter_results(results: SearchResults, domains: Sequence[str]) -> SearchResults:
    """Return the results within the domains, numbered from 1, with a note that counts the pages left out."""
    policy = DomainPolicy(domains)
    kept, dropped = policy.split(results.results)
    if not dropped:
        return results
    said = say("{results} {place} left out.") if kept else say("{results} {place} left out, so no result is left.")
    one = len(dropped) == 1
    count = say("1 result") if one else say("{count} results").format(count=len(dropped))
    note = said.format(results=count, place=policy.place)
    numbered = tuple(replace(source, number=number, aliases=()) for number, source in enumerate(kept, start=1))
    return replace(results, results=numbered, notes=(note, *results.notes))


def filter_answer(answer: Answer, domains: Sequence[str], *, as_json: bool = False) -> Answer:
    """Return a model's answer without sources, markers and links outside the domains; notes count what was removed.

    Sources keep the service's numbers. With `as_json`, only the string values of the JSON are filtered, and the
    remaining sources are numbered from 1 again, since a program may address them by position.
    """
    if not domains:
        return answer
    policy = DomainPolicy(domains)
    kept, dropped = policy.split(answer.sources)
    cleaner = _Cleaner(policy=policy, sources=answer.sources, dropped=frozenset(dropped))
    if as_json:
        numbers = {source.number: number for number, source in enumerate(kept, start=1)} if dropped else {}
        text = _map_strings(answer.text, lambda text: renumber(cleaner.clean(text), numbers))
        kept = tuple(replace(source, number=numbers.get(source.number, source.number)) for source in kept)
    else:
        text = cleaner.clean(answer.text)
    notes = tuple(_notes(policy, left=len(kept), dropped=len(dropped), markers=cleaner.markers, links=cleaner.links))
    return replace(answer, text=text, sources=kept, notes=(*notes, *answer.notes)) if notes else answer


def domain_notes(notes: Sequence[str], domains: Sequence[str]) -> tuple[str, ...]:
    """Return the notes that count sources and links left out because of these domains."""
    if not domains:
        return ()
    place = DomainPolicy(domains).place
    return tuple(note for note in notes if place in note)


class TextFilter:
    """Removes links and markers outside the domains from a streamed text.

    A part of the text is returned once no later piece can change it. The beginning of a link or of code is therefore
    held back, and JSON (`as_json`) is held back until its end. Sources may become known while the text arrives. A call
    of `take` takes time in proportion to the whole text, so `feed` requests such calls less and less often.
    """

    def __init__(self, domains: Sequence[str], *, as_json: bool = False) -> None:
        self.policy: DomainPolicy = DomainPolicy(domains)
        self._as_json = as_json
        self._sources: tuple[Source, ...] = ()
        self._dropped: frozenset[Source] = frozenset()
        self._pieces: list[str] = []
        self._length = self._looked_at = self._given = 0
        self._shown: int | None = 0

    def filter_sources(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """Set all sources known so far, and return those that may be shown."""
        kept, dropped = self.policy.split(sources)
        if tuple(sources) != self._sources:
            # The new sources may change the length of the text that was already returned, so `_until` computes the
            # length again.
            self._shown = None
        self._sources, self._dropped = tuple(sources), frozenset(dropped)
        return kept

    def feed(self, piece: str) -> bool:
        """Add the next piece; return whether to call `take` now."""
        self._pieces.append(piece)
        self._length += len(piece)
        enough = self._length - self._looked_at >= max(1, self._length // _LEAST_GROWTH)
        if enough:
            self._looked_at = self._length
        return enough and not self._as_json

    def take(self) -> str:
        """Return the text that has become final since the last call."""
        return self._until(_settled_length)

    def flush(self) -> str:
        """Return the rest of the text."""
        return self._until(len)

    def _until(self, end_of: Callable[[str], int]) -> str:
        text = "".join(self._pieces)
        self._pieces = [text]
        if self._shown is None:
            self._shown = len(self._clean(text[: self._given]))
        shown, self._given = self._shown, max(self._given, end_of(text))
        now = self._clean(text[: self._given])
        self._shown = len(now)
        return now[shown:]

    def _clean(self, text: str) -> str:
        cleaner = _Cleaner(policy=self.policy, sources=self._sources, dropped=self._dropped)
        return _map_strings(text, cleaner.clean) if self._as_json else cleaner.clean(text)


@dataclass(kw_only=True)
class _Cleaner:
    """Removes foreign markers, links and addresses from texts, and counts them."""

    policy: DomainPolicy
    sources: Sequence[Source]
    dropped: Collection[Source]
    markers: int = 0
    links: int = 0

    def clean(self, text: str) -> str:
        """Return the text without foreign markers, links and addresses."""
        text, markers, links = drop_foreign(text, self.sources, self.dropped, self.policy.excludes)
        self.markers += markers
        self.links += links
        return text


def _settled_length(text: str) -> int:
    """Return the length of the prefix that later text cannot change.

    The prefix ends before a blank line, or at a space that is outside brackets, code and formulas.
    """
    start = end = 0
    for blank in _BLANK_LINE.finditer(text):
        start, end = blank.end(), blank.start()
    space = _LAST_SPACE.search(text, start)
    if space is None:
        return end
    begun = text[start : space.start()]
    closed = all(begun.count(opening) == begun.count(closing) for opening, closing in _PAIRS)
    return space.start() if begun and closed and not _MAY_GO_ON.search(begun) else end


def _map_strings(text: str, change: Callable[[str], str]) -> str:
    """Return JSON with `change` applied to its string values; text that is not JSON is changed as a whole.

    If no string changes, the JSON is returned exactly as it is.
    """
    try:
        value = json.loads(text)
        changed = _map_value(value, change)
    except (ValueError, RecursionError):
        return change(text)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)


def _map_value(value: JSON, change: Callable[[str], str]) -> JSON:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_value(one, change) for one in value]
    return {key: _map_value(one, change) for key, one in value.items()} if isinstance(value, dict) else value


def _notes(policy: DomainPolicy, *, left: int, dropped: int, markers: int, links: int) -> Iterator[str]:
    if dropped:
        sources = say("1 source") if dropped == 1 else say("{count} sources")
        references = say("1 reference") if markers == 1 else say("{count} references")
        if not markers:
            said = say("{sources} {place} left out.")
        elif dropped == 1:
            said = say("{sources} {place} left out, with {references} to it.")
        else:
            said = say("{sources} {place} left out, with {references} to them.")
        said = said if left else f"{said.removesuffix('.')}{say('; no source is left.')}"
        counts = {"sources": sources.format(count=dropped), "references": references.format(count=markers)}
        yield said.format(**counts, place=policy.place)
    if links:
        removed = say("1 link {place} removed.") if links == 1 else say("{count} links {place} removed.")
        yield removed.format(count=links, place=policy.place)


def _matches(name: str, domains: Collection[str]) -> bool:
    return f"www.{name}" in domains or any(f".{name}".endswith(f".{domain}") for domain in domains)
