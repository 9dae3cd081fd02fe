"""Budgets in dollars, reserved before a call and settled at the provider's figure; notices; a kill switch."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.driver import Driver, Processes, execute, records
from tests.fakes.perplexity import FakePerplexity, fixture
from tests.fakes.service import stream_reply
from tests.fakes.slack import FakeSlack

pytestmark = pytest.mark.trust(23)

ANSWER, SEARCH = 1_140, 5_000
"""What the recorded answer and a search cost, in micro-dollars."""


async def ledger(database: str) -> list[dict[str, Any]]:
    return await records(database, "SELECT * FROM ledger ORDER BY at, id")


async def booked(database: str, count: int, *, open_calls: int = 0) -> list[dict[str, Any]]:
    """Return the calls, once there are so many and all but some have ended."""
    async with asyncio.timeout(60):
        while True:
            calls = await ledger(database)
            if len(calls) >= count and sum(call["state"] == "reserved" for call in calls) <= open_calls:
                return calls
            await asyncio.sleep(0.05)


async def asked(harness: Driver, text: str, *, trigger: str) -> str:
    """Ask, and return all that is shown in the end."""
    before = len(harness.slack.posts)
    await harness.ask(text, trigger=trigger)
    await harness.slack.wait_for(before + 1)
    return harness.slack.posts[-1].shown_text


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


def notices(harness: Driver) -> list[Any]:
    """Return what an admin got as direct messages."""
    return [post for post in harness.slack.posts if post.payload.get("channel") == "DU0ADMIN"]


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

    async def test_admins_are_told_once(self, harness: Driver) -> None:
        await asked(harness, "/ask why", trigger="t1")
        await booked(harness.database, 1)
        for number in range(3):
            await asked(harness, "/ask and then", trigger=f"r{number}")
        await wait_for(lambda: bool(notices(harness)), seconds=20)
        told = notices(harness)
        assert [post.shown_text for post in told] == [told[0].shown_text]
        assert "<@U1>’s budget for" in told[0].shown_text
        assert "is used up: $0.00114 of $0.021. I refuse further questions." in told[0].shown_text


@pytest.mark.settings(budget_user_day_usd=Decimal("0.021"))
class TestWithoutNamedAdmins:
    async def test_the_workspace_s_admins_are_told(self, harness: Driver) -> None:
        harness.slack.workspace.admins |= {"U0ADMIN", "U0GUEST"}
        harness.slack.workspace.profiles["U0GUEST"] = {"is_restricted": True}
        await use_up(harness)

        await wait_for(lambda: bool(notices(harness)), seconds=20)
        told = [post for post in harness.slack.posts if "<@U1>’s budget for" in post.shown_text]
        assert [post.payload["channel"] for post in told] == ["DU0ADMIN"]

    async def test_one_who_set_a_budget_and_is_no_admin_any_more_is_not_told(
        self, harness: Driver, caplog: pytest.LogCaptureFixture
    ) -> None:
        harness.slack.workspace.admins.add("U1")
        await asked(harness, "/pplx budget user 0.021", trigger="b1")
        harness.slack.workspace.admins.clear()
        await use_up(harness)

        await wait_for(lambda: "budget.not_told" in caplog.messages, seconds=20)
        assert [post for post in harness.slack.posts if post.payload.get("channel") == "DU1"] == []


async def use_up(harness: Driver) -> None:
    """Use a budget up that covers one question."""
    await asked(harness, "/ask why", trigger="u1")
    await booked(harness.database, 1)
    assert "is used up" in await asked(harness, "/ask and then", trigger="u2")


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


async def test_an_admin_sets_budgets_and_others_cannot(harness: Driver) -> None:
    assert "Only admins" in await asked(harness, "/pplx budget user 0", trigger="t1")
    harness.slack.workspace.admins.add("U1")

    # Slack's answer about admins is kept for a while, so another admin asks.
    harness.slack.workspace.admins.add("U2")
    admin = harness.person.__class__(
        session=harness.session,
        app_url=harness.url,
        response_url=harness.slack.response_url,
        user="U2",
        slack=harness.slack,
    )
    before = len(harness.slack.posts)
    await (await admin.type_command("/pplx budget user 0", trigger="t2")).release()
    await harness.slack.wait_for(before + 1)
    assert "Each person, a day: *$0.00*" in harness.slack.posts[-1].shown_text

    refused = await asked(harness, "/ask why", trigger="t3")
    assert "Your budget for today is $0.00, so I can’t make paid searches for it. Ask an admin for more." in refused
    assert harness.perplexity.requests == []


async def test_a_refusal_offers_only_what_would_be_granted(harness: Driver) -> None:
    """A tighter budget counts, and what calls have cost."""
    harness.slack.workspace.admins.add("U1")
    await asked(harness, "/pplx budget workspace 0.5", trigger="b1")
    await asked(harness, "/pplx budget user 0.5 week", trigger="b2")
    assert "`medium` still fits" in await asked(harness, "/ask --model high why", trigger="t1")

    await asked(harness, "/pplx budget workspace 0.09", trigger="b3")
    assert "`fast` still fits" in await asked(harness, "/ask --model high why", trigger="t2")

    await harness.execute("INSERT INTO call_costs VALUES ('Perplexity', 'fast', 20, 100000)")
    shown = await asked(harness, "/ask --model high why", trigger="t3")
    assert "still fits" not in shown
    assert "Ask an admin for more." in shown


async def test_an_admin_sets_a_budget_by_week__also_for_one_person(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    assert "Each person, a week: *$10.00*" in await asked(harness, "/pplx budget user 10 week", trigger="t1")
    await asked(harness, "/pplx budget user U1 0.001 week", trigger="t2")

    refused = await asked(harness, "/ask why", trigger="t3")
    assert "Your budget for this week ($0.001) is used up. It resets in about" in refused

    assert "Each person, a week: *no limit*" in await asked(harness, "/pplx budget user none week", trigger="t4")
    assert "a week: " not in await asked(harness, "/pplx budget user week reset", trigger="t5")


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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("usr 5", "`usr` has no budget. Did you mean `user`? Choose from: `user`, `channel` and `workspace`."),
        ("user", "Add an amount for `user`: an amount in dollars from 0 to 1,000,000"),
        ("user much", "The budget of `user` cannot be `much`. It takes an amount in dollars from 0 to 1,000,000"),
        ("user -1", "The budget of `user` cannot be `-1`"),
        (
            "user 2,50",
            "The budget of `user` cannot be `2,50`. It takes an amount in dollars from 0 to 1,000,000, such as 2.50",
        ),
        ("user 0.0000001", "The budget of `user` cannot be `0.0000001`"),
        ("channel #general 5", "`#general` isn’t a channel. Use `here` or an id such as C012AB3CD"),
        ("user anna 5", "`anna` isn’t a user. Use an id such as U012AB3CD, or leave it out."),
        ("user week", "Add an amount for `user`: an amount in dollars from 0 to 1,000,000"),
        ("workspace C1 5", "`workspace` takes an amount only. Leave out `C1`."),
    ],
)
async def test_bad_input_is_told_by_field_value_and_what_is_allowed(harness: Driver, text: str, problem: str) -> None:
    shown = await harness.ask(f"/pplx budget {text}", trigger="t1")
    assert problem in str(shown)


async def test_here_in_a_direct_message_is_no_channel(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    person = replace(harness.person, sent={"channel_id": "DU1"})
    before = len(harness.slack.posts)
    await (await person.type_command("/pplx budget channel here 5", trigger="t1")).release()
    await harness.slack.wait_for(before + 1)
    assert "A direct message has no budget of its own" in harness.slack.posts[-1].shown_text


@pytest.mark.parametrize("figure", ["1e300", "1e13", "-3", "NaN", '"0.5"', "true", "null", "[1]"])
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


async def switch(workspace: Processes, process: Any, command: str, *, person: int = 0) -> str:
    """Return what the acknowledgement of `/pplx pause` or `/pplx resume` says."""
    async with await workspace.person(process, person).type_command(f"/pplx {command}", trigger=command) as response:
        return str((await response.json())["text"])


async def wait_for(condition: Callable[[], bool], *, seconds: float) -> float:
    """Return after how many seconds a condition holds."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for is in other processes
            await asyncio.sleep(0.02)
    return time.monotonic() - began


async def test_a_pause_ends_the_spending_of_every_process_within_five_seconds(workspace: Processes) -> None:
    workspace.settings["ADMIN_USER_IDS"] = "U00"
    workspace.settings["QUESTIONS_AT_ONCE"] = "4"  # so that a question would wait until one of the eight ends
    workspace.slack.workspace.admins.add("U0")
    perplexity, slack = workspace.perplexity, workspace.slack
    one, two = await asyncio.gather(workspace.start(), workspace.start())
    perplexity.hold()
    for number in range(1, 9):
        await workspace.ask((one, two)[number % 2], number)
    await perplexity.wait_for(8)

    assert "Only admins" in await switch(workspace, one, "pause", person=1)
    assert (await switch(workspace, one, "pause")).startswith("Paused.")
    assert (await switch(workspace, two, "pause")).startswith("Paid searches are paused already.")

    def shown(words: str) -> int:
        return sum(words in post.shown_text for post in slack.posts)

    took = await wait_for(lambda: shown("An admin has paused all paid searches") == 8, seconds=10)
    assert took < 5
    assert len(perplexity.requests) == 8

    await workspace.ask(two, 20)
    await wait_for(lambda: shown("An admin has paused all paid searches") == 9, seconds=60)
    assert len(perplexity.requests) == 8
    # What was cut off is counted at its ceiling.
    assert {(call["state"], call["cost"]) for call in await booked(workspace.database, 8)} == {("cut", 20_000)}

    perplexity.release()
    assert await switch(workspace, two, "resume") == "Paid searches are allowed again."
    await workspace.ask(one, 21)
    await perplexity.wait_for(9)


async def test_a_background_run_is_cancelled_upstream_by_a_pause(
    harness: Driver, perplexity: FakePerplexity, slack: FakeSlack
) -> None:
    slack.workspace.admins.add("U1")
    perplexity._polls = 1_000
    await harness.ask("/ask --model high why", trigger="t1")
    await perplexity.wait_for(3)
    await harness.ask("/pplx pause", trigger="t2")
    async with asyncio.timeout(60):
        await perplexity.cancel_requested.wait()
    [call] = await booked(harness.database, 1)
    assert (call["effort"], call["state"], call["cost"]) == ("high", "cut", 2_000_000)


@pytest.mark.rare  # a process that stops waits twenty seconds for its work
async def test_a_background_run_that_a_restart_resumed_is_cancelled_upstream_by_a_pause(workspace: Processes) -> None:
    workspace.slack.workspace.admins.add("U0")
    perplexity = workspace.perplexity
    perplexity._polls = 1_000
    process = await workspace.start()
    async with await workspace.person(process, 1).type_command("/ask --model high why"):
        pass
    await perplexity.wait_for(3)
    await process.terminate()
    polled = len(perplexity.requests)
    process = await workspace.start()
    await perplexity.wait_for(polled + 2)

    assert (await switch(workspace, process, "pause")).startswith("Paused.")
    async with asyncio.timeout(5):
        await perplexity.cancel_requested.wait()
    await wait_for(
        lambda: any("An admin has paused all paid searches" in one.shown_text for one in workspace.slack.posts),
        seconds=60,
    )
    [call] = await booked(workspace.database, 1)
    assert (call["effort"], call["state"], call["cost"]) == ("high", "cut", 2_000_000)


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
