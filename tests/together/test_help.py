"""What the help names when every feature is here."""

from __future__ import annotations

import pytest

from bot.commands.help import help_overview
from bot.features import COMMANDS

pytestmark = pytest.mark.features("budgets", "deepdive", "digests", "limits", "settings")


def test_admins_have_these_commands() -> None:
    for_admins = {command.name for command in COMMANDS if command.for_admins}

    assert for_admins == {"status", "budget", "pause", "resume", "limits"}


def test_the_overview_names_the_commands_of_features_in_five_lines() -> None:
    lines = help_overview(COMMANDS, slash="/pplx").blocks[0]["text"]["text"].splitlines()

    assert len(lines) == 5
    assert all(name in "".join(lines) for name in ("`/deepdive`", "`/pplx watch`", "`/pplx settings`"))
