"""What tools returned: the pages in a result, and their numbers in one run.

Three forms of results are known: `<result>` and `<references>` (`format_result`), JSON with pages, and paragraphs with
an address each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from perplexity.citations import cite
from perplexity.sanitize import encode_url, one_line, strip_tags
from perplexity.types import JSON, Source
from perplexity.urls import safe_url
from perplexity.wire.json import as_dollars, as_objects, as_text, as_texts, loads
from perplexity.wire.sources import merge

# At the beginning, after an optional line on the provider: further down, it would be the content of a page.
_RESULT = re.compile(r"(?:[^\n]*\n\s*)?<result>\n")
_RESULT_END = re.compile(r"\n</result>\s*<references>\n?")
_REFERENCES_END = "</references>"
_REFERENCE = re.compile(r"^- \[(?P<id>\d{1,9})\] (?P<title>.*) \((?P<date>[^()\n]*)\) \[(?P<url>\S+)\]$", re.MULTILINE)
_BETWEEN = re.compile(r"\n[ \t]*\n")
_LABEL = re.compile(r"^(?:\d+[.)]\s+)?(?:(?i:title|snippet|description|url|link|source):\s*)?")
_ADDRESS = re.compile(rf"(?:{_LABEL.pattern})<?(?P<url>https?://[^\s<>]+)>?")


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """A tool's result: markers in `text` refer to the numbers of `sources`, which are the tool's own.

    `notes` and the line `stand_in` are for the person who asked; `cost_usd` is the cost of the call, None if unknown.
    """

    text: str
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    stand_in: str = ""
    cost_usd: float | None = None


def parse_tool_result(result: str) -> ToolResult:
    """Parse the result of a tool; one without pages is only text."""
    if parts := _split_result(result):
        written, references = parts
        entries = [found.groupdict() for found in _REFERENCE.finditer(references)]
        return ToolResult(text=written, sources=merge([entry | {"id": int(entry["id"])} for entry in entries]))
    if (decoded := _decode_result(result)) is not None:
        return _parse_json(decoded, result)
    return ToolResult(text=result, sources=merge(_parse_paragraphs(result)))


def _split_result(result: str) -> tuple[str, str] | None:
    """Return the text and the references of the first form, None for any other form."""
    start, last = _RESULT.match(result), result.rfind(_REFERENCES_END)
    if start is None or last < 0:
        return None
    ends = [end for end in _RESULT_END.finditer(result, start.end()) if end.end() <= last]
    if not ends:
        return None
    references = result[ends[-1].end() : result.find(_REFERENCES_END, ends[-1].end())]
    return result[start.end() : ends[-1].start()], references.removesuffix("\n")


def _decode_result(result: str) -> Mapping[str, JSON] | Sequence[JSON] | None:
    try:
        decoded = loads(result)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, (dict, list)) else None


def _parse_json(decoded: Mapping[str, JSON] | Sequence[JSON], result: str) -> ToolResult:
    """Parse a list of pages, or an object with pages in `results` or `web_results`, or addresses in `citations`.

    Markers in `content` are positions in `citations`, or the pages' own ids.
    """
    if not isinstance(decoded, Mapping):
        pages = merge(as_objects(decoded))
        return ToolResult(text="" if pages else result, sources=pages)
    cited = [{"url": url, "id": number} for number, url in enumerate(as_texts(decoded.get("citations")), 1)]
    pages = merge([*cited, *as_objects(decoded.get("results")), *as_objects(decoded.get("web_results"))])
    content = as_text(decoded.get("content")) or as_text(decoded.get("error"))
    return ToolResult(
        text=content if pages or content else result,
        sources=pages,
        notes=tuple(as_texts(decoded.get("notes"))),
        stand_in=as_text(decoded.get("stand_in")),
        cost_usd=as_dollars(decoded.get("cost_usd")),
    )


def _parse_paragraphs(result: str) -> Iterator[Mapping[str, JSON]]:
    """Yield the pages of a text: paragraphs with a title, a line that is an address, and an excerpt.

    An address in the middle of a line is part of an excerpt, not a page that was found.
    """
    for paragraph in _BETWEEN.split(result):
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        found = [match["url"] for line in lines if (match := _ADDRESS.fullmatch(line))]
        said = [_LABEL.sub("", line, count=1) for line in lines if not _ADDRESS.fullmatch(line)]
        if len(found) == 1:
            yield {"url": found[0], "title": "".join(said[:1]), "snippet": "\n".join(said[1:])}


MAX_TEXT = 20_000
MAX_SNIPPET = 4_000
NOTHING = "Nothing was found."


@dataclass(kw_only=True)
class SourceRegistry:
    """The pages, queries, notes and costs of one run. Pages are numbered from 1; a repeated one keeps its number."""

    pages: dict[str, Source] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    calls: int = 0

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages, by number."""
        return tuple(self.pages.values())

    def add(self, result: ToolResult) -> str:
        """Register the pages, and return the result as text for the model, with the run's numbers as markers."""
        self.add_cost(result.cost_usd)
        self.notes += [note for note in result.notes if note not in self.notes]
        if result.stand_in and result.stand_in not in self.stand_ins:
            self.stand_ins.append(result.stand_in)
        numbered = {source: self._register(source) for source in result.sources if safe_url(source.url)}
        # Shorter markers leave space for a little more text, but not for twice as much.
        cited = cite(result.text[: 2 * MAX_TEXT], tuple(numbered))
        text = "".join(p if isinstance(p, str) else f"[{numbered[p.source].number}]" for p in cited.pieces)
        return "\n\n".join(filter(None, (strip_tags(text[:MAX_TEXT]), _page_list(list(numbered.values()))))) or NOTHING

    def add_cost(self, cost_usd: float | None) -> None:
        """Add the cost of a call, if it is known."""
        if cost_usd is not None:
            self.costs.append(cost_usd)

    def _register(self, source: Source) -> Source:
        """Return the page with its number; a longer excerpt or a title replaces an earlier one."""
        address = safe_url(source.url) or source.url
        known = self.pages.get(address)
        if known is None:
            known = replace(source, number=len(self.pages) + 1, aliases=())
        elif len(source.snippet) > len(known.snippet) or known.title == known.url:
            known = replace(source, number=known.number, date=source.date or known.date, aliases=())
        self.pages[address] = known
        return known


def _page_list(pages: Sequence[Source]) -> str:
    """Return the pages for the model: number, title, date, address and excerpt."""
    if not pages:
        return ""
    return "\n".join(["<pages>", *map(_page, pages), "</pages>"])


def _page(page: Source) -> str:
    head = f"[{page.number}] {one_line(page.title)} ({one_line(page.date or 'no date')}) {encode_url(page.url)}"
    return "\n".join(filter(None, (head, one_line(page.snippet)[:MAX_SNIPPET])))
