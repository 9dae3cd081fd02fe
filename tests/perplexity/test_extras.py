"""An extra that is not installed is named, with the command that installs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from perplexity import AllProvidersFailed, DuckDuckGo, Fallback, MissingExtra, PerplexityError, Query
from perplexity.extras import EXTRAS, require
from perplexity.providers.duckduckgo import Page
from perplexity.tools.environment import explain_error

COMMAND = "pip install 'web-answers-for-slack[duckduckgo]'"


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_installed_extra_is_not_reported_missing(extra: str) -> None:
    require(extra)


def test_a_missing_module_is_an_import_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)

    with pytest.raises(MissingExtra, match="this needs the extra 'duckduckgo', which is not installed: ") as raised:
        require("duckduckgo")
    assert isinstance(raised.value, ImportError)
    assert isinstance(raised.value, PerplexityError)
    assert (raised.value.extra, raised.value.command) == ("duckduckgo", COMMAND)


def test_a_folder_of_the_same_name_is_not_a_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ddgs").mkdir()
    monkeypatch.delitem(sys.modules, "ddgs", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    with pytest.raises(MissingExtra):
        require("duckduckgo")


async def test_the_chain_says_what_to_install() -> None:
    with pytest.raises(AllProvidersFailed) as raised:
        await Fallback([DuckDuckGo(search_page=_without_library)]).search(Query(text="x"))

    assert explain_error(raised.value) == (
        f"No service could answer: DuckDuckGo needs an extra that is not installed ({COMMAND}). "
        "Install it, or set PERPLEXITY_API_KEY."
    )


def _without_library(query: str, *, region: str, timelimit: str | None, page: int) -> Page:
    raise MissingExtra.for_extra("duckduckgo")
