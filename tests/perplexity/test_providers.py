from __future__ import annotations

from pathlib import Path

from perplexity.client import PerplexityClient
from perplexity.providers import configured
from perplexity.types import Query


def test_without_a_key_duckduckgo_is_asked() -> None:
    assert [provider.name for provider in configured()] == ["DuckDuckGo"]


async def test_perplexity_comes_first_and_the_handbook_last(tmp_path: Path) -> None:
    async with PerplexityClient("pplx-test-key") as client:
        providers = configured(perplexity=client, pages=tmp_path)

    assert [provider.name for provider in providers] == ["Perplexity", "DuckDuckGo", "Handbook"]


async def test_the_handbooks_addresses_lie_under_the_pages_address(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Port\n\nIt is 3000.", encoding="utf-8")

    *_, handbook = configured(pages=tmp_path, pages_url="http://127.0.0.1:3000/playground/docs")
    found = await handbook.search(Query(text="port"))

    assert [source.url for source in found.results] == ["http://127.0.0.1:3000/playground/docs/README.md#port"]
