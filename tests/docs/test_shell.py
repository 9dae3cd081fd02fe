"""Every command of the pages exists: make's targets, the app's own command line, requests to a running app."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import takewhile

import pytest

from bot.__main__ import main
from fake_slack.__main__ import main as fake_slack
from perplexity.cli.main import build_parser
from perplexity.cli.options import join_dashed_values
from tests.docs.pages import ROOT, Block, blocks
from tests.fakes.process import Process

_SETTING = re.compile(r"[A-Z][A-Z0-9_]*=")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One command line of a block; `words` are without the settings before them."""

    block: Block
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.block}: {' '.join(self.words)}"


def _lines() -> list[Line]:
    found = []
    for block in blocks():
        if block.language == "sh" and not block.not_run:
            split = [shlex.split(line, comments=True) for line in block.text.replace("\\\n", " ").splitlines()]
            found += [Line(block=block, words=_without_settings(words)) for words in split if words]
    return found


def _without_settings(words: list[str]) -> tuple[str, ...]:
    return tuple(words[sum(1 for _ in takewhile(_SETTING.match, words)) :])


LINES = _lines()


def of(*start: str) -> list[Line]:
    """Return the lines that begin with these words."""
    return [line for line in LINES if line.words[: len(start)] == start]


def test_every_command_is_of_a_kind_that_is_tried() -> None:
    kinds = (
        "make",
        "python -m bot",
        "python -m perplexity",
        "pplx",
        "web-answers",
        "pip install",
        "curl",
        "cp",
        "fake-slack",
    )
    tried = [line for kind in kinds for line in of(*kind.split())]

    assert [str(line) for line in LINES if line not in tried] == []


@pytest.mark.parametrize("line", of("make"), ids=str)
def test_make_knows_the_target(line: Line) -> None:
    command, environment = ["make", "-n", *line.words[1:]], {**os.environ, "LC_ALL": "C", "PYTHON": "python3"}
    told = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)

    # A word that only names a file is a target of make's, too, and does nothing.
    assert "Nothing to be done" not in told.stdout


@pytest.mark.parametrize("line", of("pip", "install"), ids=str)
def test_pip_finds_the_project_and_its_extras(line: Line) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (what,) = line.words[2:]
    named = re.fullmatch(r"\.(?:\[([a-z,]+)\])?", what)

    assert named is not None
    assert set((named[1] or "").split(",")) <= {"", *extras}


@pytest.mark.parametrize("line", [*of("python", "-m", "bot"), *of("web-answers")], ids=str)
def test_the_app_knows_the_command_and_its_options(line: Line, capsys: pytest.CaptureFixture[str]) -> None:
    command, *rest = line.words[1:] if line.words[0] == "web-answers" else line.words[3:]
    with pytest.raises(SystemExit) as ended:
        main([command, *takewhile(lambda word: not word.startswith("-"), rest), "--help"])

    described = capsys.readouterr().out
    assert ended.value.code == 0
    assert [word for word in rest if word.startswith("-") and word.split("=")[0] not in described] == []


@pytest.mark.parametrize("line", [*of("python", "-m", "perplexity"), *of("pplx")], ids=str)
def test_the_command_line_takes_the_arguments(line: Line) -> None:
    arguments = line.words[1:] if line.words[0] == "pplx" else line.words[3:]
    build_parser().parse_args(join_dashed_values(takewhile(lambda word: word != "<", arguments)))


@pytest.mark.parametrize("line", of("fake-slack"), ids=str)
def test_the_stand_in_knows_the_options(
    line: Line, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["fake-slack", "--help"])
    with pytest.raises(SystemExit):
        fake_slack()

    described = capsys.readouterr().out
    assert [word for word in line.words if word.startswith("-") and word not in described] == []


@pytest.mark.parametrize("line", of("cp"), ids=str)
def test_a_file_to_copy_is_there(line: Line) -> None:
    assert (ROOT / line.words[1]).is_file()


@pytest.fixture
async def app(database: str) -> AsyncIterator[Process]:
    process = await Process.start("run", DATABASE_URL=database, ready="Open")
    yield process
    await process.terminate()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_the_running_app_answers_every_request(app: Process) -> None:
    for line in of("curl"):
        words = [word.replace("http://127.0.0.1:3000", app.url) for word in line.words]
        curl = await asyncio.create_subprocess_exec(*words, "--fail", stdout=asyncio.subprocess.PIPE)
        output, _ = await curl.communicate()

        assert (str(line), curl.returncode, bool(output)) == (str(line), 0, True)
