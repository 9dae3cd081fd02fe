"""The answers that are rendered and served: of any length, with what models write, and as Perplexity sends them."""

from __future__ import annotations

import json
from typing import Any

SOURCES = 10
DELTA = 40
"""Characters of a stream's event."""

_SECTION = """\
## What changed in part {n}

Wheels are **built once** and installed many times, which saves about *40 %* of the time.[{a}][{b}] A page about it is
[Example {a}](https://site{a}.example/path/{a}), and `pip install --only-binary :all: wheel{n}` tries it.[{c}]

- The first point names a [source](https://site{b}.example/path/{b}) and costs $5 per 1,000 requests.[{a}]
- The second one is **bold** and has two markers, “quoted” words and an ü.[{b}][{c}]
- The third says that 3 < 4 & 5 > 2, in {n} places.

| Name | Value | Source |
|---|---|---|
| Speed | {n}.5 ms | [{a}] |
| Size | {n} KB | [{b}] |

1. Read the page.
2. Build the wheel, see https://site{c}.example/path/{c}.

"""
_SNIPPET = "A sentence about wheels and packages as pages have it, with “quotes” and the number 42. "


def answer_text(length: int, *, number: int = 0) -> str:
    """Return Markdown of so many characters; another `number` gives another text."""
    sections: list[str] = []
    while sum(len(section) for section in sections) < length:
        n = number * 1_000 + len(sections) + 1
        a, b, c = (offset + n % (SOURCES - 2) for offset in (1, 2, 3))
        sections.append(_SECTION.format(n=n, a=a, b=b, c=c))
    return "".join(sections)[:length].rstrip()


def pages(count: int = SOURCES) -> list[dict[str, Any]]:
    """Return pages as the search lists them."""
    return [
        {
            "id": number,
            "title": f"Example {number}",
            "url": f"https://site{number}.example/path/{number}",
            "snippet": (_SNIPPET * 10)[:600],
            "date": f"2026-11-{number:02}",
            "last_updated": "2026-11-20",
            "source": "web",
        }
        for number in range(1, count + 1)
    ]


def search_body() -> bytes:
    """Return what `POST /search` answers to a query for five pages."""
    found = [{name: value for name, value in page.items() if name not in {"id", "source"}} for page in pages(5)]
    return json.dumps({"id": "search_1", "results": found, "server_time": "2026-11-21T10:00:00Z"}).encode()


def agent_body() -> bytes:
    """Return what `POST /v1/agent` answers: 4 KB of text and its sources."""
    return json.dumps(_response()).encode()


def agent_events() -> list[bytes]:
    """Return the same answer as the events of a stream."""
    response, text = _response(), answer_text(4_000)
    begun = response | {"status": "in_progress", "output": [], "usage": None}
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    deltas = [text[start : start + DELTA] for start in range(0, len(text), DELTA)]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.reasoning.search_queries", "queries": ["wheels"], "thought": ""},
        {"type": "response.output_item.done", "output_index": 0, "item": response["output"][0]},
        *({"type": "response.output_text.delta", "delta": delta, **place} for delta in deltas),
        {"type": "response.output_text.done", "text": text, **place},
        {"type": "response.completed", "response": response},
    ]
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]


def _response() -> dict[str, Any]:
    content = {"type": "output_text", "text": answer_text(4_000), "annotations": []}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1795255200,
        "model": "openai/gpt-6-luna",
        "status": "completed",
        "output": [
            {"type": "search_results", "queries": ["wheels"], "results": pages()},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [content]},
        ],
        "error": None,
        "usage": {
            "input_tokens": 1200,
            "output_tokens": 1000,
            "total_tokens": 2200,
            "output_tokens_details": {"reasoning_tokens": 0},
            "tool_calls_details": {"search_web": {"invocation": 1, "cost_usd": 0.001}},
            "cost": {"currency": "USD", "input_cost": 0.00012, "output_cost": 0.0005, "total_cost": 0.00162},
        },
    }
