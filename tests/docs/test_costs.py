"""What the pages say that a question costs: what is reserved for its calls, the price lists, and the recordings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.budgets import CEILINGS, POSTS, SEARCH, format_amount
from perplexity.formatting import format_dollars
from perplexity.wire import brave, search
from perplexity.x_posts.grok import XAI_TICKS_PER_DOLLAR
from tests.docs.pages import ROOT, is_here, rows
from tests.fakes import paid_calls

ADMINS = rows(ROOT / "docs" / "admin.md", section="What people can do, and what it costs")
BUDGETS = rows(ROOT / "docs" / "budgets.md", section="What a question costs")
DATA = ROOT / "tests" / "data"
CALLS = {line: efforts for line, efforts in paid_calls.CALLS.items() if is_here(line)}
FIGURE = re.compile(r"\$\d[\d.,]*\d")


def recorded(path: str, *keys: str) -> Any:
    """Return a value of a recorded response."""
    value = json.loads(Path(DATA / path).read_text(encoding="utf-8"))
    for key in keys:
        value = value[key]
    return value


ANSWER = format_dollars(recorded("perplexity/agent.200.json", "usage", "cost", "total_cost"))
OPENROUTER = format_dollars(recorded("openrouter/openrouter.200.json", "usage", "cost"))
READING_POSTS = format_dollars(recorded("xai/xai.200.json", "usage", "cost_in_usd_ticks") / XAI_TICKS_PER_DOLLAR)

KNOWN: Mapping[str, set[str]] = {
    "/search postgres vacuum": {format_dollars(search.DOLLARS)},
    "/ask why is the sky blue": {ANSWER},
    "/deepdive heat pumps": {READING_POSTS},
    "/pplx check The sky is blue.": {format_dollars(search.FAST_DOLLARS)},
}
"""What is known of the cost of a command, from price lists and recordings; of the others nothing is."""


def by_command(table: list[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the rows of a table by the command that each begins with."""
    return {found[1]: row for row in table if (found := re.match(r"`(/[^`]+)`", row[0])) and is_here(found[1])}


@pytest.mark.parametrize("table", [ADMINS, BUDGETS], ids=["admin.md", "budgets.md"])
def test_each_command_has_what_is_reserved_for_its_calls(table: list[tuple[str, ...]]) -> None:
    written = {command: row[-1] for command, row in by_command(table).items()}

    assert written == {line: format_amount(sum(CEILINGS[effort] for effort in CALLS[line])) for line in CALLS}


def test_admins_read_what_a_further_claim_costs() -> None:
    page = " ".join((ROOT / "docs" / "admin.md").read_text(encoding="utf-8").split())

    assert f"reserves {format_amount(CEILINGS[SEARCH] + CEILINGS['fast'])} for each further claim" in page


def test_admins_read_what_is_known_and_no_other_figure() -> None:
    written = {command: set(FIGURE.findall(row[-2])) for command, row in by_command(ADMINS).items()}

    assert written == {line: KNOWN.get(line, set()) for line in CALLS}


def test_the_page_of_budgets_has_what_is_known() -> None:
    written = {command: set(FIGURE.findall(row[-2])) for command, row in by_command(BUDGETS).items()}

    assert [line for line in written if not KNOWN.get(line, set()) <= written[line]] == []
    assert OPENROUTER in written["/ask why is the sky blue"]
    assert [line for line in CALLS if line not in KNOWN and written[line]] == []
    assert search.DOLLARS == brave.DOLLARS, "The page says that Brave's price is the same."


def test_the_page_of_budgets_lists_the_ceilings_of_calls() -> None:
    page = " ".join((ROOT / "docs" / "budgets.md").read_text(encoding="utf-8").split())
    cheap, medium, posts, deep = (format_amount(CEILINGS[effort]) for effort in (SEARCH, "medium", POSTS, "high"))

    assert (
        f"{cheap} for a search and for an answer with effort fast or low, {medium} for medium and for a step of the "
        f"agent's model, {posts} for posts, {deep} for high and xhigh."
    ) in page
