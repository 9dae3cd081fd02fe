from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import MalformedResponse
from perplexity.filters import Filters
from perplexity.types import Query, Source
from perplexity.wire.json import as_text
from perplexity.wire.search import build, parse_results
from perplexity.wire.sources import merge
from tests.fakes.perplexity import SEARCH_FIELDS, fixture

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def test_a_plain_query_sends_only_what_it_says() -> None:
    assert build(Query(text="python")) == {"query": "python", "max_results": 5, "max_tokens_per_page": 1024}


def test_the_fast_search_is_asked_for_by_name_and_costs_less() -> None:
    assert build(Query(text="q", fast=True))["search_type"] == "fast"
    assert parse_results({"results": []}, fast=True).cost_usd == 0.001


def test_every_filter_has_its_name_on_the_wire() -> None:
    filters = Filters(
        domains=("a.com", "b.com"),
        languages=("en", "de"),
        country="DE",
        after=date(2026, 1, 2),
        before=date(2026, 11, 21),
        mode="academic",
    )

    body = build(Query(text="x", filters=filters, max_results=3, max_tokens_per_page=99))

    expected = {
        "query": "x",
        "max_results": 3,
        "max_tokens_per_page": 99,
        "search_domain_filter": ["a.com", "b.com"],
        "search_language_filter": ["en", "de"],
        "country": "DE",
        "search_after_date_filter": "01/02/2026",
        "search_before_date_filter": "11/21/2026",
        "search_mode": "academic",
    }
    assert expected == body
    assert build(Query(text="x", filters=Filters(recency="week")))["search_recency_filter"] == "week"
    assert set(body) <= SEARCH_FIELDS


def test_a_recorded_response_is_read() -> None:
    results = parse_results(json.loads(fixture("search.200.json")))

    assert (
        Source(
            number=1,
            title="Example A",
            url="https://a.example/1",
            snippet="First snippet.",
            date="2026-11-01",
            last_updated="2026-11-15",
        ),
        Source(number=2, title="Example B", url="https://b.example/2", snippet="Second — snippet ü."),
    ) == results.results
    assert (results.provider, results.cost_usd) == ("Perplexity Search", 0.005)


def test_results_grouped_by_query_are_one_list() -> None:
    a, b, c = ({"url": f"https://{name}.example", "title": name} for name in "abc")

    grouped = parse_results({"results": [[a, b], [b, c]]})

    assert [(source.number, source.title) for source in grouped.results] == [(1, "a"), (2, "b"), (3, "c")]


def test_no_results_are_an_answer_too() -> None:
    assert parse_results({"results": []}).results == ()


@pytest.mark.parametrize("body", [{}, {"results": None}, {"results": {}}, {"error": {"message": "x"}}])
def test_a_response_without_a_list_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(MalformedResponse):
        parse_results(body)


@given(st.lists(json_values | st.fixed_dictionaries({"url": json_values}, optional={"title": json_values}), max_size=6))
def test_any_list_is_read_and_numbered_from_one(results: list[Any]) -> None:
    pages = parse_results({"results": results}).results

    assert list(range(1, len(pages) + 1)) == [page.number for page in pages]
    assert all(page.url.lower().startswith("http") and page.title for page in pages)


def page(name: str, id: object = None, **more: object) -> dict[str, Any]:
    return {"url": f"https://{name}.example", "title": name, "id": id, **more}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([page("a", 1), page("b", 2)], {"a": 1, "b": 2}),
        ([page("a", 7), page("b", 3)], {"a": 7, "b": 3}),
        ([page("a", 0), page("b", 1)], {"a": 0, "b": 1}),
        ([page("a"), page("b")], {"a": 1, "b": 2}),
        ([page("a", 1), page("a", 9), page("b", 2)], {"a": 1, "b": 2}),
        # A second item that counts from one again: the first keeps the number, nothing else takes a claimed one.
        ([page("a", 1), page("b", 2), page("c", 1), page("d", 3)], {"a": 1, "b": 2, "c": 4, "d": 3}),
        # A page that was fetched before a search listed it.
        ([page("b"), page("a", 1), page("b", 2)], {"b": 2, "a": 1}),
        ([page("b"), page("a", 1)], {"b": 2, "a": 1}),
        ([page("a", 2), page("b")], {"a": 2, "b": 3}),
        ([page("a", True), page("b", "2"), page("c", -1)], {"a": 1, "b": 2, "c": 3}),
        ([{"title": "no address"}, {"url": "ftp://x"}, {"url": "javascript:x"}, page("a", 5)], {"a": 5}),
    ],
)
def test_a_number_never_points_at_the_wrong_page(results: list[dict[str, Any]], expected: dict[str, int]) -> None:
    assert expected == {source.title: source.number for source in merge(results)}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.integers(-1, 6)), max_size=12))
def test_any_ids_give_each_page_one_number_of_its_own(given: list[tuple[str, int | None]]) -> None:
    sources = merge(page(*one) for one in given)

    first = dict(reversed([(name, number) for name, number in given if number is not None and number >= 0]))
    numbers = [source.number for source in sources]
    assert list(dict.fromkeys(name for name, _ in given)) == [source.title for source in sources]
    assert len(set(numbers)) == len(numbers)
    for source in sources:
        owners = [name for name, number in first.items() if number == source.number]
        assert not owners or source.title in owners


def test_titles_and_days_are_cleaned() -> None:
    (source,) = merge(
        [{"url": "https://a.example", "title": " a\n b ", "date": "2026-11-01T09:00:00Z", "last_updated": 7}]
    )

    assert (source.title, source.date, source.last_updated) == ("a b", "2026-11-01", None)
    assert merge([{"url": "https://a.example"}])[0].title == "https://a.example"


def test_what_one_entry_of_a_page_leaves_out_a_later_one_says() -> None:
    (source,) = merge(
        [
            {"url": "https://a.example", "snippet": "first"},
            {"url": "https://a.example", "id": 4, "title": "A", "snippet": "second", "date": "2026-11-01"},
        ]
    )

    assert (source.number, source.title, source.snippet, source.date) == (4, "A", "first", "2026-11-01")


def test_the_other_ids_of_a_page_are_its_aliases_unless_another_page_has_them() -> None:
    sources = merge([page("a", 1), page("b", 2), page("a", 3), page("a", 2)])

    assert [(source.number, source.aliases) for source in sources] == [(1, (3,)), (2, ())]


ODD = st.text("aé“\0\ud800\udc00 ", max_size=4)
PAGES = st.lists(
    st.fixed_dictionaries(
        {"url": st.builds("https://{}.example".format, ODD) | json_values},
        optional=dict.fromkeys(("title", "snippet", "date", "last_updated", "id"), ODD | json_values),
    ),
    max_size=3,
)


@given(PAGES, st.booleans())
def test_texts_are_cleaned_whatever_page_needs_it(pages: list[dict[str, Any]], by_id: bool) -> None:
    cleaned = [{name: as_text(one) if isinstance(one, str) else one for name, one in page.items()} for page in pages]

    assert merge(pages, by_id=by_id) == merge(cleaned, by_id=by_id)
