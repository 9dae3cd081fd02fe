"""Every Python snippet of the pages runs as it stands, and prints what the page says it prints."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise

import pytest
import yaml

from perplexity.client import PerplexityClient
from tests.docs.pages import Block, blocks
from tests.fakes.model_server import KEY as MODEL_KEY
from tests.fakes.model_server import FakeModelServer
from tests.fakes.perplexity import KEY, FakePerplexity

READERS: dict[str, Callable[[str], object]] = {"json": json.loads, "yaml": yaml.safe_load}
LANGUAGES = {"python", "sh", "text", "sql", *READERS}
SNIPPETS = [block for block in blocks() if block.language == "python" and not block.not_run]
OUTPUTS = [(block, output) for block, output in pairwise(blocks()) if output.is_output]


@pytest.fixture
def _service(perplexity: FakePerplexity, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the services: the snippets name no address, as their readers would not."""
    monkeypatch.setenv("OPENAI_API_KEY", MODEL_KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", MODEL_KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.base_url.removesuffix("/v1"))
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", perplexity.base_url)
    defaults = PerplexityClient.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "base_url", perplexity.base_url)


@pytest.mark.usefixtures("_service")
@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
async def test_a_snippet_runs_and_prints_what_the_page_says(snippet: Block, capsys: pytest.CaptureFixture[str]) -> None:
    # In a thread, since a snippet starts an event loop of its own.
    await asyncio.to_thread(exec, compile(snippet.text, str(snippet), "exec"), {"__name__": "__main__"})

    printed = capsys.readouterr().out
    assert [output.text for block, output in OUTPUTS if block is snippet] in ([], [printed])


def test_an_output_follows_the_python_that_prints_it() -> None:
    assert [output for block, output in OUTPUTS if block.language != "python" or block.page != output.page] == []


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_a_block_names_its_language_and_gives_a_reason_where_it_is_not_run(block: Block) -> None:
    assert block.language in LANGUAGES
    assert block.not_run == ("no-run" in block.info)


def test_blocks_of_data_can_be_read() -> None:
    for block in blocks():
        if block.language in READERS:
            READERS[block.language](block.text)
