"""Every example that the tests do not run is run by `make beside`, and the page says why the tests do not."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement

from tests.beside import LIBRARIES, PAGE, written
from tests.docs.pages import ROOT, blocks, name, rows


def test_an_example_of_a_library_is_run_by_the_tests_or_beside_it() -> None:
    examples = [one for one in blocks() if one.page == name(PAGE) and one.language == "python" and one.not_run]

    assert {*map(str, examples)} == {str(library.example) for library in LIBRARIES}
    assert all("make beside runs it" in example.info for example in examples)


def test_what_was_tried_is_in_the_page_with_the_reason() -> None:
    shown = [(re.sub(r" [\d.]+$", "", cell), why) for cell, why in rows(PAGE, section="Beside other libraries")]

    assert shown == [(f"`{library.package}`", library.why_not) for library in LIBRARIES]
    assert re.search(r"Tried on \d{4}-\d\d-\d\d:", PAGE.read_text("utf-8"))


def test_none_of_them_is_among_the_packages_of_the_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    ours = {Requirement(text).name for text in project["optional-dependencies"]["dev"]}

    assert not ours & {library.package for library in LIBRARIES}


def test_what_was_tried_takes_the_place_of_what_was_there() -> None:
    page = "Tried on 2025-01-01:\n\n| Library | Why it is not among ours |\n|---|---|\n| a | b |\n| c | d |\n\nMore.\n"

    assert written(page, ["| e | f |\n"], "2026-02-03") == (
        "Tried on 2026-02-03:\n\n| Library | Why it is not among ours |\n|---|---|\n| e | f |\n\nMore.\n"
    )
