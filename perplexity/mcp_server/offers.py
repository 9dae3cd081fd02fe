"""What the server offers. A new tool is an `Offer` here and a function in `answering`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perplexity.filters import RECENCIES
from perplexity.mcp_server.answering import Answering, found, responded
from perplexity.types import JSON

_MESSAGES: Mapping[str, JSON] = {
    "type": "array",
    "description": "The conversation so far; its last message is usually the user's",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {
            "role": {"type": "string", "enum": ["system", "user", "assistant"], "description": "Who said it"},
            "content": {"type": "string", "description": "What was said"},
        },
        "required": ["role", "content"],
        "additionalProperties": False,
    },
}
_FILTERS: Mapping[str, JSON] = {
    "search_recency_filter": {
        "type": "string",
        "enum": list(RECENCIES),
        "description": "Only pages as new as this",
    },
    "search_domain_filter": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only these sites, such as ['wikipedia.org'] or, with a '-' each, all but these; at most 20",
    },
}
_CONTEXT: Mapping[str, JSON] = {
    "search_context_size": {
        "type": "string",
        "enum": ["low", "medium", "high"],
        "description": "How much of the pages is read: 'low' is fastest, 'high' the most thorough",
    },
}
_SEARCH: Mapping[str, JSON] = {
    "query": {"type": "string", "description": "What to search for"},
    "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "description": "How many pages; 10 by default"},
    "max_tokens_per_page": {
        "type": "integer",
        "minimum": 256,
        "maximum": 2048,
        "description": "How many tokens of each page; 1024 by default",
    },
    "country": {"type": "string", "description": "Pages that matter in this country, two letters such as 'US'"},
    **_FILTERS,
    "search_type": {
        "type": "string",
        "enum": ["web", "fast"],
        "description": "'web', the default, or 'fast': quicker and cheaper, for routine look-ups",
    },
}


_RESULTS = "The pages, numbered, each with its title, address, text and date"
_RESPONSE = "The answer; its numbers such as [1] refer to the list of citations at its end"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One tool: its `answering` makes the text, which is also the `field` of the structured result.

    `returns` describes that field. Arguments beyond `properties` are not announced, but ignored, as clients of older
    versions send some.
    """

    name: str
    title: str
    description: str
    properties: Mapping[str, JSON]
    required: str
    field: str
    returns: str
    answering: Answering

    @property
    def input_schema(self) -> dict[str, JSON]:
        """The JSON Schema of the arguments."""
        return _object(self.properties, required=self.required)

    def known(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return the arguments without those that the schema does not have, in messages too."""
        given = {name: value for name, value in arguments.items() if name in self.properties}
        messages = given.get("messages")
        if isinstance(messages, list) and "messages" in self.properties:
            given["messages"] = [_without_strangers(message) for message in messages]
        return given

    @property
    def output_schema(self) -> dict[str, JSON]:
        """The JSON Schema of the structured result."""
        return _object({self.field: {"type": "string", "description": self.returns}}, required=self.field)


def _object(properties: Mapping[str, JSON], *, required: str) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [required],
        "additionalProperties": False,
    }


def _without_strangers(message: JSON) -> JSON:
    known = _MESSAGES["items"]["properties"]
    return {name: message[name] for name in message if name in known} if isinstance(message, dict) else message


OFFERS: tuple[Offer, ...] = (
    Offer(
        name="perplexity_search",
        title="Search the Web",
        description=(
            "Searches the web and lists the best pages: title, address, date and what they say. No model writes "
            "anything. For finding pages, checking facts and recent news; perplexity_ask gives a written answer."
        ),
        properties=_SEARCH,
        required="query",
        field="results",
        returns=_RESULTS,
        answering=found,
    ),
    Offer(
        name="perplexity_ask",
        title="Ask Perplexity",
        description=(
            "Answers a question from the web, with numbered citations; the quickest and cheapest answer. "
            "perplexity_reason thinks longer, perplexity_research looks much further."
        ),
        properties={"messages": _MESSAGES, **_FILTERS, **_CONTEXT},
        required="messages",
        field="response",
        returns=_RESPONSE,
        answering=responded("fast"),
    ),
    Offer(
        name="perplexity_reason",
        title="Advanced Reasoning",
        description=(
            "Thinks a question through step by step, with what the web says about it and numbered citations. For "
            "comparisons, mathematics, logic and arguments; perplexity_ask is quicker."
        ),
        properties={"messages": _MESSAGES, **_FILTERS, **_CONTEXT},
        required="messages",
        field="response",
        returns=_RESPONSE,
        answering=responded("medium"),
    ),
    Offer(
        name="perplexity_research",
        title="Deep Research",
        description=(
            "Researches a topic in depth over many sources and reports with numbered citations. It takes minutes; "
            "perplexity_ask takes seconds."
        ),
        properties={"messages": _MESSAGES},
        required="messages",
        field="response",
        returns=_RESPONSE,
        answering=responded("high"),
    ),
)
