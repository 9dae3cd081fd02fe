"""The form of a deep dive: what opens it, and what is said about an empty topic."""

from __future__ import annotations

from tests.driver import Driver
from tests.end_to_end.test_ask_form import assert_explained, assert_opens


async def test_the_command_alone_opens_its_form(harness: Driver) -> None:
    await assert_opens(harness, "/deepdive", "Deep dive", ["question", "audience", "ask_more"])


async def test_an_empty_topic_is_explained_below_its_field(harness: Driver) -> None:
    await assert_explained(harness, "deepdive", {"question": " "}, "question", "Write your topic.")
