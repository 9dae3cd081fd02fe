"""Who waits for a turn at a service is told so, with the time, and can stop; the service's limit is full here."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any, LiteralString

import pytest

from tests.driver import Driver, stop_button
from tests.fakes.slack import Post

FILL: LiteralString = """
    INSERT INTO provider_turns (lane, at, left_at)
    SELECT lane, now() - interval '35 seconds', now() - interval '35 seconds'
    FROM provider_limits, generate_series(1, per_minute)
"""
"""Let as many calls have left as the service takes in a minute, so that the next one leaves in 25.5 seconds."""

SOON = r"about (?:20|25|30) s\."
"""What is said of that on a slow machine, too."""


pytestmark = pytest.mark.settings(provider_limits="perplexity.answer=50/min")


async def fill(harness: Driver) -> None:
    """Have a first question answered, which writes the lane down, and then the lane full."""
    await harness.ask("/ask what is first?", trigger="first")
    await harness.wait_until_settled(1)
    await harness.execute(FILL)


async def ask(harness: Driver, user: str, text: str = "why?") -> dict[str, Any]:
    return await replace(harness, person=replace(harness.person, user=user)).ask(
        f"/ask {text}", trigger=f"{user}{text}"
    )


def told(posts: list[Post]) -> list[str]:
    return [post.shown_text for post in posts if " ahead of y" in post.shown_text]


async def until(harness: Driver, query: LiteralString, expected: int) -> None:
    async with asyncio.timeout(60):
        while await harness.rows(query) != [(expected,)]:  # noqa: ASYNC110 - the worker's work, in the database
            await asyncio.sleep(0.05)


async def test_a_command_is_acknowledged_with_who_is_ahead_and_for_how_long(harness: Driver) -> None:
    first = await harness.ask("/ask what is first?", trigger="first")
    await harness.wait_until_settled(1)
    assert " ahead of y" not in first["text"]
    await harness.execute(FILL)

    shown = [(await ask(harness, user))["text"] for user in ("U2", "U3", "U4")]
    shown.append((await ask(harness, "U2", "what else?"))["text"])

    for text, ahead in zip(shown, ["No one is", "1 person is", "2 people are", "2 people are"], strict=True):
        assert re.search(rf"{ahead} ahead of you: {SOON}", text)
    await harness.execute("DELETE FROM provider_turns")
    await harness.wait_until_settled(5)


async def test_what_was_said_is_corrected_once_if_it_takes_much_longer(harness: Driver) -> None:
    await fill(harness)
    assert re.search(SOON, (await ask(harness, "U2"))["text"])

    await harness.execute("UPDATE provider_turns SET at = at + interval '10 minutes'")
    corrected = await harness.slack.wait_for_text(" ahead of y")
    await harness.execute("DELETE FROM provider_turns")
    await harness.wait_until_settled(2)

    assert "No one is ahead of you: about 11 min." in corrected.shown_text
    assert corrected.payload["replace_original"]
    assert corrected.payload["response_type"] == "ephemeral"
    assert stop_button(corrected.payload)
    assert len(told(harness.slack.posts)) == 1
    answers = [post for post in harness.slack.posts if "sources" in post.shown_text]
    assert answers[-1].payload["replace_original"]


async def test_a_message_shows_it_in_its_thread_s_status_until_it_is_begun(harness: Driver) -> None:
    await fill(harness)
    await replace(harness, person=replace(harness.person, user="U2")).mention("why?", ts="1795255200.000200")
    await replace(harness, person=replace(harness.person, user="U3")).send_direct_message(
        "how?", ts="1795255200.000300"
    )

    def statuses(thread: str) -> list[str]:
        calls = [call for method, call in harness.slack.calls if method == "assistant.threads.setStatus"]
        return [call["status"] for call in calls if call["thread_ts"] == thread]

    await harness.slack.wait_until(lambda: bool(statuses("1795255200.000200") and statuses("1795255200.000300")))
    await harness.execute("DELETE FROM provider_turns")
    await harness.wait_until_settled(3)
    await harness.slack.wait_until(lambda: statuses("1795255200.000300")[-1] == "")

    assert re.fullmatch(rf"is busy\. No one is ahead of you: {SOON}", statuses("1795255200.000200")[0])
    assert re.fullmatch(rf"is busy\. 1 person is ahead of you: {SOON}", statuses("1795255200.000300")[0])


async def test_stop_while_waiting_frees_the_place_and_costs_nothing(harness: Driver) -> None:
    await fill(harness)
    question = stop_button(await ask(harness, "U2"))
    assert "1 person is ahead" in (await ask(harness, "U3"))["text"]
    turns, ledger = "SELECT count(*) FROM provider_turns", "SELECT count(*) FROM ledger"
    before = await harness.rows(turns), await harness.rows(ledger), len(harness.perplexity.requests)

    await harness.as_user("U2").click_button("stop", question, token="stop")

    # The lane is full all the time: only the other question waits on.
    await until(harness, "SELECT count(*) FROM procrastinate_jobs", 1)
    assert "1 person is ahead" in (await ask(harness, "U4"))["text"]
    assert (await harness.rows(turns), await harness.rows(ledger), len(harness.perplexity.requests)) == before
    await harness.slack.wait_for_text("*Stopped")
    await harness.execute("DELETE FROM provider_turns")
    await harness.wait_until_settled(4)
