"""A copy of the project without a feature has nothing of it, and the guards of the plan find what breaks it."""

from __future__ import annotations

import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest

from bot.features import FEATURES
from tests.house.without import ROOT, copy_without, features_of, problem, unlisted

NAMES = [feature.name for feature in FEATURES]


@pytest.mark.parametrize("name", NAMES)
def test_the_list_without_a_feature_is_python_that_does_not_name_it(name: str) -> None:
    left = unlisted((ROOT / "bot/features/__init__.py").read_text(encoding="utf-8"), name)

    compile(left, "features", "exec")
    assert f"{name}.FEATURE" not in left
    assert all(f"{one}.FEATURE," in left for one in NAMES if one != name)


def test_the_list_without_any_feature_is_python() -> None:
    left = reduce(unlisted, NAMES, (ROOT / "bot/features/__init__.py").read_text(encoding="utf-8"))

    listed = [sys.executable, "-c", f"{left}\nprint(FEATURES)"]
    assert subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout == "()\n"


def test_a_copy_has_nothing_of_the_feature(tmp_path: Path) -> None:
    into = tmp_path / "copy"
    copy_without(NAMES[0], into)

    listed = subprocess.run(
        [sys.executable, "-c", "from bot.features import FEATURES; print(*(one.name for one in FEATURES))"],
        cwd=into,
        capture_output=True,
        check=True,
        text=True,
    )
    assert listed.stdout.split() == NAMES[1:]
    assert not (into / "bot/features" / NAMES[0]).exists()
    assert not (into / "tests/features" / NAMES[0]).exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["", ""], "make without FEATURE=<name> INTO=<folder>"),
        ([NAMES[0], ""], "make without FEATURE=<name> INTO=<folder>"),
        (["nothing", "/nowhere"], "FEATURE=nothing: there is no such feature"),
        ([NAMES[0], str(ROOT)], "must be a new or an empty folder"),
        ([NAMES[0], str(ROOT / "copy")], "must lie outside"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], told: str) -> None:
    assert told in problem(arguments, NAMES)


def test_what_needs_several_features_names_them() -> None:
    """By `pytestmark = pytest.mark.features("budgets", "digests")`: the copy without one of them leaves it out."""
    named = {path.name: features_of(path) for path in (ROOT / "tests" / "together").rglob("test_*.py")}

    assert [name for name, features in named.items() if not features or not features <= set(NAMES)] == []
