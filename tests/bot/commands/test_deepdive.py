"""`/deepdive` and its options, and how a message asks for one."""

from __future__ import annotations

import pytest

from bot.blocks.base import Audience
from bot.commands.deepdive import DEEPDIVE, DeepDiveRequest
from bot.commands.threads import routed
from bot.errors import UsageError


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("heat pumps", DeepDiveRequest(topic="heat pumps", public=False)),
        ("  heat \n pumps --public", DeepDiveRequest(topic="heat   pumps", public=True)),
        ("--public heat pumps", DeepDiveRequest(topic="heat pumps", public=True)),
    ],
)
def test_a_topic_is_read(text: str, request_: DeepDiveRequest) -> None:
    assert DEEPDIVE.parse(text) == request_
    assert DEEPDIVE.audience(request_) is (Audience.CHANNEL if request_.public else Audience.ASKER)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--public", "no topic"),
        ("--model sonar heat", "own models"),
        ("--recency day heat", "latest"),
        ("--reasoning heat", "takes its time"),
        ("x" * 4_001, "at most 4,000"),
    ],
)
def test_what_cannot_be_asked_is_explained(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        DEEPDIVE.parse(text)

    assert problem in raised.value.problem


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("deepdive heat pumps", ("deepdive", "heat pumps")),
        ("DeepDive  heat", ("deepdive", "heat")),
        ("/deepdive heat", ("deepdive", "heat")),
        ("deepdive", ("ask", "deepdive")),
        ("deepdiving heat", ("ask", "deepdiving heat")),
        ("what is a deepdive", ("ask", "what is a deepdive")),
        ("ask why", ("ask", "ask why")),
    ],
)
def test_a_message_that_begins_with_its_name_asks_for_one(text: str, command: tuple[str, str]) -> None:
    assert routed(text) == command
