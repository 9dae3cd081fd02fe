"""The project as pip installs it, outside the checkout: alone, with extras, and next to Perplexity's own SDK."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from perplexity import __version__
from tests.fakes.environment import Environment
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.rare import one_in

IMPORT_ALL = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for found in pkgutil.walk_packages(package.__path__, name + ".", onerror=lambda name: None):
        if not found.name.endswith("__main__"):
            try:
                importlib.import_module(found.name)
            except ImportError as error:
                print(found.name, "|", error)
"""
SEARCH = """
import asyncio, sys
from perplexity import PerplexityClient

async def main():
    async with PerplexityClient(sys.argv[1], base_url=sys.argv[2]) as client:
        print((await client.search("x")).results[0].title)
        print(*dict.fromkeys([type(event).__name__ async for event in client.stream("x")]))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("command", "begins"),
    one_in(
        7,
        [
            ("pplx --version", f"pplx {__version__}\n"),
            ("web-answers --version", f"web-answers {__version__}\n"),
            ("pplx ask --help", "usage: pplx ask "),
            ("pplx tools", "WebSearch "),
            ("web-answers --help", "usage: web-answers "),
            ("fake-slack --help", "usage: fake-slack "),
            ("python -m perplexity --version", f"python -m perplexity {__version__}\n"),
        ],
    ),
)
def test_what_needs_no_extra_works_without(library: Environment, command: str, begins: str) -> None:
    ended = library.run(*command.split())

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(begins)


@pytest.mark.parametrize(
    ("command", "extra"),
    one_in(
        3,
        [
            ("pplx ask x", "cli"),
            ("pplx ask --json x", "cli"),
            ("pplx mcp", "mcp"),
            ("web-answers run", "bot"),
            ("web-answers doctor", "bot"),
        ],
    ),
)
def test_what_needs_an_extra_names_it(library: Environment, command: str, extra: str) -> None:
    ended = library.run(*command.split())

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"{' '.join(command.split()[:2])}: this needs the extra '{extra}', which is not installed: "
        f"pip install 'web-answers-for-slack[{extra}]'\n"
    )


async def test_the_library_alone_searches_and_streams(library: Environment) -> None:
    async with FakePerplexity() as service:
        ended = await asyncio.to_thread(library.run, "python", "-c", SEARCH, KEY, service.base_url)

    assert ended.stdout.split() == ["Example", "A", "RunStarted", "SearchQueries", "Sources", "TextDelta", "Done"]


async def test_without_its_extra_duckduckgo_says_so(library: Environment) -> None:
    program = "import asyncio; from perplexity import *; asyncio.run(DuckDuckGo().search(Query(text='x')))"

    assert library.run("python", "-c", program).stderr.splitlines()[-1] == (
        "perplexity.errors.MissingExtra: this needs the extra 'duckduckgo', which is not installed: "
        "pip install 'web-answers-for-slack[duckduckgo]'"
    )


def test_only_what_belongs_to_an_extra_cannot_be_imported_without_it(library: Environment) -> None:
    lines = library.run("python", "-c", IMPORT_ALL, "perplexity").stdout.splitlines()
    failed = dict(line.split(" | ") for line in lines)

    of_extras = ("agent", "cli.live", "mcp_server")
    assert set(failed) == {f"perplexity.{name}" for name in of_extras}
    assert "web-answers-for-slack[agent]" in failed["perplexity.agent"]
    assert "web-answers-for-slack[mcp]" in failed["perplexity.mcp_server"]


@pytest.mark.rare
def test_the_app_s_extra_is_all_that_it_needs_but_for_the_embedded_server(wheel: Path, tmp_path: Path) -> None:
    app = Environment.with_wheel(wheel, tmp_path, extras=["bot"])
    ended = app.run("python", "-c", IMPORT_ALL, "bot")

    assert ended.stderr == ""
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["bot.storage.postmaster"]
    assert app.run("web-answers", "manifest").returncode == 0


START = "import sys; sys.argv[0] = {1!r}; from bot.__main__ import {0}; sys.exit({0}())"


@pytest.fixture
def site(wheel: Path, tmp_path: Path) -> Path:
    """Return a folder with what the wheel installs and nothing else."""
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    return tmp_path / "site"


def start(script: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """Start what a script starts, with this search path."""
    return subprocess.run(
        [sys.executable, "-c", START.format(script, script.replace("_", "-")), "--version"],
        env={"PYTHONPATH": os.pathsep.join(map(str, path))}, cwd=path[0], capture_output=True, text=True, check=False,
    )  # fmt: skip


def sdk(folder: Path, *, start: bool = True) -> None:
    """Write what matters of Perplexity's own SDK, as pip does, over what is there."""
    for name in ("types/__init__.py", "_client.py", *(["__init__.py"] if start else [])):
        (folder / "perplexity" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "perplexity" / name).write_text("raise ImportError('this is the SDK')\n")
    (folder / "perplexityai-0.46.1.dist-info").mkdir()


def refused(script: str, ended: subprocess.CompletedProcess[str]) -> bool:
    """Return whether the script said in one line what is wrong and how to fix it."""
    wrong = rf"{script}: `import perplexity` finds .+ Perplexity's SDK \(perplexityai\), has the same import name: "
    fix = r"install web-answers-for-slack in a virtual environment of its own\.\n"
    return bool(re.fullmatch(wrong + fix, ended.stderr)) and (ended.returncode, ended.stdout) == (1, "")


@pytest.mark.parametrize(("script", "name"), [("pplx", "pplx"), ("web_answers", "web-answers")])
class TestTheScripts:
    def test_start_where_the_package_is_ours(self, site: Path, script: str, name: str) -> None:
        assert start(script, site).stdout == f"{name} {__version__}\n"

    def test_refuse_where_the_sdk_was_installed_after(self, site: Path, script: str, name: str) -> None:
        sdk(site)

        assert refused(name, start(script, site))

    def test_refuse_where_the_sdk_was_installed_before(self, site: Path, script: str, name: str) -> None:
        sdk(site, start=False)

        assert refused(name, start(script, site))

    def test_refuse_where_something_else_hides_a_module(self, site: Path, script: str, name: str) -> None:
        (site / "perplexity" / "types").mkdir()

        assert refused(name, start(script, site))

    def test_refuse_where_the_sdk_was_removed_again(self, site: Path, script: str, name: str) -> None:
        (site / "perplexity" / "__init__.py").unlink()

        assert refused(name, start(script, site))

    def test_refuse_where_another_package_is_found_first(
        self, site: Path, tmp_path: Path, script: str, name: str
    ) -> None:
        sdk(tmp_path / "first")

        assert refused(name, start(script, tmp_path / "first", site))
