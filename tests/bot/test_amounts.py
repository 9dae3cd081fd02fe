"""Amounts: what services say is believed only if it can be a price; what people type is taken only if it is clear."""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.budgets import MAX_DOLLARS, MICROS, format_amount, parse_amount
from bot.chain import micros


@pytest.mark.parametrize("figure", [nan, inf, -inf, -0.01, 1e300, MAX_DOLLARS * 1.01])
def test_a_figure_that_can_be_no_price_is_unknown(figure: float) -> None:
    assert micros(figure) is None


@pytest.mark.parametrize(
    ("figure", "counted"),
    [(0.0, 0), (0.1 + 0.2, 300_000), (0.00114, 1_140), (0.0000001, 1), (1e-11, 0), (MAX_DOLLARS, 10**12)],
)
def test_a_figure_counts_to_the_micro_dollar_and_never_less(figure: float, counted: int) -> None:
    assert micros(figure) == counted


@given(st.decimals(min_value=0, max_value=10_000, places=8))
def test_no_figure_counts_for_less_than_it_is(figure: Decimal) -> None:
    counted = micros(float(figure))
    assert counted is not None
    assert 0 <= counted - figure * MICROS < 1


@pytest.mark.parametrize(
    ("text", "amount"),
    [("2.50", 2_500_000), ("$2", 2_000_000), (".5", 500_000), ("1,000", 1_000 * MICROS), ("1,000,000.00", 10**12)],
)
def test_an_amount_is_read(text: str, amount: int) -> None:
    assert parse_amount(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        *("", "-1", "2,50", "2,5", "1,00", "1.000,50", ",5", "1,0000", "0.1234567", "1e3", "NaN", "inf", "$", "2 .5"),
        *("\uff11", "1000001", "1,000,000.000001", "99999999999999999999"),
    ],
)
def test_what_is_no_clear_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="an amount in dollars from 0 to 1,000,000"):
        parse_amount(text)


@given(st.integers(0, MAX_DOLLARS * MICROS))
def test_what_is_shown_can_be_typed_again(amount: int) -> None:
    assert parse_amount(format_amount(amount)) == amount
