"""The names and types of a response's fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from perplexity.types import JSON, Answer, Done
from perplexity.wire import agent, sonar
from perplexity.wire.base import StreamReader
from perplexity.wire.json import decode, shape_of

RECORDED = Path(__file__).parents[2] / "data" / "perplexity"


def test_a_shape_has_names_and_types__and_no_text() -> None:
    body: JSON = {"a": "secret", "n": None, "b": [{"c": 1, "d": True}, {"c": 1.5}], "what he said": {"e": []}}

    assert shape_of(body) == (
        *("*.e: array", "*: object", "a: string", "b: array", "b[].c: number", "b[].d: boolean", "b[]: object"),
    )


def test_a_shape_has_an_end() -> None:
    assert len(shape_of({f"f{number}": 1 for number in range(10_000)})) == 300


@pytest.mark.parametrize(
    ("whole", "name", "reader"),
    [
        (
            agent.Agent().read(decode((RECORDED / "agent.200.json").read_bytes())),
            "agent.stream.completed",
            agent.AgentStream(),
        ),
        (
            sonar.Sonar().read(decode((RECORDED / "sonar.200.json").read_bytes())),
            "sonar.stream",
            sonar.SonarStream(provider="Perplexity"),
        ),
    ],
    ids=["agent", "sonar"],
)
def test_a_stream_has_the_shape_of_a_whole_response(whole: Answer, name: str, reader: StreamReader) -> None:
    shapes = [one.shape for one in streamed(reader, (RECORDED / f"{name}.sse").read_text())]

    assert whole.shape
    assert shapes == [whole.shape]


def streamed(reader: StreamReader, text: str) -> Iterator[Answer]:
    lines = (line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:") and "{" in line)
    for line in lines:
        yield from (event.answer for event in reader.feed(json.loads(line)) if isinstance(event, Done))
