"""Failures inside a 200: each keeps its class, in whichever of its forms it comes, so that the chain can say it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from perplexity import errors
from perplexity.client import PerplexityClient
from perplexity.errors import AllProvidersFailed, Attempt, PerplexityError
from perplexity.fallback import Fallback
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.retry import RetryPolicy
from perplexity.types import Done, Message, Question
from perplexity.wire import agent
from perplexity.wire.agent import AgentStream
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, json_reply, sse, stream_reply
from tests.fakes.provider import FakeProvider

CREATED = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}
QUESTION = Question(messages=(Message(role="user", content="why"),))

CLASSES: list[tuple[str, Mapping[str, Any]]] = [
    ("BillingError", {"type": "insufficient_quota", "code": 401}),
    ("BillingError", {"type": "INSUFFICIENT_QUOTA", "code": "401"}),
    ("BillingError", {"type": "invalid_request_error", "code": "Insufficient_Quota"}),
    ("BillingError", {"code": "insufficientQuota"}),
    ("BillingError", {"Type": "insufficient_quota"}),
    ("BillingError", {"code": 402}),
    ("AuthenticationError", {"type": "invalid_api_key", "code": 401}),
    ("AuthenticationError", {"type": "Invalid_API_Key"}),
    ("AuthenticationError", {"code": 401}),
    ("AuthenticationError", {"code": "401"}),
    ("AuthenticationError", {"type": "forbidden", "code": 403}),
    ("RateLimitError", {"type": "request_rate_limit_exceeded", "code": 429}),
    ("RateLimitError", {"type": "Request_Rate_Limit_Exceeded"}),
    ("RateLimitError", {"code": "RATE_LIMIT_EXCEEDED"}),
    ("RateLimitError", {"status": 429}),
    ("ServerError", {"type": "internal_error", "code": 500}),
    ("ServerError", {"type": "INTERNAL_ERROR"}),
    ("ServerError", {"type": "gateway_timeout"}),
    ("ServerError", {"type": "server_error"}),
    ("ServerError", {"code": "503"}),
    ("EndpointRetired", {"type": "agent_api_migration_required", "code": 403}),
    ("RunFailed", {"type": "something_new"}),
    ("RunFailed", {"code": True}),
    ("RunFailed", {"code": 99999}),
    ("RunFailed", {}),
]


def failed_event(form: str, error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last event of a stream that fails, in one of the forms in which services tell it."""
    told = {"message": "No.", **error}
    run = {"id": "resp_1", "status": "failed", "output": []}
    forms: dict[str, dict[str, Any]] = {
        "error event": {"type": "error", "error": told},
        "error at the top": {"type": "response.failed", "error": told, "sequence_number": 3},
        "error in the response": {"type": "response.failed", "response": {**run, "error": told}, "sequence_number": 3},
        "error beside the response": {"type": "response.failed", "response": {**run, "error": None}, "error": told},
        "a response that failed": {"type": "response.completed", "response": {**run, "error": told}},
        "another case": {"type": "Response.FAILED", "response": {**run, "status": "Failed", "error": told}},
    }
    return forms[form]


def in_a_stream(form: str, error: Mapping[str, Any]) -> Fault:
    return stream_reply(sse(CREATED), sse(failed_event(form, error)))


STREAMS = (
    "error event",
    "error at the top",
    "error in the response",
    "error beside the response",
    "a response that failed",
    "another case",
)


@pytest.fixture
async def fake() -> AsyncIterator[FakePerplexity]:
    async with FakePerplexity() as server:
        yield server


@pytest.fixture
async def client(fake: FakePerplexity) -> AsyncIterator[PerplexityClient]:
    async with PerplexityClient(KEY, base_url=fake.base_url, retry=RetryPolicy(base=0.001)) as client:
        yield client


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize(("kind", "error"), CLASSES)
def test_a_stream_s_failure_keeps_its_class(form: str, kind: str, error: Mapping[str, Any]) -> None:
    reader = AgentStream()
    reader.feed(CREATED)

    with pytest.raises(PerplexityError, match=r"No\.") as caught:
        reader.feed(failed_event(form, error))

    assert (type(caught.value), reader.ended) == (getattr(errors, kind), True)


@pytest.mark.parametrize("status", ["failed", "Failed", "FAILED", "cancelled", "Canceled"])
@pytest.mark.parametrize(("kind", "error"), CLASSES)
def test_a_whole_answer_s_failure_keeps_its_class(status: str, kind: str, error: Mapping[str, Any]) -> None:
    body = {"id": "resp_1", "status": status, "output": [], "error": {"message": "No.", **error}}

    with pytest.raises(PerplexityError, match=r"No\.") as caught:
        agent.Agent().read(body)

    assert type(caught.value) is getattr(errors, kind)


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("kind", sorted({kind for kind, _ in CLASSES}))
async def test_the_client_raises_it(form: str, kind: str, fake: FakePerplexity, client: PerplexityClient) -> None:
    error = next(error for one, error in CLASSES if one == kind)
    fake.script("/v1/agent", in_a_stream(form, error))

    with pytest.raises(PerplexityError) as caught:
        _ = [event async for event in client.stream(QUESTION)]

    assert (type(caught.value), caught.value.provider) == (getattr(errors, kind), "Perplexity")


@pytest.mark.parametrize("ask", ["stream", "answer", "slow answer"])
@pytest.mark.parametrize("kind", ["BillingError", "AuthenticationError", "RateLimitError", "ServerError"])
@pytest.mark.parametrize("form", STREAMS)
async def test_the_chain_says_what_was_wrong_with_the_first_one(
    form: str, kind: str, ask: str, fake: FakePerplexity, client: PerplexityClient
) -> None:
    told = next(error for one, error in CLASSES if one == kind)
    fault = in_a_stream(form, told)
    if ask == "answer":
        fault = json_reply({"id": "r", "status": "failed", "output": [], "error": {"message": "No.", **told}})
    fake.script("/v1/agent", *[fault] * 3)
    heard: list[Attempt] = []
    chain = Fallback([PerplexityProvider(client), FakeProvider("Other")], on_attempt=heard.append)
    question = QUESTION if ask != "slow answer" else Question(messages=QUESTION.messages, reasoning=True)

    if ask == "stream":
        *_, last = [event async for event in chain.stream(question)]
        assert isinstance(last, Done)
        answer = last.answer
    else:
        answer = await chain.answer(question)

    assert answer.provider == "Other"
    assert [(one.provider, one.error_class) for one in answer.failed] == [("Perplexity", kind)]
    assert [(one.provider, one.error_class) for one in heard] == [("Perplexity", kind), ("Other", None)]


async def test_without_another_one_the_chain_names_the_class(fake: FakePerplexity, client: PerplexityClient) -> None:
    fake.script("/v1/agent", in_a_stream("error at the top", {"type": "insufficient_quota", "code": 401}))
    chain = Fallback([PerplexityProvider(client)])

    with pytest.raises(AllProvidersFailed) as caught:
        _ = [event async for event in chain.stream(QUESTION)]

    assert [one.summary for one in caught.value.attempts] == [errors.BillingError.summary]
