"""The page about what must be trusted names what there is: the files, their lines, the tests that would notice."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT, rows
from tests.docs.test_security import is_here
from tests.mutants.rules import RULES

PAGE = ROOT / "docs" / "trust.md"
SECTIONS = ("Signature", "The gate", "The ledger", "Erasure")
ROWS = [row for section in SECTIONS for row in rows(PAGE, section=section)]


@pytest.mark.parametrize(("file", "lines", "tests"), [(file.strip("`"), told, tests) for file, told, _, tests in ROWS])
def test_a_file_has_about_as_many_lines_and_tests_that_are_there(file: str, lines: str, tests: str) -> None:
    named = re.findall(r"`([^`]+)`", tests)
    rules = {test.removeprefix("tests/") for rule in RULES if rule.path == file for test in rule.tests}

    assert abs(int(lines) - len((ROOT / file).read_text(encoding="utf-8").splitlines())) <= 10
    assert [name for name in named if is_here(name) and not (ROOT / "tests" / name).exists()] == []
    assert rules <= set(named)


def test_all_of_it_is_read_in_an_afternoon() -> None:
    [told] = re.findall(r"about ([\d,]+) lines", PAGE.read_text(encoding="utf-8"))

    assert abs(int(told.replace(",", "")) - sum(int(lines) for _, lines, *_ in ROWS)) <= 100
    assert sum(int(lines) for _, lines, *_ in ROWS) <= 3_000
