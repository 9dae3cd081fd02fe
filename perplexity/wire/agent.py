"""The Agent API: `POST /v1/agent`. Pure. Its body is strict: a field that it does not know is refused.

https://docs.perplexity.ai/docs/agent-api
"""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.errors import InvalidRequest
from perplexity.models import Target
from perplexity.types import JSON, Answer, Message, Question
from perplexity.wire.agent_output import PROVIDER, read
from perplexity.wire.agent_stream import AgentStream
from perplexity.wire.base import StreamReader
from perplexity.wire.reading import text
from perplexity.wire.search import common

INSTRUCTIONS = (
    "Answer from the web search results. Cite each claim right behind it with the id of its search result in square "
    "brackets, such as [1] or [2][3]. Use no other form of citation and do not list the sources at the end."
)
"""For a pinned model, which otherwise cites nothing. An effort's own instructions are better and would be replaced."""

_SEARCH: dict[str, JSON] = {"type": "web_search"}
_MOST_STEPS = 5
_MOST_OUTPUT_TOKENS = 8192


class Agent:
    """The wire of the Agent API."""

    path = "/v1/agent"
    provider = PROVIDER
    background = True
    efforts = True
    tools = True

    def check(self, question: Question) -> None:
        """Raise InvalidRequest for a mode, since the Agent API has no such filter, and for a tool nobody would run."""
        if question.filters.mode not in {None, "web"}:
            allowed = "answers are drawn from the whole web only; academic and sec are for a search"
            raise InvalidRequest.of("mode", question.filters.mode, allowed)
        for kind in (text(tool.get("type")) for tool in question.tools):
            if kind in {"", "function"}:
                allowed = "it takes tools that Perplexity runs itself, such as fetch_url"
                raise InvalidRequest.of("tools", kind, allowed)

    def streamed(self, target: Target, *, seconds: float) -> bool:
        """Tell whether the effort takes long."""
        return target.slow

    def build(self, question: Question, target: Target, *, stream: bool) -> dict[str, JSON]:
        """Return the request's body: who answers and the input, and beyond that only what was asked for."""
        wanted: dict[str, JSON] = {
            "background": target.background,
            "stream": stream,
            "language_preference": next(iter(question.filters.languages), None),
            "response_format": None if question.schema is None else _format(question),
            "max_output_tokens": question.max_tokens,
            "tools": [] if question.offline else _tools(question, forced=target.model is not None),
        }
        return {
            **_who(target, searches=not question.offline),
            "input": _input(question.messages),
            "store": target.background,
            **{name: value for name, value in wanted.items() if value},
        }

    def thinks(self, question: Question, target: Target) -> bool:
        """Tell that the reasoning is not a part of the text."""
        return False

    def notes(self, question: Question) -> tuple[str, ...]:
        """Return a note on the language of the answer and of its sources, if the question names one."""
        languages = question.filters.languages
        told = "Answered in the language {} if possible; sources may be in any language."
        return (told.format(languages[0]),) if languages else ()

    def read(self, body: Mapping[str, JSON]) -> Answer:
        """Return the answer of a finished run. Raises RunFailed or MalformedResponse."""
        return read(body)

    def reader(self) -> StreamReader:
        """Return a reader for one stream."""
        return AgentStream()


def _who(target: Target, *, searches: bool) -> dict[str, JSON]:
    """Return the effort; or the pinned model and what makes it search, cite and come to an end.

    A model that is merely offered the search may answer without it, and one step would be spent on it. One that shall
    not search may use no tool at all.
    """
    choice: dict[str, JSON] = {} if searches else {"tool_choice": "none"}
    if target.model is None:
        return {"effort": target.effort, **choice}
    pinned: dict[str, JSON] = {"model": target.model, **choice}
    if searches:
        pinned |= {"instructions": INSTRUCTIONS, "tool_choice": _SEARCH, "max_steps": _MOST_STEPS}
    if target.model.startswith("anthropic/"):
        pinned["max_output_tokens"] = _MOST_OUTPUT_TOKENS
    if target.reasons:
        pinned["reasoning"] = {"effort": target.effort}
    return pinned


def _input(messages: tuple[Message, ...]) -> JSON:
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    return [{"type": "message", "role": message.role, "content": message.content} for message in messages]


def _tools(question: Question, *, forced: bool) -> list[JSON]:
    """Return the web search with its filters and the further tools; an effort without either brings its own."""
    filters = question.filters
    narrowed = common(filters)
    tool = dict(_SEARCH)
    if narrowed:
        tool["filters"] = narrowed
    if question.context:
        tool["search_context_size"] = question.context
    if filters.country:
        tool["user_location"] = {"country": filters.country}
    return [tool, *map(dict, question.tools)] if forced or question.tools or tool != _SEARCH else []


def _format(question: Question) -> JSON:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(question.schema or {})}}
