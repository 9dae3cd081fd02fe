from __future__ import annotations

from pathlib import Path

import pytest

from perplexity.errors import InvalidRequest
from perplexity.providers import PROVIDERS, configured, opened
from perplexity.providers.setup import Setup
from perplexity.types import Query

KEYS = {"perplexity": "pplx-test-key", "openrouter": "sk-or-test", "brave": "BSA-test"}


def names(setup: Setup, *order: str) -> list[str]:
    return [provider.name for provider in configured(setup, order=order)]


def test_without_a_key_duckduckgo_is_asked() -> None:
    assert names(Setup()) == ["DuckDuckGo"]


def test_with_everything_all_are_asked_in_the_list_s_order(tmp_path: Path) -> None:
    everything = Setup(keys=KEYS, pages=tmp_path)

    assert names(everything) == ["Perplexity", "OpenRouter", "Brave", "DuckDuckGo", "Handbook"]
    assert [name.title() for name in PROVIDERS] == [name.title() for name in names(everything)]


def test_a_setting_changes_the_order_and_leaves_some_out() -> None:
    assert names(Setup(keys=KEYS), "Brave", " perplexity") == ["Brave", "Perplexity"]
    assert names(Setup(keys={}), "brave", "duckduckgo") == ["DuckDuckGo"]


@pytest.mark.parametrize("order", [("bing",), ("brave", "Brave")])
def test_an_order_that_cannot_be_is_refused(order: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest, match="perplexity, openrouter, brave, duckduckgo, handbook"):
        names(Setup(keys=KEYS), *order)


async def test_what_was_opened_is_closed() -> None:
    async with opened(Setup(keys=KEYS)) as providers:
        assert len(providers) == 4


async def test_the_handbooks_addresses_lie_under_the_pages_address(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Port\n\nIt is 3000.", encoding="utf-8")

    *_, handbook = configured(Setup(pages=tmp_path, pages_url="http://127.0.0.1:3000/playground/docs"))
    found = await handbook.search(Query(text="port"))

    assert [source.url for source in found.results] == ["http://127.0.0.1:3000/playground/docs/README.md#port"]


def test_a_setup_does_not_show_its_keys() -> None:
    assert "pplx" not in repr(Setup(keys=KEYS))
