from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import InvalidRequest
from perplexity.filters import Filters
from perplexity.types import (
    MAX_PROMPT_LENGTH,
    MAX_QUERY_LENGTH,
    Message,
    Query,
    parse_max_results,
    parse_query,
    validate_messages,
    validate_query,
)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("  python wheels ", "python wheels"),
        ("two\nlines\r\nand\ttab", "two lines and tab"),
        ("a\x00b\x07c\x1b[0m", "abc[0m"),
        ("caf\u00e9 \ud800x", "café x"),
        ("👩‍👩‍👧 family", "👩‍👩‍👧 family"),
        ("x" * MAX_QUERY_LENGTH, "x" * MAX_QUERY_LENGTH),
    ],
)
def test_a_query_loses_its_control_characters(typed: str, expected: str) -> None:
    assert expected == parse_query(typed)


@pytest.mark.parametrize("typed", ["", "  ", "\n\t", "\x00\x01", "\u200b\u200d", "\ufeff"])
def test_an_empty_query_is_refused(typed: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_query(typed)

    assert caught.value.field == "query"


def test_a_query_over_the_cap_is_refused_not_cut_and_not_repeated() -> None:
    with pytest.raises(InvalidRequest, match="at most 4,000") as caught:
        parse_query("secret" * MAX_QUERY_LENGTH)

    assert "secret" not in str(caught.value)


@given(st.text(max_size=200))
def test_any_query_is_one_clean_line_or_refused(typed: str) -> None:
    try:
        query = parse_query(typed)
    except InvalidRequest:
        return
    assert query == query.strip()
    assert not any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in query)
    query.encode()


@pytest.mark.parametrize(("typed", "expected"), [("1", 1), (20, 20), (" 7 ", 7), ("007", 7)])
def test_the_number_of_results_is_read(typed: int | str, expected: int) -> None:
    assert expected == parse_max_results(typed)


@pytest.mark.parametrize("typed", ["0", 21, "-1", "1.5", "five", "", "١", "1e1", "9" * 5000, True])
def test_another_number_of_results_is_refused(typed: int | str) -> None:
    with pytest.raises(InvalidRequest, match="from 1 to 20"):
        parse_max_results(typed)


def test_every_part_of_a_query_is_checked() -> None:
    query = Query(text=" a\nb ", filters=Filters(country="us"), max_results=20, max_tokens_per_page=1_000_000)

    expected = Query(text="a b", filters=Filters(country="US"), max_results=20, max_tokens_per_page=1_000_000)
    assert expected == validate_query(query)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (Query(text="a", max_tokens_per_page=0), "max_tokens_per_page"),
        (Query(text="a", max_tokens_per_page=1_000_001), "max_tokens_per_page"),
        (Query(text="a", max_results=0), "max_results"),
        (Query(text="a", filters=Filters(languages=("xx",))), "languages"),
    ],
)
def test_a_wrong_part_of_a_query_is_refused(query: Query, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_query(query)

    assert field == caught.value.field


def message(content: str, role: Literal["system", "user", "assistant"] = "user") -> Message:
    return Message(role=role, content=content)


def test_a_conversation_keeps_its_line_breaks() -> None:
    checked = validate_messages([message("be kind", "system"), message(" a\n\tb\x00 ")])

    assert [m.content for m in checked] == ["be kind", "a\n\tb"]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [message("a", "assistant")],
        [message("a"), message("b", "system")],
        [message("  ")],
        [message("x" * (MAX_PROMPT_LENGTH + 1))],
        [message("x" * (MAX_PROMPT_LENGTH // 2 + 1))] * 2,
    ],
)
def test_another_conversation_is_refused(messages: list[Message]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        validate_messages(messages)

    assert caught.value.field == "prompt"
