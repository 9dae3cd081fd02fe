"""What `perplexity` leaves to others: Slack altogether, and the environment but for its tools and its command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import perplexity

ROOT = Path(perplexity.__file__).parent
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
OF_THE_ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "load_dotenv"}
MAY_READ_IT = ("tools/", "cli/", "__main__.py", "client.py")
"""The client reads it for `PerplexityClient.from_env` only."""


def names_in(source: str) -> Iterator[str]:
    """Yield what a module imports, and every name and attribute that it uses of it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in node.names)
            yield from [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            yield node.attr


def reads_the_environment(source: str) -> bool:
    return bool(OF_THE_ENVIRONMENT & set(names_in(source)))


@pytest.mark.parametrize("module", [module for module in MODULES if not module.startswith(MAY_READ_IT)])
def test_a_module_does_not_read_the_environment(module: str) -> None:
    assert not reads_the_environment((ROOT / module).read_text(encoding="utf-8"))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_knows_nothing_of_slack_or_of_the_bot(module: str) -> None:
    imported = {name.partition(".")[0] for name in names_in((ROOT / module).read_text(encoding="utf-8"))}

    assert not imported & {"bot", "slack_bolt", "slack_sdk"}


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("import os\nprint(os.environ['X'])", True),
        ("import os\nos.getenv('X')", True),
        ("from os import environ", True),
        ("from os import environ as world", True),
        ("def f(world):\n    return world.environ", False),
        ("import os\nos.getpid()", False),
    ],
)
def test_reading_the_environment_is_noticed(source: str, reads: bool) -> None:
    assert reads_the_environment(source) is reads
