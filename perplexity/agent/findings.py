"""What a tool returned, read: its text and the pages in it, whichever form the tool gives them. Pure.

Three forms are known: `<result>` and `<references>` (`format_result`), JSON with pages, and text with addresses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perplexity.types import JSON, Source
from perplexity.wire.reading import mappings, text, texts
from perplexity.wire.sources import merge

_RESULT = re.compile(
    r"<result>\n(?P<text>.*)\n</result>\s*<references>\n?(?P<references>.*?)\n?</references>", re.DOTALL
)
_REFERENCE = re.compile(r"- \[(?P<id>\d+)\] (?P<title>.*) \((?P<date>[^()]*)\) \[(?P<url>\S+)\]")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`|\\^\[\]{}]+")
_SENTENCE_END = ".,;:!?)"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A tool's result: markers in `text` refer to the numbers of `sources`, which are the tool's own.

    `cost_usd` is what the call cost, None where the tool does not say.
    """

    text: str
    sources: tuple[Source, ...] = ()
    cost_usd: float | None = None


def read(result: str) -> Finding:
    """Return what a tool's result holds; one without any page is a finding of text alone."""
    if match := _RESULT.search(result):
        entries = [found.groupdict() for found in _REFERENCE.finditer(match["references"])]
        return Finding(text=match["text"], sources=merge([entry | {"id": int(entry["id"])} for entry in entries]))
    if (decoded := _decoded(result)) is not None:
        return _of_json(decoded, result)
    return Finding(text=result, sources=merge({"url": address} for address in _addresses(result)))


def _decoded(result: str) -> Mapping[str, JSON] | Sequence[JSON] | None:
    try:
        decoded = json.loads(result)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, (dict, list)) else None


def _of_json(decoded: Mapping[str, JSON] | Sequence[JSON], result: str) -> Finding:
    """Read a list of pages, or an object: `results` or `web_results` are pages, `citations` their addresses in order.

    Markers in `content` count along `citations`.
    """
    if not isinstance(decoded, Mapping):
        pages = merge(mappings(decoded))
        return Finding(text="" if pages else result, sources=pages)
    cited = [{"url": url, "id": number} for number, url in enumerate(texts(decoded.get("citations")), 1)]
    pages = merge([*cited, *mappings(decoded.get("results")), *mappings(decoded.get("web_results"))])
    content = text(decoded.get("content")) or text(decoded.get("error"))
    return Finding(text=content if pages or content else result, sources=pages, cost_usd=_cost(decoded))


def _cost(decoded: Mapping[str, JSON]) -> float | None:
    cost = decoded.get("cost_usd")
    return float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) and cost >= 0 else None


def _addresses(result: str) -> Iterator[str]:
    for match in _ADDRESS.finditer(result):
        yield match[0].rstrip(_SENTENCE_END)
