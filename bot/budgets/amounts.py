"""Parses and writes amounts of dollars for people; the app counts in whole micro-dollars."""

from __future__ import annotations

import re
from decimal import Decimal

from bot.translation import N_

MICROS = 1_000_000
"""The number of micro-dollars in a dollar."""

MAX_DOLLARS = 1_000_000

ALLOWED = N_("an amount in dollars from 0 to 1,000,000, such as 2.50, with at most six decimals")

_AMOUNT = re.compile(r"\$?(\d{1,9}(?:\.\d{1,6})?|\d{1,3}(?:,\d{3}){1,2}(?:\.\d{1,6})?|\.\d{1,6})", re.ASCII)
"""Matches an amount.

A comma may only separate thousands: `2,50` is two and a half to many people, and must not become 250.
"""


def parse_amount(text: str) -> int:
    """Return an amount such as `2.50` or `$2.50` in micro-dollars. Raises ValueError, whose text is `ALLOWED`."""
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
