"""The scripts of `completion`, in the real shells; a shell that is not installed is left out."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from pathlib import Path

import pytest

from perplexity import __version__
from tests.fakes.command import run, run_in_process

# One line as someone types it, and what the shell offers.
CASES = [
    ("pplx a", ["ask", "agent"]),
    ("pplx compl", ["completion"]),
    ("pplx ch", ["check"]),
    ("pplx check --rec", ["--recency"]),
    ("pplx --ver", ["--version"]),
    ("pplx ask --rec", ["--recency"]),
    ("pplx ask --recency ", ["hour", "day", "week", "month", "year"]),
    ("pplx ask --recency w", ["week"]),
    ("pplx ask --model sonar-r", ["sonar-reasoning", "sonar-reasoning-pro"]),
    ("pplx search --mode a", ["academic"]),
    ("pplx search --providers br", ["brave"]),
    ("pplx search --providers brave,d", ["brave,duckduckgo"]),
    ("pplx news t", ["technology"]),
    ("pplx tools --format ", ["openai", "responses", "anthropic", "mcp"]),
    ("pplx mcp --transport h", ["http"]),
    ("pplx completion ", ["bash", "zsh", "fish"]),
    ("pplx ask --domain ", []),
]


async def script(shell: str, folder: Path) -> Path:
    ended = await run_in_process("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    path = folder / f"pplx.{shell}"
    path.write_text(ended.out)
    return path


async def shell(program: str, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    return out.decode()


def words_of(line: str, *, breaks: str = "=") -> list[str]:
    """Return the words as bash hands them to the function: an = is one of its own."""
    words = [part for word in line.split(" ") for part in (word.replace(breaks, f" {breaks} ").split(" ") or [""])]
    return [words[0], *words[1:]]


@pytest.mark.parametrize(
    ("line", "offered"),
    [*CASES, ("pplx ask --recency=", ["hour", "day", "week", "month", "year"]), ("pplx ask --recency=d", ["day"])],
)
async def test_bash_offers(line: str, offered: list[str], tmp_path: Path) -> None:
    words = [word for word in words_of(line) if word] + ([""] if line.endswith((" ",)) else [])
    path = await script("bash", tmp_path)
    typed = " ".join(map(shlex.quote, words))
    told = await shell(
        "bash", "--norc", "-c",
        f"source {path}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _pplx; "
        'printf "%s\\n" "${COMPREPLY[@]}"; complete -p pplx',
    )  # fmt: skip

    *replies, registered = told.splitlines()
    assert sorted(filter(None, replies)) == sorted(offered)
    assert registered == "complete -F _pplx pplx"


async def test_bash_offers_files_with_spaces_in_their_names(tmp_path: Path) -> None:
    (tmp_path / "a schema.json").touch()
    path = await script("bash", tmp_path)

    told = await shell(
        "bash", "--norc", "-c",
        f"source {path}; cd {tmp_path}; COMP_WORDS=(pplx ask --schema a); COMP_CWORD=3; _pplx; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
    )  # fmt: skip

    assert told == "a schema.json\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("line", "offered"), CASES)
async def test_fish_offers(line: str, offered: list[str], tmp_path: Path) -> None:
    path = await script("fish", tmp_path)

    told = await shell("fish", "--no-config", "-c", f"source {path}; complete -C {shlex.quote(line)}")

    assert sorted(text.split("\t")[0] for text in told.splitlines()) == sorted(offered)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
async def test_zsh_can_read_the_script(tmp_path: Path) -> None:
    assert await shell("zsh", "-n", str(await script("zsh", tmp_path))) == ""


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
async def test_every_command_and_option_is_there(shell_name: str) -> None:
    written = (await run_in_process("completion", shell_name)).out

    for word in (
        "search",
        "ask",
        "news",
        "deepdive",
        "check",
        "agent",
        "tools",
        "mcp",
        "completion",
        "recency",
        "schema",
    ):
        assert word in written
    assert written.endswith("\n")


async def test_an_unknown_shell_is_refused_and_the_nearest_named() -> None:
    ended = await run_in_process("completion", "bsh")

    assert ended.code == 2
    assert "did you mean bash?" in ended.err


async def test_the_version_is_printed() -> None:
    ended = await run("--version")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"python -m perplexity {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["aks", "why"], "invalid choice: 'aks'"),
        (["aks", "why"], "did you mean ask?"),
        (["deep", "why"], "did you mean deepdive?"),
        (["Search", "why"], "did you mean search?"),
        (["ask", "--recncy", "day", "why"], "unrecognized arguments: --recncy; did you mean --recency?"),
        (["ask", "--recncy=day", "why"], "did you mean --recency?"),
        (["ask", "--reco", "day", "why"], "did you mean --recency?"),
        (["search", "--contry", "de", "why"], "did you mean --country?"),
        (["news", "--recncy"], "did you mean --recency?"),
        (["--versoin"], "did you mean --version?"),
        (["ask", "--mode", "academic", "why"], "--mode goes with search"),
        (["ask", "--port", "1", "why"], "--port goes with mcp"),
        (["tools", "--format", "opnai"], "did you mean openai?"),
        (["mcp", "--transport", "htpp"], "did you mean http?"),
        (["tools", "WebSerch"], "unknown tool 'WebSerch'; did you mean WebSearch? choose from WebSearch, "),
        (["search", "--effort", "high", "why"], "--effort goes with ask"),
        (["search", "--providers", "brav", "why"], "--providers: 'brav' is not allowed; did you mean brave? it takes"),
    ],
)
async def test_what_was_probably_meant_is_named(arguments: list[str], told: str) -> None:
    ended = await run_in_process(*arguments)

    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert told in ended.err


@pytest.mark.parametrize(
    "arguments",
    [["weather"], ["ask", "--zzzzzz", "why"], ["x" * 100_000], ["ask", "--" + "x" * 9999]],
)
async def test_nothing_is_guessed_for_what_is_like_nothing(arguments: list[str]) -> None:
    ended = await run_in_process(*arguments)

    assert ended.code == 2
    assert "did you mean" not in ended.err
