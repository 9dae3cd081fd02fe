"""Ends without waiting for name servers: a look-up that is given up goes on in a thread, for half a minute or more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from textwrap import wrap
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from bot.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")


class _Forgotten(ThreadPoolExecutor):
    """Gives each call a thread that does not keep the process alive. It need not be shut down."""

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        Thread(target=_settle, args=(future, lambda: function(*args, **kwargs)), daemon=True).start()
        return future


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what the work returns, as `asyncio.run` does, and leave behind what it did not wait for."""
    loop = asyncio.new_event_loop()
    try:
        loop.set_default_executor(_Forgotten())
        return loop.run_until_complete(work)
    finally:
        loop.close()


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except OSError as error:
        future.set_exception(error)


WIDTH = 100
_ABOUT = 12


class Mark(Enum):
    """How well something is: as a sign for a terminal and as a word for everything else."""

    WELL = ("✓", "ok")
    SKIPPED = ("–", "skipped")
    WARNING = ("!", "warning")
    FAULT = ("✗", "FAULT")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at. `text` and `fix` are plain sentences and never hold a secret."""

    mark: Mark
    about: str
    text: str
    fix: str = ""


def well(about: str, text: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(mark=Mark.WELL, about=about, text=text)


def skipped(about: str, text: str) -> Finding:
    """Say why something was not looked at."""
    return Finding(mark=Mark.SKIPPED, about=about, text=text)


def warning(about: str, text: str, *, fix: str) -> Finding:
    """Say that the app runs, and could do better."""
    return Finding(mark=Mark.WARNING, about=about, text=text, fix=fix)


def fault(about: str, text: str, *, fix: str) -> Finding:
    """Say what keeps the app from working."""
    return Finding(mark=Mark.FAULT, about=about, text=text, fix=fix)


def exit_code(findings: Sequence[Finding]) -> int:
    """Return 1 where there is a fault; warnings are allowed."""
    return 1 if any(finding.mark is Mark.FAULT for finding in findings) else 0


def render(findings: Sequence[Finding], *, signs: bool) -> str:
    """Write the report, the summary last; `signs` is for a terminal, plain words are for a file."""
    lines = [line for finding in findings for line in _lines(finding, signs=signs)]
    return "\n".join([*lines, "", _summary(findings)]) + "\n"


def _lines(finding: Finding, *, signs: bool) -> Iterator[str]:
    sign, word = finding.mark.value
    start = f"{sign} {finding.about:<{_ABOUT}}" if signs else f"{word:<8}{finding.about:<{_ABOUT}}"
    yield from _wrapped(finding.text, first=start, rest=" " * len(start))
    if finding.fix:
        yield from _wrapped(finding.fix, first=" " * len(start) + "→ ", rest=" " * len(start) + "  ")


def _wrapped(text: str, *, first: str, rest: str) -> list[str]:
    # What an operator copies, such as an address or a name, stays in one piece.
    return wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(findings: Sequence[Finding]) -> str:
    faults = sum(finding.mark is Mark.FAULT for finding in findings)
    warnings = sum(finding.mark is Mark.WARNING for finding in findings)
    if faults:
        beside = f" and {_counted(warnings, 'warning')}" if warnings else ""
        return f"{_counted(faults, 'fault')}{beside}. Fix the items above, then run `python -m bot doctor` again."
    if warnings:
        return f"No fault, {_counted(warnings, 'warning')}: the app can run. `python -m bot run` starts it."
    return "All is well. `python -m bot run` starts the app."


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


SETTINGS = "Settings"

FIX = "Correct it in the environment or in .env; docs/settings.md says what each setting takes."


def configuration_findings(settings: Settings, faults: Mapping[str, str]) -> tuple[Finding, ...]:
    """Name each fault, or the settings that are set; never a value that is secret. Pure."""
    if faults:
        return tuple(fault(SETTINGS, f"{text}.", fix=FIX) for text in faults.values())
    names = ", ".join(sorted(name.upper() for name in settings.model_fields_set))
    return (well(SETTINGS, f"Well formed: {names}." if names else "None is set, and none is needed to try the app."),)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is examined: the settings, as far as they could be read, and the names of those that could not.

    `now` gives seconds since 1970.
    """

    settings: Settings
    wrong: Set[str] = frozenset()
    now: Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One group of things to look at. It is skipped where one of the settings that it `needs` is wrong.

    `late` is the fix for one that does not end within `seconds`.
    """

    about: str
    needs: frozenset[str]
    run: Callable[[Case], Awaitable[Sequence[Finding]]]
    seconds: float
    late: str


async def examine(case: Case, checks: Sequence[Check]) -> tuple[Finding, ...]:
    """Return the findings of every check, in the order of the checks. Raises nothing."""
    found = await asyncio.gather(*(_tried(check, case) for check in checks))
    return tuple(finding for findings in found for finding in findings)


async def _tried(check: Check, case: Case) -> Sequence[Finding]:
    if wrong := sorted(check.needs & case.wrong):
        return [skipped(check.about, f"Not looked at, since {' and '.join(wrong).upper()} has to be right first.")]
    try:
        async with asyncio.timeout(check.seconds):
            return await check.run(case)
    except TimeoutError:
        return [fault(check.about, f"There was no answer within {check.seconds:g} seconds.", fix=check.late)]
    except Exception as error:  # noqa: BLE001 - the boundary: whatever is wrong, the other checks are reported
        name = type(error).__name__
        return [fault(check.about, f"This check failed by itself ({name}).", fix="Please report this name as a bug.")]
