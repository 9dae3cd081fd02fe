"""Runs the checks side by side: each has its own time limit, and none hides another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass

from bot.doctor.report import Finding, fault, skipped
from bot.settings import Settings


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
