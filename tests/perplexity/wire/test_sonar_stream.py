from __future__ import annotations

import json
from typing import Any

import pytest

from perplexity.errors import EndpointRetired, MalformedResponse, PerplexityError, RunFailed, ServerError
from perplexity.types import Done, Event, Sources, TextDelta
from perplexity.wire.sonar import Sonar, SonarStream
from tests.fakes.perplexity import fixture

RECORDED = [json.loads(line[6:]) for line in fixture("sonar.stream.sse").decode().splitlines() if line]
USAGE = {"prompt_tokens": 7, "cost": 0.25}


def read_events(events: list[Any], *, closed: bool = False) -> list[Event]:
    reader = SonarStream(provider="Perplexity")
    told = [told for event in events for told in reader.feed(event)]
    told += reader.finish() if closed else []
    assert reader.ended is any(isinstance(event, Done) for event in told)
    assert reader.run_id is None
    return told


def text(told: list[Event]) -> str:
    return "".join(event.text for event in told if isinstance(event, TextDelta))


def last_done(told: list[Event]) -> Done:
    assert isinstance(told[-1], Done)
    return told[-1]


def chunk(piece: str = "", *, kind: str = "chat.completion.chunk", **more: Any) -> dict[str, Any]:
    finish = more.pop("finish", None)
    return {"object": kind, "choices": [{"delta": {"content": piece}, "finish_reason": finish}], **more}


def test_a_recorded_stream_gives_the_sources_once_and_before_the_text() -> None:
    told = read_events(RECORDED)

    assert [type(event) for event in told] == [Sources, TextDelta, TextDelta, TextDelta, Done]
    assert text(told) == "Answer.[1]" == last_done(told).answer.text


def test_a_stream_and_a_response_give_the_same_answer() -> None:
    whole = json.loads(fixture("sonar.200.json"))
    whole["choices"][0]["message"]["content"] = "Answer.[1]"

    assert Sonar().read(whole) == last_done(read_events(RECORDED)).answer


def test_only_the_end_knows_the_price() -> None:
    assert last_done(read_events(RECORDED)).answer.usage.cost_usd == 0.0051
    assert "request_cost" not in RECORDED[0]["usage"]["cost"]


def test_sources_are_yielded_again_only_when_they_change() -> None:
    one, two = {"url": "https://a.com"}, {"url": "https://b.com"}
    chunks = [
        chunk("A", search_results=[one]),
        chunk("B", search_results=[one]),
        chunk("C", search_results=[one, two]),
        chunk("D"),
        chunk("", search_results=[], finish="stop"),
    ]

    told = read_events(chunks, closed=True)

    assert [len(event.sources) for event in told if isinstance(event, Sources)] == [1, 2]
    assert len(last_done(told).answer.sources) == 2


def test_objects_of_other_kinds_are_skipped() -> None:
    other = [chunk("thought", kind=kind) for kind in ("chat.reasoning", "chat.reasoning.done", "ping")]

    assert read_events(RECORDED) == read_events([*other, *RECORDED])


def test_a_stream_may_end_with_its_reason_alone() -> None:
    annotations = [{"type": "url_citation", "url_citation": {"url": "https://a.com", "title": "A"}}]
    chunks = [
        chunk("Ans"),
        {"choices": [{"delta": {"content": "wer.[1]", "annotations": annotations}}]},
        chunk("", finish="stop"),
        {"object": "chat.completion.chunk", "choices": [], "usage": USAGE},
    ]

    answer = last_done(read_events(chunks, closed=True)).answer

    assert (answer.text, answer.usage.cost_usd, answer.incomplete) == ("Answer.[1]", 0.25, None)
    assert [(source.number, source.title) for source in answer.sources] == [(1, "A")]


def test_a_stream_that_is_closed_without_a_reason_has_no_end() -> None:
    assert [type(event) for event in read_events([chunk("Half")], closed=True)] == [TextDelta]


def test_a_stream_that_has_ended_does_not_end_again() -> None:
    assert read_events(RECORDED) == read_events(RECORDED, closed=True)


def end(full: str) -> dict[str, Any]:
    return {"object": "chat.completion.done", "choices": [{"message": {"content": full}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("deltas", "full", "told", "answer"),
    [
        (["An", "swer"], "Answer", "Answer", "Answer"),
        (["An"], "Answer", "Answer", "Answer"),
        ([], "Answer", "Answer", "Answer"),
        (["Answer"], "", "Answer", "Answer"),
        (["Answer"], "Ans", "Answer", "Answer"),
        (["Anzwer"], "Answer", "Anzwer", "Answer"),
    ],
)
def test_the_end_completes_or_corrects_the_text(deltas: list[str], full: str, told: str, answer: str) -> None:
    events = read_events([*map(chunk, deltas), end(full)])

    assert (text(events), last_done(events).answer.text) == (told, answer)


def test_a_message_that_repeats_the_text_so_far_is_not_sent_twice() -> None:
    chunks = [chunk("An"), chunk("swer")]
    chunks[1]["choices"][0]["message"] = {"content": "Answer"}

    assert text(read_events([*chunks, end("Answer")])) == "Answer"


def test_a_whole_response_in_place_of_a_stream_is_read() -> None:
    whole = json.loads(fixture("sonar.200.json"))

    told = read_events([{"type": "response.completed", "response": whole}])

    assert last_done(told).answer == Sonar().read(whole)
    assert text(told) == last_done(told).answer.text


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([{"error": {"message": "no", "code": 502}}], ServerError),
        ([chunk("Half"), chunk(finish="error", error={"message": "no", "code": 502})], ServerError),
        ([{"error": {"message": "gone", "type": "chat_completions_not_available", "code": 403}}], EndpointRetired),
        ([{"error": "no"}], RunFailed),
        ([chunk("Half"), {**end("Half"), "choices": [{"finish_reason": "error"}]}], RunFailed),
        ([end(" ")], MalformedResponse),
        ([{"object": "chat.completion.done"}], MalformedResponse),
    ],
)
def test_a_failure_in_the_stream_is_raised_and_ends_it(events: list[Any], expected: type[PerplexityError]) -> None:
    reader = SonarStream(provider="Perplexity")

    with pytest.raises(expected):
        [reader.feed(event) for event in events]

    assert reader.ended


@pytest.mark.parametrize("odd", [{}, {"choices": 3}, {"object": 3}, {"choices": [{"delta": "x"}]}, {"response": {}}])
def test_odd_chunks_are_skipped(odd: dict[str, Any]) -> None:
    assert read_events(RECORDED) == read_events([odd, *RECORDED])
