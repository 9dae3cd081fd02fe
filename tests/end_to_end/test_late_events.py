"""Slack's Delayed Events: a message that is delivered late is answered with a note, an old one after a question."""

from __future__ import annotations

import time

import pytest

from tests.driver import Driver

RETRY = {"X-Slack-Retry-Num": "4", "X-Slack-Retry-Reason": "http_timeout"}


def written(seconds: float) -> str:
    """Return the `ts` of a message that was written so many seconds ago."""
    return f"{time.time() - seconds:.6f}"


async def write(harness: Driver, ts: str, *, headers: dict[str, str] | None = None) -> None:
    event = {"type": "message", "channel": "DU1", "channel_type": "im", "text": "why is it so", "ts": ts}
    assert await harness.event(event, headers=headers) == 200
    await harness.wait_until_settled(1)


def shown(harness: Driver) -> str:
    return " ".join(post.shown_text for post in harness.slack.posts)


async def test_a_message_of_twenty_minutes_ago_is_answered_and_says_so(harness: Driver) -> None:
    await write(harness, written(1200), headers=RETRY)

    assert "You asked this 20 minutes ago; I couldn’t answer before." in " ".join(
        map(str, harness.slack.shown.values())
    )
    assert len(harness.perplexity.requests) == 1


@pytest.mark.parametrize(("seconds", "headers"), [(300, RETRY), (1200, None)])
async def test_a_usual_message_says_nothing(harness: Driver, seconds: float, headers: dict[str, str] | None) -> None:
    await write(harness, written(seconds), headers=headers)

    assert "You asked this" not in " ".join(map(str, harness.slack.shown.values()))


async def test_a_message_of_three_hours_ago_is_answered_only_after_a_click(harness: Driver) -> None:
    ts = written(3 * 3600)
    await write(harness, ts, headers=RETRY)

    assert harness.perplexity.requests == []
    message = next(iter(harness.slack.shown.values()))
    assert "You asked “why is it so” 3 hours ago, and it reached me only now." in message["text"]

    await harness.click(message, "retry", channel="DU1")
    await harness.wait_until_settled(2)

    assert len(harness.perplexity.requests) == 1
    (answer,) = harness.slack.shown.values()
    assert "Do you still want an answer" not in str(answer)


async def test_the_same_late_delivery_twice_asks_once(harness: Driver) -> None:
    ts = written(3 * 3600)
    await write(harness, ts, headers=RETRY)
    await write(harness, ts, headers=RETRY)

    assert len(harness.slack.shown) == 1
