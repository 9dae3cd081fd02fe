"""What the doctor found, and how it reads: one line a check, each fault with its fix behind it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from textwrap import wrap

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
