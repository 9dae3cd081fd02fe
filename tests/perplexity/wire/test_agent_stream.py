from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import MalformedResponse, PerplexityError, RunFailed
from perplexity.types import Done, Event, RunStarted, SearchQueries, Sources, TextDelta
from perplexity.wire.agent import Agent, AgentStream, output_text
from perplexity.wire.json import as_object, as_objects
from tests.fakes.perplexity import fixture

RECORDED = [json.loads(line[6:]) for line in fixture("agent.stream.completed.sse").decode().splitlines() if line]
FULL = "Example answer with a claim.[1] Another claim — ü.[2]"


def read_events(events: list[dict[str, Any]]) -> list[Event]:
    """Read as the client does, which hears nothing after the end."""
    reader = AgentStream()
    told: list[Event] = []
    for event in events:
        told += reader.feed(event)
        if reader.ended:
            break
    return told


def text(told: list[Event]) -> str:
    return "".join(event.text for event in told if isinstance(event, TextDelta))


def last_done(told: list[Event]) -> Done:
    assert isinstance(told[-1], Done)
    return told[-1]


def test_a_recorded_stream_gives_queries_then_sources_then_text() -> None:
    told = read_events(RECORDED)

    kinds = [type(event) for event in told]
    assert [RunStarted, SearchQueries, Sources, TextDelta, TextDelta, TextDelta, Done] == kinds
    assert SearchQueries(queries=("example query",)) == told[1]
    assert text(told) == FULL


def test_a_stream_and_a_response_give_the_same_answer() -> None:
    expected = Agent().read(json.loads(fixture("agent.200.json")))

    assert expected == last_done(read_events(RECORDED)).answer


def recorded_without(*kinds: str) -> list[dict[str, Any]]:
    return [event for event in RECORDED if not event["type"].endswith(kinds)]


def recorded_without_fields(*fields: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in event.items() if k not in fields} for event in RECORDED]


@pytest.mark.parametrize(
    "events",
    [
        recorded_without(".delta"),
        recorded_without("text.done", "item.done"),
        recorded_without(".delta", "text.done"),
        recorded_without(".delta", "text.done", "item.done"),
        recorded_without("text.done"),
        recorded_without(".created", ".in_progress"),
        recorded_without_fields("item_id"),
        recorded_without_fields("output_index"),
        recorded_without_fields("content_index", "sequence_number"),
        recorded_without_fields("item_id", "output_index"),
        [{k: v for k, v in e.items() if k != "item_id" or e["type"].endswith("delta")} for e in RECORDED],
        [e for e in RECORDED if e.get("delta") != " — ü.[2]"],
        [*RECORDED[:3], {"type": "response.hologram"}, {"odd": 1}, *RECORDED[3:]],
        [{"type": "response.output_item.done", "item": {"type": ["odd"]}}, *RECORDED],
        [{"type": "response.output_item.done", "item": {"type": "function_call", "id": "fc_1"}}, *RECORDED],
    ],
)
def test_the_text_is_taken_once_whatever_is_missing(events: list[dict[str, Any]]) -> None:
    told = read_events(events)

    assert FULL == text(told) == last_done(told).answer.text


def delta(piece: str, item: str = "m1") -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": piece, "item_id": item}


def completed_event(*texts: str, **more: Any) -> dict[str, Any]:
    output = [{"type": "message", "content": [{"type": "output_text", "text": one}]} for one in texts]
    return {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": output, **more}}


def test_two_messages_stay_apart() -> None:
    told = read_events([delta("one"), delta("two", "m2"), delta(" more", "m2"), completed_event("one", "two more")])

    assert "one\n\ntwo more" == text(told) == last_done(told).answer.text


def test_a_done_text_that_contradicts_the_deltas_is_not_sent_after_them() -> None:
    told = read_events(
        [delta("abc"), {"type": "response.output_text.done", "text": "xyz", "item_id": "m1"}, completed_event("xyz")]
    )

    assert (text(told), last_done(told).answer.text) == ("abc", "xyz")


def test_sources_are_yielded_when_there_are_more_and_merged_at_the_end() -> None:
    def results(*names: str) -> dict[str, Any]:
        return {
            "type": "response.reasoning.search_results",
            "results": [{"id": ord(n) - 96, "url": f"https://{n}"} for n in names],
        }

    told = read_events([results("a"), results("a"), results("b", "a"), delta("x"), completed_event("x")])

    sources = [[s.url for s in event.sources] for event in told if isinstance(event, Sources)]
    assert sources == [["https://a"], ["https://a", "https://b"]]
    assert [s.url for s in last_done(told).answer.sources] == ["https://a", "https://b"]


def test_pages_that_were_fetched_are_sources_too() -> None:
    fetched = {"type": "response.reasoning.fetch_url_results", "contents": [{"url": "https://f.example", "title": "F"}]}

    told = read_events([fetched, delta("x"), completed_event("x")])

    assert [source.title for source in last_done(told).answer.sources] == ["F"]


def test_queries_are_yielded_once() -> None:
    asked = {"type": "response.reasoning.search_queries", "queries": ["a", "b"]}

    told = read_events([asked, asked, {**asked, "queries": ["b", "c"]}, completed_event("x")])

    assert [event.queries for event in told if isinstance(event, SearchQueries)] == [("a", "b"), ("c",)]
    assert last_done(told).answer.queries == ("a", "b", "c")


@pytest.mark.parametrize(
    ("event", "expected", "message"),
    [
        ({"type": "error", "error": {"message": "boom"}}, RunFailed, "boom"),
        ({"type": "error", "message": "boom", "code": "x"}, RunFailed, "boom"),
        ({"type": "error"}, RunFailed, "failed"),
        ({"error": {"message": "boom"}}, RunFailed, "boom"),
        (
            {"type": "response.failed", "response": {"status": "failed", "error": {"message": "boom"}}},
            RunFailed,
            "boom",
        ),
        ({"type": "response.failed"}, RunFailed, "failed"),
        ({"type": "response.failed", "response": {"status": "completed"}}, RunFailed, "failed"),
        ({"type": "response.cancelled", "response": {}}, RunFailed, "cancelled"),
        ({"type": "response.completed", "response": {"status": "in_progress"}}, MalformedResponse, "in_progress"),
    ],
)
def test_a_failure_in_the_stream_is_raised(
    event: dict[str, Any], expected: type[PerplexityError], message: str
) -> None:
    reader = AgentStream()
    reader.feed(delta("half an answer"))

    with pytest.raises(expected, match=message):
        reader.feed(event)
    assert reader.ended


def test_what_the_service_says_last_is_right() -> None:
    told = read_events([delta("It is so."), completed_event("It is not so.")])

    assert (text(told), last_done(told).answer.text) == ("It is so.", "It is not so.")


@pytest.mark.parametrize("first", [{"output_index": 1}, {"item_id": "m"}, {"output_index": 1, "item_id": "m"}])
@pytest.mark.parametrize("then", [{"output_index": 1}, {"item_id": "m"}, {"output_index": 1, "item_id": "m"}])
def test_a_message_is_answered_once_whichever_of_its_keys_an_event_has(
    first: dict[str, Any], then: dict[str, Any]
) -> None:
    both = {"type": "response.output_text.delta", "delta": "is ", "output_index": 1, "item_id": "m"}
    last = {"type": "response.output_item.done", "output_index": then.get("output_index"),
            "item": {"type": "message", "id": then.get("item_id"),
                     "content": [{"type": "output_text", "text": "It is so."}]}}  # fmt: skip

    told = read_events([{"type": "response.output_text.delta", "delta": "It ", **first}, both, last])

    assert text(told) == "It is so."


def test_a_page_fetched_before_it_was_found_keeps_the_number_its_markers_mean() -> None:
    fetched = {"type": "response.reasoning.fetch_url_results", "contents": [{"url": "https://a.example/2"}]}
    end = completed_event("So [1][2].")
    end["response"]["output"].insert(0, {"type": "search_results", "results": [
        {"id": 1, "url": "https://a.example/1", "title": "One"},
        {"id": 2, "url": "https://a.example/2", "title": "Two", "date": "2026-11-01"},
    ]})  # fmt: skip

    sources = last_done(read_events([fetched, end])).answer.sources

    assert [(s.number, s.title, s.date) for s in sources] == [(1, "One", None), (2, "Two", "2026-11-01")]


def test_an_incomplete_stream_keeps_its_text_and_says_so() -> None:
    end = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}

    answer = last_done(read_events([delta("half"), end])).answer

    assert (answer.text, answer.incomplete) == ("half", "max_output_tokens")


def test_a_completed_stream_without_text_is_refused() -> None:
    with pytest.raises(MalformedResponse):
        read_events([completed_event()])


wild = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "content", "id"]), inner)
    ),
    max_leaves=8,
)
kinds = st.sampled_from(sorted({event["type"] for event in RECORDED}))
fields = ("delta", "text", "item", "response", "results", "queries", "item_id", "output_index", "content_index")


@given(st.lists(st.fixed_dictionaries({"type": kinds}, optional=dict.fromkeys(fields, wild)), max_size=6))
def test_any_events_are_read_or_refused_and_the_deltas_are_the_text(events: list[dict[str, Any]]) -> None:
    try:
        told = read_events(events)
    except PerplexityError:
        return
    ends = [event for event in told if isinstance(event, Done)]
    corrected = [output_text(as_objects(as_object(event.get("response")).get("output"))) for event in events]
    assert not ends or ends[0].answer.text in {text(told), *corrected}
