"""The buttons that other features put below a report, and below an answer that is opened in Home."""

from __future__ import annotations

import json
import re

import pytest

from tests.driver import Driver, actions, asked_in
from tests.features.deepdive.test_deepdive import HEADINGS, posts, settings
from tests.features.home.test_home import open_private

__all__ = ["posts", "settings"]

pytestmark = pytest.mark.features("ask_about", "deepdive", "home", "sharing")


async def test_a_private_report_can_be_shared_by_its_sections(harness: Driver) -> None:
    await harness.answered("/deepdive heat pumps")
    report = harness.last_answer().payload
    assert [action for action in actions(report) if action != "as_file"] == ["follow_up", "share", "sources", "more"]
    await harness.click(report, "share")
    sections = harness.slack.modal().blocks[1]["element"]["options"]
    assert [option["text"]["text"] for option in sections] == ["THE SITUATION", "THE PUBLIC PULSE", "MY ANALYSIS"]
    await harness.submit(parts=["0", "1", "2"])
    await harness.slack.wait_until(lambda: any(post.payload.get("channel") == "C1" for post in harness.slack.posts))
    (shared,) = (post for post in harness.slack.posts if post.payload.get("channel") == "C1")
    assert re.findall(r"## ([A-Z ]+)", shared.markdown) == [heading.upper() for heading in HEADINGS]
    assert "[[3]](https://x.com/ada/status/1111)" in shared.shown_text


async def test_a_private_report_can_be_asked_on(harness: Driver) -> None:
    await harness.answered("/deepdive heat pumps")

    await harness.click(harness.last_answer().payload, "follow_up")
    await harness.submit(question="And in flats?")
    await harness.settle()
    first, answered, last = (turn["content"] for turn in asked_in(harness.perplexity.requests[-1]))
    assert (first, last) == ("heat pumps", "And in flats?")
    assert "MY ANALYSIS" in answered


@pytest.mark.parametrize(("action", "title"), [("share", "Share"), ("follow_up", "Ask a follow-up")])
async def test_an_answer_that_is_opened_again_has_its_buttons(harness: Driver, action: str, title: str) -> None:
    await open_private(harness)
    answer = harness.slack.modal()

    await harness.press(answer, action)

    opened = harness.slack.modal()
    assert opened.content["title"]["text"].startswith(title)
    assert opened.id != answer.id


async def test_a_follow_up_of_an_answer_that_is_opened_again_comes_as_a_direct_message(harness: Driver) -> None:
    await open_private(harness)
    await harness.press(harness.slack.modal(), "follow_up")

    assert await harness.submit(question="and in Bonn?") == {}
    await harness.wait_until_settled(2)

    assert str(harness.slack.posts[-1].payload["channel"]).startswith("D")
    assert "why is it so" in json.dumps(harness.perplexity.requests[-1].json)
