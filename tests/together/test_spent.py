"""What was spent reads the same in `/pplx status`, `/pplx budget` and the home tab."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.features.home.admin import FOR_ADMINS
from tests.driver import Driver
from tests.end_to_end.test_status import figures_hold

pytestmark = pytest.mark.features("budgets", "home")


async def test_a_pause_and_a_budget_that_is_used_up_are_named(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    await harness.ask("/ask why", trigger="q1")
    await harness.slack.wait_for(1)
    await harness.ask("/pplx budget workspace 0.001", trigger="b1")
    await harness.wait_until_settled(2)
    await harness.ask("/pplx pause", trigger="p1")

    # What a call cost is booked a moment after its answer was posted.
    shown = await figures_hold(harness, "budget of $0.001 for this month is used up, so no question is answered.")

    assert "All paid searches are paused, so no question is answered. Allow them again." in str(shown["blocks"][0])
    assert "budget of $0.001 for this month is used up, so no question is answered." in str(shown["blocks"][0])


async def test_home_its_part_for_admins_the_budget_and_the_status_agree(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    await harness.ask("/ask why", trigger="q1")
    await harness.ask("/search why", trigger="q2")
    await harness.slack.wait_for(2)

    await figures_hold(harness, "*Spent*  $0.0061 today, $0.0061 this month.")
    await harness.ask("/pplx budget", trigger="b1")
    await harness.slack.wait_until(lambda: "Calls" in str(harness.slack.posts[-1].payload))
    budget = harness.slack.posts[-1].payload["blocks"]
    await harness.open_home("This month: 2 questions, $0.0061.")
    await harness.press_home(FOR_ADMINS)
    home = await harness.home("*Spent*  $0.0061 today, $0.0061 this month.")

    tables = [[[words(cell) for cell in row] for row in table] for table in rows(home)]
    assert tables[1] == [["Person", "Questions", "Dollars"], ["U1", "2", "$0.0061"]]
    assert tables[2] == [["Channel", "Questions", "Dollars"], ["C1", "2", "$0.0061"]]
    assert tables[3] == [["Service", "Calls", "Dollars"], ["Perplexity", "2", "$0.0061"]]
    assert [[words(cell) for cell in row] for block in budget if block["type"] == "table" for row in block["rows"]] == [
        *(["Person", "Calls", "Spent today"], ["U1", "2", "$0.0061"]),
        *(["Channel", "Calls", "Spent today"], ["C1", "2", "$0.0061"]),
        *(["Service", "Calls", "Spent this month"], ["Perplexity", "2", "$0.0061"]),
    ]
    assert "UTC" not in str(budget)


def rows(home: str) -> list[Any]:
    return [block["rows"] for block in json.loads(home)["blocks"] if block["type"] == "table"]


def words(cell: dict[str, Any]) -> str:
    """Return what a cell shows, with the id of a person or a channel instead of the name."""
    if "text" in cell:
        return str(cell["text"])
    (leaf,) = cell["elements"][0]["elements"]
    return str(leaf.get("user_id") or leaf["channel_id"])
