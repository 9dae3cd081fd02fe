"""Dollars as integers: parsed and written for people, and rounded up from a service's figure."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

MICROS = 1_000_000
"""The number of micro-dollars in a dollar."""

MAX_DOLLARS = 1_000_000

ALLOWED = f"an amount in dollars from 0 to {MAX_DOLLARS:,}, such as 2.50, with at most six decimals"

_AMOUNT = re.compile(r"\$?(\d{1,9}(?:\.\d{1,6})?|\d{1,3}(?:,\d{3}){1,2}(?:\.\d{1,6})?|\.\d{1,6})", re.ASCII)
"""A comma may only separate thousands: `2,50` is two and a half to many people, and must not become 250."""
_NOISE = Decimal("1e-10")
"""Digits after these come from sums of floats, and are on no invoice: xAI counts in units of this size."""


def micros(dollars: float) -> int | None:
    """Return a service's figure in micro-dollars, rounded up; None if it cannot be the price of a call.

    Such figures are below 0, above `MAX_DOLLARS`, or not a number.
    """
    if not 0 <= dollars <= MAX_DOLLARS:
        return None
    exact = Decimal(repr(float(dollars))).quantize(_NOISE, rounding=ROUND_HALF_EVEN)
    return int((exact * MICROS).to_integral_value(rounding=ROUND_CEILING))


def parse_amount(text: str) -> int:
    """Return an amount such as `2.50` or `$2.50` in micro-dollars. Raises ValueError, which says what is allowed."""
    found = _AMOUNT.fullmatch(text.strip())
    amount = int(Decimal(found[1].replace(",", "")) * MICROS) if found else -1
    if not 0 <= amount <= MAX_DOLLARS * MICROS:
        raise ValueError(ALLOWED)
    return amount


def format_amount(amount: int) -> str:
    """Return micro-dollars as "$2.50", with as many decimals as the amount has, at least two."""
    whole, rest = divmod(amount, MICROS)
    return f"${whole:,}.{f'{rest:06}'.rstrip('0').ljust(2, '0')}"


def format_rounded(amount: int) -> str:
    """Return micro-dollars for a table: "$2.50", or "$0.0042" for an amount below a cent."""
    if 0 < amount < MICROS // 100:
        return f"${amount / MICROS:.4f}" if amount >= MICROS // 10_000 else "under $0.0001"
    return f"${amount / MICROS:,.2f}"
