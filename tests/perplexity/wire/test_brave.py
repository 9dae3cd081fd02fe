from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import InvalidRequest, MalformedResponse
from perplexity.filters import COUNTRIES, LANGUAGES, Filters, require_web
from perplexity.types import Query, SearchResults, Source
from perplexity.wire import brave
from tests.fakes.brave import PARAMETERS, fixture

TODAY = date(2026, 11, 21)
PATHS = (brave.WEB, brave.NEWS, brave.CONTEXT)


def build_query(filters: Filters | None = None, *, path: str = brave.WEB, **query: Any) -> dict[str, str]:
    return brave.build(Query(text="rust", filters=filters or Filters(), **query), path=path, today=TODAY)


def parse(body: object, *, path: str = brave.WEB, most: int = 20) -> SearchResults:
    assert isinstance(body, dict)
    return brave.parse_results(body, path=path, most=most)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        (brave.WEB, {"q": "rust", "count": "5", "text_decorations": "false", "extra_snippets": "true"}),
        (brave.NEWS, {"q": "rust", "count": "5", "text_decorations": "false"}),
        (
            brave.CONTEXT,
            {"q": "rust", "count": "5", "maximum_number_of_urls": "5", "maximum_number_of_tokens_per_url": "1024"},
        ),
    ],
)
def test_a_bare_query_asks_for_plain_text_and_no_more(path: str, parameters: dict[str, str]) -> None:
    assert build_query(path=path) == parameters


@pytest.mark.parametrize(
    ("filters", "parameters"),
    [
        (Filters(recency="hour"), {"freshness": "pd"}),
        (Filters(recency="day"), {"freshness": "pd"}),
        (Filters(recency="week"), {"freshness": "pw"}),
        (Filters(recency="month"), {"freshness": "pm"}),
        (Filters(recency="year"), {"freshness": "py"}),
        (Filters(after=date(2026, 1, 2), before=date(2026, 3, 4)), {"freshness": "2026-01-02to2026-03-04"}),
        (Filters(after=date(2026, 1, 2)), {"freshness": "2026-01-02to2026-11-21"}),
        (Filters(after=date(2027, 1, 2)), {"freshness": "2027-01-02to2027-01-02"}),
        (Filters(before=date(2026, 3, 4)), {"freshness": "1970-01-01to2026-03-04"}),
        (Filters(before=date(476, 9, 4)), {"freshness": "1970-01-01to0476-09-04"}),
        (Filters(country="DE"), {"country": "DE"}),
        (Filters(country="KE"), {"country": "ALL"}),
        (Filters(languages=("de",)), {"search_lang": "de"}),
        (Filters(languages=("de", "fr")), {"search_lang": "de"}),
        (Filters(languages=("sw", "fr")), {"search_lang": "fr"}),
        (Filters(languages=("sw",)), {}),
        (Filters(languages=("ja",)), {"search_lang": "jp"}),
        (Filters(languages=("pt",)), {"search_lang": "pt-pt"}),
        (Filters(languages=("pt",), country="BR"), {"search_lang": "pt-br", "country": "BR"}),
        (Filters(languages=("zh",), country="TW"), {"search_lang": "zh-hant", "country": "TW"}),
        (Filters(languages=("no",)), {"search_lang": "nb"}),
        (Filters(domains=("a.com",)), {"q": "rust site:a.com"}),
        (Filters(domains=("a.com", "b.com")), {"q": "rust (site:a.com OR site:b.com)"}),
        (Filters(domains=("-a.com", "-b.com")), {"q": "rust -site:a.com -site:b.com"}),
        (Filters(mode="web"), {}),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_filters_are_written_in_braves_words(path: str, filters: Filters, parameters: dict[str, str]) -> None:
    assert build_query(filters, path=path) == build_query(path=path) | parameters
    assert set(build_query(filters, path=path)) <= PARAMETERS[path]


@pytest.mark.parametrize(
    ("filters", "notes"),
    [
        (Filters(recency="day", country="DE", languages=("de",)), ()),
        (Filters(recency="hour"), ("Brave knows no hour, so these are from the past day.",)),
        (Filters(country="KE"), ("Brave cannot search in the country KE, so it searched everywhere.",)),
        (Filters(languages=("de", "fr")), ("Brave takes one language, so it searched in de only.",)),
        (Filters(languages=("sw", "fr")), ("Brave takes one language, so it searched in fr only.",)),
        (Filters(languages=("sw",)), ("Brave cannot search in the language sw, so it searched in any.",)),
    ],
)
def test_a_filter_that_is_only_a_preference_is_noted(filters: Filters, notes: tuple[str, ...]) -> None:
    assert brave.notes(Query(text=" rust  book ", filters=filters)) == notes


@pytest.mark.parametrize(
    ("text", "domains", "cut"),
    [
        ("w " * 50, (), False),
        ("w " * 51, (), True),
        ("w " * 50, ("a.com",), True),
        ("x" * 400, (), False),
        ("x" * 401, (), True),
    ],
)
def test_a_shortened_question_is_marked(text: str, domains: tuple[str, ...], cut: bool) -> None:
    note = "Brave takes short queries only, so it searched for the beginning of the question."

    assert brave.notes(Query(text=text, filters=Filters(domains=domains))) == ((note,) if cut else ())


@pytest.mark.parametrize("mode", ["academic", "sec"])
def test_a_mode_that_it_has_not_is_refused(mode: Any) -> None:
    require_web(Filters(mode="web"), service="Brave")
    with pytest.raises(InvalidRequest, match="mode"):
        require_web(Filters(mode=mode), service="Brave")


def test_its_codes_are_known_ones() -> None:
    assert brave.COUNTRIES <= COUNTRIES
    written = {brave.language_code([language], None) for language in LANGUAGES} - {None}
    assert written <= brave.LANGUAGES
    assert {code for code in brave.LANGUAGES - written if "-" not in code} == set()


@pytest.mark.parametrize(("tokens", "sent"), [(1, "512"), (4096, "4096"), (1_000_000, "8192")])
def test_tokens_of_a_page_are_kept_within_what_it_takes(tokens: int, sent: str) -> None:
    assert build_query(path=brave.CONTEXT, max_tokens_per_page=tokens)["maximum_number_of_tokens_per_url"] == sent


@pytest.mark.parametrize(
    ("words", "domains", "sent"),
    [
        ("a b", (), "a b"),
        ("  a \n b ", (), "a b"),
        (" ".join("w" * 50).replace("w", "w"), (), " ".join("w" * 50)),
        (" ".join("w" * 51), (), " ".join("w" * 50)),
        (" ".join("w" * 51), ("a.com",), " ".join("w" * 49) + " site:a.com"),
        (" ".join("w" * 51), ("a.com", "b.com"), " ".join("w" * 47) + " (site:a.com OR site:b.com)"),
        ("x" * 400, (), "x" * 400),
        ("x" * 401, (), "x" * 400),
        ("a " + "x" * 399, (), "a"),
        ("a " + "x" * 398, (), "a " + "x" * 398),
        ("a " + "x" * 398, ("a.com",), "a site:a.com"),
        ("x" * 500, ("a.com",), "x" * 389 + " site:a.com"),
    ],
)
def test_a_query_is_cut_on_a_word_and_its_domains_are_not(words: str, domains: tuple[str, ...], sent: str) -> None:
    assert brave.fit_query(words, domains) == sent


@pytest.mark.parametrize(
    "domains", [tuple(f"{'long' * 15}{n}.example" for n in range(8)), tuple("-a.com" for _ in "x" * 50)]
)
def test_domains_that_leave_no_room_for_a_word_are_refused(domains: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest, match="400 characters") as caught:
        brave.fit_query("rust", domains)

    assert (caught.value.field, caught.value.value) == ("domain", f"{len(domains)} domains")


@given(
    words=st.text(max_size=900) | st.lists(st.text("ab ", max_size=9), max_size=90).map(" ".join),
    domains=st.lists(st.sampled_from(["a.com", "docs.python.org", "x" * 60 + ".example"]), max_size=4),
)
def test_whatever_is_asked_fits(words: str, domains: list[str]) -> None:
    sent = brave.fit_query(words, domains)

    assert len(sent) <= brave.MAX_QUERY_LENGTH
    assert len(sent.split()) <= brave.MAX_QUERY_WORDS
    assert all(f"site:{domain}" in sent for domain in domains)
    text = sent.partition("(site:" if len(domains) > 1 else "site:")[0].strip() if domains else sent
    assert " ".join(words.split()).startswith(text)


def recorded(name: str) -> Any:
    return json.loads(fixture(name))


@pytest.mark.parametrize(
    ("path", "name", "source"),
    [
        (
            brave.WEB,
            "brave.web.200.json",
            Source(number=1, title="A b", url="https://a.example/1", snippet="d q\n\nx\n\ny", date="2026-11-19"),
        ),
        (
            brave.NEWS,
            "brave.news.200.json",
            Source(number=1, title="A", url="https://a.example/n1", snippet="d", date="2026-11-21"),
        ),
        (
            brave.CONTEXT,
            "brave.context.200.json",
            Source(number=1, title="A", url="https://a.example/1", snippet="c1", date="2026-11-19"),
        ),
    ],
)
def test_recorded_pages_are_read(path: str, name: str, source: Source) -> None:
    found = parse(recorded(name), path=path)

    assert found == SearchResults(results=(source,), provider="Brave", cost_usd=0.005)


def pages(*results: object) -> dict[str, Any]:
    return {"type": "search", "web": {"results": list(results)}}


def test_nothing_found_is_no_pages() -> None:
    assert parse({"type": "search", "query": {}}).results == ()
    assert parse({"type": "news", "results": []}, path=brave.NEWS).results == ()
    assert parse({"grounding": {"generic": []}}, path=brave.CONTEXT).results == ()


def test_no_more_pages_than_were_asked_for_each_once() -> None:
    found = parse(pages(*({"url": f"https://a.example/{n // 2}"} for n in range(20))), most=3)

    assert [(s.number, s.url) for s in found.results] == [(n + 1, f"https://a.example/{n}") for n in range(3)]


@pytest.mark.parametrize(
    "page",
    [None, "x", {}, {"url": None}, {"url": "javascript:alert(1)"}, {"title": "t"}, {"url": ["https://a.example"]}],
)
def test_entries_without_a_page_are_left_out(page: object) -> None:
    assert parse(pages(page, {"url": "https://a.example/1", "title": 3, "description": {}})).results == (
        Source(number=1, title="https://a.example/1", url="https://a.example/1"),
    )


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a <strong>b</strong> c", "a b c"),
        ("x &lt;b&gt; &amp; y", "x <b> & y"),
        ("<B>b</B>", "b"),
        ("1 < 2 > 0", "1 < 2 > 0"),
    ],
)
def test_markup_is_taken_out_and_what_was_escaped_stays(said: str, shown: str) -> None:
    found = parse(pages({"url": "https://a.example", "title": said, "description": said}))

    assert (found.results[0].title, found.results[0].snippet) == (shown, shown)


@pytest.mark.parametrize(
    ("snippet", "kept"),
    [
        ("A passage.", True),
        ("[1] A note.", True),
        ("{x} is a set.", True),
        ('{"table": 1}', False),
        (' [{"a": 1}', False),
        ('["a", "b"', False),
        ("[[1, 2]]", False),
    ],
)
def test_a_snippet_of_data_is_no_passage(snippet: str, kept: bool) -> None:
    body = {"grounding": {"generic": [{"url": "https://a.example", "title": "A", "snippets": [snippet, "B."]}]}}

    assert (snippet in parse(body, path=brave.CONTEXT).results[0].snippet) is kept


@pytest.mark.parametrize("age", [None, [], ["yesterday"], "2026-11-19", {}])
def test_a_passage_without_a_day_has_none(age: object) -> None:
    body = {
        "grounding": {"generic": [{"url": "https://a.example", "title": "A", "snippets": ["B."]}]},
        "sources": {"https://a.example": {"age": age}},
    }

    assert parse(body, path=brave.CONTEXT).results[0].date is None


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body", [{}, {"type": "ErrorResponse", "error": {"code": "X"}}, {"grounding": []}, {"type": "x"}]
)
def test_another_shape_is_malformed(path: str, body: dict[str, Any]) -> None:
    with pytest.raises(MalformedResponse):
        parse(body, path=path)
