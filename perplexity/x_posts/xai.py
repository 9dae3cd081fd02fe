"""Requests to xAI's Responses API with its search of X, and their responses.

https://docs.x.ai/docs/guides/tools/overview
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from perplexity.errors import BillingError, PerplexityError, RateLimitError, RunFailed
from perplexity.types import JSON
from perplexity.wire.errors import ErrorMap, sanitize_message
from perplexity.wire.json import as_count, as_dollars, as_object, as_objects, as_text, as_texts
from perplexity.x_posts.parsing import inline_links
from perplexity.x_posts.prompt import MAX_SEARCHES, SCHEMA, build_messages
from perplexity.x_posts.types import GrokResponse

MODEL = "grok-4.3"
TICKS_PER_DOLLAR = 10**10
DIALECT = ErrorMap(types={"insufficient_quota": BillingError, "rate_limit_exceeded": RateLimitError})


@dataclass(frozen=True, kw_only=True)
class XaiWire:
    """Grok at xAI. Each post that is read costs half a cent."""

    name: str = "Grok"
    base_url: str = "https://api.x.ai/v1"
    path: str = "/responses"
    dialect: ErrorMap = DIALECT

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the body of a request. The search is forced, because Grok might answer from memory otherwise."""
        return {
            "model": MODEL,
            "input": build_messages(topic),
            "tools": [{"type": "x_search", "from_date": since.isoformat(), "to_date": until.isoformat()}],
            "tool_choice": "required",
            "max_turns": MAX_SEARCHES + 1,
            "text": {"format": {"type": "json_schema", "name": "pulse", "schema": SCHEMA, "strict": True}},
            # Inline citations have another order than our numbers, and would be inside the JSON.
            "include": ["no_inline_citations"],
            "store": False,
        }

    def read(self, body: Mapping[str, JSON]) -> GrokResponse:
        """Parse a response. Raises RunFailed.

        The posts that it found are in its list of citations, in annotations, and in linked markers in the text.
        """
        status = as_text(body.get("status"))
        if status not in {"", "completed", "incomplete"}:
            cost_usd = _cost_usd(as_object(body.get("usage")))
            raise RunFailed("the response reports a failure", provider=self.name, cost_usd=cost_usd)
        output, urls = _text(body), tuple(_annotation_urls(body))
        usage = as_object(body.get("usage"))
        why = sanitize_message(as_object(body.get("incomplete_details")).get("reason")) or "unknown"
        return GrokResponse(
            text=output,
            annotation_urls=urls,
            confirmed_urls=(*as_texts(body.get("citations")), *urls, *inline_links(output)),
            posts_read=as_count(as_object(usage.get("server_side_tool_usage_details")).get("x_posts_fetched")),
            incomplete=why if status == "incomplete" else None,
            provider=self.name,
            model=as_text(body.get("model")) or None,
            cost_usd=_cost_usd(usage),
        )

    def translate_error(self, error: PerplexityError) -> PerplexityError:
        """Return the error with the name of the service; its statuses are accurate."""
        error.provider = self.name
        return error


def _parts(body: Mapping[str, JSON]) -> Iterator[Mapping[str, JSON]]:
    output = (item for item in as_objects(body.get("output")) if item.get("type") == "message")
    return (part for message in output for part in as_objects(message.get("content")))


def _text(body: Mapping[str, JSON]) -> str:
    return "".join(as_text(part.get("text")) for part in _parts(body) if part.get("type") == "output_text")


def _annotation_urls(body: Mapping[str, JSON]) -> Iterator[str]:
    """Yield the addresses in the annotations of the text."""
    for note in (note for part in _parts(body) for note in as_objects(part.get("annotations"))):
        if note.get("type") == "url_citation":
            yield as_text(note.get("url"))


def _cost_usd(usage: Mapping[str, JSON]) -> float | None:
    ticks = as_dollars(usage.get("cost_in_usd_ticks"))
    return None if ticks is None else ticks / TICKS_PER_DOLLAR
