"""Budgets that admins set, notices of what is spent, and the pause of all spending."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.driver import Driver, Processes
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.slack import FakeSlack
from tests.spending import asked, booked, wait_for

pytestmark = pytest.mark.trust(23)


def notices(harness: Driver) -> list[Any]:
    """Return what an admin got as direct messages."""
    return [post for post in harness.slack.posts if post.payload.get("channel") == "DU0ADMIN"]


@pytest.mark.settings(budget_user_day_usd=Decimal("0.021"), admin_user_ids="U0ADMIN")
class TestWithNamedAdmins:
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


async def test_admins_see_and_hear_who_has_paused_all_spending(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    await harness.ask("/pplx pause", trigger="t1")
    await asked(harness, "/pplx budget", trigger="t2")

    shown = harness.slack.posts[-1].payload
    assert {"type": "user", "user_id": "U1"} in shown["blocks"][0]["elements"][0]["elements"]
    assert shown["text"].startswith("All paid searches are paused by U1. Type /pplx resume to allow them again.\n")


async def switch(workspace: Processes, process: Any, command: str, *, person: int = 0) -> str:
    """Return what the acknowledgement of `/pplx pause` or `/pplx resume` says."""
    async with await workspace.person(process, person).type_command(f"/pplx {command}", trigger=command) as response:
        return str((await response.json())["text"])


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
