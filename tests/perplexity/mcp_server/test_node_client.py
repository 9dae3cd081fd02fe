"""The SDK for TypeScript, over Node, as a client of a real process.

It is no part of the environment: `npm install --no-save --no-package-lock @modelcontextprotocol/sdk`, in this folder or
in one above it, and this test runs.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perplexity import __version__
from tests.fakes.command import COMMAND, environment
from tests.fakes.forks import ROOT
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.perplexity.mcp_server.connecting import listening
from tests.rare import one_in

CLIENT = Path(__file__).with_name("client.mjs")
_FINDS = "import.meta.resolve('@modelcontextprotocol/sdk/client/index.js')"


def _is_installed() -> bool:
    node = shutil.which("node")
    command = [node or "", "--input-type=module", "--eval", _FINDS]
    return (
        node is not None
        and subprocess.run(command, cwd=CLIENT.parent, capture_output=True, check=False).returncode == 0
    )


pytestmark = pytest.mark.skipif(not _is_installed(), reason="@modelcontextprotocol/sdk is not installed")


@pytest.mark.parametrize("transport", one_in(2, ["stdio", "http"]))
async def test_it_lists_and_calls_each_tool(transport: str) -> None:
    async with FakePerplexity() as fake:
        settings = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url}
        if transport == "stdio":
            told = await _asked([*COMMAND, "mcp"], settings)
        else:
            async with listening(**settings) as address:
                told = await _asked([address], {})

    assert told["server"] == {"name": "web-answers", "version": __version__}
    assert list(told["calls"]) == ["perplexity_search", "perplexity_ask", "perplexity_reason", "perplexity_research"]
    for result in told["calls"].values():
        assert not result.get("isError")
        (field,) = result["structuredContent"].values()
        assert result["content"] == [{"type": "text", "text": field}]
        assert "https://a.example/1" in field


async def _asked(server: Sequence[str], settings: dict[str, str]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        "node", str(CLIENT), *server,
        cwd=ROOT, env=environment(settings), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    told: dict[str, Any] = json.loads(out)
    return told
