"""Grok at OpenRouter, where xAI searches X behind a chat completion. Pure.

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
"""The tool brings both: https://openrouter.ai/docs/client-sdks/python/api-reference/components/websearchservertoolconfig"""


@dataclass(frozen=True, kw_only=True)
class OpenRouterWire:
    """The wire of OpenRouter. xAI's price of half a cent a post is passed on."""

    name: str = "Grok at OpenRouter"
    base_url: str = openrouter.BASE_URL
    path: str = "/chat/completions"
    dialect: ErrorMap = openrouter.ERROR_MAP

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the request's body. The search is forced, or it might answer from memory.

        Only xAI's own endpoints search X; any other would be paid for nothing:
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
        """Return what a response says. Raises what its error says, or RunFailed.

        How many posts were read it does not tell, and what it came across only by annotations:
        https://openrouter.ai/docs/guides/features/plugins/web-search
        """
        choice = first_choice(body)
        finish = sanitize_message(choice.get("finish_reason"))
        if error := body.get("error") or choice.get("error"):
            raise error_from_run(error, provider=self.name, error_map=self.dialect, usage=body.get("usage"))
        if finish == "error":
            cost_usd = cost_of(body.get("usage"))
            raise RunFailed("the answer was broken off", provider=self.name, cost_usd=cost_usd)
        message = as_object(choice.get("message"))
        annotated = _annotated(as_objects(message.get("annotations")))
        return GrokResponse(
            text=as_text(message.get("content")),
            annotation_urls=annotated,
            confirmed_urls=annotated,
            posts_read=None,
            incomplete=None if finish in {"", "stop"} else finish,
            provider=self.name,
            model=as_text(body.get("model")) or None,
            cost_usd=cost_of(body.get("usage")),
        )

    def translate_error(self, error: PerplexityError) -> PerplexityError:
        """Return what an error means: OpenRouter says some in words only."""
        return openrouter.translate_error(error, provider=self.name)


def _annotated(notes: Sequence[Mapping[str, JSON]]) -> tuple[str, ...]:
    cited = (as_object(note.get("url_citation")) for note in notes if note.get("type") == "url_citation")
    return tuple(as_text(page.get("url")) for page in cited)
