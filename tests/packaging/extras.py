"""`make extras`: the wheel in dist/ is installed afresh, alone and with each extra, on each Python named, and used."""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from perplexity.extras import EXTRAS
from perplexity.version import __version__
from tests.fakes.perplexity import KEY, FakePerplexity

DIST = Path(__file__).parents[2] / "dist"

SEARCH = """
import asyncio
from perplexity import PerplexityClient
async def main():
    async with PerplexityClient.from_env() as client:
        print((await client.search("x")).results[0].title)
asyncio.run(main())
"""
MODEL = """
from perplexity.agent import build_model
print(build_model("http://127.0.0.1:1/v1", name="vendor/model", api_key=None).model_name)
"""
INITIALIZE = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",'
    ' "capabilities": {}, "clientInfo": {"name": "extras", "version": "1"}}}\n'
)
USES = {
    "": (["python", "-c", SEARCH], "Example A"),
    "agent": (["python", "-c", MODEL], "vendor/model"),
    "bot": (["web-answers", "manifest"], "/ask"),
    "cli": (["pplx", "ask", "x"], "[1]"),
    "duckduckgo": (["python", "-c", "from ddgs import DDGS; print(DDGS())"], "DDGS"),
    "mcp": (["pplx", "mcp"], f'"version":"{__version__}"'),
    # What it brings is a server for the app.
    "bot,local": (["web-answers", "migrate"], ""),
}
"""By extras: a command, and a part of what it prints."""


async def main(pythons: list[str]) -> int:
    (wheel,) = DIST.glob(f"*-{__version__}-*.whl")
    failed = 0
    async with FakePerplexity() as service:
        environment = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": service.base_url}
        for python, extras in product(pythons, USES):
            began = monotonic()
            with TemporaryDirectory() as folder:
                error = await use(wheel, python, extras, folder=Path(folder), environment=environment)
            print(f"{python}  {extras or 'alone':12}  {monotonic() - began:5.1f} s  {error or 'works'}", flush=True)  # noqa: T201
            failed += bool(error)
    return failed


async def use(wheel: Path, python: str, extras: str, *, folder: Path, environment: dict[str, str]) -> str:
    """Install the wheel with some extras, import what they bring and use it; return what went wrong, or nothing."""
    programs, uv = folder / "venv" / "bin", str(Path(sys.executable).with_name("uv"))
    modules = [module for extra in extras.split(",") for module in EXTRAS.get(extra, ())]
    command, printed = USES[extras]
    # `uv` and pyenv, where there is one, look for the Python; what is installed gets none of this environment.
    looking = {**os.environ, "PYENV_VERSION": python}
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "DATA_DIR": str(folder / "data"), **environment}
    for words, env in (
        ([uv, "venv", "--quiet", "--python", python, str(folder / "venv")], looking),
        ([uv, "pip", "install", "--quiet", "--python", f"{programs}/python", f"{wheel}[{extras}]"], looking),
        ([f"{programs}/python", "-c", "".join(f"import {module}\n" for module in modules)], own),
        ([f"{programs}/{command[0]}", *command[1:]], own),
    ):
        process = await asyncio.create_subprocess_exec(
            *words, cwd=folder, env=env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await asyncio.wait_for(process.communicate(INITIALIZE.encode()), 300)
        if process.returncode:
            return f"{' '.join(words[:3])} ended with {process.returncode}: {output.decode()}"
    return "" if printed in output.decode() else f"{' '.join(command)} printed: {output.decode()}"


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
