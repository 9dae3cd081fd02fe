"""The tool results of a run, with the numbers of their pages, and the answer or error that ends the run.

Three forms of results are known: `<result>` and `<references>` (`format_result`), JSON with pages, and paragraphs with
an address each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelResponse

from perplexity import scope
from perplexity.citations import drop_dangling, drop_unknown_links, number_citations
from perplexity.domains import filter_results
from perplexity.errors import (
    ConnectionFailed,
    MalformedResponse,
    NothingFound,
    PerplexityError,
    RunFailed,
    TimedOut,
    total_cost,
)
from perplexity.passages import passages_answer
from perplexity.providers.openrouter import ERROR_MAP
from perplexity.sanitize import format_pages, strip_tags
from perplexity.scope import N_, say
from perplexity.types import JSON, Answer, Question, SearchResults, Source, Usage, shorten_text
from perplexity.urls import safe_url
from perplexity.wire.errors import error_from_status
from perplexity.wire.json import as_dollars, as_objects, as_text, as_texts, encodable_text, encode, loads
from perplexity.wire.sources import merge

# Matches only at the beginning, after an optional line on the provider: further down, `<result>` is text of a page.
_RESULT = re.compile(r"(?:[^\n]*\n\s*)?<result>\n")
_RESULT_END = re.compile(r"\n</result>\s*<references>\n?")
_REFERENCES_END = "</references>"
_REFERENCE = re.compile(r"^- \[(?P<id>\d{1,9})\] (?P<title>.*) \((?P<date>[^()\n]*)\) \[(?P<url>\S+)\]$", re.MULTILINE)
_BETWEEN = re.compile(r"\n[ \t]*\n")
_LABEL = re.compile(r"^(?:\d+[.)]\s+)?(?:(?i:title|snippet|description|url|link|source):\s*)?")
_ADDRESS = re.compile(rf"(?:{_LABEL.pattern})<?(?P<url>https?://[^\s<>]+)>?")


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """A tool's result. The markers in `text` are the numbers that the tool gave the `sources`.

    `notes` and the line `stand_in` are for the person who asked; `cost_usd` is the cost of the call, None if unknown.
    """

    text: str
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    stand_in: str = ""
    cost_usd: float | None = None


def parse_tool_result(result: str) -> ToolResult:
    """Parse the result of a tool; a result without pages is only text."""
    result = encodable_text(result)
    if parts := _split_result(result):
        written, references = parts
        entries = [found.groupdict() for found in _REFERENCE.finditer(references)]
        return ToolResult(text=written, sources=merge([entry | {"id": int(entry["id"])} for entry in entries]))
    if (decoded := _decode_result(result)) is not None:
        return _parse_json(decoded, result)
    return ToolResult(text=result, sources=merge(_parse_paragraphs(result)))


def _split_result(result: str) -> tuple[str, str] | None:
    """Return the text and the references of a result in the form of `format_result`; None for any other form."""
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

    A marker in `content` is the position of an address in `citations`, from 1, or the id of a page.
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
NO_RESULTS = "Nothing was found."


@dataclass(kw_only=True)
class SourceRegistry:
    """The pages, queries, notes and costs of one run. Pages are numbered from 1; a repeated page keeps its number."""

    pages: dict[str, Source] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)
    calls: int = 0

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages, by number."""
        return tuple(self.pages.values())

    def add(self, result: ToolResult) -> str:
        """Register the pages, and return the result as text for the model, with the run's numbers as markers."""
        self.costs.append(result.cost_usd)
        self.notes += [note for note in result.notes if note not in self.notes]
        if result.stand_in and result.stand_in not in self.stand_ins:
            self.stand_ins.append(result.stand_in)
        numbered = {source: self._register(source) for source in result.sources if safe_url(source.url)}
        # The text may shrink, because a marker may become shorter, and one without a page is removed. Twice `MAX_TEXT`
        # characters are enough in practice.
        cited = number_citations(result.text[: 2 * MAX_TEXT], tuple(numbered))
        text = "".join(p if isinstance(p, str) else f"[{numbered[p.source].number}]" for p in cited.pieces)
        listed = format_pages(list(numbered.values()), characters=MAX_SNIPPET) if numbered else ""
        return "\n\n".join(filter(None, (strip_tags(text[:MAX_TEXT]), listed))) or NO_RESULTS

    def _register(self, source: Source) -> Source:
        """Return the page with its number in the run.

        If a page with the same address is known, the new page replaces it only if the new excerpt is longer, or if the
        known page has no title.
        """
        address = safe_url(source.url) or source.url
        known = self.pages.get(address)
        if known is None:
            known = replace(source, number=len(self.pages) + 1, aliases=())
        elif len(source.snippet) > len(known.snippet) or known.title == known.url:
            title = known.title if source.title == source.url else source.title
            known = replace(source, number=known.number, title=title, date=source.date or known.date, aliases=())
        self.pages[address] = known
        return known


UNSEARCHED = N_("The agent searched for nothing: it answered from memory, so check the answer elsewhere.")
NO_PAGES = N_("The agent found no pages: it answered from memory, so check the answer elsewhere.")
UNCITED = N_("The agent cites none of the pages that it found, so you can’t check what its answer rests on.")


def final_answer(text: str, messages: Sequence[ModelMessage], registry: SourceRegistry, *, provider: str) -> Answer:
    """Return the answer without references to unknown pages, and with a note if it cites no page at all.

    Raises MalformedResponse if no text is left.
    """
    kept, cut = shorten_text(as_text(encodable_text(text)))
    kept, addresses = drop_unknown_links(kept, registry.sources)
    kept, numbers = drop_dangling(kept, registry.sources)
    if not kept.strip():
        raise MalformedResponse("the model's answer is empty", provider=provider)
    return Answer(
        text=kept,
        sources=registry.sources,
        provider=provider,
        model=_model(messages),
        queries=tuple(registry.queries),
        incomplete="length" if any(r.finish_reason == "length" for r in _responses(messages)[-1:]) else None,
        usage=_usage(messages, registry),
        stand_in=" ".join(registry.stand_ins),
        notes=tuple(
            filter(None, (*cut, _source_warning(kept, registry), *_removal_notes(numbers, addresses), *registry.notes))
        ),
    )


def partial_answer(
    error: PerplexityError,
    messages: Sequence[ModelMessage],
    registry: SourceRegistry,
    question: Question,
    *,
    provider: str,
) -> Answer:
    """Return passages from the pages of a run that failed. If there are none, raise `error` with the run's cost."""
    try:
        pages = SearchResults(results=registry.sources, provider=provider)
        found = passages_answer(filter_results(pages, question.filters.enforced), question.text)
    except NothingFound:
        error.cost_usd = _usage(messages, registry).cost_usd
        raise error from None
    return replace(
        found,
        model=_model(messages),
        queries=tuple(registry.queries),
        usage=_usage(messages, registry),
        stand_in=" ".join(registry.stand_ins),
        notes=(*found.notes, *registry.notes),
    )


def model_cost(messages: Sequence[ModelMessage]) -> float | None:
    """Return the known cost of the model's calls in US dollars; None if no cost is known."""
    return total_cost(response_cost(response) for response in _responses(messages))


def _source_warning(text: str, registry: SourceRegistry) -> str | None:
    if not registry.sources:
        return say(NO_PAGES if registry.calls else UNSEARCHED)
    return None if number_citations(text, registry.sources).sources else say(UNCITED)


def _removal_notes(numbers: int, addresses: int) -> Iterator[str]:
    if numbers:
        one = say("1 reference was removed: no page that the agent found has that number.")
        many = say("{count} references were removed: no page that the agent found has that number.")
        yield one if numbers == 1 else many.format(count=numbers)
    if addresses:
        one = say("1 address was removed: no page that the agent found is there.")
        many = say("{count} addresses were removed: no page that the agent found is there.")
        yield one if addresses == 1 else many.format(count=addresses)


def _responses(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    """Return the responses of this run; those of earlier turns have no model name."""
    return [message for message in messages if isinstance(message, ModelResponse) and message.model_name is not None]


def _model(messages: Sequence[ModelMessage]) -> str | None:
    """Return the model that answered, which may differ from the requested one."""
    return next((response.model_name for response in reversed(_responses(messages)) if response.model_name), None)


def _usage(messages: Sequence[ModelMessage], registry: SourceRegistry) -> Usage:
    """Return the usage of the run; `cost_usd` is the sum of the known costs of the model and the tools."""
    made = [response.usage for response in _responses(messages)]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in made),
        output_tokens=sum(usage.output_tokens for usage in made),
        reasoning_tokens=sum(usage.output_reasoning_tokens for usage in made),
        searches=registry.calls,
        cost_usd=total_cost([model_cost(messages), *registry.costs]),
    )


def response_cost(response: ModelResponse) -> float | None:
    """Return the cost that the endpoint reports, as OpenRouter does, or else the cost at the model's list price."""
    said = (response.provider_details or {}).get("cost")
    if said is None and response.usage.cost is not None:
        return float(response.usage.cost)
    return as_dollars(said)


_ERRORS: Sequence[tuple[type[Exception], type[PerplexityError], str]] = (
    (ModelTimeoutError, TimedOut, "the model did not answer in time"),
    (ModelRequestTimeout, TimedOut, "the model did not answer in time"),
    (ModelConnectionError, ConnectionFailed, "no connection to the model"),
    (ContentFilterError, RunFailed, "the model's answer was held back"),
    (UnexpectedModelBehavior, MalformedResponse, "the model's answer cannot be read"),
    (UsageLimitExceeded, RunFailed, "the run used all its steps without an answer"),
    (Exception, RunFailed, "the run failed unexpectedly"),
)
"""The classes of the library's errors, with the class and the message of the error that replaces each.

The first matching class counts; subclasses come before their bases.
"""


def translate_error(error: Exception, *, provider: str, now: float) -> PerplexityError:
    """Return the failure of a run as a PerplexityError, without the library's message, which quotes what was sent.

    The library's own errors are subclasses of AgentRunError. Any other exception, such as an IndexError for a response
    without a choice or an error of a foreign tool, becomes RunFailed. `now` is in seconds since 1970.
    """
    if isinstance(error, ModelHTTPError):
        return _from_status(error, provider=provider, now=now)
    kind, message = next((ours, message) for theirs, ours, message in _ERRORS if isinstance(error, theirs))
    return kind(message, provider=provider)


def _from_status(error: ModelHTTPError, *, provider: str, now: float) -> PerplexityError:
    """Return the error for an HTTP status. The statuses of every endpoint are read as those of OpenRouter."""
    message = {"message": error.body} if isinstance(error.body, str) else error.body
    body = encode({"error": message}, default=str).encode(errors="replace") if message else b""
    if (own := scope.current().keys) is not None:
        for key in own.keys.values():
            body = body.replace(key.encode(), b"***")
    return error_from_status(
        error.status_code, error.headers or {}, body, provider=provider, error_map=ERROR_MAP, now=now
    )
