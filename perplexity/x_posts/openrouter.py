"""Requests to Grok at OpenRouter and their responses: a chat completion with xAI's search of X.

https://openrouter.ai/docs/guides/features/server-tools/web-search
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from perplexity.errors import PerplexityError, RunFailed
from perplexity.providers import openrouter
from perplexity.types import JSON
from perplexity.wire.errors import ErrorMap, sanitize_message
from perplexity.wire.json import as_object, as_objects, as_text, cost_of
from perplexity.wire.sonar import error_from_run, first_choice
from perplexity.x_posts.prompt import SCHEMA, build_messages
from perplexity.x_posts.types import GrokResponse

MODEL = "x-ai/grok-4.3"

_X_ONLY = "Use the search of X only, not the search of web pages."
"""The tool includes both: https://openrouter.ai/docs/client-sdks/python/api-reference/components/websearchservertoolconfig"""


@dataclass(frozen=True, kw_only=True)
class OpenRouterWire:
    """Grok at OpenRouter, which charges xAI's price of half a cent a post."""

    name: str = "Grok at OpenRouter"
    base_url: str = openrouter.BASE_URL
    path: str = "/chat/completions"
    dialect: ErrorMap = openrouter.ERROR_MAP

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the body of a request. The search is forced, because Grok might answer from memory otherwise.

        Only xAI's own endpoints search X; any other would be charged without a search:
        https://openrouter.ai/docs/guides/routing/provider-selection
        """
        days: dict[str, JSON] = {"from_date": since.isoformat(), "to_date": until.isoformat()}
        return {
            "model": MODEL,
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
        """Parse a response. Raises the error that it reports, or RunFailed.

        It does not include the number of posts read, and their addresses only as annotations:
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
        urls = _annotation_urls(as_objects(message.get("annotations")))
        return GrokResponse(
            text=as_text(message.get("content")),
            annotation_urls=urls,
            confirmed_urls=urls,
            posts_read=None,
            incomplete=None if finish in {"", "stop"} else finish,
            provider=self.name,
            model=as_text(body.get("model")) or None,
            cost_usd=cost_of(body.get("usage")),
        )

    def translate_error(self, error: PerplexityError) -> PerplexityError:
        """Return the error with its meaning: OpenRouter describes some in words only."""
        return openrouter.translate_error(error, provider=self.name)


def _annotation_urls(notes: Sequence[Mapping[str, JSON]]) -> tuple[str, ...]:
    cited = (as_object(note.get("url_citation")) for note in notes if note.get("type") == "url_citation")
    return tuple(as_text(page.get("url")) for page in cited)
