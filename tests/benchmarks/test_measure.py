"""The benchmarks: what counts, when a bar is missed, and that the quick ones still measure."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from tests.benchmarks import client, imports, neighbours, question, rendering
from tests.benchmarks.__main__ import PAGE, line, main, page
from tests.benchmarks.measure import Figure, compare
from tests.rare import one_in


def figure(measured: float, *, at_least: bool = False) -> Figure:
    return Figure(name="speed", measured=measured, bar=2.0, at_least=at_least, detail="details")


async def test_compare__leaves_the_first_round_out_and_takes_the_median_of_the_rounds_ratios() -> None:
    ours, reference = [100.0, 2.0, 9.0, 20.0], [1.0, 1.0, 3.0, 10.0]

    async def one(number: int) -> float:
        return ours[number]

    async def other(number: int) -> float:
        return reference[number]

    found = await compare(one, other, rounds=3)

    assert (found.ratio, found.ours, found.reference) == (2.0, 9.0, 3.0)


async def test_compare__measures_in_turns_the_one_and_the_other_first() -> None:
    measured: list[str] = []

    async def one(number: int) -> float:
        measured.append(f"ours {number}")
        return 1.0

    async def other(number: int) -> float:
        measured.append(f"reference {number}")
        return 1.0

    await compare(one, other, rounds=1)

    assert measured == ["reference 0", "ours 0", "ours 1", "reference 1"]


@pytest.mark.parametrize(
    ("measured", "at_least", "reached"),
    [(2.0, False, True), (2.1, False, False), (2.0, True, True), (1.9, True, False)],
)
def test_figure__reaches_its_bar(measured: float, at_least: bool, reached: bool) -> None:
    found = figure(measured, at_least=at_least)

    assert found.reached is reached
    assert ("missed" in line(found)) is not reached


@pytest.mark.parametrize(
    ("measured", "at_least", "shown"),
    [
        (2.0, False, "2.00"),
        (2.0001, False, "2.01"),
        (1.9999, True, "1.99"),
        (17.13, False, "17.13"),
        (0.59, True, "0.59"),
    ],
)
def test_a_figure_that_misses_its_bar_looks_like_it(measured: float, at_least: bool, shown: str) -> None:
    assert f" {shown} " in line(figure(measured, at_least=at_least))


@pytest.mark.parametrize(
    ("arguments", "measured", "code"),
    [((), 9.0, 0), (("--check",), 9.0, 1), (("--check",), 1.0, 0), (("--check", "--only", "import"), 9.0, 0)],
)
def test_main__fails_only_when_it_is_to_check_and_a_bar_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], measured: float, code: int
) -> None:
    async def good(rounds: int) -> list[Figure]:
        return [figure(1.0)]

    async def measures(rounds: int) -> list[Figure]:
        return [figure(measured)]

    target, parts = tmp_path / "page.md", 1 if "--only" in arguments else 2
    assert main(arguments, benchmarks={"client": (measures, 1), "import": (good, 1)}, target=target) == code
    assert capsys.readouterr().out.count("speed") == parts
    assert target.exists() is (parts == 2)
    assert parts == 1 or ("missed; details" in target.read_text(encoding="utf-8")) is (measured > 2)


ROW = re.compile(r"\| `([^`]+)` \| ([≤≥]) (\S+)(?: (\S+))? \| (\S+)(?: \S+)? \| (?:missed)?(?:; )?(.*) \|")
ABOUT = re.compile(r"Measured on (\S+) with Python (\S+), on (.+)\. (Its load .+)")


def test_the_page_is_what_its_figures_give() -> None:
    text = PAGE.read_text(encoding="utf-8")
    figures = [
        Figure(name=name, measured=float(value), bar=float(bar), unit=unit, at_least=sign == "≥", detail=detail)
        for name, sign, bar, unit, value, detail in ROW.findall(text)
    ]
    about = ABOUT.search(text)

    assert about is not None
    today, python, machine, load = about.groups()
    assert text == page(figures, today=date.fromisoformat(today), machine=machine, load=load, python=python)


def test_the_page_has_the_bars_of_the_benchmarks_and_says_what_each_row_means() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = {name: (sign, float(bar)) for name, sign, bar, *_ in ROW.findall(text)}
    bars = {
        "rendering": ("≤", rendering.BAR),
        "question transactions": ("≤", question.TRANSACTIONS),
        "question CPU": ("≤", question.CPU_MS),
        "question to post": ("≤", question.POST_MS),
        "question rate": ("≥", question.A_SECOND),
        "noisy workspace": ("≤", neighbours.RATIO),
        **{f"client {name}": ("≥", bar) for name, bar in client.BARS.items()},
        "import": ("≤", imports.BAR),
    }

    assert rows | bars == rows
    meanings = text.partition("## What each row means")[2]
    assert [name for name in rows if f"`{name.partition(':')[0]}`" not in meanings and not name.endswith("p95")] == []


FEW_REQUESTS = dict.fromkeys(client.REQUESTS, client.TOGETHER)


@pytest.mark.parametrize(
    "measure",
    one_in(
        2, [partial(client.figures, requests=FEW_REQUESTS), partial(rendering.figures, kinds=["code"], together=4_000)]
    ),
    ids=["client", "rendering"],
)
async def test_benchmark__measures(measure: Callable[[int], Awaitable[list[Figure]]]) -> None:
    figures = await measure(1)

    assert all(figure.measured > 0 for figure in figures)
