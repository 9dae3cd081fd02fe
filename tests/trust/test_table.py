"""The table of the page about security: every number has its row, every row a test, and every test here a row."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, rows

PAGE = ROOT / "docs" / "security.md"
ITEMS = 30

TABLE = {int(number): (what, how, test.strip("`")) for number, what, how, test in rows(PAGE, section="What is tested")}
TESTS = sorted(path.name for path in Path(__file__).parent.glob("test_[0-9][0-9]_*.py"))


def test_every_number_has_one_row() -> None:
    listed = [int(cells[0]) for cells in rows(PAGE, section="What is tested")]

    assert listed == list(range(1, ITEMS + 1))


@pytest.mark.parametrize("number", range(1, ITEMS + 1))
def test_the_test_of_a_row_exists_and_is_named_after_its_number(number: int) -> None:
    what, how, test = TABLE[number]

    assert what
    assert how
    assert test.startswith(f"test_{number:02}_")
    found = [name for name in TESTS if fnmatch(name, test)]
    assert found, f"tests/trust/{test} is missing"


@pytest.mark.parametrize("name", TESTS)
def test_every_test_has_a_row(name: str) -> None:
    assert fnmatch(name, TABLE[int(name[5:7])][2])
