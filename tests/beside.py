"""Run the examples of docs/tools.md whose libraries are not among the packages of the tests: `make beside`.

Each runs in a fresh environment that has the newest version of its library and this project's wheel alone, against
services on loopback. What was tried is written into the page, with the date. `--only agno` tries one, writes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.conftest import turn
from tests.docs.pages import ROOT, Block, blocks
from tests.fakes.model_server import KEY as MODEL_KEY
from tests.fakes.model_server import FakeModelServer
from tests.fakes.perplexity import KEY, FakePerplexity

PAGE = ROOT / "docs" / "tools.md"
PYTHONS = ("3.11", "3.13")
UV = str(Path(sys.executable).with_name("uv"))
BOXES = ("╭", "│", "╰")
"""How the lines begin that CrewAI prints of its own, in boxes."""


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library with a section in the page: `packages` install it, the first of them is named in the table.

    `why_not` says why it is not among the packages of the tests.
    """

    section: str
    packages: tuple[str, ...]
    why_not: str

    @property
    def package(self) -> str:
        """Return the name of its package, without extras."""
        return self.packages[0].partition("[")[0]

    @property
    def example(self) -> Block:
        """Return its example."""
        (found,) = [block for block in blocks() if block.section == self.section and block.language == "python"]
        return found

    @property
    def output(self) -> str:
        """Return what the page says that its example prints."""
        (found,) = [after.text for before, after in pairwise(blocks()) if before is self.example and after.is_output]
        return found


LIBRARIES = (
    Library(section="With OpenAI Agents", packages=("openai-agents",), why_not="it holds websockets below 17"),
    Library(
        section="With Google ADK",
        packages=("google-adk",),
        why_not="it holds websockets, tenacity and OpenTelemetry back",
    ),
    Library(
        section="With AutoGen",
        packages=("autogen-agentchat", "autogen-ext[openai]"),
        why_not="five more packages, for one example",
    ),
    Library(
        section="With Strands",
        packages=("strands-agents[openai]",),
        why_not="it needs an older `openai` and `mcp`",
    ),
    Library(section="With agno", packages=("agno", "openai"), why_not="eleven more packages, for one example"),
    Library(
        section="With CrewAI",
        packages=("crewai",),
        why_not="it needs an older `openai` and `mcp`, and is 0.8 GB",
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the libraries and write what came of it into the page; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.beside", description=__doc__)
    parser.add_argument("--only", metavar="PACKAGE", choices=[one.package for one in LIBRARIES])
    only = parser.parse_args(arguments).only
    failed, rows = False, []
    with TemporaryDirectory() as name:
        folder = Path(name)
        _called(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", name)
        (wheel,) = folder.glob("*.whl")
        for library in LIBRARIES:
            if only in {None, library.package}:
                told = [_tried(library, python, wheel, folder) for python in PYTHONS]
                failed = failed or None in told
                rows.append(f"| `{library.package}` {told[-1]} | {library.why_not} |\n")
    if not only and not failed:
        PAGE.write_text(written(PAGE.read_text("utf-8"), rows, datetime.now(UTC).date().isoformat()), "utf-8")
    return int(failed)


def written(page: str, rows: Sequence[str], date: str) -> str:
    """Return the page with these rows and this date."""
    page = re.sub(r"(?<=Tried on )[\d-]+", date, page, count=1)
    return re.sub(r"(?<=\| Library \| Why it is not among ours \|\n\|---\|---\|\n)(\|.*\n)+", "".join(rows), page)


def _tried(library: Library, python: str, wheel: Path, folder: Path) -> str | None:
    """Return the version that the example has run with, None if it has not; say which on the standard output."""
    root = folder / "environment"
    _called(UV, "venv", "--quiet", "--clear", "--python", python, str(root))
    interpreter = str(root / "bin" / "python")
    _called(UV, "pip", "install", "--quiet", "--python", interpreter, str(wheel), *library.packages)
    listed = json.loads(_called(UV, "pip", "list", "--quiet", "--format", "json", "--python", interpreter))
    (version,) = [one["version"] for one in listed if one["name"] == library.package]
    printed, complained = asyncio.run(_run(library.example.text, interpreter, folder))
    own = "".join(line for line in printed.splitlines(keepends=True) if line.strip() and not line.startswith(BOXES))
    ran = own == library.output
    print(library.package, version, "on", python, "runs" if ran else f"FAILS: {own}{complained}", flush=True)  # noqa: T201
    return version if ran else None


async def _run(program: str, interpreter: str, folder: Path) -> tuple[str, str]:
    """Run a program beside the services that it asks; return what it wrote on both outputs."""
    async with FakePerplexity() as perplexity, FakeModelServer(turn, model="gpt-6-luna") as model:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "OPENAI_API_KEY": MODEL_KEY,
            "OPENAI_BASE_URL": model.base_url,
            "PERPLEXITY_API_KEY": KEY,
            "PERPLEXITY_BASE_URL": perplexity.base_url,
            # What it tells its makers, by the variables of its own documentation.
            "CREWAI_DISABLE_TELEMETRY": "true",
            "OTEL_SDK_DISABLED": "true",
        }
        process = await asyncio.create_subprocess_exec(
            interpreter, "-c", program, env=environment, cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        printed, complained = await asyncio.wait_for(process.communicate(), 300)
    return printed.decode(), complained.decode()


def _called(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
