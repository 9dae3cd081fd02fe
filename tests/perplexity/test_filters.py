from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import InvalidRequest
from perplexity.filters import (
    COUNTRIES,
    LANGUAGES,
    Filters,
    parse_country,
    parse_day,
    parse_domain,
    parse_domains,
    parse_language,
    parse_languages,
    parse_mode,
    parse_recency,
    validate,
)

DOMAINS = [f"d{n}.example" for n in range(21)]


@pytest.mark.parametrize(
    ("parse", "typed", "expected"),
    [
        (parse_recency, " Week ", "week"),
        (parse_mode, "SEC", "sec"),
        (parse_language, "DE", "de"),
        (parse_country, "gb", "GB"),
        (parse_domain, "Example.COM", "example.com"),
        (parse_domain, "-b.example", "-b.example"),
        (parse_domain, "example.com.", "example.com"),
        (parse_domain, "bücher.example", "xn--bcher-kva.example"),
        (parse_domain, "faß.de", "xn--fa-hia.de"),
        (parse_domain, "-日本語.jp", "-xn--wgv71a119e.jp"),
        (parse_domain, f"{'a' * 63}.example", f"{'a' * 63}.example"),
    ],
)
def test_a_value_is_read_as_it_is_sent(parse: Callable[[str], str], typed: str, expected: str) -> None:
    assert expected == parse(typed)


@pytest.mark.parametrize(
    ("parse", "typed", "field", "hint"),
    [
        (parse_recency, "weak", "recency", "did you mean week?"),
        (parse_recency, "fortnight", "recency", "hour, day, week, month or year"),
        (parse_recency, "", "recency", "hour"),
        (parse_mode, "academia", "mode", "did you mean academic?"),
        (parse_language, "eng", "languages", "ISO 639-1"),
        (parse_language, "xx", "languages", "ISO 639-1"),
        (parse_country, "UK", "country", "did you mean GB?"),
        (parse_country, "ZZ", "country", "ISO 3166-1"),
        (parse_country, "USA", "country", "ISO 3166-1"),
        *(
            (parse_domain, domain, "domain", "without https://")
            for domain in (
                *("https://a.com", "a.com/path", "a.com:80", "a", "", "-", "--a.com", "a..com", ".com", "a b.com"),
                *(
                    "-a-.com",
                    "user@a.com",
                    "*.a.com",
                    f"{'a' * 64}.com",
                    "ü" * 64 + ".com",
                    ".".join(["abcdefghi"] * 26),
                ),
                *("a.com,b.com", "a.com\n.evil", "a\x00.com"),
            )
        ),
    ],
)
def test_a_wrong_value_names_the_field_and_what_is_allowed(
    parse: Callable[[str], str], typed: str, field: str, hint: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(typed)

    assert field == caught.value.field
    assert hint in (caught.value.allowed or "")


def test_the_dash_counts_for_the_length_of_a_host_name() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])

    assert (253, longest) == (len(longest), parse_domain(longest))
    with pytest.raises(InvalidRequest):
        parse_domain(f"-{longest}")


def test_domains_are_listed_once() -> None:
    assert parse_domains(["a.com", "B.com", "A.COM"]) == ("a.com", "b.com")


@pytest.mark.parametrize("domains", [["a.com", "-b.com"], DOMAINS, [f"-{d}" for d in DOMAINS]])
def test_too_many_domains_or_a_mixture_are_refused(domains: list[str]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_domains(domains)

    assert caught.value.field == "domain"
    assert "at most 20" in str(caught.value)


def test_twenty_domains_are_taken() -> None:
    assert tuple(DOMAINS[:20]) == parse_domains(DOMAINS[:20])


def test_more_than_ten_languages_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="at most 10"):
        parse_languages(sorted(LANGUAGES)[:11])


def test_a_day_is_read() -> None:
    assert date(2026, 2, 28) == parse_day("after", " 2026-02-28 ")


@pytest.mark.parametrize(
    "typed", ["2026-02-30", "28.02.2026", "2026-2-8", "20260228", "yesterday", "", "٢٠٢٦-02-28", "0000-01-01"]
)
def test_an_invalid_day_is_refused(typed: str) -> None:
    with pytest.raises(InvalidRequest, match="YYYY-MM-DD") as caught:
        parse_day("before", typed)

    assert caught.value.field == "before"


def test_filters_are_validated_however_they_were_made() -> None:
    raw: dict[str, Any] = {"recency": "WEEK", "domains": ["A.com"], "languages": ["EN"], "country": "us", "mode": "Web"}

    validated = validate(replace(Filters(), **raw))

    expected = Filters(recency="week", domains=("a.com",), languages=("en",), country="US", mode="web")
    assert expected == validated


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        (Filters(recency="week", after=date(2026, 1, 1)), "recency"),
        (Filters(recency="week", before=date(2026, 1, 1)), "recency"),
        (Filters(after=date(2026, 1, 2), before=date(2026, 1, 1)), "before"),
        (Filters(domains=("https://a.com",)), "domain"),
        (Filters(country="XX"), "country"),
    ],
)
def test_filters_that_contradict_or_are_wrong_are_refused(filters: Filters, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate(filters)

    assert field == caught.value.field


def test_one_day_and_no_filter_at_all_are_taken() -> None:
    for filters in (Filters(), Filters(after=date(2026, 1, 1), before=date(2026, 1, 1))):
        assert filters == validate(filters)


@given(st.text(max_size=60))
def test_any_text_is_a_host_name_in_ascii_or_refused(typed: str) -> None:
    with suppress(InvalidRequest):
        domain = parse_domain(typed)

        assert domain.isascii()
        assert domain == parse_domain(domain)
        assert not set(domain) & set("/:@ \n")


def test_the_lists_are_whole() -> None:
    assert (len(COUNTRIES), len(LANGUAGES)) == (249, 184)
