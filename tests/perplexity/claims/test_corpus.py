"""Forty messages through a client and a chain, over a Perplexity on loopback: no verdict without its quotation."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncIterator
from datetime import date

import pytest

from perplexity.claims.check import check_claims
from perplexity.claims.propose import propose_claims
from perplexity.claims.types import CheckedClaims, ProposedClaims, Verdict
from perplexity.fallback import Fallback
from perplexity.providers import open_providers, text_generators
from perplexity.providers.base import ProviderConfig
from tests.fakes.claims import ScriptedPerplexity
from tests.fakes.perplexity import KEY
from tests.perplexity.claims.corpus import CORPUS, HONEST, INJECTIONS, NOT_IN_THE_PAGE, Case

TODAY = date(2026, 11, 22)


@pytest.fixture
async def fake() -> AsyncIterator[ScriptedPerplexity]:
    async with ScriptedPerplexity() as server:
        yield server


async def check(case: Case, fake: ScriptedPerplexity) -> tuple[ProposedClaims, CheckedClaims]:
    """Check a message as the app does: the claims are proposed, then all of them are checked."""
    fake.script_of_claims = case.script
    config = ProviderConfig(keys={"perplexity": KEY}, base_urls={"perplexity": fake.base_url})
    async with open_providers(config, order=["perplexity"]) as providers:
        model = Fallback(text_generators(providers))
        proposed = await propose_claims(case.message, model=model)
        return proposed, await check_claims(proposed.claims, search=Fallback(providers), model=model, today=TODAY)


def letters(text: str) -> str:
    """Return the letters and figures of a text, as both a page and a quotation write them."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))


def test_the_corpus_has_forty_messages() -> None:
    assert [len(HONEST), len(NOT_IN_THE_PAGE), len(INJECTIONS)] == [20, 10, 10]
    assert len({case.name for case in CORPUS}) == 40
    assert {due for case in (*NOT_IN_THE_PAGE, *INJECTIONS) for _, due in case.claims} == {"unclear"}


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
async def test_each_claim_has_the_verdict_that_is_due(case: Case, fake: ScriptedPerplexity) -> None:
    proposed, checked = await check(case, fake)

    assert proposed.from_model
    assert [(one.claim, one.verdict.value) for one in checked.claims] == case.expected
    for one, (scripted, _) in zip(checked.claims, case.claims, strict=True):
        if one.verdict is Verdict.UNCLEAR and one.quote is None:
            assert one.reason
            continue
        assert one.quote is not None
        assert one.source is not None
        (page,) = [page for page in scripted.pages if page.url == one.source.url]
        assert letters(one.quote) in letters(page.text)
        assert (one.source.title, one.source.date, one.reason) == (page.title, page.date, None)


async def test_only_the_two_endpoints_are_asked_and_no_page_is_fetched(fake: ScriptedPerplexity) -> None:
    await check(HONEST[0], fake)

    asked = [(request.method, request.path) for request in fake.requests]
    assert sorted(asked) == [("POST", "/search")] * 3 + [("POST", "/v1/agent")] * 4
    judged = [request.json for request in fake.requests if request.path == "/v1/agent"]
    assert {body["tool_choice"] for body in judged} == {"none"}
