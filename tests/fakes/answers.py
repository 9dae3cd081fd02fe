"""Answers of the Agent API as the service streams them, cut as a test wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.fakes.perplexity import sse

RUN = "resp_1"

KEEP_ALIVE = b": the service is at work\n\n"
"""A comment, which says nothing. https://html.spec.whatwg.org/multipage/server-sent-events.html#authoring-notes"""


def pages(*sites: str) -> list[dict[str, Any]]:
    """Return search results, numbered from 1."""
    return [
        {"id": number, "title": f"Page {number}", "url": f"https://{site}/{number}", "snippet": "…"}
        for number, site in enumerate(sites, 1)
    ]


def beginning(*, queries: Sequence[str] = ("q1",), sites: Sequence[str] = ("a.example", "b.example")) -> list[bytes]:
    """Return the events before the text."""
    return [
        sse({"type": "response.created", "response": {"id": RUN}}),
        sse({"type": "response.reasoning.search_queries", "queries": list(queries)}),
        sse({"type": "response.reasoning.search_results", "results": pages(*sites)}),
    ]


def deltas(text: str, *, size: int = 20) -> list[bytes]:
    """Return the text as events of so many characters."""
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    return [sse({"type": "response.output_text.delta", "delta": piece, "item_id": "m"}) for piece in pieces]


def end(text: str, *, sites: Sequence[str] = ("a.example", "b.example"), cost: float = 0.004) -> bytes:
    """Return the last event."""
    return sse({"type": "response.completed", "response": completed(text, sites=sites, cost=cost)})


def completed(text: str, *, sites: Sequence[str] = ("a.example", "b.example"), cost: float = 0.004) -> dict[str, Any]:
    """Return the whole response of an answer."""
    message = {"type": "message", "content": [{"type": "output_text", "text": text}]}
    usage = {"cost": {"total_cost": cost}}
    return {"id": RUN, "status": "completed", "output": [searched(*sites), message], "usage": usage}


def searched(*sites: str) -> dict[str, Any]:
    """Return a search of a response."""
    return {"type": "search_results", "queries": ["q1"], "results": pages(*sites)}


def whole_stream(text: str, *, size: int = 20) -> list[bytes]:
    """Return all events of an answer."""
    return [*beginning(), *deltas(text, size=size), end(text)]
