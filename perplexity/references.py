"""The places in a text that refer to something: markers, links and bare addresses, outside code and LaTeX. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perplexity.addresses import linkable
from perplexity.prose import Kind, regions
from perplexity.types import Source

_NUMBERS = r"[ \t]{0,8}(?:web:)?[0-9]{1,3}(?:[ \t]{0,8}[,;][ \t]{0,8}(?:web:)?[0-9]{1,3})*[ \t]{0,8}"
_ADDRESS = (
    r"\([ \t]{{0,8}}<?(?P<{name}>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?"
    r"(?:[ \t]{{1,8}}(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]{{0,8}}\)"
)
_FOUND = re.compile(
    rf"(?:\[\[(?P<double>{_NUMBERS})\]\]{_ADDRESS.format(name='double_address')}"
    rf"|(?:\\?\[|【)(?P<numbers>{_NUMBERS})(?:\\?\]|】)(?:{_ADDRESS.format(name='address')})?"
    rf"|\[(?P<label>[^\[\]【】\n]+)\]{_ADDRESS.format(name='label_address')}"
    r"|<?(?P<bare>(?:(?i:https?)://|(?<![\w.])(?i:www)\.)[^\s<>\[\]()|`\"]+)>?)"
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|www\.", re.IGNORECASE)
_NUMBER = re.compile("[0-9]+")
_SENTENCE_END = ".,;:!?'’”*_~"


@dataclass(frozen=True, kw_only=True)
class Known:
    """The retrieved sources by the service's number and by address."""

    numbers: Mapping[int, Source]
    addresses: Mapping[str, Source]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A place in the text that refers to sources: what stays of it as text, and the sources; both may be empty.

    `orphans` counts its numbers of no source; `stranger` is a link or an address of no source.
    """

    start: int
    end: int
    text: str
    sources: tuple[Source, ...]
    orphans: int
    renamed: bool = False
    stranger: bool = False


def known_of(sources: Sequence[Source]) -> Known:
    """Return the sources by number, their aliases too, and by address."""
    addresses = {address: source for source in reversed(sources) if (address := linkable(source.url))}
    aliases = {alias: source for source in reversed(sources) for alias in source.aliases}
    return Known(numbers=aliases | {source.number: source for source in reversed(sources)}, addresses=addresses)


def references(text: str, known: Known) -> Iterator[Reference]:
    """Yield the markers, and the links and addresses of sources, in the order of the text."""
    return (reference for reference in _found(text, known) if not reference.stranger)


def strangers(text: str, known: Known) -> Iterator[Reference]:
    """Yield the links and the addresses of no source, in the order of the text; of a link its words stay."""
    return (reference for reference in _found(text, known) if reference.stranger)


def _found(text: str, known: Known) -> Iterator[Reference]:
    for region in regions(text):
        if region.kind is Kind.PROSE:
            for match in _FOUND.finditer(text, region.start, region.end):
                if reference := _read(match, known):
                    yield reference


def _read(match: re.Match[str], known: Known) -> Reference | None:
    for label, address in (("double", "double_address"), ("numbers", "address")):
        if match[label] is not None:
            return _of_numbers(match, match[label], match[address], known)
    address = match["label_address"] or (match["bare"] or "").rstrip(_SENTENCE_END)
    source = known.addresses.get(linkable(address) or "")
    end = match.end() if match["label"] or match[0].startswith("<") else match.start() + len(address)
    if source is None:
        return _of_nobody(match, address, end)
    shown = match["label"] or match.string[match.start() : end]
    return Reference(start=match.start(), end=end, text=f"{shown} ", sources=(source,), orphans=0)


def _of_nobody(match: re.Match[str], address: str, end: int) -> Reference | None:
    """Read a link that leads elsewhere, or a bare address; an address inside the text's own site is no link here."""
    if not _ELSEWHERE.match(address):
        return None
    start = match.start() - match.string.endswith("!", 0, match.start()) * bool(match["label"])
    return Reference(start=start, end=end, text=match["label"] or "", sources=(), orphans=0, stranger=True)


def _of_numbers(match: re.Match[str], numbers: str, address: str | None, known: Known) -> Reference:
    """Read a marker. Of a link whose text is a number, the address is only believed when it was retrieved."""
    wanted = [int(number) for number in _NUMBER.findall(numbers)]
    linked = known.addresses.get(linkable(address or "") or "")
    named = {number: known.numbers[number] for number in wanted if number in known.numbers}
    found = [linked] if linked else list(dict.fromkeys(named.values()))
    orphans = 0 if linked else sum(number not in named for number in wanted)
    renamed = not linked and any(source.number != number for number, source in named.items())
    return Reference(
        start=match.start(), end=match.end(), text="", sources=tuple(found), orphans=orphans, renamed=renamed
    )
