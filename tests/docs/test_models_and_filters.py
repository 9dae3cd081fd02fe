"""The page of models and filters says what the code does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

import pytest

from perplexity.errors import InvalidRequest
from perplexity.filters import Filters, require_web
from perplexity.models import EFFORTS, SONAR, check_schema, resolve
from perplexity.providers import openrouter
from perplexity.providers.duckduckgo import ignored_filters, recency_for, region
from perplexity.types import Message, Query, Question
from perplexity.wire import brave, search
from perplexity.wire.agent import Agent
from perplexity.wire.base import Wire
from perplexity.wire.sonar import Sonar
from tests.docs.pages import ROOT, rows

PAGE = ROOT / "docs" / "models-and-filters.md"
NAMES = rows(PAGE, section="The names")
WHERE = {row[0]: row[1:] for row in rows(PAGE, section="Which filter works where")}
ROUTED = [row for row in rows(PAGE, section="When Perplexity cannot answer") if len(row) == 2]
TODAY = date(2026, 11, 21)
MESSAGES = (Message(role="user", content="x"),)
FILTERS = {
    "Recency": Filters(recency="week"),
    "Recency `hour`": Filters(recency="hour"),
    "Domains": Filters(domains=("a.com",)),
    "After, before": Filters(after=date(2026, 1, 1), before=date(2026, 2, 1)),
    "After alone": Filters(after=date(2026, 11, 20)),
    "Country": Filters(country="DE"),
    "One language": Filters(languages=("de",)),
    "Two languages": Filters(languages=("de", "fr")),
    "Mode `academic`, `sec`": Filters(mode="academic"),
}


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row[0])
def test_a_name_means_the_effort_and_the_model_and_takes_a_schema_as_the_page_says(row: tuple[str, ...]) -> None:
    name, effort, model, schema = (cell.strip("`") for cell in row)
    target = resolve(name)
    plain, formed = Question(messages=MESSAGES), Question(messages=MESSAGES, schema={"type": "object"})

    assert (target.effort, Sonar().model(plain, target)) == (effort, model)
    refused = _refused(lambda: check_schema(target))
    assert refused == (schema == "no")
    assert (refused or _refused(lambda: Sonar().build(formed, target, stream=False))) == (schema != "yes")


def test_every_name_is_there() -> None:
    assert [row[0].strip("`") for row in NAMES] == [*SONAR, *EFFORTS]


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_works_where_the_page_says(name: str) -> None:
    filters = FILTERS[name]

    assert [cell.split(":")[0] for cell in WHERE[name]] == [
        _by_search(filters),
        _by_wire(Agent(), filters),
        _by_wire(Sonar(), filters),
        _by_wire(Sonar(provider="OpenRouter", model=openrouter.choose_model), filters),
        _by_brave(filters),
        _by_duckduckgo(filters),
    ]


def test_no_filter_is_left_out() -> None:
    assert set(WHERE) == set(FILTERS)


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row[0])
def test_openrouter_is_asked_for_the_model_that_the_page_says(row: tuple[str, ...]) -> None:
    asked, model = row
    special = {
        "news": Question(messages=MESSAGES, news=True),
        "JSON": Question(messages=MESSAGES, schema={"type": "object"}),
        "A `vendor/model`": Question(messages=MESSAGES, model="openai/gpt-6-luna"),
        "The analysis of a deep dive": Question(messages=MESSAGES, reasoning=True, offline=True),
    }
    for one in asked.split(", "):
        question = special.get(one, Question(messages=MESSAGES, model=one.strip("`")))

        assert openrouter.choose_model(question, resolve(question.model)) == model.strip("`")


def _by_search(filters: Filters) -> str:
    sent = search.build(Query(text="x", filters=filters)) != search.build(Query(text="x"))
    return _word(sent=sent, notes=())


def _by_wire(wire: Wire, filters: Filters) -> str:
    plain, narrowed = Question(messages=MESSAGES), Question(messages=MESSAGES, filters=filters)
    if _refused(lambda: wire.check(narrowed)):
        return "Refused"
    bodies = [wire.build(question, resolve(None), stream=False) for question in (plain, narrowed)]
    return _word(sent=bodies[0] != bodies[1], notes=wire.notes(narrowed))


def _by_brave(filters: Filters) -> str:
    if _refused(lambda: require_web(filters, service="Brave")):
        return "Refused"
    queries = [Query(text="x", filters=one) for one in (Filters(), filters)]
    plain, narrowed = (brave.build(query, path=brave.WEB, today=TODAY) for query in queries)
    return _word(sent=plain != narrowed, notes=brave.notes(queries[1]))


def _by_duckduckgo(filters: Filters) -> str:
    if _refused(lambda: require_web(filters, service="DuckDuckGo")):
        return "Refused"
    _, notes = region(filters.country, filters.languages)
    dropped = bool(filters.after) and recency_for(filters, today=TODAY) is None
    return _word(sent=not dropped, notes=(*ignored_filters(filters, today=TODAY), *notes))


def _word(*, sent: bool, notes: Sequence[str]) -> str:
    if not sent:
        return "No" if notes else "Dropped without a word"
    return "Partly" if notes else "Yes"


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except InvalidRequest:
        return True
    return False
