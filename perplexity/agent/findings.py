"""What a tool returned, read: its text and the pages in it, whichever form the tool gives them. Pure.

Three forms are known: `<result>` and `<references>` (`format_result`), JSON with pages, and paragraphs of which each
holds an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perplexity.types import JSON, Source
from perplexity.wire.reading import dollars, loads, mappings, text, texts
from perplexity.wire.sources import merge

# At the beginning, behind a line that may say who answered: further down it would be what a page says.
_RESULT = re.compile(r"(?:[^\n]*\n\s*)?<result>\n")
_RESULT_END = re.compile(r"\n</result>\s*<references>\n?")
_REFERENCES_END = "</references>"
_REFERENCE = re.compile(r"^- \[(?P<id>\d{1,9})\] (?P<title>.*) \((?P<date>[^()\n]*)\) \[(?P<url>\S+)\]$", re.MULTILINE)
_BETWEEN = re.compile(r"\n[ \t]*\n")
_LABEL = re.compile(r"^(?:\d+[.)]\s+)?(?:(?i:title|snippet|description|url|link|source):\s*)?")
_ADDRESS = re.compile(rf"(?:{_LABEL.pattern})<?(?P<url>https?://[^\s<>]+)>?")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A tool's result: markers in `text` refer to the numbers of `sources`, which are the tool's own.

    `notes` and the line `stand_in` are for the person who asked; `cost_usd` is what the call cost, None if the tool
    does not say.
    """

    text: str
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    stand_in: str = ""
    cost_usd: float | None = None


def read(result: str) -> Finding:
    """Return what a tool's result holds; one without any page is a finding of text alone."""
    if parts := _parts(result):
        written, references = parts
        entries = [found.groupdict() for found in _REFERENCE.finditer(references)]
        return Finding(text=written, sources=merge([entry | {"id": int(entry["id"])} for entry in entries]))
    if (decoded := _decoded(result)) is not None:
        return _of_json(decoded, result)
    return Finding(text=result, sources=merge(_of_text(result)))


def _parts(result: str) -> tuple[str, str] | None:
    """Return the text and the references of the first form, None for another form."""
    start, last = _RESULT.match(result), result.rfind(_REFERENCES_END)
    if start is None or last < 0:
        return None
    ends = [end for end in _RESULT_END.finditer(result, start.end()) if end.end() <= last]
    if not ends:
        return None
    references = result[ends[-1].end() : result.find(_REFERENCES_END, ends[-1].end())]
    return result[start.end() : ends[-1].start()], references.removesuffix("\n")


def _decoded(result: str) -> Mapping[str, JSON] | Sequence[JSON] | None:
    try:
        decoded = loads(result)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, (dict, list)) else None


def _of_json(decoded: Mapping[str, JSON] | Sequence[JSON], result: str) -> Finding:
    """Read a list of pages, or an object: `results` or `web_results` are pages, `citations` their addresses in order.

    Markers in `content` count along `citations`, or are the pages' own ids.
    """
    if not isinstance(decoded, Mapping):
        pages = merge(mappings(decoded))
        return Finding(text="" if pages else result, sources=pages)
    cited = [{"url": url, "id": number} for number, url in enumerate(texts(decoded.get("citations")), 1)]
    pages = merge([*cited, *mappings(decoded.get("results")), *mappings(decoded.get("web_results"))])
    content = text(decoded.get("content")) or text(decoded.get("error"))
    return Finding(
        text=content if pages or content else result,
        sources=pages,
        notes=tuple(texts(decoded.get("notes"))),
        stand_in=text(decoded.get("stand_in")),
        cost_usd=dollars(decoded.get("cost_usd")),
    )


def _of_text(result: str) -> Iterator[Mapping[str, JSON]]:
    """Yield the pages of a text: paragraphs with a line that is an address, under a title, beside what the page says.

    An address in the middle of a line is what a page says, and no page that was found.
    """
    for paragraph in _BETWEEN.split(result):
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        found = [match["url"] for line in lines if (match := _ADDRESS.fullmatch(line))]
        said = [_LABEL.sub("", line, count=1) for line in lines if not _ADDRESS.fullmatch(line)]
        if len(found) == 1:
            yield {"url": found[0], "title": "".join(said[:1]), "snippet": "\n".join(said[1:])}
