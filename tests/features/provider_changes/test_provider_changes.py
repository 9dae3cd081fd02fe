"""Lasting changes at services: from an answer to the page for admins and the metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.features.provider_changes import ProviderChanges, change_sentence, changes_section
from bot.features.provider_changes.detection import Kind, Observation, ProviderChange, find_changes
from bot.storage.questions import connection_pool
from bot.translation import speaking
from bot.web.metrics import Metrics
from perplexity.types import Answer, AnswerKind, Message, Query, Question, SearchResults
from tests.driver import Driver, rows

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PRESET = ("Perplexity", "fast")


def observations(count: int, *, begin: int = 0, **values: object) -> list[Observation]:
    """Return answers a minute apart, with tokens and costs that differ and prices that do not."""
    usual = Observation(at=START, model="old", sources=9, shape=("id: string", "usage: object"))
    made = []
    for number in range(begin, begin + count):
        read, written = 900 + 7 * (number % 5), 300 + 11 * (number % 7)
        cost = 5_000 + read + 5 * written
        at = START + timedelta(minutes=number)
        one = replace(usual, at=at, cost=cost, input_tokens=read, output_tokens=written)
        made.append(replace(one, **values))  # type: ignore[arg-type]
    return made


def dearer(answers: Sequence[Observation]) -> list[Observation]:
    return [replace(one, cost=(one.cost or 0) * 14 // 10) for one in answers]


@pytest.mark.parametrize(
    ("after", "kind", "before", "now"),
    [
        (observations(13, begin=60, model="new"), "model", "old", "new"),
        (dearer(observations(13, begin=60)), "price", "1", "1.4"),
        (observations(13, begin=60, sources=4), "sources", "9", "4"),
        (
            observations(13, begin=60, shape=("id: number",)),
            "shape",
            "id: string, usage: object",
            "id: number",
        ),
    ],
)
def test_a_change_is_found_once_it_lasts(after: list[Observation], kind: Kind, before: str, now: str) -> None:
    answers = [*observations(60), *after]

    assert find_changes([*observations(60), *after[:8]], {}) == []
    assert find_changes(answers, {}) == [ProviderChange(kind=kind, at=after[0].at, before=before, after=now)]
    assert find_changes(answers, {kind: after[0].at}) == []


def test_answers_that_do_not_say_change_nothing() -> None:
    silent = observations(20, begin=60, model=None, cost=None, sources=None, shape=None)

    assert find_changes([*observations(60), *silent], {}) == []


def test_a_mix_of_longer_answers_is_no_other_price() -> None:
    longer = [
        replace(one, output_tokens=3 * (one.output_tokens or 0), cost=(one.cost or 0) + 10 * (one.output_tokens or 0))
        for one in observations(16, begin=60)
    ]

    assert find_changes([*observations(60), *longer], {}) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (ProviderChange(kind="model", at=START, before="a/old", after="a/new"), "is served by a/new instead of a/old."),
        (
            ProviderChange(kind="price", at=START, before="1", after="1.4"),
            "costs 1.4 times as much for the same tokens.",
        ),
        (ProviderChange(kind="sources", at=START, before="9", after="4"), "has 4 sources an answer instead of 9."),
        (
            ProviderChange(kind="shape", at=START, before="id: string", after=""),
            "sends other fields (gone: id: string; new: none).",
        ),
    ],
)
def test_a_change_is_a_sentence(change: ProviderChange, sentence: str) -> None:
    assert change_sentence(PRESET, change) == f"Since 2026-03-01 09:00 UTC, “fast” at Perplexity {sentence}"


def test_a_change_of_searches_is_said_in_german() -> None:
    change = ProviderChange(kind="sources", at=START, before="9.5", after="4")
    with speaking("de"):
        said = change_sentence(("Brave", "search"), change)

    assert said == "Seit 2026-03-01 09:00 UTC hat eine Suche bei Brave 4 statt 9,5 Quellen pro Antwort."


async def test_only_ordinary_replies_are_compared(database: str) -> None:
    question = Question(messages=(Message(role="user", content="why"),))
    answer = Answer(text="a", sources=(), provider="Perplexity")
    found = SearchResults(results=(), provider="Perplexity Search", shape=("results: array",))
    async with connection_pool(database, size=1) as pool:
        changes = ProviderChanges(pool=pool, metrics=Metrics(), effort="medium")
        changes.hear(question, answer)
        changes.hear(replace(question, reasoning=True), answer)
        changes.hear(replace(question, model="anthropic/claude"), answer)
        changes.hear(Query(text="why"), found)
        changes.hear(replace(question, offline=True), answer)
        changes.hear(replace(question, schema={}), answer)
        changes.hear(replace(question, tools=({"type": "fetch_url"},)), answer)
        changes.hear(question, replace(answer, kind=AnswerKind.PASSAGES))
        await changes.look()

    asked = await rows(database, "SELECT provider, preset FROM provider_answers ORDER BY id")
    names = ("fast", "medium", "anthropic/claude")
    assert asked == [*(("Perplexity", name) for name in names), ("Perplexity Search", "search")]


async def test_an_answer_is_compared_with_those_before_it__and_admins_see_a_change(
    harness: Driver, database: str
) -> None:
    await harness.answered("/ask why")
    query = "SELECT provider, preset, shown -> 'sources' > '0', shown -> 'shape' ? 'id: string' FROM provider_answers"
    await harness.wait_for_rows(query, [(*PRESET, True, True)])
    assert await harness.rows("SELECT result -> 'answer' -> 'shape' FROM questions") == [(None,)]

    async with connection_pool(database, size=1) as pool:
        changes = ProviderChanges(pool=pool, metrics=Metrics(), effort="medium")

        async def look(answers: Sequence[Observation]) -> None:
            changes.heard.extend((PRESET, one) for one in answers)
            await changes.look()

        await look(observations(60))
        assert await changes_section("T1", "U1", changes=changes) == []
        for one in observations(20, begin=60, model="new"):
            await look([one])
        await look(observations(60, begin=80, model="new"))
        shown = json.dumps(await changes_section("T1", "U1", changes=changes), ensure_ascii=False)

    assert await harness.rows("SELECT kind, before, after FROM provider_changes") == [("model", "old", "new")]
    assert await harness.rows("SELECT count(*) FROM provider_answers") == [(112,)]
    assert "Since 2026-03-01 10:00 UTC, “fast” at Perplexity is served by new instead of old." in shown
    assert b'provider_changes{kind="model",provider="Perplexity"} 1.0' in changes.metrics.page()
