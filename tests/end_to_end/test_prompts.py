"""Suggested questions, end to end: the messages tab is opened, and the app suggests what to ask there."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from bot.commands.routing import EXAMPLES
from tests.driver import Driver
from tests.fakes.slack import Fault

METHOD = "assistant.threads.setSuggestedPrompts"
EXAMPLE_MESSAGES = [prompt.message for prompt in EXAMPLES]


async def open_tab(harness: Driver, *, user: str = "U1", **event: Any) -> int:
    opened = {"type": "app_home_opened", "channel": f"D{user}", "tab": "messages", "event_ts": "1795255200.000100"}
    person = replace(harness.person, user=user)
    async with await person.event(opened | event, id="Ev3") as response:
        return response.status


def suggested(harness: Driver) -> list[list[str]]:
    """Return the messages of the prompts, call by call."""
    calls = [arguments for method, arguments in harness.slack.calls if method == METHOD]
    assert all(set(call) == {"channel_id", "prompts"} for call in calls)
    return [[prompt["message"] for prompt in call["prompts"]] for call in calls]


async def ask_directly(harness: Driver, texts: list[str], *, user: str, second: int) -> None:
    """Ask these questions as a person, one after the other."""
    person = replace(harness.person, user=user)
    for number, text in enumerate(texts):
        ts = f"17952{second}{number:02}.000100"
        async with await person.send_direct_message(text, ts=ts, channel=f"D{user}") as response:
            assert response.status == 200


async def test_whoever_opens_the_tab_for_the_first_time_sees_examples(harness: Driver) -> None:
    assert await open_tab(harness) == 200

    assert suggested(harness) == [EXAMPLE_MESSAGES]


async def test_after_ten_questions_they_are_the_persons_own(harness: Driver) -> None:
    await ask_directly(harness, ["help", "why <https://a.example|a.example> &amp; co"], user="U1", second=550)
    await harness.wait_until_settled(2)
    for batch in range(4):
        numbers = [f"question {batch}{number}" for number in range(2)]
        await ask_directly(harness, [*numbers, f"question {batch}0"], user="U1", second=551 + batch)
        await harness.wait_until_settled(2 + 3 * (batch + 1))
    await ask_directly(harness, ["search postgres vacuum"], user="U1", second=557)
    await harness.wait_until_settled(15)
    await ask_directly(harness, ["the secret of another person"], user="U2", second=558)
    await harness.mention("in a channel", ts="1795255900.000100")
    await harness.wait_until_settled(17)
    await open_tab(harness)
    await open_tab(harness, user="U2")

    own, others = suggested(harness)
    assert own == ["search postgres vacuum", "question 30", "question 31", "question 20"]
    assert others == EXAMPLE_MESSAGES


@pytest.mark.parametrize("event", [{"tab": "home"}, {"tab": None}, {"channel": ""}], ids=str)
async def test_other_tabs_get_no_suggestions(harness: Driver, event: dict[str, Any]) -> None:
    assert await open_tab(harness, **event) == 200

    assert suggested(harness) == []


async def test_a_person_from_elsewhere_gets_none(harness: Driver) -> None:
    assert await open_tab(harness, user_team="T2") == 200

    assert suggested(harness) == []


@pytest.mark.parametrize("error", ["not_allowed_token_type", "missing_scope", "feature_not_enabled", "ratelimited"])
async def test_if_slack_refuses_there_are_none_and_one_line_in_the_log(
    harness: Driver, caplog: pytest.LogCaptureFixture, error: str
) -> None:
    harness.slack.fail(METHOD, Fault(status=200, body=json.dumps({"ok": False, "error": error})))
    with caplog.at_level(logging.INFO, logger="bot"):
        assert await open_tab(harness) == 200

    assert [vars(one)["error"] for one in caplog.records if one.message == "prompts.refused"] == [error]
    assert harness.slack.posts == []


async def test_if_slack_hangs_the_event_is_acknowledged_in_time(harness: Driver) -> None:
    harness.slack.fail(METHOD, Fault(status=200, seconds=20.0))

    assert await open_tab(harness) == 200
