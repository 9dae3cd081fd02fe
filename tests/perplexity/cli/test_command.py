"""The command with its output in a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perplexity.cli.base import read_keys
from tests.fakes.command import COMMAND, environment, run, run_in_process, start, start_interpreter
from tests.fakes.forks import ROOT
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture, json_reply
from tests.rare import one_in

ANSWER = """\
Example answer with a claim.[1] Another claim — ü.[2]

Sources:
1. Example A · a.example · 1 Nov 2026
   https://a.example/1
2. Example B · b.example
   https://b.example/2

Perplexity · fast · 0.0 s · $0.0011
"""
ANSWERED_BY_B = """\
Example answer with a claim. Another claim — ü.[1]

Sources:
1. Example B · b.example
   https://b.example/2

1 source on a.example left out, with 1 reference to it.

Perplexity · fast · 0.0 s · $0.0011
"""
PAGES = """\
1. Example A · a.example · 1 Nov 2026
   https://a.example/1
   First snippet.

2. Example B · b.example
   https://b.example/2
   Second — snippet ü.

Perplexity Search · 0.0 s · $0.005
"""
RAW = """\
<result>
Example answer with a claim.[1] Another claim — ü.[2]
</result>

<references>
- [1] Example A (2026-11-01) [https://a.example/1]
- [2] Example B (N/A) [https://b.example/2]
</references>
"""


def without_seconds(text: str) -> str:
    return re.sub(r"\d+\.\d s", "0.0 s", text)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command line, what comes through the pipe, what it writes, and some of what it sends."""

    arguments: str
    piped: str | None = None
    writes: str
    sends: dict[str, Any]


@pytest.mark.parametrize(
    "case",
    [
        Case(arguments="ask why so", writes=ANSWER, sends={"effort": "fast", "input": "why so"}),
        Case(arguments="ask -", piped="why\nso\n", writes=ANSWER, sends={"input": "why\nso"}),
        Case(arguments="ask", piped="why", writes=ANSWER, sends={"input": "why"}),
        Case(
            arguments="ask -r why", writes=ANSWER.replace("fast", "medium"), sends={"effort": "medium", "stream": True}
        ),
        Case(arguments="ask --model sonar-pro why", writes=ANSWER, sends={"effort": "fast"}),
        Case(arguments="ask --raw why", writes=RAW, sends={}),
        Case(arguments="search why", writes=PAGES, sends={"query": "why", "max_results": 5}),
        Case(arguments="search", piped="why\n", writes=PAGES, sends={"query": "why"}),
        Case(
            arguments="search --n 3 --mode academic why",
            writes=PAGES,
            sends={"max_results": 3, "search_mode": "academic"},
        ),
        Case(
            arguments="search why --recency week --domain a.example,b.example --domain c.com --country de",
            writes=PAGES,
            sends={
                "search_recency_filter": "week",
                "search_domain_filter": ["a.example", "b.example", "c.com"],
                "country": "DE",
            },
        ),
        Case(
            arguments="search --domain -a.com --lang en,de --after 2026-01-02 --before=2026-02-01 why",
            writes=PAGES,
            sends={
                "search_domain_filter": ["-a.com"],
                "search_language_filter": ["en", "de"],
                "search_after_date_filter": "01/02/2026",
                "search_before_date_filter": "02/01/2026",
            },
        ),
        Case(
            arguments="search --domain a.example why",
            writes=PAGES.partition("\n2. ")[0]
            + "\n1 result outside a.example left out.\n\nPerplexity Search · 0.0 s · $0.005\n",
            sends={"search_domain_filter": ["a.example"]},
        ),
        Case(
            arguments="ask --domain=-a.example why",
            writes=ANSWERED_BY_B,
            sends={"effort": "fast"},
        ),
    ],
    ids=lambda case: case.arguments,
)
async def test_a_pipe_is_given_plain_text_and_the_service_what_was_typed(
    case: Case, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    ended = await run(*case.arguments.split(), piped=case.piped, settings=settings)

    assert (ended.code, ended.err) == (0, "")
    assert without_seconds(ended.out) == case.writes
    assert case.sends.items() <= fake.requests[0].json.items()


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("ask", "1 source outside a.example left out, with 1 reference to it.\n"),
        ("search", "1 result outside a.example left out.\n"),
    ],
)
async def test_a_note_counts_what_is_left_out_of_a_raw_answer(
    command: str, note: str, settings: dict[str, str]
) -> None:
    ended = await run(command, "--raw", "--domain", "a.example", "why", settings=settings)

    assert (ended.code, ended.err) == (0, note)
    assert "b.example" not in ended.out


async def test_json_is_one_object_with_everything(fake: FakePerplexity, settings: dict[str, str]) -> None:
    answer = json.loads((await run_in_process("ask", "--json", "why", settings=settings)).out)
    results = json.loads((await run_in_process("search", "--json", "why", settings=settings)).out)

    assert answer["text"] == "Example answer with a claim.[1] Another claim — ü.[2]"
    assert [source["url"] for source in answer["sources"]] == ["https://a.example/1", "https://b.example/2"]
    assert (answer["provider"], answer["kind"], answer["usage"]["cost_usd"]) == ("Perplexity", "model", 0.00114)
    assert (results["provider"], [page["url"] for page in results["results"]]) == (
        "Perplexity Search",
        ["https://a.example/1", "https://b.example/2"],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "--recency", "hours", "q"], "--recency: 'hours' is not allowed; did you mean hour?"),
        (["ask", "--recency", "day", "--after", "2026-01-01", "q"], "cannot be combined with after or before"),
        (["ask", "--domain", "https://a.com", "q"], "--domain: 'https://a.com' is not allowed"),
        (["ask", "--domain", "", "q"], "--domain: '' is not allowed"),
        (["ask", "--domain=a.com", "--domain", " , ", "q"], "--domain: ',' is not allowed"),
        (["ask", "--lang", "", "q"], "--lang: '' is not allowed"),
        (["ask", "--providers", "", "q"], "--providers: '' is not allowed"),
        (["ask", "--lang", "xx", "q"], "--lang: 'xx' is not allowed"),
        (["ask", "--country", "Mars", "q"], "--country: 'Mars' is not allowed"),
        (["ask", "--before", "2026-13-01", "q"], "--before: '2026-13-01' is not allowed"),
        (["ask", "--model", "sonar-prp", "q"], "did you mean sonar-pro?"),
        (
            ["ask", "--effort", "hihg", "q"],
            "--effort: 'hihg' is not allowed; did you mean high? it takes fast, low, medium",
        ),
        (
            ["ask", "--effort", "sonar", "q"],
            "--effort: 'sonar' is not allowed; it takes fast, low, medium, high or xhigh",
        ),
        (
            ["ask", "--effort", "low", "--model", "high", "q"],
            "--effort: 'low' is not allowed; it cannot be combined with",
        ),
        (["ask", "-r", "--model", "sonar", "q"], "--reasoning and --model contradict each other"),
        (["ask", "--providers", "bing", "q"], "--providers: 'bing' is not allowed"),
        (["ask", "--schema", "/nowhere.json", "q"], "--schema: /nowhere.json cannot be read"),
        (["ask", "--schema", "pyproject.toml", "q"], "--schema: pyproject.toml is not JSON"),
        (["ask", "--mode", "academic", "q"], "unrecognized arguments: --mode"),
        (["ask", "--json", "--raw", "q"], "not allowed with argument --json"),
        (["ask"], "no question given"),
        (["ask", "   "], "no question given"),
        (["search"], "no query given"),
        (["search", "--n", "21", "q"], "--n: '21' is not allowed; it takes a whole number from 1 to 20"),
        (["search", "--mode", "images", "q"], "--mode: 'images' is not allowed"),
        (["search", "--reco", "day", "q"], "unrecognized arguments: --reco"),
        (["tools", "hammer"], "unknown tool 'hammer'"),
        (["mcp", "--port", "0"], "it takes a port from 1 to 65535"),
        (["mcp", "--host", "::"], "it takes the one address that clients use"),
        (["weather"], "invalid choice: 'weather'"),
        (["news"], "CATEGORY"),
    ],
)
async def test_an_unusable_setting_is_reported_on_one_line(
    arguments: list[str], message: str, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    ended = await run_in_process(*arguments, settings=settings)

    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.startswith("python -m perplexity")
    assert ended.err.count("\n") == 1
    assert fake.requests == []


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, {"error": {"type": "invalid_api_key", "message": "no"}}, "does not accept the configured key"),
        (401, json.loads(fixture("err.401.insufficient_quota.json")), "is out of credit"),
    ],
)
async def test_a_failure_names_everyone_who_was_asked_and_what_to_do(
    status: int, body: dict[str, Any], message: str, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.fail("/v1/agent", status=status, body=body)

    ended = await run("ask", "why", settings=settings)

    assert (ended.code, ended.out) == (1, "")
    failed = f"Perplexity {message}; DuckDuckGo could not be reached."
    assert ended.err.startswith(f"python -m perplexity ask: No service could answer: {failed}")
    assert "PERPLEXITY_API_KEY." in ended.err
    assert ended.err.count("\n") == 1
    assert KEY not in ended.err


WHERE = "in the environment or in .env in this folder."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "--providers", "perplexity"], "PERPLEXITY_API_KEY is not set"),
        (["search", "--providers", "brave"], "BRAVE_API_KEY is not set"),
        (["ask", "--providers", "openrouter,brave"], "OPENROUTER_API_KEY and BRAVE_API_KEY are not set"),
        (
            ["ask", "--schema", "tests/data/cli/schema.json"],
            "PERPLEXITY_API_KEY and OPENROUTER_API_KEY are not set",
        ),
    ],
    ids=lambda value: str(value)[-30:],
)
async def test_without_the_requested_service_its_key_is_named(arguments: list[str], message: str) -> None:
    ended = await run_in_process(*arguments, "why")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"python -m perplexity {arguments[0]}: No service is configured: {message}, {WHERE}\n"


async def test_if_nothing_can_be_reached_it_is_said_where_a_key_goes() -> None:
    ended = await run_in_process("ask", "why", settings={"DDGS_PROXY": "http://127.0.0.1:9"})

    assert ended.code == 1
    assert ended.err.endswith(
        " No key is set: put PERPLEXITY_API_KEY into the environment, or into .env in this folder.\n"
    )


async def test_without_a_command_the_help_is_shown() -> None:
    ended, help_text = await run(), await run("--help")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out == help_text.out
    assert "ask " in ended.out


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("PERPLEXITY_API_KEY=pplx-1", {"PERPLEXITY_API_KEY": "pplx-1"}),
        (" export BRAVE_API_KEY = 'b-1'  # mine", {"BRAVE_API_KEY": "b-1"}),
        ('XAI_API_KEY="x-1"\r\nOPENROUTER_API_KEY=o-1', {"XAI_API_KEY": "x-1", "OPENROUTER_API_KEY": "o-1"}),
        ("# PERPLEXITY_API_KEY=pplx-1", {}),
        ("PERPLEXITY_API_KEY=", {}),
        ("PERPLEXITY_BASE_URL=https://a.example\nPPLX_HOST=::\nSLACK_BOT_TOKEN=xoxb-1", {}),
        ("PERPLEXITY_API_KEY=two words", {}),
        ("\x00\xff", {}),
    ],
)
def test_only_keys_are_read_from_env_files(line: str, keys: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(line, encoding="latin-1")

    assert read_keys(tmp_path / ".env") == keys
    assert read_keys(tmp_path / "missing") == {}


async def test_a_key_in_the_folder_s_env_file_is_used_unless_the_environment_has_one(
    fake: FakePerplexity, settings: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(f"PERPLEXITY_API_KEY={KEY}\nPERPLEXITY_BASE_URL=https://elsewhere.example\n")
    del settings["PERPLEXITY_API_KEY"]
    for key in ({}, {"PERPLEXITY_API_KEY": "pplx-other"}):
        environ = environment(settings | key | {"PYTHONPATH": str(ROOT)})
        process = await asyncio.create_subprocess_exec(
            *COMMAND, "ask", "why", cwd=tmp_path, env=environ, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        await process.communicate()

    assert [request.headers["Authorization"] for request in fake.requests] == [f"Bearer {KEY}", "Bearer pplx-other"]


async def test_a_service_that_only_answers_is_not_asked_to_search() -> None:
    ended = await run_in_process("search", "--providers", "openrouter", "why", settings={"OPENROUTER_API_KEY": "sk-x"})

    assert (ended.code, ended.out) == (1, "")
    assert "openrouter cannot do this; choose others with --providers." in ended.err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"PERPLEXITY_API_KEY": "two words"}, "PERPLEXITY_API_KEY: it must be ASCII"),
        ({"PPLX_API_KEY": "two words"}, "PPLX_API_KEY: it must be ASCII"),
        ({"BRAVE_API_KEY": "two words"}, "BRAVE_API_KEY: it must be ASCII"),
        (
            {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": "foo"},
            "PERPLEXITY_BASE_URL: 'foo' is not allowed; it must be an https address",
        ),
        (
            {"BRAVE_API_KEY": KEY, "BRAVE_BASE_URL": "http://me:two words@a.example/x?two words"},
            "BRAVE_BASE_URL: 'http://a.example/x' is not allowed; it must be an https address",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("command", ["ask", "search"])
async def test_a_variable_that_cannot_be_right_is_named_and_no_secret_shown(
    command: str, settings: dict[str, str], message: str
) -> None:
    ended = await run_in_process(command, "why", settings=settings)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"python -m perplexity {command}: {message}")
    assert "two words" not in ended.err


async def test_what_the_service_says_of_its_own_fields_is_not_taken_for_an_option(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.fail("/v1/agent", status=400, body={"error": {"type": "invalid_request", "message": "bad", "param": "input"}})

    ended = await run_in_process("ask", "--recency", "day", "why", settings=settings)

    assert (ended.code, ended.err) == (2, "python -m perplexity ask: bad\n")


async def test_what_tries_to_command_the_terminal_is_shown_and_does_nothing(
    fake: FakePerplexity, settings: dict[str, str]
) -> None:
    attack = "\x1b]0;owned\x07\x1b[2Jred\x9b31m\u202eevil\r gone \x7f"
    found = {"results": [{"title": attack, "url": "https://a.example/" + attack, "snippet": attack, "date": attack}]}
    fake.script("/search", *[json_reply(found)] * 3)

    written = [
        (await run_in_process("search", *form, "why", settings=settings)).out for form in ([], ["--raw"], ["--json"])
    ]

    for text in written:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert "red" in text
    assert json.loads(written[2])["results"][0]["title"]


async def test_a_reader_that_closes_early_is_not_an_error(settings: dict[str, str]) -> None:
    async with start("tools", "--format", "openai", settings=settings) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        transport = getattr(process.stdout, "_transport")  # noqa: B009 - asyncio gives no other way to close our end
        transport.close()
        err = await asyncio.wait_for(process.stderr.read(), 90)
        code = await asyncio.wait_for(process.wait(), 90)

    assert (code, err) == (141, b"")


async def test_a_full_disk_is_reported_on_one_line(settings: dict[str, str]) -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    async with start("search", "why", stdout=descriptor, settings=settings) as process:
        os.close(descriptor)
        _, err = await asyncio.wait_for(process.communicate(), 90)

    assert process.returncode == 1
    assert err.decode() == "python -m perplexity search: cannot write output (No space left on device)\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("arguments", [["ask", "--model", "high", "--json", "why"], ["search", "why"]])
async def test_a_signal_cancels_and_says_so(
    arguments: list[str], number: signal.Signals, code: int, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.script("/v1/agent/resp_1" if arguments[0] == "ask" else "/search", Fault(hang=True))
    async with start(*arguments, settings=settings) as process, asyncio.timeout(90):
        await fake.wait_for(2 if arguments[0] == "ask" else 1)
        process.send_signal(number)
        out, err = await process.communicate()

    assert (process.returncode, out) == (code, b"")
    assert err.decode().strip() == "Cancelled."
    assert fake.cancelled == (["resp_1"] if arguments[0] == "ask" else [])


async def test_a_signal_that_is_to_be_ignored_is_ignored(fake: FakePerplexity, settings: dict[str, str]) -> None:
    fake.script("/search", Fault(hang=True))
    heard = [signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)]
    try:
        async with start_interpreter("search", "why", settings=settings) as process, asyncio.timeout(90):
            await fake.wait_for(1)
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            await process.communicate()
    finally:
        for number, handler in zip((signal.SIGHUP, signal.SIGINT), heard, strict=True):
            signal.signal(number, handler)

    assert process.returncode == 143


async def test_ctrl_c_while_it_is_loaded_is_quiet(tmp_path: Path) -> None:
    # Something that is loaded on the way asks for the signal.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'perplexity.tools.environment': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )

    ended = await run("tools", settings={"PYTHONPATH": str(tmp_path)})

    assert (ended.code, ended.out, ended.err) == (130, "", "")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    one_in(
        3,
        [
            ("ask why >&-", 0, ""),
            ("ask why >&- 2>&-", 0, ""),
            ("ask why <&-", 0, ""),
            ("ask <&-", 2, "python -m perplexity ask: no question given;"),
            ("ask <&- >&- 2>&-", 2, ""),
            ("ask 0>/dev/null", 2, "python -m perplexity ask: stdin cannot be read (Bad file descriptor)"),
            ("ask --wrong >&-", 2, "python -m perplexity"),
            ("ask --wrong 2>&-", 2, ""),
            ("mcp <&-", 2, "python -m perplexity mcp: stdin is closed,"),
            ("mcp >&-", 2, "python -m perplexity mcp: stdout is closed,"),
            ("mcp <&- >&- 2>&-", 2, ""),
            ("--help >&-", 0, ""),
            ("--help >/dev/full", 1, "python -m perplexity: cannot write output (No space left on device)"),
            ("--help | true", 141, ""),
            ("ask --help | true", 141, ""),
        ],
    ),
)
async def test_streams_that_are_closed_or_full_end_without_a_traceback(
    words: str, code: int, message: str, settings: dict[str, str]
) -> None:
    # Python is slower than `true`, whose pipe is closed by the time anything is written.
    line = f"set -o pipefail; {shlex.join(COMMAND)} {words}"
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", line,
        env=environment(settings), cwd=ROOT, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE,
    )  # fmt: skip
    async with asyncio.timeout(90):
        _, err = await process.communicate()

    assert process.returncode == code
    assert err.decode().startswith(message)
    assert err.count(b"\n") == bool(message)


@pytest.mark.parametrize("words", [["a", "b\udcffc"], ["a b\udcffc"]])
async def test_bytes_that_are_no_text_are_shown_to_be_missing(
    words: list[str], fake: FakePerplexity, settings: dict[str, str]
) -> None:
    await run_in_process("search", *words, settings=settings)

    assert fake.requests[0].json["query"] == "a b\ufffdc"
