"""`python -m bot provider-key`: a key is read from the input, and never printed."""

from __future__ import annotations

import asyncio
from io import StringIO

import pytest

from bot.__main__ import main
from tests.bot.workspaces.test_commands import add, configured, recorded

__all__ = ["configured"]


def test_a_workspace_s_own_key_is_read_from_the_input(
    configured: None, database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERPLEXITY_API_KEY", "pplx-of-the-app")
    asyncio.run(add(database, "T1"))
    said = []
    for line, key, code in (
        ("set T1 perplexity", "pplx-own", 0),
        ("set T2 perplexity", "pplx-own", 1),
        ("set T1 perplexity", "two words", 1),
        ("set T1 brave", "own", 2),
        ("list", "", 0),
        ("delete T1 perplexity", "", 0),
        ("delete T1 perplexity", "", 1),
    ):
        monkeypatch.setattr("sys.stdin", StringIO(f"{key}\n"))
        assert main(["provider-key", *line.split()]) == code, line
        said.append("".join(capsys.readouterr()))

    assert "Kept." in said[0]
    assert "not installed in T2" in said[1]
    assert "provider cannot be 'brave'" in said[3]
    assert said[4].startswith("T1  perplexity  since 2")
    assert "pplx-own" not in "".join(said)
    assert asyncio.run(recorded(database)) == [
        ("T1", "", "provider_key.set", "perplexity"),
        ("T1", "", "provider_key.delete", "perplexity"),
    ]
