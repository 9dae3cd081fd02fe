"""The doctor's parts: how checks are run, what they make of what they are told, how the report reads."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

import pytest
from psycopg import OperationalError

from bot.doctor import checks, local, providers
from bot.doctor.checks import (
    Check,
    Context,
    Finding,
    Severity,
    exit_code,
    failure,
    ok,
    render,
    run_checks,
    skipped,
    warning,
)
from bot.doctor.database import explain
from bot.doctor.local import name_findings
from bot.settings import Settings
from tests.bot.doctor.broken_setups import CANARY
from tests.fakes.silent import silent_server


def case() -> Context:
    return Context(settings=Settings(), now=time.time)


def check(about: str, run: Callable[[Context], Awaitable[Sequence[Finding]]]) -> Check:
    return Check(about, run, seconds=0.05, hint="Check the network.")


async def test_a_check_that_hangs_or_breaks_hides_no_other() -> None:
    async def hangs(case: Context) -> Sequence[Finding]:
        await asyncio.Event().wait()
        return []

    async def breaks(case: Context) -> Sequence[Finding]:
        raise ZeroDivisionError(CANARY)

    async def ends(case: Context) -> Sequence[Finding]:
        return [ok("Fine.", title="C")]

    found = await run_checks(case(), [check("A", hangs), check("B", breaks), check("C", ends)])

    assert [finding.text for finding in found] == [
        "No answer within 0.05 seconds.",
        "This check crashed (ZeroDivisionError).",
        "Fine.",
    ]


@pytest.mark.parametrize(
    ("check", "key", "address", "said"),
    [
        (providers.check_x_posts, "xai_api_key", "xai_base_url", "xAI cannot be reached."),
        (providers.check_perplexity, "perplexity_api_key", "perplexity_base_url", "Perplexity cannot be reached."),
        (
            providers.check_fallback,
            "openrouter_api_key",
            "openrouter_base_url",
            "OpenRouter’s list of models cannot be read (ConnectionFailed).",
        ),
    ],
)
async def test_a_connection_that_does_not_open_is_given_up_after_the_set_time(
    check: Callable[[Context], Awaitable[Sequence[Finding]]], key: str, address: str, said: str
) -> None:
    async with silent_server() as url, asyncio.timeout(4):
        settings = Settings.model_validate({key: CANARY, address: url, "open_timeout": 0.05})
        found = await check(Context(settings=settings, now=time.time))

    assert [finding.text for finding in found] == [said]


@pytest.mark.parametrize(
    ("given", "mark", "told"),
    [
        ({}, None, ""),
        ({"agent_model": "openai/gpt-6-luna"}, Severity.WARNING, "AGENT_MODEL is set, but AGENT_API_KEY is not"),
        (
            {"agent_model": "openai/gpt-6-luna", "openrouter_api_key": CANARY},
            Severity.OK,
            "openai/gpt-6-luna is set up",
        ),
        ({"agent_model": "mine", "agent_base_url": "http://127.0.0.1:9/v1"}, Severity.OK, "mine is set up"),
    ],
)
async def test_the_missing_parts_of_the_agent_are_reported(
    given: dict[str, str], mark: Severity | None, told: str
) -> None:
    found = await local.check_agent(Context(settings=Settings.model_validate(given), now=time.time))

    assert [finding.severity for finding in found] == ([] if mark is None else [mark])
    assert all(told in finding.text and CANARY not in finding.text for finding in found)


async def test_an_agent_whose_extra_is_missing_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    settings = Settings.model_validate({"agent_model": "openai/gpt-6-luna", "agent_api_key": CANARY})

    (finding,) = await local.check_agent(Context(settings=settings, now=time.time))

    assert finding.severity is Severity.ERROR
    assert finding.text == "AGENT_MODEL is set, but the extra `agent` is not installed, so the app does not start."
    assert finding.fix == "Install it (pip install 'web-answers-for-slack[agent]'), or unset AGENT_MODEL."


def test_a_hanging_thread_is_abandoned() -> None:
    async def look_up() -> str:
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 30)
        return "done"

    started = time.monotonic()

    assert checks.run(look_up()) == "done"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("name", "mark", "told"),
    [
        ("/ask", Severity.OK, "/ask."),
        ("/search", Severity.OK, "Slack may reserve /search: if it answers invalid_name, set COMMAND_PREFIX."),
        ("/x-search", Severity.OK, "/x-search."),
        ("/status", Severity.ERROR, "/status is reserved by Slack"),
        ("/" + "x" * 31, Severity.OK, "/" + "x" * 31),
        ("/" + "x" * 32, Severity.ERROR, "longer than the 32 characters"),
    ],
)
def test_names_that_slack_refuses_are_reported(name: str, mark: Severity, told: str) -> None:
    (finding,) = name_findings([name])

    assert finding.severity is mark
    assert told in finding.text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('connection failed: FATAL:  password authentication failed for user "u"', "refuses the user name or the pass"),
        ("connection failed: fe_sendauth: no password supplied", "requires a password"),
        ('FATAL:  no pg_hba.conf entry for host "1.2.3.4", user "u", database "d", no encryption', "encrypted"),
        ("connection failed: server does not support SSL, but SSL was required", "does not offer encryption"),
        ("FATAL:  remaining connection slots are reserved for roles", "no free connection"),
        ('FATAL:  too many connections for role "u"', "no free connection"),
        ('FATAL:  role "u" does not exist', "no user of that name"),
        ('FATAL:  database "d" does not exist', "no database of that name"),
        ("FATAL:  the database system is starting up", "starting or stopping"),
        ("connection to server failed: Connection refused", "No server is listening there"),
        ("failed to resolve host 'h': [Errno -2] Name or service not known", "No host has that name"),
        (f"something new {CANARY}", "The database cannot be reached (OperationalError)."),
    ],
)
def test_what_the_database_says_is_explained_and_not_repeated(said: str, told: str) -> None:
    finding = explain(OperationalError(said))

    assert told in finding.text
    assert finding.fix
    assert CANARY not in finding.text


def test_a_terminal_is_shown_signs_and_a_long_line_is_folded() -> None:
    findings = [
        ok("Fine.", title="A"),
        skipped("Later.", title="B"),
        warning("Hm.", fix="Do.", title="C"),
        failure("No " * 40, fix="Do.", title="D"),
    ]

    lines = render(findings, symbols=True).splitlines()

    assert lines[:4] == ["✓ A           Fine.", "– B           Later.", "! C           Hm.", "              → Do."]
    assert lines[4].startswith("✗ D           No No")
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("findings", "code", "summary"),
    [
        ([ok("a", title="A")], 0, "No problems found."),
        ([warning("a", fix="f", title="A")], 0, "No errors, 1 warning."),
        ([failure("a", fix="f", title="A")], 1, "1 error. Fix the items above"),
        (
            [failure("a", fix="f", title="A")] * 2 + [warning("a", fix="f", title="A")] * 2,
            1,
            "2 errors and 2 warnings.",
        ),
    ],
)
def test_the_summary_counts_problems_and_sets_the_exit_code(
    findings: Sequence[Finding], code: int, summary: str
) -> None:
    assert exit_code(findings) == code
    assert render(findings, symbols=False).splitlines()[-1].startswith(summary)
