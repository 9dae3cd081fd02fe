"""Checks and findings: their types, the run of all checks with time limits, and the report for a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum
from functools import wraps
from textwrap import wrap
from typing import Any, TypeVar

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import ReadOnlySqlTransaction, UndefinedColumn, UndefinedFunction, UndefinedTable
from psycopg.rows import DictRow

from bot.manifest import Offers
from bot.settings import Settings, unreadable
from bot.storage.database import connect
from perplexity.formatting import listed, pluralize
from perplexity.sanitize import printable_line
from perplexity.threads import DaemonExecutor

T = TypeVar("T")

UNREADABLE = (OperationalError, ReadOnlySqlTransaction, UndefinedColumn, UndefinedFunction, UndefinedTable)
"""Errors of a database that cannot be reached, or is not migrated."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, but do not wait for threads that still look up a host name."""
    loop = asyncio.new_event_loop()
    try:
        loop.set_default_executor(DaemonExecutor())
        return loop.run_until_complete(work)
    finally:
        loop.close()


WIDTH = 100
_TITLE_WIDTH = 12


class Severity(Enum):
    """The severity of a finding: its symbol for a terminal, and its word for other outputs."""

    OK = ("✓", "ok")
    SKIPPED = ("–", "skipped")
    WARNING = ("!", "warning")
    ERROR = ("✗", "ERROR")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One result of a check; without a `title`, the report shows the title of the check.

    `text` and `fix` are sentences that contain no secret. An error with `blocks` set makes a release fail.
    """

    severity: Severity
    title: str = ""
    text: str
    fix: str = ""
    blocks: bool = False


def ok(text: str, *, title: str = "") -> Finding:
    """Return a finding without a problem."""
    return Finding(severity=Severity.OK, title=title, text=text)


def skipped(text: str, *, title: str = "") -> Finding:
    """Return a finding that says why a check was skipped."""
    return Finding(severity=Severity.SKIPPED, title=title, text=text)


def warning(text: str, *, fix: str, title: str = "") -> Finding:
    """Return a finding about a problem with which the app can run."""
    return Finding(severity=Severity.WARNING, title=title, text=text, fix=fix)


def failure(text: str, *, fix: str, title: str = "", blocks: bool = False) -> Finding:
    """Return a finding about a problem with which the app cannot work."""
    return Finding(severity=Severity.ERROR, title=title, text=text, fix=fix, blocks=blocks)


def for_release(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings, with errors that do not block a release turned into warnings."""
    return tuple(
        one if one.blocks or one.severity is not Severity.ERROR else replace(one, severity=Severity.WARNING)
        for one in findings
    )


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 if there is an error, otherwise 0; warnings are allowed."""
    return 1 if any(finding.severity is Severity.ERROR for finding in findings) else 0


def render(findings: Sequence[Finding], *, symbols: bool) -> str:
    """Render the report, with the summary at the end. Severities are words or, with `symbols`, signs for a terminal."""
    lines = [line for finding in findings for line in finding_lines(finding, symbols=symbols)]
    return "\n".join([*lines, "", _summary(findings)]) + "\n"


def finding_lines(finding: Finding, *, symbols: bool, width: int = _TITLE_WIDTH) -> Iterator[str]:
    """Yield the lines of one finding; `width` is the number of columns for its title."""
    sign, word = finding.severity.value
    start = f"{sign} {finding.title:<{width}}" if symbols else f"{word:<8}{finding.title:<{width}}"
    yield from _wrapped(finding.text, first=start, rest=" " * len(start))
    if finding.fix:
        yield from _wrapped(finding.fix, first=" " * len(start) + "→ ", rest=" " * len(start) + "  ")


def _wrapped(text: str, *, first: str, rest: str) -> list[str]:
    # Text for copying, such as an address or a name, stays in one piece.
    return wrap(
        printable_line(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(findings: Sequence[Finding]) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    if errors:
        counted = pluralize(errors, "error") + (f" and {pluralize(warnings, 'warning')}" if warnings else "")
        return f"{counted}. Fix the items above, then run `python -m bot doctor` again."
    found = f"No errors, {pluralize(warnings, 'warning')}." if warnings else "No problems found."
    return f"{found} Start the app with `python -m bot run`."


SETTINGS = "Settings"

FIX = "Correct it in the environment or in .env. docs/settings.md says what each setting takes."


def settings_findings(settings: Settings, errors: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return a finding for each of the `errors`, or, without errors, one that lists the settings that are set. Pure."""
    if errors:
        wrong = unreadable(errors)
        return tuple(
            failure(f"{text}.", fix=FIX, title=SETTINGS, blocks=name in wrong) for name, text in errors.items()
        )
    names = ", ".join(sorted(name.upper() for name in settings.model_fields_set))
    return (
        ok(
            f"Set and valid: {names}." if names else "Nothing is set, and nothing is needed to try the app.",
            title=SETTINGS,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Context:
    """The input of checks.

    `invalid` has the names of the settings that are wrong or missing. `now` returns seconds since 1970.
    """

    settings: Settings
    invalid: Set[str] = frozenset()
    offers: Offers = field(default_factory=Offers)
    now: Callable[[], float]


NETWORK = "Check the network, and a proxy or firewall between here and there."
DATABASE_HINT = f"{NETWORK} Is the host in DATABASE_URL right?"


@dataclass(frozen=True)
class Check:
    """One check, which is skipped if one of the settings that it `needs` is invalid.

    `hint` is the fix that is shown if the check takes longer than `seconds`. If `blocks` is set, all errors of the
    check make a release fail.
    """

    title: str
    run: Callable[[Context], Awaitable[Sequence[Finding]]]
    _: KW_ONLY
    needs: Set[str] = frozenset()
    seconds: float = 5
    hint: str = NETWORK
    blocks: bool = False


def reading_database(
    read: Callable[[Context, AsyncConnection[DictRow]], Awaitable[T | list[Any]]],
) -> Callable[[Context], Awaitable[T | list[Any]]]:
    """Decorate a check that reads the database, so that it receives a connection to DATABASE_URL.

    The check finds nothing if DATABASE_URL is not set or not valid. It also finds nothing if the database cannot be
    read, which the check of the database reports.
    """

    @wraps(read)
    async def check(context: Context) -> T | list[Any]:
        url = context.settings.database_url
        if url is None or "database_url" in context.invalid:
            return []
        try:
            async with await connect(url.get_secret_value(), autocommit=True) as connection:
                return await read(context, connection)
        except UNREADABLE:
            return []

    return check


async def run_checks(context: Context, checks: Sequence[Check]) -> tuple[Finding, ...]:
    """Return the findings of every check, in the order of the checks. Raises nothing."""
    found = await asyncio.gather(*(_run_check(check, context) for check in checks))
    return tuple(
        replace(finding, title=finding.title or check.title, blocks=finding.blocks or check.blocks)
        for check, findings in zip(checks, found, strict=True)
        for finding in findings
    )


async def _run_check(check: Check, context: Context) -> Sequence[Finding]:
    if wrong := sorted(check.needs & context.invalid):
        return [skipped(f"Skipped: correct {listed([name.upper() for name in wrong])} first.")]
    try:
        async with asyncio.timeout(check.seconds):
            return await check.run(context)
    except TimeoutError:
        return [failure(f"No answer within {check.seconds:g} seconds.", fix=check.hint)]
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is wrong, the other checks are reported
        name = type(error).__name__
        return [failure(f"This check crashed ({name}).", fix="Please report this as a bug.")]
