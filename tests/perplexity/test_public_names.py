"""What `import perplexity` offers: `__all__` and reality, and what importing costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import perplexity
from perplexity import Answer, PerplexityClient, __version__, errors, types
from tests.docs.pages import ROOT, rows

PUBLIC = [name for name in perplexity.__all__ if name != "__version__"]


def for_type_checkers() -> dict[str, str]:
    """Return the module of each name that a type checker sees."""
    tree = ast.parse(Path(inspect.getfile(perplexity)).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {
        alias.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def modules_after(statement: str) -> set[str]:
    """Return what a fresh Python imports for a statement."""
    program = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(told.stdout.split())


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_what_its_module_has(name: str) -> None:
    assert getattr(perplexity, name) is getattr(import_module(for_type_checkers()[name]), name)


def test_the_list_is_in_order_and_type_checkers_see_the_same_names() -> None:
    assert perplexity.__all__ == sorted(set(perplexity.__all__), key=lambda name: (not name.isupper(), name))
    assert set(PUBLIC) == set(for_type_checkers())


@pytest.mark.parametrize("module", [errors, types])
def test_every_class_that_a_caller_meets_is_public(module: object) -> None:
    classes = {
        name for name, each in vars(module).items()
        if inspect.isclass(each) and each.__module__ == getattr(module, "__name__", "") and not name.startswith("_")
    }  # fmt: skip

    assert classes <= set(PUBLIC)


def test_an_error_s_parents_are_public() -> None:
    """So that the person who catches one can catch its kind."""
    for name in PUBLIC:
        each = getattr(perplexity, name)
        if inspect.isclass(each) and issubclass(each, perplexity.PerplexityError):
            ours = {parent.__name__ for parent in each.__mro__ if parent.__module__.startswith("perplexity")}
            assert ours <= set(PUBLIC)


def test_importing_the_package_imports_only_its_version() -> None:
    assert modules_after("import perplexity; perplexity.__version__") == {"perplexity", "perplexity.version"}


def test_a_name_imports_no_more_than_its_module_does() -> None:
    by_name, by_module = modules_after("from perplexity import Filters"), modules_after("import perplexity.filters")

    assert by_name == by_module
    assert "aiohttp" not in by_name


def test_a_name_that_is_none_is_refused_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'perplexity' has no attribute 'Nonsense'"):
        _ = perplexity.Nonsense  # type: ignore[attr-defined]


def test_the_names_can_be_listed_and_imported_at_once() -> None:
    assert set(perplexity.__all__) <= set(dir(perplexity))
    assert "perplexity.client" in modules_after("from perplexity import *")


def test_the_page_lists_every_public_name() -> None:
    listed = [
        name.strip("` ")
        for row in rows(ROOT / "docs" / "library.md", section="Public names")
        for name in row[0].split(",")
    ]

    assert sorted(listed) == sorted(PUBLIC)


async def asked(client: PerplexityClient) -> Answer:
    """For the type checker of these tests alone: the names have their types."""
    return await client.answer(__version__)
