"""The figures as lines of a terminal and as a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.chaos.run import Row

COLUMNS = (
    "fault", "n", "lost", "doubled", "copies", "paid twice", "ledger", "refused", "ack s", "direct",
    "back s", "answered s", "settled s", "",
)  # fmt: skip
PAGE = Path(__file__).with_name("page.md.txt")
WIDTHS = (17, 4, 5, 9, 6, 10, 12, 9, 6, 9, 7, 10, 9, 0)
HEADING = "  ".join(f"{name:<{width}}" for name, width in zip(COLUMNS, WIDTHS, strict=True))


def line(row: Row, *, seconds: float | None = None) -> str:
    """Return one line. In brackets: what is excused, what was answered anyway, what does not say so.

    After it, how long the fault took in all, and how late this very process was at most, which makes acks look slower.
    """
    cells = (*cells_of(row), "ok" if not row.wrong else f"FAIL: {'; '.join(row.wrong)}")
    words = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
    jobs = f", {row.jobs} jobs left" if row.jobs else ""
    took = "" if seconds is None else f"  [{seconds:.0f} s, lag {row.lag:.2f} s{jobs}]"
    return words + took


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the figures in the order of the columns."""
    figures = row.figures
    return (
        row.name,
        str(figures.n),
        str(len(figures.lost)),
        _of(len(figures.doubled) + len(figures.doubled_excused), len(figures.doubled_excused)),
        str(figures.copies),
        _of(len(figures.paid_twice) + len(figures.paid_twice_excused), len(figures.paid_twice_excused)),
        _of_dollars(figures.booked, figures.cut),
        _of(figures.refused, len(figures.false_refusals)),
        f"{figures.slowest_ack:.2f}",
        _of(figures.direct, len(figures.direct_unsaid)),
        _seconds(row.acked_after),
        _seconds(row.answered_after),
        _seconds(row.settled_after),
    )


def result(row: Row, *, about: str) -> dict[str, Any]:
    """Return what is kept of a row for the page."""
    return {"about": about, "cells": cells_of(row), "wrong": row.wrong, "seed": row.seed}


def page(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of all results, in the order in which they are given."""
    table = [_cells(COLUMNS[:-1]), _cells(["---"] * (len(COLUMNS) - 1))]
    table += [_cells(row["cells"]) for row in results]
    abouts = [f"- `{row['cells'][0]}`: {row['about']}" for row in results]
    failed = [f"- `{row['cells'][0]}`: {'; '.join(row['wrong'])}." for row in results if row["wrong"]]
    bars = ["## Bars that were not reached", "", *failed, "", ""] if failed else []
    return PAGE.read_text(encoding="utf-8").format(
        abouts="\n".join(abouts),
        table="\n".join(table),
        bars="\n".join(bars),
        count=len(results),
        seeds=", ".join(sorted({str(row["seed"]) for row in results})),
    )


def _cells(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def _of(count: int, within: int) -> str:
    return f"{count} ({within})" if within else str(count)


def _of_dollars(amount: int, cut: int) -> str:
    return f"${amount / 1_000_000:.6f} ({cut})" if cut else f"${amount / 1_000_000:.6f}"


def _seconds(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.1f}"
