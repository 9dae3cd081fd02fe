"""The doctor, and a whole configuration for it to look at."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.__main__ import main
from tests.bot.doctor.broken_setups import DoctorSetup
from tests.fakes.grok import FakeGrok
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.slack import FakeSlack


@pytest.fixture
async def setup(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DoctorSetup]:
    monkeypatch.chdir(tmp_path)
    async with FakeSlack() as slack, FakePerplexity() as perplexity, FakeGrok() as xai:
        yield DoctorSetup(slack=slack, perplexity=perplexity, xai=xai, database=database, folder=tmp_path)


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Runs `python -m bot doctor` with the settings of the surroundings."""

    setup: DoctorSetup
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    async def __call__(self, *arguments: str) -> tuple[int, str]:
        """Return the exit code and what was printed, with neither ports nor the version of Postgres."""
        for name, value in self.setup.env.items():
            self.monkeypatch.setenv(name, value)
        code = await asyncio.to_thread(main, ["doctor", *arguments])
        printed = self.capsys.readouterr()
        assert printed.err == ""
        return code, re.sub(r"Postgres \d+", "Postgres NN", re.sub(r":\d{4,5}\b", ":PORT", printed.out))


@pytest.fixture
def doctor(
    setup: DoctorSetup, logging_as_it_was: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    return Doctor(setup=setup, monkeypatch=monkeypatch, capsys=capsys)
