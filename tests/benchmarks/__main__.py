"""`python -m tests.benchmarks`: measure, print a line for each figure, and write `docs/performance.md` of all."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from tests.benchmarks import client, imports, morning, neighbours, question, rendering
from tests.benchmarks.measure import Figure

Benchmark = tuple[Callable[[int], Awaitable[list[Figure]]], int]
"""What measures, and in how many rounds."""

BENCHMARKS: Mapping[str, Benchmark] = {
    "rendering": (rendering.figures, 5),
    "question": (question.figures, 5),
    "neighbours": (neighbours.figures, 2),
    "client": (client.figures, 21),
    "morning": (morning.figures, 1),
    "import": (imports.figures, 11),
}


PAGE = Path("docs/performance.md")
TEMPLATE = Path(__file__).with_name("page.md.txt")


def main(
    arguments: Sequence[str] | None = None,
    *,
    benchmarks: Mapping[str, Benchmark] = BENCHMARKS,
    target: Path = PAGE,
) -> int:
    """Measure what was asked for, and write the page if that is everything.

    Return 0; with `--check` 1 if a bar was missed.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure speed against its bars.")
    parser.add_argument("--only", nargs="+", choices=benchmarks, metavar="NAME", help=", ".join(benchmarks))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    chosen = parser.parse_args(arguments)
    sys.stdout.write(f"{'':<26}{'bar':>10}{'measured':>12}\n")
    busy = os.getloadavg()[0]
    figures = asyncio.run(_all([benchmarks[name] for name in chosen.only or benchmarks]))
    if not chosen.only:
        about = machine(busy=busy)
        target.write_text(page(figures, today=datetime.now(UTC).date(), **about), encoding="utf-8")
    return int(chosen.check and not all(figure.reached for figure in figures))


async def _all(benchmarks: Sequence[Benchmark]) -> list[Figure]:
    found = []
    for measure, rounds in benchmarks:
        for figure in await measure(rounds):
            sys.stdout.write(line(figure) + "\n")
            sys.stdout.flush()
            found.append(figure)
    return found


def line(figure: Figure) -> str:
    """Return the line of a terminal for a figure."""
    name, bar, measured, mark = cells(figure)
    return f"{name:<26}{bar:>10}{measured:>12}{f'  {mark}' if mark else '':<8}  {figure.detail}"


def cells(figure: Figure) -> tuple[str, str, str, str]:
    """Return a figure's name, its bar, what was measured, and whether that misses the bar."""
    bar = f"{'≥' if figure.at_least else '≤'} {figure.bar:g} {figure.unit}".rstrip()
    measured = f"{figure.shown:.2f} {figure.unit}".rstrip()
    return figure.name, bar, measured, "" if figure.reached else "missed"


def machine(*, busy: float) -> dict[str, str]:
    """Return what the page says of this machine; `busy` is its load before anything was measured."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        names = [one.partition(":")[2].strip() for one in described.splitlines() if one.startswith("model name")]
    except OSError:
        names = []
    kind = " ".join([*names[:1], platform.machine(), platform.system()])
    load = f"Its load was {busy:.1f} before, from other work: 0 would be idle, {cores} busy with all cores."
    return {"machine": f"{cores} cores ({kind})", "load": load, "python": platform.python_version()}


def page(figures: Sequence[Figure], *, today: date, machine: str, load: str, python: str) -> str:
    """Return the page of all figures."""
    rows = []
    for figure in figures:
        name, bar, measured, mark = cells(figure)
        rows.append(f"| `{name.strip()}` | {bar} | {measured} | {'; '.join(filter(None, (mark, figure.detail)))} |")
    template = TEMPLATE.read_text(encoding="utf-8")
    return template.format(date=today.isoformat(), machine=machine, load=load, python=python, table="\n".join(rows))


if __name__ == "__main__":
    sys.exit(main())
