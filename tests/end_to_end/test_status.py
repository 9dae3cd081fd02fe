"""`/pplx status`, the health flag and the figures behind them, end to end."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.listeners.intake import MEMBER_FORBIDDEN
from bot.storage.calls import LAST_CALLS
from tests.driver import Driver
from tests.fakes.service import json_reply

BAD_KEY = {"error": {"type": "invalid_api_key", "message": "bad key"}}


async def status(harness: Driver, *, trigger: str) -> dict[str, Any]:
    """Ask for the status and return what the asker is shown in the end."""
    before = len(harness.slack.posts)
    ack = await harness.ask("/pplx status", trigger=trigger)
    assert "One moment" in ack["text"]
    await harness.slack.wait_for(before + 1)
    return harness.slack.posts[-1].payload


async def figures_hold(harness: Driver, words: str) -> dict[str, Any]:
    """Ask until the figures, which are written a second later, hold some words."""
    async with asyncio.timeout(60):
        number = 0
        while True:
            number += 1
            shown = await status(harness, trigger=f"status{number}")
            if words in str(shown["blocks"]):
                return shown
            await asyncio.sleep(0.2)


async def test_an_admin_sees_what_is_wrong_the_services_and_what_was_spent(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    await harness.ask("/ask why", trigger="q1")
    await harness.ask("/search why", trigger="q2")
    await harness.slack.wait_for(2)

    shown = await figures_hold(harness, "2 of 2 (100%)")

    assert [block["type"] for block in shown["blocks"]] == ["section", "section", "markdown", "section"]
    assert shown["blocks"][0]["text"]["text"] == "*Health*\nNothing is wrong."
    assert "| Perplexity | 2 of 2 (100%) |" in shown["blocks"][2]["text"]
    assert shown["blocks"][3]["text"]["text"] == "*Spent*  $0.0061 today, $0.0061 this month."
    assert "Service: Perplexity; Answered: 2 of 2 (100%)" in shown["text"]
    assert (shown["response_type"], harness.slack.refusals) == ("ephemeral", [])


async def test_only_the_asker_sees_it(harness: Driver) -> None:
    shown = await status(harness, trigger="t1")

    assert "Only admins of this workspace" in shown["text"]
    assert len(shown["blocks"]) == 1


async def test_whose_profile_cannot_be_read_is_no_admin(harness: Driver) -> None:
    harness.slack.workspace.scopes.remove("users:read")

    assert MEMBER_FORBIDDEN.replace("`", "") in (await status(harness, trigger="t1"))["text"]


async def test_a_rejected_key_is_shown_although_a_fallback_answers(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    harness.perplexity.fail("/v1/agent", status=401, body=BAD_KEY)
    await harness.ask("/ask --recency day why", trigger="q1")
    await harness.slack.wait_for(1, seconds=40)

    shown = await figures_hold(harness, "does not accept the configured key")
    ready = await harness.wait_until_ready()
    async with harness.session.get(f"{harness.url}/metrics") as response:
        metrics = await response.text()

    assert ready["providers"] == {"Perplexity": "AuthenticationError"}
    assert 'provider_needs_an_admin{provider="Perplexity"} 1.0' in metrics
    assert "Perplexity does not accept the configured key. Set a new key for it" in str(shown["blocks"])

    await harness.ask("/search why not", trigger="q9")
    async with asyncio.timeout(60):
        while (await harness.wait_until_ready())["providers"]:  # noqa: ASYNC110 - the app tells no one
            await asyncio.sleep(0.2)


async def test_status_with_more_words_is_explained(harness: Driver) -> None:
    ack = await harness.ask("/pplx status please")

    assert "without any text after it" in ack["text"]


async def test_what_keeps_every_question_from_an_answer_comes_first_with_the_next_step(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    harness.perplexity.lasting["/v1/agent"] = harness.perplexity.lasting["/search"] = json_reply({}, status=500)
    for number in range(LAST_CALLS):
        await harness.ask(f"/search why {number}", trigger=f"q{number}")
        await harness.wait_until_settled(number + 1)

    shown = await figures_hold(harness, "No question can be answered, since no search service answers. Wait until one")

    assert f"Perplexity answered none of its last {LAST_CALLS} calls." in str(shown["blocks"][0])
    assert (await harness.wait_until_ready())["worker"]

    harness.perplexity.lasting.clear()
