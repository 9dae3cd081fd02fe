"""pydantic-ai's failures as ours; none of its own words, which quote what was sent, is kept. Pure.

Three forms are known: `<result>` and `<references>` (`format_result`), JSON with pages, and paragraphs of which each
holds an address.
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

from perplexity.attempts import total_cost
from perplexity.citations import cite, without_orphans, without_strangers
from perplexity.domains import filter_results
from perplexity.errors import ConnectionFailed, MalformedResponse, NothingFound, PerplexityError, RunFailed, TimedOut
from perplexity.passages import passages_answer
from perplexity.providers.openrouter import ERROR_MAP
from perplexity.sanitize import encode_url, one_line, strip_tags
from perplexity.types import JSON, Answer, Question, SearchResults, Source, Usage
from perplexity.urls import safe_url
from perplexity.validation import shorten_text
from perplexity.wire import json
from perplexity.wire.errors import error_from_status
from perplexity.wire.json import as_dollars, as_objects, as_text, as_texts, encode, loads
from perplexity.wire.sources import merge

_KINDS: Sequence[tuple[type[Exception], type[PerplexityError], str]] = (
    (ModelTimeoutError, TimedOut, "the model did not answer in time"),
    (ModelRequestTimeout, TimedOut, "the model did not answer in time"),
    (ModelConnectionError, ConnectionFailed, "no connection to the model"),
    (ContentFilterError, RunFailed, "the model's answer was held back"),
    (UnexpectedModelBehavior, MalformedResponse, "the model's answer cannot be read"),
    (UsageLimitExceeded, RunFailed, "the run took all its steps without an answer"),
    (Exception, RunFailed, "the run did not come to an end"),
)
"""The first that fits holds; a class stands before those that it inherits from."""


def translate_error(error: Exception, *, provider: str, now: float) -> PerplexityError:
    """Return the failure of a run as one of ours. `now` is in seconds since 1970.

    The library's own failures are AgentRunError; what else it raises, such as an IndexError for a response without a
    choice, and what a tool of somebody else's raises, is a run that did not come to an end.
    """
    if isinstance(error, ModelHTTPError):
        return _of_status(error, provider=provider, now=now)
    kind, message = next((ours, message) for theirs, ours, message in _KINDS if isinstance(error, theirs))
    return kind(message, provider=provider)


def _of_status(error: ModelHTTPError, *, provider: str, now: float) -> PerplexityError:
    """Classify a status as for any other endpoint; OpenRouter's statuses are those of its imitators."""
    told = {"message": error.body} if isinstance(error.body, str) else error.body
    body = encode({"error": told}, default=str).encode(errors="replace") if told else b""
    return error_from_status(
        error.status_code, error.headers or {}, body, provider=provider, error_map=ERROR_MAP, now=now
    )


# At the beginning, behind a line that may say who answered: further down it would be what a page says.
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

    `notes` and the line `stand_in` are for the person who asked; `cost_usd` is what the call cost, None if the tool
    does not say.
    """

    text: str
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    stand_in: str = ""
    cost_usd: float | None = None


def parse_tool_result(result: str) -> ToolResult:
    """Return what a tool's result holds; one without any page is a finding of text alone."""
    if parts := _parts(result):
        written, references = parts
        entries = [found.groupdict() for found in _REFERENCE.finditer(references)]
        return ToolResult(text=written, sources=merge([entry | {"id": int(entry["id"])} for entry in entries]))
    if (decoded := _decoded(result)) is not None:
        return _of_json(decoded, result)
    return ToolResult(text=result, sources=merge(_of_text(result)))


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


def _of_json(decoded: Mapping[str, JSON] | Sequence[JSON], result: str) -> ToolResult:
    """Read a list of pages, or an object: `results` or `web_results` are pages, `citations` their addresses in order.

    Markers in `content` count along `citations`, or are the pages' own ids.
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


MAX_TEXT = 20_000
MAX_SNIPPET = 4_000
NOTHING = "Nothing was found."


@dataclass(kw_only=True)
class SourceRegistry:
    """Kept during one run; pages are numbered from 1 as they come in, a page that comes again keeps its number."""

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

    def add(self, finding: ToolResult) -> str:
        """Take the pages in, and return the finding for the model: its markers are this run's numbers."""
        self.add_cost(finding.cost_usd)
        self.notes += [note for note in finding.notes if note not in self.notes]
        if finding.stand_in and finding.stand_in not in self.stand_ins:
            self.stand_ins.append(finding.stand_in)
        numbered = {source: self._numbered(source) for source in finding.sources if safe_url(source.url)}
        # Markers that become shorter make room for a little more of it, but not for twice as much.
        cited = cite(finding.text[: 2 * MAX_TEXT], tuple(numbered))
        text = "".join(p if isinstance(p, str) else f"[{numbered[p.source].number}]" for p in cited.pieces)
        return "\n\n".join(filter(None, (strip_tags(text[:MAX_TEXT]), _listed(list(numbered.values()))))) or NOTHING

    def add_cost(self, cost_usd: float | None) -> None:
        """Take down what a call cost, if that is known."""
        if cost_usd is not None:
            self.costs.append(cost_usd)

    def _numbered(self, source: Source) -> Source:
        """Return the page under its number; what it did not say the first time, it may say now."""
        address = safe_url(source.url) or source.url
        known = self.pages.get(address)
        if known is None:
            known = replace(source, number=len(self.pages) + 1, aliases=())
        elif len(source.snippet) > len(known.snippet) or known.title == known.url:
            known = replace(source, number=known.number, date=source.date or known.date, aliases=())
        self.pages[address] = known
        return known


def _listed(pages: Sequence[Source]) -> str:
    """List pages as the model reads them: number, title, date, address, and what they say."""
    if not pages:
        return ""
    return "\n".join(["<pages>", *map(_page, pages), "</pages>"])


def _page(page: Source) -> str:
    head = f"[{page.number}] {one_line(page.title)} ({one_line(page.date or 'no date')}) {encode_url(page.url)}"
    return "\n".join(filter(None, (head, one_line(page.snippet)[:MAX_SNIPPET])))


UNSEARCHED = "The agent looked nothing up for this: it answered from memory, so check it elsewhere."
NO_PAGES = "The agent found no page for this: it answered from memory, so check it elsewhere."
UNCITED = "The agent cites none of the pages that it found, so it does not say what its answer rests on."


def final_answer(text: str, messages: Sequence[ModelMessage], registry: SourceRegistry, *, provider: str) -> Answer:
    """Return the answer; what refers to no page of this run is removed, and what is left without a page is labelled.

    Raises MalformedResponse where no text is left.
    """
    kept, cut = shorten_text(json.as_text(text))
    kept, addresses = without_strangers(kept, registry.sources)
    kept, numbers = without_orphans(kept, registry.sources)
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
        notes=tuple(filter(None, (*cut, _label(kept, registry), *_removed(numbers, addresses), *registry.notes))),
    )


def partial_answer(
    error: PerplexityError,
    messages: Sequence[ModelMessage],
    registry: SourceRegistry,
    question: Question,
    *,
    provider: str,
) -> Answer:
    """Return passages of what a stopped run found. Raises the error, with the run's cost, if there are none."""
    try:
        pages = SearchResults(results=registry.sources, provider=provider)
        found = passages_answer(filter_results(pages, question.filters.domains), question.text)
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
    """Return what the model's part of a run cost, in US dollars, as far as its responses tell; None if none does."""
    return total_cost(_cost(response) for response in _responses(messages))


def _label(text: str, notebook: SourceRegistry) -> str | None:
    if not notebook.sources:
        return NO_PAGES if notebook.calls else UNSEARCHED
    return None if cite(text, notebook.sources).sources else UNCITED


def _removed(numbers: int, addresses: int) -> Iterator[str]:
    if numbers:
        references = "1 reference was" if numbers == 1 else f"{numbers} references were"
        yield f"{references} removed: no page that the agent found has that number."
    if addresses:
        places = "1 address was" if addresses == 1 else f"{addresses} addresses were"
        yield f"{places} removed: no page that the agent found is there."


def _responses(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    """Return what the model said in this run; earlier turns of the conversation name no model."""
    return [message for message in messages if isinstance(message, ModelResponse) and message.model_name is not None]


def _model(messages: Sequence[ModelMessage]) -> str | None:
    """Return the model that answered, which may be another than the one that was asked for."""
    return next((response.model_name for response in reversed(_responses(messages)) if response.model_name), None)


def _usage(messages: Sequence[ModelMessage], notebook: SourceRegistry) -> Usage:
    """Sum up the run; its cost is that of the model and of the tools, as far as they tell it."""
    made = [response.usage for response in _responses(messages)]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in made),
        output_tokens=sum(usage.output_tokens for usage in made),
        reasoning_tokens=sum(usage.output_reasoning_tokens for usage in made),
        searches=notebook.calls,
        cost_usd=total_cost([model_cost(messages), *notebook.costs]),
    )


def _cost(response: ModelResponse) -> float | None:
    """Return what the endpoint says (OpenRouter's does), or what the model's list price makes it."""
    said = (response.provider_details or {}).get("cost", response.usage.cost)
    return None if said is None else float(said)
