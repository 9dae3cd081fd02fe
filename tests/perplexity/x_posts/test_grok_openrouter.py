"""Grok at OpenRouter: requests, the validation of responses, and failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest

from perplexity.errors import (
    APIError,
    AuthenticationError,
    BillingError,
    ConnectionFailed,
    EndpointRetired,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
    TimedOut,
)
from perplexity.providers.base import ProviderConfig
from perplexity.retry import RetryPolicy
from perplexity.x_posts.client import Grok, build_grok
from perplexity.x_posts.grok import SCHEMA, OpenRouterWire
from perplexity.x_posts.parsing import NO_POSTS, NOT_CONFIRMED, validate_response
from perplexity.x_posts.types import PostSummary, Sentiment
from tests.fakes.grok import sentiment
from tests.fakes.openrouter import KEY, FakeOpenRouter, error, pulse_of
from tests.fakes.service import Fault, json_reply

SINCE, UNTIL = date(2026, 11, 14), date(2026, 11, 21)
PATH = "/chat/completions"


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as server:
        yield server


async def summarize(fake: FakeOpenRouter, *, seconds: float = 5.0) -> PostSummary:
    retry = RetryPolicy(base=0.001)
    async with Grok(KEY, wire=OpenRouterWire(), base_url=fake.base_url, retry=retry) as grok:
        return await grok.summarize("heat pumps", since=SINCE, until=UNTIL, seconds=seconds)


async def test_the_search_of_x_is_forced_and_bounded_and_only_xai_is_asked(fake: FakeOpenRouter) -> None:
    await summarize(fake)

    (request,) = fake.requests
    body = request.json
    system, user = body.pop("messages")
    assert body == {
        "model": "x-ai/grok-4.3",
        "tools": [
            {
                "type": "openrouter:web_search",
                "parameters": {
                    "engine": "native",
                    "x_search": {"from_date": "2026-11-14", "to_date": "2026-11-21"},
                },
            }
        ],
        "tool_choice": "required",
        "provider": {"only": ["xai"], "allow_fallbacks": False},
        "response_format": {"type": "json_schema", "json_schema": {"name": "pulse", "schema": SCHEMA, "strict": True}},
    }
    assert ("at most 20 posts" in system["content"], "not the search of web pages" in system["content"]) == (True, True)
    assert (system["role"], user) == ("system", {"role": "user", "content": "Topic: heat pumps"})
    assert (request.method, request.path, request.headers["Authorization"]) == ("POST", PATH, f"Bearer {KEY}")


async def test_posts_are_counted_by_sentiment_and_the_cost_is_read(fake: FakeOpenRouter) -> None:
    summary = await summarize(fake)

    assert [(post.number, post.url) for post in summary.posts] == [
        (1, "https://x.com/ada/status/1111"),
        (2, "https://x.com/i/status/2222"),
        (3, "https://x.com/eve/status/3333"),
    ]
    assert (summary.sentiment, summary.posts_read, summary.unreliable) == (
        Sentiment(positive=2, negative=1),
        None,
        None,
    )
    assert (summary.cost_usd, summary.provider, summary.model) == (0.00502, "Grok at OpenRouter", "x-ai/grok-4.3")
    assert summary.seconds > 0


ADA, BOB = "https://x.com/i/status/1111", "https://x.com/bob/status/2222"
INLINE = "Most are glad.[[1]](https://x.com/i/status/1111)"
BROKEN = '{"posts": [{"url": "https://x.com/ada/status/1111"[[1]](https://x.com/i/status/1111), "mood": "positive", '
BROKEN += '"about": "Ada"}], "summary": "Most are glad.[1]"}'


@pytest.mark.parametrize(
    ("body", "numbers", "counted", "unreliable"),
    [
        (pulse_of(sentiment(), annotated=[ADA, BOB]), [1, 2], 2, None),
        (pulse_of(sentiment(), annotated=[ADA, "https://example.com/"]), [1], 1, None),
        (pulse_of(sentiment(), annotated=[]), [1, 2, 3], 0, NOT_CONFIRMED),
        (pulse_of(sentiment(summary=INLINE), annotated=[]), [1, 2, 3], 0, NOT_CONFIRMED),
        (pulse_of(sentiment(), annotated=["https://example.com/"]), [1, 2, 3], 0, NOT_CONFIRMED),
        (pulse_of({"posts": [], "summary": "Nobody said a word."}, annotated=[]), [], 0, NO_POSTS),
        (pulse_of({"posts": [{"url": "https://a.example/"}], "summary": "A page."}, annotated=[]), [], 0, NO_POSTS),
        (pulse_of("People are glad.", annotated=[ADA, BOB]), [1, 2], 0, None),
        (pulse_of("People are glad.", annotated=[]), [], 0, NO_POSTS),
        (pulse_of(BROKEN, annotated=[ADA]), [1], 1, None),
    ],
    ids=[
        "two are confirmed",
        "one is confirmed",
        "none is confirmed",
        "confirmed by the model only",
        "only a page is confirmed",
        "no posts",
        "no post but a page",
        "prose with posts",
        "prose alone",
        "a marker in the JSON",
    ],
)
def test_only_valid_posts_count(body: dict[str, Any], numbers: list[int], counted: int, unreliable: str | None) -> None:
    summary = validate_response(OpenRouterWire().read(body))

    assert [post.number for post in summary.posts] == numbers
    assert (summary.sentiment.total, summary.unreliable) == (counted, unreliable)


@pytest.mark.parametrize(("finish", "incomplete"), [("stop", None), (None, None), ("length", "length")])
def test_an_answer_that_was_cut_says_why(finish: str | None, incomplete: str | None) -> None:
    body = pulse_of(sentiment())
    body["choices"][0]["finish_reason"] = finish

    assert validate_response(OpenRouterWire().read(body)).incomplete == incomplete


def test_annotations_and_costs_of_a_kind_that_is_not_known_are_skipped() -> None:
    body = pulse_of(sentiment(), usage={"cost": "much"}, model=None)
    body["choices"][0]["message"]["annotations"] = [{"type": "file"}, {"type": "url_citation"}, None, 7]
    summary = validate_response(OpenRouterWire().read(body))

    assert (summary.unreliable, summary.cost_usd, summary.model) == (NOT_CONFIRMED, None, None)


def status(code: int, message: str = "No.", **options: Any) -> Fault:
    return json_reply(error(code, message), status=code, **options)


def broken_off(**choice: Any) -> Fault:
    body = pulse_of(sentiment())
    body["choices"][0] |= choice
    return json_reply(body)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(400), InvalidRequest),
        (status(400, "x-ai/grok-4.3 is not a valid model ID"), EndpointRetired),
        (status(400, "Provider returned error"), ServerError),
        (status(401), AuthenticationError),
        (status(402), BillingError),
        (status(403), APIError),
        (status(404, "No endpoints found that support tool use."), APIError),
        (status(429, headers={"Retry-After": "300"}), RateLimitError),
        (status(500), ServerError),
        (status(502), ServerError),
        (json_reply(error(400)), InvalidRequest),
        (json_reply(error(402)), BillingError),
        (json_reply(error(429)), RateLimitError),
        (json_reply(error(502)), ServerError),
        (broken_off(error={"code": 502, "message": "No."}), ServerError),
        (broken_off(finish_reason="error"), RunFailed),
        (Fault(), MalformedResponse),
        (Fault(chunks=(b'{"half',)), MalformedResponse),
        (Fault(content_type="text/html", chunks=(b"<html></html>",)), MalformedResponse),
        (json_reply({"choices": []}), MalformedResponse),
        (json_reply(pulse_of("")), MalformedResponse),
        (json_reply(pulse_of('{"posts": [')), MalformedResponse),
        (json_reply(pulse_of({"posts": []}, annotated=[])), MalformedResponse),
        (Fault(chunks=(b"{",), reset=True), ConnectionFailed),
        (Fault(hang=True), TimedOut),
    ],
)
async def test_each_failure_is_reported_and_charged_once(
    fake: FakeOpenRouter, fault: Fault, kind: type[PerplexityError]
) -> None:
    fake.script(PATH, fault)

    with pytest.raises(kind) as raised:
        await summarize(fake, seconds=2)

    assert (raised.value.provider, len(fake.requests)) == ("Grok at OpenRouter", 1)
    assert KEY not in str(raised.value)


async def test_a_short_limit_is_waited_for(fake: FakeOpenRouter) -> None:
    fake.script(PATH, status(429, headers={"Retry-After": "0.01"}))

    assert (await summarize(fake)).sentiment.total == 3


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({}, None),
        ({"perplexity": "k", "xai": "", "openrouter": ""}, None),
        ({"openrouter": "k"}, "Grok at OpenRouter"),
        ({"xai": "k"}, "Grok"),
        ({"openrouter": "k", "xai": "k"}, "Grok"),
        ({"openrouter": "k", "xai": ""}, "Grok at OpenRouter"),
    ],
)
def test_xai_itself_is_preferred(keys: dict[str, str], name: str | None) -> None:
    grok = build_grok(ProviderConfig(keys=keys))

    assert (grok and grok.name) == name
