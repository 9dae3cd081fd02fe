"""What can be shared besides an answer in its place: a report's sections, and an answer that is opened in Home."""

from __future__ import annotations

import re

import pytest

from tests.driver import Driver, actions
from tests.features.deepdive.test_deepdive import HEADINGS, posts, settings
from tests.features.home.test_home import open_private

__all__ = ["posts", "settings"]

pytestmark = pytest.mark.features("deepdive", "home", "sharing")


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


async def test_an_answer_that_is_opened_again_can_be_shared(harness: Driver) -> None:
    await open_private(harness)
    answer = harness.slack.modal()

    await harness.press(answer, "share")

    opened = harness.slack.modal()
    assert opened.content["title"]["text"].startswith("Share")
    assert opened.id != answer.id
