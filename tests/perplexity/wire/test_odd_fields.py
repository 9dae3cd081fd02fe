"""A service whose stream has a field of another type: it is read, or its oddness is an error of ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from perplexity.errors import PerplexityError
from perplexity.wire.agent import AgentStream
from perplexity.wire.sonar import SonarStream
from tests.fakes.answers import completed, whole_stream

ODD: tuple[Any, ...] = (
    *(None, True, -1, 1.5, 10**400, float("inf"), "x", ""),
    *([], [1], [None], [[]], [{}], ["x"], {}, {"a": 1}, {"url": [1]}, {"text": 1}),
)
Path = tuple[str | int, ...]


def events(stream: Sequence[bytes]) -> list[dict[str, Any]]:
    lines = (line for event in stream for line in event.decode().splitlines())
    return [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")]


ITEM = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "a"}]}
FAILURE = {"message": "m", "code": 500, "type": "t", "detail": [{"msg": "m", "loc": ["a"]}]}
CHUNK = {
    "id": "r",
    "model": "m",
    "object": "chat.completion.chunk",
    "citations": ["https://a.example/1"],
    "usage": {"cost": {"total_cost": 1}, "completion_tokens_details": {"reasoning_tokens": 1}},
    "search_results": [{"url": "https://a.example/1", "title": "t", "date": "2026-01-01", "snippet": "s"}],
    "choices": [
        {
            "message": {"content": "a", "annotations": [{"url_citation": {"url": "u", "title": "t", "content": "c"}}]},
            "delta": {"role": "assistant", "content": "Hi"},
        }
    ],
}
END = {"object": "chat.completion.done", "choices": [{"finish_reason": "stop", "message": {"content": "Hi there"}}]}
STREAMS: dict[str, tuple[Callable[[], AgentStream | SonarStream], list[dict[str, Any]]]] = {
    "agent": (AgentStream, events(whole_stream("It is so.[1] And so on."))),
    "items of an agent": (
        AgentStream,
        [
            {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
            {"type": "response.output_item.done", "item": completed("It is so.")["output"][0]},
            {"type": "response.failed", "response": {"error": FAILURE, "incomplete_details": {"reason": "r"}}},
        ],
    ),
    "an agent's error": (AgentStream, [{"type": "error", "error": FAILURE, "usage": {"cost": 1}}]),
    "sonar": (lambda: SonarStream(provider="P"), [CHUNK, END]),
    "sonar's error": (lambda: SonarStream(provider="P"), [CHUNK, {"error": FAILURE}]),
}


def paths(value: object, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    named = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, part in named:
        yield from paths(part, (*path, name))


def changed(event: dict[str, Any], path: Path, odd: object) -> dict[str, Any]:
    event = copy.deepcopy(event)
    inner: Any = event
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = odd
    return event


@pytest.mark.parametrize("name", STREAMS)
def test_a_field_of_another_type_is_read_or_an_error_of_ours(name: str) -> None:
    make, stream = STREAMS[name]
    for place, event in enumerate(stream):
        for path in paths(event):
            for odd in ODD:
                reader = make()
                with suppress(PerplexityError):
                    for one in [*stream[:place], changed(event, path, odd), *stream[place + 1 :]]:
                        reader.feed(one)
                    reader.finish()
