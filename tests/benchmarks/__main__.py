"""`python -m tests.benchmarks`: measure, print a line for each figure, and with `--check` fail below a bar."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

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


def main(arguments: Sequence[str] | None = None, *, benchmarks: Mapping[str, Benchmark] = BENCHMARKS) -> int:
    """Measure what was asked for. Return 0; with `--check` 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure speed against its bars.")
    parser.add_argument("--only", nargs="+", choices=benchmarks, metavar="NAME", help=", ".join(benchmarks))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    chosen = parser.parse_args(arguments)
    sys.stdout.write(f"{'':<26}{'bar':>10}{'measured':>12}\n")
    figures = asyncio.run(_all([benchmarks[name] for name in chosen.only or benchmarks]))
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
    """Return the line of the table for a figure."""
    bar = f"{'≥' if figure.at_least else '≤'} {figure.bar:g} {figure.unit}".rstrip()
    measured = f"{figure.measured:.2f} {figure.unit}".rstrip()
    mark = "" if figure.reached else "  missed"
    return f"{figure.name:<26}{bar:>10}{measured:>12}{mark:<8}  {figure.detail}"


if __name__ == "__main__":
    sys.exit(main())
