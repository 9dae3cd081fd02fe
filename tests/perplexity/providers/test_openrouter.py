from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import date
from typing import Any

import pytest

from perplexity.errors import (
    APIError,
    AuthenticationError,
    BillingError,
    EndpointRetired,
    InvalidRequest,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
    StreamTruncated,
    TimedOut,
)
from perplexity.filters import Filters
from perplexity.models import Timeouts
from perplexity.providers.base import ProviderConfig
from perplexity.providers.openrouter import OpenRouter, build, retired_models
from perplexity.retry import RetryPolicy
from perplexity.types import Answer, Done, Event, Message, Query, Question, Source, Sources, TextDelta
from tests.fakes.openrouter import COMMENT, END, KEY, MODELS, FakeOpenRouter, chunk, error, fixture, stream_of
from tests.fakes.service import Fault, json_reply, sse, stream_reply
from tests.fakes.time import Time

NOVEMBER = 1_795_255_200.0  # 2026-11-21
CHAT = "/chat/completions"
SOURCE = Source(number=1, title="Example A", url="https://a.example/1")
PRO, REASONING = "perplexity/sonar-pro", "perplexity/sonar-reasoning-pro"
WRITER = "x-ai/grok-4.3"


def question(model: str | None = None, **more: Any) -> Question:
    return Question(messages=(Message(role="user", content="why"),), model=model, **more)


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as server:
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def provider(fake: FakeOpenRouter, time: Time) -> AsyncIterator[OpenRouter]:
    retry = RetryPolicy(attempts=3, base=0.001)
    async with OpenRouter(KEY, base_url=fake.base_url, retry=retry, now=lambda: NOVEMBER, sleep=time.sleep) as made:
        yield made


async def events_of(provider: OpenRouter, asked: Question) -> list[Event]:
    return [event async for event in provider.stream(asked)]


async def streamed_answer(provider: OpenRouter, asked: Question) -> Answer:
    *_, done = await events_of(provider, asked)
    assert isinstance(done, Done)
    return done.answer


async def test_an_answer_has_its_sources_its_model_and_its_price(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    answer = await provider.answer(question())

    assert (answer.text, answer.sources, answer.provider) == ("Answer.[1]", (SOURCE,), "OpenRouter")
    assert (answer.model, answer.effort, answer.usage.cost_usd) == ("perplexity/sonar", None, 0.00502)
    assert (answer.notes, answer.seconds >= 0) == ((), True)
    assert fake.requests[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_a_stream_yields_sources_and_text_and_ends_with_the_same_answer(provider: OpenRouter) -> None:
    events = await events_of(provider, question())

    assert events[:-1] == [TextDelta(text="Answe"), Sources(sources=(SOURCE,)), TextDelta(text="r.[1]")]
    assert isinstance(events[-1], Done)
    answer = events[-1].answer
    assert (answer.text, answer.sources, answer.usage.cost_usd) == ("Answer.[1]", (SOURCE,), 0.00502)
    assert answer.provider == "OpenRouter"


@pytest.mark.parametrize(
    ("asked", "model"),
    [
        (question(), "perplexity/sonar"),
        (question(news=True), PRO),
        (question(schema={"type": "object"}), PRO),
        (question(reasoning=True), REASONING),
        (question("fast"), "perplexity/sonar"),
        (question("low"), "perplexity/sonar"),
        (question("medium"), REASONING),
        (question("high"), "perplexity/sonar-deep-research"),
        (question("xhigh"), "perplexity/sonar-deep-research"),
        (question("sonar"), "perplexity/sonar"),
        (question("sonar", news=True), "perplexity/sonar"),
        (question("perplexity/sonar"), "perplexity/sonar"),
        (question("sonar-pro"), PRO),
        (question("perplexity/sonar-pro"), PRO),
        (question("sonar-reasoning"), REASONING),
        (question("sonar-reasoning-pro"), REASONING),
        (question("sonar-deep-research"), "perplexity/sonar-deep-research"),
        (question("openai/gpt-6-luna"), "perplexity/sonar"),
        (question("perplexity/llama-3.1-sonar-small-128k-online"), "perplexity/sonar"),
    ],
)
async def test_every_question_goes_to_a_model_that_searches(
    fake: FakeOpenRouter, provider: OpenRouter, asked: Question, model: str
) -> None:
    answer = await provider.answer(asked)

    assert (fake.requests[0].json["model"], answer.model) == (model, model)


async def test_what_is_to_be_written_without_a_search_goes_to_a_model_that_does_not(
    fake: FakeOpenRouter, provider: OpenRouter
) -> None:
    answer = await provider.answer(question(offline=True, reasoning=True))

    body = fake.requests[0].json
    assert (body["model"], answer.model, answer.sources, answer.notes) == (WRITER, WRITER, (), ())
    assert {*body} == {"model", "messages"}
    assert answer.usage.cost_usd == 0.00502


async def test_an_answer_with_an_unwanted_search_is_rejected(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    searched = json.loads(fixture("openrouter.200.json"))
    fake.script(CHAT, json_reply(searched), stream_reply(stream_of(WRITER)))

    for ask in (provider.answer, lambda asked: streamed_answer(provider, asked)):
        with pytest.raises(RunFailed) as caught:
            await ask(question(offline=True))
        assert (caught.value.provider, caught.value.cost_usd) == ("OpenRouter", 0.00502)


async def test_without_the_model_that_does_not_search_another_provider_is_asked(
    fake: FakeOpenRouter, provider: OpenRouter
) -> None:
    del fake.models[WRITER]

    assert await provider.check_models() == (WRITER,)
    with pytest.raises(EndpointRetired):
        await provider.answer(question(offline=True))
    assert (await provider.answer(question())).model == "perplexity/sonar"


@pytest.mark.parametrize(
    ("model", "notes"),
    [
        ("sonar-pro", ()),
        ("openai/gpt-6-luna", ("OpenRouter answered with perplexity/sonar in place of openai/gpt-6-luna.",)),
        ("sonar-reasoning", ("Perplexity has withdrawn sonar-reasoning: sonar-reasoning-pro answered.",)),
    ],
)
async def test_an_answer_of_another_model_than_requested_is_noted(
    provider: OpenRouter, model: str, notes: tuple[str, ...]
) -> None:
    assert (await provider.answer(question(model))).notes == notes
    assert (await streamed_answer(provider, question(model))).notes == notes


async def test_filters_are_sent_as_sonar_reads_them(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    filters = Filters(recency="week", domains=("A.com",), languages=("de",), country="DE")

    await provider.answer(question(filters=filters))

    body = fake.requests[0].json
    assert (body["search_recency_filter"], body["search_domain_filter"]) == ("week", ["a.com"])
    assert (body["search_language_filter"], "stream" in body) == (["de"], False)
    assert body["web_search_options"] == {"search_context_size": "low", "user_location": {"country": "DE"}}


@pytest.mark.parametrize(
    "asked",
    [question("nonsense"), question(filters=Filters(domains=("https://a.com",))), Question(messages=())],
)
async def test_a_question_that_is_wrong_is_not_sent(
    fake: FakeOpenRouter, provider: OpenRouter, asked: Question
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await provider.answer(asked)

    assert (fake.requests, caught.value.provider) == ([], "OpenRouter")


async def test_it_does_not_search(provider: OpenRouter) -> None:
    assert provider.capabilities == {"answer"}
    with pytest.raises(PerplexityError, match="does not search"):
        await provider.search(Query(text="x"))


ERRORS: list[tuple[int, type[PerplexityError]]] = [
    (400, InvalidRequest),
    (401, AuthenticationError),
    (402, BillingError),
    (403, APIError),
    (404, APIError),
    (408, APIError),
    (413, InvalidRequest),
    (422, InvalidRequest),
    (429, RateLimitError),
    (500, ServerError),
    (502, ServerError),
    (503, ServerError),
    (524, ServerError),
    (529, ServerError),
]


@pytest.mark.parametrize(("code", "kind"), ERRORS)
@pytest.mark.parametrize("inside", [False, True], ids=["as status", "inside a 200"])
async def test_an_error_is_known_by_its_code(
    fake: FakeOpenRouter, provider: OpenRouter, code: int, kind: type[PerplexityError], inside: bool
) -> None:
    fake.script(CHAT, *[json_reply(error(code, "No."), status=200 if inside else code)] * 3)

    with pytest.raises(PerplexityError) as caught:
        await provider.answer(question())

    assert (type(caught.value), caught.value.provider, caught.value.status) == (kind, "OpenRouter", code)


@pytest.mark.parametrize(("code", "kind"), ERRORS)
async def test_an_error_inside_a_stream_is_known_by_its_code(
    fake: FakeOpenRouter, provider: OpenRouter, code: int, kind: type[PerplexityError]
) -> None:
    broken = stream_reply(COMMENT + sse(chunk("It"), {**chunk(finish="error"), **error(code, "No.")}) + END)
    fake.script(CHAT, broken)

    with pytest.raises(PerplexityError) as caught:
        await events_of(provider, question())

    assert (type(caught.value), caught.value.provider, len(fake.requests)) == (kind, "OpenRouter", 1)


async def test_a_stream_that_ends_for_an_error_without_words_failed(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("It"), chunk(finish="error")) + END))

    with pytest.raises(RunFailed):
        await events_of(provider, question())


async def test_a_stream_that_is_cut_is_truncated(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.script(CHAT, stream_reply(COMMENT + sse(chunk("It"))))

    with pytest.raises(StreamTruncated):
        await events_of(provider, question())


async def test_comments_before_the_answer_are_no_part_of_it(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.script(
        CHAT, stream_reply(COMMENT, COMMENT[:7], COMMENT[7:], sse(chunk("So.", finish="stop")), END, pause=0.001)
    )

    assert (await streamed_answer(provider, question())).text == "So."


async def test_credit_that_comes_back_by_itself_is_waited_for(
    fake: FakeOpenRouter, provider: OpenRouter, time: Time
) -> None:
    told = error(402) | {"metadata": {"limit_source": "openrouter_in_flight_budget"}}
    fake.fail(CHAT, status=402, body=told, headers={"Retry-After": "2"})

    answer = await provider.answer(question())

    assert (answer.text, time.slept) == ("Answer.[1]", [2.0])


async def test_a_limit_that_does_not_fit_is_not_waited_for(
    fake: FakeOpenRouter, provider: OpenRouter, time: Time
) -> None:
    fake.fail(CHAT, status=429, body=error(429), headers={"Retry-After": "300"})

    with pytest.raises(RateLimitError) as caught:
        await provider.answer(question())

    assert (caught.value.retry_after, time.slept, len(fake.requests)) == (300.0, [], 1)


async def test_a_model_that_is_gone_is_not_the_askers_fault(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.models = {"perplexity/sonar": None}

    for ask in (provider.answer, lambda asked: streamed_answer(provider, asked)):
        with pytest.raises(EndpointRetired) as caught:
            await ask(question("sonar-pro"))
        assert (caught.value.provider, caught.value.status) == ("OpenRouter", 400)


async def test_models_that_are_all_served_change_nothing(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    assert await provider.check_models() == ()
    assert (fake.requests[0].method, fake.requests[0].path) == ("GET", "/models")

    await provider.answer(question("sonar-pro"))

    assert fake.requests[-1].json["model"] == PRO


async def test_an_unreadable_list_of_models_is_asked_for_again(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.script("/models", Fault(chunks=(b'{"data": [',)), Fault(chunks=(b"<html></html>",), content_type="text/html"))

    assert await provider.check_models() == ()
    assert [request.path for request in fake.requests] == ["/models"] * 3


@pytest.mark.parametrize("day", [None, "2026-11-20", "2026-11-20T12:00:00Z"])
async def test_a_model_that_expired_or_is_gone_is_replaced_with_a_warning(
    fake: FakeOpenRouter, provider: OpenRouter, caplog: pytest.LogCaptureFixture, day: str | None
) -> None:
    fake.models[PRO] = day
    if day is None:
        del fake.models[PRO]

    with caplog.at_level(logging.WARNING, logger="perplexity"):
        gone = await provider.check_models()
    answer = await provider.answer(question(news=True))

    assert gone == (PRO,)
    assert [(r.message, vars(r)["model"]) for r in caplog.records] == [("openrouter.model_retired", PRO)]
    assert (answer.model, answer.notes) == (
        "perplexity/sonar",
        ("OpenRouter answered with perplexity/sonar in place of perplexity/sonar-pro.",),
    )


async def test_without_the_model_that_takes_a_schema_another_provider_is_asked(
    fake: FakeOpenRouter, provider: OpenRouter
) -> None:
    del fake.models[PRO]
    await provider.check_models()

    with pytest.raises(EndpointRetired):
        await provider.answer(question(schema={"type": "object"}))


async def test_a_400_of_an_upstream_service_does_not_blame_the_asker(
    fake: FakeOpenRouter, provider: OpenRouter
) -> None:
    fake.script("/chat/completions", json_reply(error(400, "Provider returned error")))

    with pytest.raises(ServerError):
        await provider.answer(question())


async def test_deep_research_that_breaks_off_is_not_bought_again(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    cut = stream_reply(sse(chunk("It is", model="perplexity/sonar-deep-research")), reset=True)
    fake.script("/chat/completions", cut, cut)

    with pytest.raises(PerplexityError):
        await provider.answer(question("high"))

    assert len(fake.requests) == 1


async def test_a_model_that_comes_back_is_used_again(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.models[PRO] = "2026-01-01"
    await provider.check_models()
    fake.models[PRO] = "2027-01-01"

    assert await provider.check_models() == ()
    assert (await provider.answer(question(news=True))).model == PRO


@pytest.mark.parametrize(
    ("listed", "gone"),
    [
        ({}, 0),
        ({"data": None}, 0),
        ({"data": []}, 0),
        ({"data": [{"id": 7}, "x"]}, 0),
        ({"data": [{"id": name} for name in MODELS]}, 0),
        ({"data": [{"id": name, "expiration_date": 5} for name in MODELS]}, 0),
        ({"data": [{"id": "perplexity/sonar"}]}, 4),
        ({"data": [{"id": "openai/gpt-6-luna"}]}, 5),
    ],
)
def test_a_list_that_says_nothing_retires_nothing(listed: dict[str, Any], gone: int) -> None:
    assert len(retired_models(listed, today=date(2026, 11, 21))) == gone


async def test_a_list_that_cannot_be_had_is_an_error_and_every_model_is_used(
    fake: FakeOpenRouter, provider: OpenRouter
) -> None:
    fake.script("/models", *[Fault(status=502, content_type="text/html", chunks=(b"<html>",))] * 3)

    with pytest.raises(ServerError) as caught:
        await provider.check_models()

    assert caught.value.provider == "OpenRouter"
    assert (await provider.answer(question(news=True))).model == PRO


async def test_it_keeps_to_the_seconds_it_is_given(fake: FakeOpenRouter) -> None:
    fake.hold()
    limits = Timeouts(answer=0.05, deep=0.05)
    async with OpenRouter(KEY, base_url=fake.base_url, timeouts=limits) as provider:
        with pytest.raises(TimedOut):
            await provider.answer(question())
        with pytest.raises(TimedOut):
            await provider.answer(question("high"))
        with pytest.raises(TimedOut):
            await provider.answer(question(reasoning=True, seconds=0.05))
        with pytest.raises(TimedOut):
            await events_of(provider, question(seconds=0.05))


async def test_a_stream_that_is_left_early_is_closed(fake: FakeOpenRouter, provider: OpenRouter) -> None:
    fake.script(CHAT, stream_reply(sse(chunk("It")), hang=True))
    async with aclosing(provider.stream(question())) as events:
        assert await anext(events) == TextDelta(text="It")

    assert (await provider.answer(question())).text == "Answer.[1]"


async def test_deep_research_is_read_from_a_stream_and_a_run_of_perplexity_is_asked_anew(
    fake: FakeOpenRouter, provider: OpenRouter
) -> None:
    answer = await provider.answer(question("high", run_id="resp_1"))

    assert (fake.requests[0].path, fake.requests[0].json["stream"]) == (CHAT, True)
    assert answer.text == "Answer.[1]"


async def test_no_key_is_in_an_error_or_a_log(fake: FakeOpenRouter, caplog: pytest.LogCaptureFixture) -> None:
    fake.fail(CHAT, status=401, body=error(401, f"the key {KEY}-2 is wrong"))
    with caplog.at_level(logging.DEBUG, logger="perplexity"):
        async with OpenRouter(f"{KEY}-2", base_url=fake.base_url) as provider:
            with pytest.raises(AuthenticationError) as caught:
                await provider.answer(question())

    assert KEY not in f"{caught.value} {vars(caught.value)} {caplog.text} {vars(provider)}"


def test_it_is_made_where_there_is_a_key() -> None:
    assert build(ProviderConfig()) is None
    assert isinstance(build(ProviderConfig(keys={"openrouter": KEY})), OpenRouter)


@pytest.mark.parametrize("whole", [True, False])
async def test_sources_outside_the_domains_are_left_out(provider: OpenRouter, *, whole: bool) -> None:
    asked = question(filters=Filters(domains=("-a.example",)))

    if whole:
        answer = await provider.answer(asked)
    else:
        *events, done = [event async for event in provider.stream(asked)]
        assert isinstance(done, Done)
        assert not [event for event in events if isinstance(event, Sources) and event.sources]
        answer = done.answer

    assert (answer.sources, "[1]" in answer.text) == ((), False)
    assert "on a.example left out" in answer.notes[0]
