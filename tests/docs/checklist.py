"""The tests of the table "What is tested" in docs/checklist.md: `python -m tests.docs.checklist` writes them there."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "checklist.md"
FOLDER = ROOT / "tests"
ITEMS = 30

_MARK = re.compile(r"^(?:pytestmark = (?:\[\s*)?|@)pytest\.mark\.trust\((\d+)\)", re.MULTILINE)
_ROW = re.compile(r"^(\| (\d+) \|.*\| )[^|]*( \|)$", re.MULTILINE)


def files_by_number() -> Mapping[int, list[str]]:
    """Return the files with tests that carry each number, below `tests`."""
    found: dict[int, list[str]] = {number: [] for number in range(1, ITEMS + 1)}
    for path in sorted(FOLDER.rglob("test_*.py")):
        for number in sorted({int(one) for one in _MARK.findall(path.read_text(encoding="utf-8"))}):
            found[number].append(path.relative_to(FOLDER).as_posix())
    return found


def with_tests(page: str) -> str:
    """Return the page with the names of the tests in its table."""
    found = files_by_number()
    return _ROW.sub(lambda row: f"{row[1]}{', '.join(f'`{name}`' for name in found[int(row[2])])}{row[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_tests(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
