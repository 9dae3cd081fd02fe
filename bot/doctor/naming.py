"""The commands' names: what Slack refuses, and what it may own.

https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.commands import COMMANDS
from bot.commands.slash import slash_commands
from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, well

ABOUT = "Commands"
LONGEST = 32
"""Characters of a name, with its slash: https://docs.slack.dev/reference/app-manifest"""

RESERVED = frozenset({
    "away", "close", "collapse", "dnd", "expand", "feed", "invite", "join", "leave", "me", "msg", "mute", "open", "pro",
    "remind", "shortcuts", "shrug", "status", "topic", "who",
})  # fmt: skip
"""Slack's own names. One of them in a manifest has the whole manifest refused with `invalid_name`."""

UNCERTAIN = frozenset({"search", "help"})
"""Names that Slack refuses to some apps and lets others have."""

PREFIX = "Set COMMAND_PREFIX, such as COMMAND_PREFIX=x-, and paste what `python -m bot manifest` then prints."


async def check(case: Case) -> Sequence[Finding]:
    """Look at the names that the configuration makes."""
    return name_findings([command.name for command in slash_commands(COMMANDS, prefix=case.settings.command_prefix)])


def name_findings(names: Sequence[str]) -> list[Finding]:
    """Say which names Slack refuses. Each has its slash. Pure."""
    long = [name for name in names if len(name) > LONGEST]
    reserved = [name for name in names if name[1:] in RESERVED]
    findings = []
    if long:
        text = f"{_listed(long)} has more than the {LONGEST} characters that Slack takes."
        findings.append(fault(ABOUT, text, fix="Set a shorter COMMAND_PREFIX."))
    if reserved:
        text = f"{_listed(reserved)} belongs to Slack, which refuses a manifest that holds it (invalid_name)."
        findings.append(fault(ABOUT, text, fix=PREFIX))
    return findings or [well(ABOUT, f"{_listed(names)}.{_hint(names)}")]


def _hint(names: Sequence[str]) -> str:
    uncertain = [name for name in names if name[1:] in UNCERTAIN]
    return f" Slack may own {_listed(uncertain)}: if it answers invalid_name, set COMMAND_PREFIX." if uncertain else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
