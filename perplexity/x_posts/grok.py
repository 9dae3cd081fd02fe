"""Grok's instructions, its requests at xAI and at OpenRouter, and their responses.

https://docs.x.ai/docs/guides/tools/overview
https://openrouter.ai/docs/guides/features/server-tools/web-search
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from perplexity.errors import BillingError, PerplexityError, RateLimitError, RunFailed
from perplexity.providers import openrouter
from perplexity.types import JSON
from perplexity.wire.errors import ErrorMap, sanitize_message, service_name
from perplexity.wire.json import as_count, as_dollars, as_object, as_objects, as_text, as_texts, cost_of
from perplexity.wire.sonar import error_from_run, first_choice
from perplexity.x_posts.types import MAX_POSTS, SENTIMENT_LABELS, GrokResponse, GrokWire

MAX_SEARCHES = 3

SYSTEM = f"""\
Search X for what people say about the topic. Read at most {MAX_POSTS} posts, in at most {MAX_SEARCHES} searches. \
Take posts of different people and opinions, no advertisements and no copies.
`posts`: each post that you found and used, with its address and the mood of its author towards the topic: positive, \
neutral, negative or mixed. `about`: who says what, in at most ten words.
`summary`: what people say and why, in at most 200 words. After each statement put the numbers of the posts that say \
it in square brackets, such as [1] or [2][3]; the first of `posts` is 1. Do not quote posts word for word.
Where you found no posts, leave `posts` empty and say so in `summary`."""

SCHEMA: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "posts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "mood": {"type": "string", "enum": [*SENTIMENT_LABELS]},
                    "about": {"type": "string"},
                },
                "required": ["url", "mood", "about"],
                "additionalProperties": False,
            },
        },
        "summary": {"type": "string"},
    },
    "required": ["posts", "summary"],
    "additionalProperties": False,
}


def build_messages(topic: str, *, extra: str = "") -> list[JSON]:
    """Return the system message and the user's message; `extra` is an instruction for one service only."""
    system = f"{SYSTEM}\n{extra}" if extra else SYSTEM
    return [{"role": "system", "content": system}, {"role": "user", "content": f"Topic: {topic}"}]


XAI_MODEL = "grok-4.3"
XAI_TICKS_PER_DOLLAR = 10**10
XAI_ERROR_MAP = ErrorMap(types={"insufficient_quota": BillingError, "rate_limit_exceeded": RateLimitError})


class XaiWire(GrokWire):
    """Grok at xAI. Each post that is read costs half a cent."""

    name = "Grok"
    base_url = "https://api.x.ai/v1"
    path = "/responses"
    dialect = XAI_ERROR_MAP

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the body of a request. The search is forced, because Grok might answer from memory otherwise."""
        return {
            "model": XAI_MODEL,
            "input": build_messages(topic),
            "tools": [{"type": "x_search", "from_date": since.isoformat(), "to_date": until.isoformat()}],
            "tool_choice": "required",
            "max_turns": MAX_SEARCHES + 1,
            "text": {"format": {"type": "json_schema", "name": "pulse", "schema": SCHEMA, "strict": True}},
            # Inline citations are left out: they would be inside the JSON, and in another order than the posts.
            "include": ["no_inline_citations"],
            "store": False,
        }

    def read(self, body: Mapping[str, JSON]) -> GrokResponse:
        """Parse a response. Raises RunFailed.

        The service names the posts found, in its list of citations and in annotations; the text is the model's own.
        """
        status, usage = as_text(body.get("status")), as_object(body.get("usage"))
        if status not in {"", "completed", "incomplete"}:
            raise RunFailed("the response reports a failure", provider=self.name, cost_usd=_xai_cost_usd(usage))
        output = (item for item in as_objects(body.get("output")) if item.get("type") == "message")
        parts = [part for message in output for part in as_objects(message.get("content"))]
        texts = (as_text(part.get("text")) for part in parts if part.get("type") == "output_text")
        notes = (note for part in parts for note in as_objects(part.get("annotations")))
        urls = tuple(as_text(note.get("url")) for note in notes if note.get("type") == "url_citation")
        why = sanitize_message(as_object(body.get("incomplete_details")).get("reason")) or "unknown"
        return GrokResponse(
            text="".join(texts),
            annotation_urls=urls,
            confirmed_urls=(*as_texts(body.get("citations")), *urls),
            posts_read=as_count(as_object(usage.get("server_side_tool_usage_details")).get("x_posts_fetched")),
            incomplete=why if status == "incomplete" else None,
            provider=self.name,
            model=service_name(body.get("model")),
            cost_usd=_xai_cost_usd(usage),
        )

    def translate_error(self, error: PerplexityError) -> PerplexityError:
        """Return the error with the name of the service. Nothing else changes, since xAI's statuses are accurate."""
        error.provider = self.name
        return error


def _xai_cost_usd(usage: Mapping[str, JSON]) -> float | None:
    ticks = as_dollars(usage.get("cost_in_usd_ticks"))
    return None if ticks is None else ticks / XAI_TICKS_PER_DOLLAR


OPENROUTER_MODEL = "x-ai/grok-4.3"

_X_ONLY = "Use the search of X only, not the search of web pages."
"""Without this instruction, the tool searches X and the web: https://openrouter.ai/docs/client-sdks/python/api-reference/components/websearchservertoolconfig"""


class OpenRouterWire(GrokWire):
    """Grok at OpenRouter, which charges xAI's price of half a cent a post."""

    name = "Grok at OpenRouter"
    base_url = openrouter.BASE_URL
    path = "/chat/completions"
    dialect = openrouter.ERROR_MAP

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the body of a request. The search is forced, because Grok might answer from memory otherwise.

        Only xAI's own endpoints search X; a request to any other would be charged without a search:
        https://openrouter.ai/docs/guides/routing/provider-selection
        """
        days: dict[str, JSON] = {"from_date": since.isoformat(), "to_date": until.isoformat()}
        return {
            "model": OPENROUTER_MODEL,
            "messages": build_messages(topic, extra=_X_ONLY),
            "tools": [{"type": "openrouter:web_search", "parameters": {"engine": "native", "x_search": days}}],
            "tool_choice": "required",
            "provider": {"only": ["xai"], "allow_fallbacks": False},
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "pulse", "schema": SCHEMA, "strict": True},
            },
        }

    def read(self, body: Mapping[str, JSON]) -> GrokResponse:
        """Parse a response. Raises the error in the response, or RunFailed.

        The response lacks the number of posts read, and has their addresses only as annotations:
        https://openrouter.ai/docs/guides/features/plugins/web-search
        """
        choice = first_choice(body)
        finish = sanitize_message(choice.get("finish_reason"))
        if error := body.get("error") or choice.get("error"):
            raise error_from_run(error, provider=self.name, error_map=self.dialect, usage=body.get("usage"))
        if finish == "error":
            cost_usd = cost_of(body.get("usage"))
            raise RunFailed("the answer was cut off", provider=self.name, cost_usd=cost_usd)
        message = as_object(choice.get("message"))
        notes = as_objects(message.get("annotations"))
        cited = (as_object(note.get("url_citation")) for note in notes if note.get("type") == "url_citation")
        urls = tuple(as_text(page.get("url")) for page in cited)
        return GrokResponse(
            text=as_text(message.get("content")),
            annotation_urls=urls,
            confirmed_urls=urls,
            posts_read=None,
            incomplete=None if finish in {"", "stop"} else finish,
            provider=self.name,
            model=service_name(body.get("model")),
            cost_usd=cost_of(body.get("usage")),
        )

    def translate_error(self, error: PerplexityError) -> PerplexityError:
        """Return the error, with another class if its text says so: OpenRouter describes some errors in words only."""
        return openrouter.translate_error(error, provider=self.name)
