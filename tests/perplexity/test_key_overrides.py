"""Keys that a task brings along: used by it and by what it starts, and by nothing else."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from perplexity.agent.results import translate_error
from perplexity.client import PerplexityClient
from perplexity.errors import AuthenticationError, ServerError
from perplexity.fallback import BreakerPolicy, Fallback
from perplexity.scope import OwnKeys, current, using_keys
from perplexity.types import Query
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.provider import FakeProvider


def used(perplexity: FakePerplexity) -> list[str]:
    return [request.headers["Authorization"].removeprefix("Bearer ") for request in perplexity.requests]


async def test_a_task_and_those_it_starts_use_its_key() -> None:
    async with (
        FakePerplexity(key=None) as perplexity,
        PerplexityClient("pplx-a", base_url=perplexity.base_url) as client,
    ):

        async def ask(key: str) -> None:
            with using_keys(OwnKeys(owner=key, keys={perplexity.base_url: key, "https://other.example": "pplx-x"})):
                await asyncio.create_task(client.search(Query(text="why")))
                await client.search(Query(text="why"))

        await asyncio.gather(ask("pplx-b"), ask("pplx-c"))
        await client.search(Query(text="why"))
        with using_keys(OwnKeys(owner="d", keys={"https://other.example": "pplx-x"})):
            await client.search(Query(text="why"))

        assert sorted(used(perplexity)) == ["pplx-a", "pplx-a", "pplx-b", "pplx-b", "pplx-c", "pplx-c"]
    assert current().keys is None


async def test_no_error_shows_the_key() -> None:
    async with FakePerplexity() as perplexity, PerplexityClient("pplx-a", base_url=perplexity.base_url) as client:
        perplexity.fail("/search", status=401, body={"error": {"message": "bad key pplx-own-secret", "code": 401}})
        with (
            using_keys(OwnKeys(owner="T1", keys={perplexity.base_url: "pplx-own-secret"})),
            pytest.raises(AuthenticationError) as refused,
        ):
            await client.search(Query(text="why"))

    assert "pplx-own-secret" not in f"{refused.value!r} {refused.value} {vars(refused.value)}"
    assert "pplx-own-secret" not in repr(OwnKeys(owner="T1", keys={"https://a.example": "pplx-own-secret"}))


def test_no_error_of_the_agent_s_model_shows_the_key() -> None:
    said = ModelHTTPError(401, "vendor/model-1", {"message": "bad key: own-secret"})
    with using_keys(OwnKeys(owner="T1", keys={"https://a.example/v1": "own-secret"})):
        error = translate_error(said, provider="Agent", now=0)

    assert "bad key" in str(error)
    assert "own-secret" not in f"{error!r} {error} {vars(error)}"


async def test_what_fails_with_one_owner_s_key_rests_for_that_owner_alone() -> None:
    class Failing(FakeProvider):
        async def _act(self) -> None:
            if (own := current().keys) is not None and own.owner == "T1":
                raise ServerError("only with the key of T1")

    provider = Failing("One")
    chain = Fallback([provider, FakeProvider("Two")], breaker=BreakerPolicy(failures=2, seconds=1_000))
    for _ in range(4):
        with using_keys(OwnKeys(owner="T1", names=["One"], keys={})):
            await chain.search(Query(text="why"))
    assert len(provider.queries) == 2

    for owner in ("T2", None):
        with using_keys(None if owner is None else OwnKeys(owner=owner, names=["One"], keys={})):
            await chain.search(Query(text="why"))
    assert len(provider.queries) == 4


async def test_what_fails_with_the_configured_key_rests_for_everyone() -> None:
    """Also if the owner brings along a key for another service."""

    class Failing(FakeProvider):
        async def _act(self) -> None:
            raise ServerError("for everyone")

    provider = Failing("One")
    chain = Fallback([provider, FakeProvider("Two")], breaker=BreakerPolicy(failures=2, seconds=1_000))
    for owner in ("T1", "T2", "T1", None):
        with using_keys(None if owner is None else OwnKeys(owner=owner, names=["Two"], keys={})):
            await chain.search(Query(text="why"))
    assert len(provider.queries) == 2
