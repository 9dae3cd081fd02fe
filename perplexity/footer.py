"""Seconds, dollars and days as every surface shows them. Pure."""

from __future__ import annotations

from datetime import date

from perplexity.dates import day_in_words


def duration(seconds: float) -> str:
    """Return seconds as "3.4 s", from 100 on as "2 min 5 s"."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def dollars(cost: float | None) -> str:
    """Return a cost as "$0.0014", "free" for nothing, an empty text for an unknown one."""
    if cost is None:
        return ""
    if cost == 0:
        return "free"
    if cost < 0.0001:
        return "under $0.0001"
    rounded = f"{cost:.2f}" if cost >= 1 else f"{float(f'{cost:.2g}'):.6f}"
    whole, part = rounded.split(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"


def day(value: str | None) -> str:
    """Return an ISO date as "7 Oct 2025"; an empty text for anything else."""
    try:
        return day_in_words(date.fromisoformat((value or "").strip()[:10]))
    except ValueError:
        return ""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
