"""Every module, function, attribute and file of ours that a page names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.docs.pages import PATHS, ROOT, blocks, codes, name

OURS = {"perplexity", "bot", "fake_slack", "tests"}

DOTTED = re.compile(r"(?:perplexity|bot|fake_slack|tests)(?:\.[A-Za-z_]\w*)+")

FILE = re.compile(r"(?:perplexity|bot|fake_slack|tests)/(?!.*test_)[\w/]*(?:\.py|/)")


def _in_code() -> Iterator[tuple[str, str]]:
    for path in PATHS:
        for _, code in codes(path):
            if DOTTED.fullmatch(code) and not code.endswith(".md"):
                yield name(path), code


def _imported() -> Iterator[tuple[str, str]]:
    for block in blocks():
        if block.language != "python":
            continue
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
                yield from ((str(block), f"{node.module}:{alias.name}") for alias in node.names)


@pytest.mark.parametrize(("page", "dotted"), sorted({*_in_code(), *_imported()}))
def test_a_name_of_ours_exists(page: str, dotted: str) -> None:
    assert resolve_name(dotted) is not None


@pytest.mark.parametrize(
    ("page", "file"), sorted({(name(path), code) for path in PATHS for _, code in codes(path) if FILE.fullmatch(code)})
)
def test_a_file_of_ours_exists_unless_its_feature_is_left_out(page: str, file: str) -> None:
    part, inside, *below = Path(file).parts
    left_out = inside == "features" and bool(below) and not (ROOT / part / inside / below[0]).exists()
    assert left_out or (ROOT / file).exists()
