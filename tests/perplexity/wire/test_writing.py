"""What is written as JSON is JSON: NaN and Infinity are null."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from perplexity.wire.json import encode, loads

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": 1, "ü": "ü"}, '{"a": 1, "ü": "ü"}'),
        (NAN, "null"),
        ({"a": [INFINITY, -INFINITY, (NAN, 1.5)]}, '{"a": [null, null, [null, 1.5]]}'),
        ({NAN: 1}, '{"null": 1}'),
    ],
)
def test_a_value_is_written(value: Any, written: str) -> None:
    assert encode(value) == written


def test_the_keywords_are_those_of_json() -> None:
    assert encode([1, NAN], separators=(",", ":")) == "[1,null]"
    assert encode([date(2024, 1, 5), NAN], indent=1, default=str) == '[\n "2024-01-05",\n null\n]'


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_read_as_null(text: str) -> None:
    assert loads(f'{{"n": [{text}, 1.5, 2]}}') == {"n": [None, 1.5, 2]}


@pytest.mark.parametrize(
    "text", [" {}\r\n\t", b"\n[1] ", b"\xef\xbb\xbf{}", '{"ü": 1}'.encode("utf-16"), f"[{10**30}]"]
)
def test_a_text_is_read_as_json_loads_reads_it(text: str | bytes) -> None:
    assert loads(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('"\\ud800"', "?"),
        ('["\\ud83d\\ude00", "\\u0000"]', ["😀", "\0"]),
        ('["\\ud800", NaN]', ["?", None]),
    ],
)
def test_half_a_surrogate_pair_is_read_as_a_question_mark(text: str | bytes, read: object) -> None:
    assert loads(text) == read


def test_a_number_that_no_float_can_hold_is_written_as_null() -> None:
    assert encode(loads('{"n": [1e999, -1e999]}')) == '{"n": [null, null]}'


@pytest.mark.parametrize("text", ["", "{", "nan", "{} x", "{}{}", "\ufeff{}", "\u00a0{}", "{}\x0b"])
def test_what_is_not_json_is_still_an_error(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        loads(text)
