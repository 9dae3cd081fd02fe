"""Budgets in dollars, reserved before a call and settled at the provider's figure."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal

import pytest

from tests.driver import Driver, Processes, execute
from tests.fakes.perplexity import fixture
from tests.fakes.service import stream_reply
from tests.rare import one_in
from tests.spending import ANSWER, SEARCH, asked, booked, ledger, wait_for

pytestmark = pytest.mark.trust(23)


async def test_every_call_is_booked_at_the_providers_figure(harness: Driver) -> None:
    await asked(harness, "/ask why", trigger="t1")
    await asked(harness, "/search why", trigger="t2")

    first, second = await booked(harness.database, 2)

    assert (first["effort"], first["state"], first["reserved"], first["cost"]) == ("fast", "settled", 20_000, ANSWER)
    assert (second["effort"], second["state"], second["cost"]) == ("search", "settled", SEARCH)
    for call in (first, second):
        assert (call["team_id"], call["user_id"], call["channel_id"], call["provider"]) == (
            *("T1", "U1", "C1"),
            "Perplexity",
        )


@pytest.mark.parametrize("status", [429, 503])
async def test_what_is_sent_again_is_another_call(harness: Driver, status: int) -> None:
    harness.perplexity.fail("/search", status=status, body={"error": {"message": "later", "type": "busy"}})

    await asked(harness, "/search why", trigger="t1")

    assert [(call["state"], call["cost"]) for call in await booked(harness.database, 2)] == [
        ("released", 0),
        ("settled", SEARCH),
    ]


@pytest.mark.settings(budget_user_day_usd=Decimal("0.021"), admin_user_ids="U0ADMIN")
class TestWithABudget:
    async def test_a_question_over_it_is_refused_before_anything_is_sent(self, harness: Driver) -> None:
        await asked(harness, "/ask why", trigger="t1")
        await booked(harness.database, 1)

        refused = await asked(harness, "/ask and then", trigger="t2")

        assert "Your budget for today ($0.021) is used up. It resets in about" in refused
        assert "Ask again then, or ask an admin for more." in refused
        assert "retry" not in refused
        assert len(harness.perplexity.requests) == 1
        assert len(await ledger(harness.database)) == 1


@pytest.mark.settings(budget_user_day_usd=Decimal("0.05"))
class TestNearTheEndOfABudget:
    async def test_reasoning_becomes_fast_and_says_so(self, harness: Driver) -> None:
        shown = await asked(harness, "/ask --reasoning why", trigger="t1")

        assert "I thought quickly instead of longer" in shown
        assert [call["effort"] for call in await booked(harness.database, 1)] == ["fast"]
        assert harness.perplexity.requests[0].json["effort"] == "fast"

    async def test_research_is_refused_with_what_is_left(self, harness: Driver) -> None:
        shown = await asked(harness, "/ask --model high why", trigger="t1")

        assert "has $0.05 left of $0.05, and this may cost up to $2.00" in shown
        assert "`fast` still fits; for more, ask an admin." in shown
        assert harness.perplexity.requests == []


async def begin_with(database: str, amount: int) -> None:
    """Have the database begin with an amount for each person and day, as new ones do."""
    await execute(database, "INSERT INTO budgets VALUES ('', 'user', '', %s, '')", amount)


async def test_a_new_installation_names_what_it_begins_with(workspace: Processes) -> None:
    await begin_with(workspace.database, 1_000)
    process = await workspace.start()
    named = "Budget    Each person may spend $0.001 a day, as in every new installation."
    assert any(line.startswith(named) for line in process.output)
    before = len(workspace.slack.posts)
    await (await workspace.person(process).type_command("/ask why", trigger="t1")).release()
    await workspace.slack.wait_for(before + 1)
    assert "is used up" in workspace.slack.posts[-1].shown_text


async def test_it_is_not_named_once_an_admin_has_set_another(workspace: Processes) -> None:
    await begin_with(workspace.database, 1_000)
    await execute(workspace.database, "INSERT INTO budgets VALUES ('T1', 'user', '', 2000, '')")
    process = await workspace.start()
    assert [line for line in process.output if line.startswith("Budget")] == []


@pytest.mark.parametrize("amount", ["none", "2"])
async def test_the_environment_outranks_it(workspace: Processes, amount: str) -> None:
    workspace.settings["BUDGET_USER_DAY_USD"] = amount
    await begin_with(workspace.database, 1_000)
    process = await workspace.start()
    assert [line for line in process.output if line.startswith("Budget")] == []


@pytest.mark.parametrize("figure", one_in(3, ["1e300", "1e13", "-3", "NaN", '"0.5"', "true", "null", "[1]"]))
async def test_a_figure_that_can_be_no_price_counts_as_unknown_and_blocks_nothing(harness: Driver, figure: str) -> None:
    odd, times = re.subn(
        rb'"total_cost": ?[0-9.]+', b'"total_cost":' + figure.encode(), fixture("agent.stream.completed.sse")
    )
    assert times
    harness.perplexity.script("/v1/agent", stream_reply(odd))

    assert "Sorry" not in await asked(harness, "/ask why", trigger="t1")
    await asked(harness, "/search why", trigger="t2")

    first, second = await booked(harness.database, 2)
    assert (first["state"], first["cost"]) == ("cut", 20_000)
    assert (second["state"], second["cost"]) == ("settled", SEARCH)


async def test_a_hundred_questions_on_the_last_reservation_overspend_by_none(workspace: Processes) -> None:
    workspace.settings["BUDGET_WORKSPACE_MONTH_USD"] = "0.0399"
    workspace.settings["OPEN_QUESTIONS_PER_USER"] = "0"
    # The call is held until all others are refused, which may take a while.
    workspace.settings.update(ANSWER_PROVIDER_SECONDS="300", ANSWER_CHAIN_SECONDS="310")
    one, two = await asyncio.gather(workspace.start(), workspace.start())
    workspace.perplexity.hold()
    await asyncio.gather(*(workspace.ask((one, two)[number % 2], number) for number in range(100)))
    slack = workspace.slack
    await wait_for(lambda: sum("is used up" in post.shown_text for post in slack.posts) == 99, seconds=120)
    workspace.perplexity.release()
    [call] = await booked(workspace.database, 1)
    assert (call["state"], call["cost"], len(workspace.perplexity.requests)) == ("settled", ANSWER, 1)
