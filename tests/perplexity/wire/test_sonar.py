from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from perplexity.errors import (
    BillingError,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
)
from perplexity.filters import Filters
from perplexity.models import EFFORTS, resolve
from perplexity.types import Message, Question, Usage
from perplexity.wire.sonar import Sonar
from tests.fakes.openrouter import fixture as routed
from tests.fakes.perplexity import OPTION_FIELDS, SONAR_FIELDS, fixture

WIRE = Sonar()
SCHEMA = {"type": "object"}


SPECIFIED = (
    '{"model": "%s", "messages": [{"role": "user", "content": "prompt for the agent"}],'
    ' "web_search_options": {"search_context_size": "%s"}}'
)


def question(text: str = "why", **more: Any) -> Question:
    return Question(messages=(Message(role="user", content=text),), **more)


def body(model: str | None = None, *, stream: bool = False, reasoning: bool = False, **more: Any) -> dict[str, Any]:
    asked = question(model=model, reasoning=reasoning, **more)
    return WIRE.build(asked, resolve(model, reasoning=reasoning), stream=stream)


def model_and_context_size(
    model: str | None = None, *, reasoning: bool = False, effort: Any = "medium"
) -> tuple[str, str]:
    target = resolve(model, reasoning=reasoning, reasoning_effort=effort)
    built = WIRE.build(question(model=model, reasoning=reasoning), target, stream=False)
    return built["model"], built["web_search_options"]["search_context_size"]


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        (False, SPECIFIED % ("sonar-pro", "low")),
        (True, SPECIFIED % ("sonar-reasoning-pro", "medium")),
    ],
)
def test_a_request_is_byte_for_byte_as_it_is_specified(reasoning: bool, expected: str) -> None:
    built = WIRE.build(
        question("prompt for the agent", reasoning=reasoning), resolve(None, reasoning=reasoning), stream=False
    )

    assert expected == json.dumps(built)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sonar", ("sonar", "low")),
        ("sonar-pro", ("sonar-pro", "low")),
        (" Sonar-Reasoning-Pro ", ("sonar-reasoning-pro", "medium")),
        ("sonar-deep-research", ("sonar-deep-research", "high")),
        ("perplexity/sonar", ("sonar", "low")),
        ("perplexity/sonar-pro", ("sonar-pro", "low")),
        ("fast", ("sonar-pro", "low")),
        ("low", ("sonar-pro", "low")),
        ("medium", ("sonar-reasoning-pro", "medium")),
        ("high", ("sonar-deep-research", "high")),
        ("xhigh", ("sonar-deep-research", "high")),
    ],
)
def test_every_name_has_its_sonar_model(model: str, expected: tuple[str, str]) -> None:
    assert expected == model_and_context_size(model)


def test_a_withdrawn_model_is_replaced_with_a_note() -> None:
    told = ("Perplexity has withdrawn sonar-reasoning: sonar-reasoning-pro answered.",)
    for name in (" Sonar-Reasoning ", "perplexity/sonar-reasoning"):
        assert model_and_context_size(name) == ("sonar-reasoning-pro", "medium")
        assert WIRE.notes(question(model=name)) == told
    assert WIRE.notes(question(model="sonar-pro")) == ()


@pytest.mark.parametrize("effort", EFFORTS)
def test_reasoning_is_the_reasoning_model_at_every_effort(effort: str) -> None:
    assert model_and_context_size(reasoning=True, effort=effort) == ("sonar-reasoning-pro", "medium")


def test_a_named_model_wins_over_reasoning() -> None:
    assert model_and_context_size("fast", reasoning=True) == ("sonar-pro", "low")


def test_another_vendors_model_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        body("openai/gpt-6-luna")

    assert (caught.value.field, caught.value.value) == ("model", "openai/gpt-6-luna")


def test_every_filter_goes_where_the_service_reads_it() -> None:
    recent = body(
        filters=Filters(recency="week", domains=("a.com", "b.org"), languages=("de", "en"), country="DE", mode="sec")
    )
    dated = body(filters=Filters(after=date(2026, 1, 2), before=date(2026, 11, 21)))

    assert recent == {
        **body(),
        "web_search_options": {"search_context_size": "low", "user_location": {"country": "DE"}},
        "search_recency_filter": "week",
        "search_domain_filter": ["a.com", "b.org"],
        "search_language_filter": ["de", "en"],
        "search_mode": "sec",
    }
    assert dated == {
        **body(),
        "search_after_date_filter": "01/02/2026",
        "search_before_date_filter": "11/21/2026",
    }
    assert set(recent) | set(dated) <= SONAR_FIELDS
    assert set(recent["web_search_options"]) <= OPTION_FIELDS


@pytest.mark.parametrize("model", [None, "sonar-pro", "sonar-reasoning-pro", "fast", "medium", "perplexity/sonar-pro"])
def test_a_schema_is_asked_of_models_that_take_one(model: str | None) -> None:
    expected = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}

    assert expected == body(model, schema=SCHEMA)["response_format"]


@pytest.mark.parametrize("model", ["sonar", "high", "xhigh", "perplexity/sonar", "sonar-deep-research"])
def test_a_schema_is_refused_for_the_others(model: str) -> None:
    with pytest.raises(InvalidRequest, match="a JSON schema takes sonar-pro or sonar-reasoning-pro"):
        body(model, schema=SCHEMA)


def test_a_limit_of_tokens_is_noted() -> None:
    assert body(max_tokens=500)["max_tokens"] == 500
    assert "max_tokens" not in body()


def test_a_size_of_the_context_that_is_asked_for_wins() -> None:
    assert body(context="high")["web_search_options"] == {"search_context_size": "high"}


def test_a_conversation_and_a_stream_are_noted_as_unsupported() -> None:
    messages = (Message(role="system", content="short"), Message(role="user", content="why"))

    built = WIRE.build(Question(messages=messages), resolve(None), stream=True)

    assert built["messages"] == [{"role": "system", "content": "short"}, {"role": "user", "content": "why"}]
    assert built["stream"] is True


def test_a_search_is_switched_off_where_it_can_be_and_no_options_of_one_are_sent() -> None:
    router = Sonar(model=lambda question, target: "x-ai/grok-4.3")

    assert body(offline=True)["disable_search"] is True
    assert {*router.build(question(offline=True), resolve(None), stream=False)} == {"model", "messages"}
    assert all("web_search_options" not in built for built in [body(offline=True), body("sonar-pro", offline=True)])


def test_tools_are_left_out_with_a_note() -> None:
    tools = ({"type": "function", "name": "f"},)

    assert body(tools=tools) == body()
    assert WIRE.notes(question(tools=tools)) == ("Sonar models take no tools: they were left out.",)


def test_another_service_has_its_own_path_and_names() -> None:
    wire = Sonar(path="/v1/chat", provider="Router", model=lambda question, target: "perplexity/sonar-reasoning-pro")

    built = wire.build(question(), resolve(None), stream=False)

    assert (wire.path, built["model"]) == ("/v1/chat", "perplexity/sonar-reasoning-pro")
    assert built["web_search_options"] == {"search_context_size": "medium"}
    assert wire.read(json.loads(routed("openrouter.200.json"))).provider == "Router"
    assert wire.emits_thinking(question(), resolve(None))


def recorded(**changes: Any) -> dict[str, Any]:
    return {**json.loads(fixture("sonar.200.json")), **changes}


def test_a_recorded_answer_is_read() -> None:
    answer = WIRE.read(recorded())

    assert answer.text.endswith("Answer.[1]")
    assert (answer.model, answer.provider, answer.incomplete) == ("sonar-pro", "Perplexity", None)
    assert answer.id == "c0ffee00-0000-4000-8000-000000000001"
    assert Usage(input_tokens=7, output_tokens=20, cost_usd=0.0051) == answer.usage
    source = answer.sources[0]
    assert (source.number, source.title, source.url) == (1, "Example A", "https://a.example/1")
    assert (source.snippet, source.date, source.last_updated) == ("First snippet.", "2026-11-01", "2026-11-15")


def test_openrouters_answer_is_read() -> None:
    answer = WIRE.read(json.loads(routed("openrouter.200.json")))

    assert (answer.text, answer.usage.cost_usd) == ("Answer.[1]", 0.00502)
    assert [(s.number, s.title, s.url) for s in answer.sources] == [(1, "Example A", "https://a.example/1")]


def annotation(url: str, title: str) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": {"url": url, "title": title, "content": "Said."}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"search_results": [{"title": "A", "url": "https://a.com"}], "citations": ["https://b.com"]}, [(1, "A")]),
        (
            {"citations": ["https://a.com", "https://b.com"], "annotations": [annotation("https://b.com", "B")]},
            [(1, "https://a.com"), (2, "B")],
        ),
        (
            {
                "annotations": [
                    annotation("https://a.com", "A"),
                    annotation("https://a.com", "A"),
                    annotation("https://b.com", "B"),
                ]
            },
            [(1, "A"), (2, "B")],
        ),
        (
            {"search_results": [{"title": "no address"}, None, {"title": "C", "url": "https://c.com"}]},
            [(3, "C")],
        ),
        ({"search_results": "none", "citations": {}, "annotations": [{"url_citation": "x"}, 3]}, []),
    ],
)
def test_sources_are_numbered_as_the_markers_count_them(changes: dict[str, Any], expected: list[Any]) -> None:
    annotations = changes.pop("annotations", [])
    choices = [{"message": {"content": "Said.[1]", "annotations": annotations}}]

    answer = WIRE.read({"choices": choices, **changes})

    assert expected == [(source.number, source.title) for source in answer.sources]


def test_a_page_that_is_listed_twice_answers_to_both_numbers() -> None:
    pages = [{"url": "https://a.com"}, {"url": "https://b.com"}, {"url": "https://a.com"}, {"url": "https://d.com"}]

    answer = WIRE.read(recorded(search_results=pages))

    assert [(s.number, s.aliases) for s in answer.sources] == [(1, (3,)), (2, ()), (4, ())]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 1,
                "completion_tokens": 2,
                "reasoning_tokens": 3,
                "num_search_queries": 4,
                "cost": {"total_cost": 0.5},
            },
            Usage(input_tokens=1, output_tokens=2, reasoning_tokens=3, searches=4, cost_usd=0.5),
        ),
        (
            {"completion_tokens_details": {"reasoning_tokens": 3}, "cost": 0.25},
            Usage(reasoning_tokens=3, cost_usd=0.25),
        ),
        ({"prompt_tokens": "many", "cost": "free"}, Usage()),
        ("none", Usage()),
    ],
)
def test_usage_is_read_as_far_as_it_is_given(usage: Any, expected: Usage) -> None:
    assert expected == WIRE.read(recorded(usage=usage)).usage


def test_an_answer_that_stopped_early_says_why() -> None:
    choices = [{"finish_reason": "length", "message": {"content": "Half"}}]

    assert WIRE.read(recorded(choices=choices)).incomplete == "length"


@pytest.mark.parametrize("reason", ["stop", None, "", 7])
def test_an_answer_that_finished_is_complete(reason: Any) -> None:
    choices = [{"finish_reason": reason, "message": {"content": "All"}}]

    assert WIRE.read(recorded(choices=choices)).incomplete is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"choices": []}, MalformedResponse),
        ({"choices": "none"}, MalformedResponse),
        ({"choices": [{"message": {"content": " \n"}}]}, MalformedResponse),
        ({"choices": [{"message": {"content": ["parts"]}}]}, MalformedResponse),
        ({"choices": [{"finish_reason": "length", "message": {"content": ""}}]}, RunFailed),
        ({"choices": [{"finish_reason": "error", "message": {"content": "Half"}}]}, RunFailed),
        ({"error": {"message": "no", "code": 429}}, RateLimitError),
        ({"error": {"message": "no", "code": 402}}, BillingError),
        ({"error": {"message": "no", "code": 502}}, ServerError),
        ({"error": {"message": "no", "code": "odd"}}, RunFailed),
        ({"error": "no"}, RunFailed),
    ],
)
def test_a_failure_inside_a_well_response_is_raised(changes: dict[str, Any], expected: type[PerplexityError]) -> None:
    with pytest.raises(expected) as caught:
        WIRE.read(recorded(**changes))

    assert type(caught.value) is expected
    assert caught.value.provider == "Perplexity"


@pytest.mark.parametrize("finish", ["stop", "length", "error"])
def test_an_answer_of_no_use_says_what_it_cost(finish: str) -> None:
    with pytest.raises(PerplexityError) as caught:
        WIRE.read(recorded(choices=[{"finish_reason": finish, "message": {"content": ""}}]))

    assert caught.value.cost_usd
    assert caught.value.cost_usd == WIRE.read(recorded()).usage.cost_usd


@pytest.mark.parametrize(("seconds", "streamed"), [(30, False), (60, False), (60.1, True), (600, True)])
def test_requests_that_may_take_over_a_minute_are_streamed(seconds: float, streamed: bool) -> None:
    assert streamed is WIRE.should_stream(resolve("medium"), seconds=seconds)
