"""`/deepdive` and its options, and how a message asks for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from bot.commands.routing import route_message
from bot.errors import UsageError
from bot.features import COMMANDS
from bot.features.deepdive import DEEPDIVE, DeepDiveRequest, answer
from bot.model.message import Audience, OutgoingMessage
from perplexity.errors import RequestCancelled
from tests.bot.commands.test_help import shown_text
from tests.fakes.commands import command_context
from tests.fakes.provider import FakeProvider


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("heat pumps", DeepDiveRequest(topic="heat pumps", public=False)),
        ("  heat \n pumps --public", DeepDiveRequest(topic="heat   pumps", public=True)),
        ("--public heat pumps", DeepDiveRequest(topic="heat pumps", public=True)),
    ],
)
def test_a_topic_is_parsed(text: str, request_: DeepDiveRequest) -> None:
    assert DEEPDIVE.parse(text) == request_
    assert DEEPDIVE.audience(request_) is (Audience.CHANNEL if request_.public else Audience.ASKER)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--public", "Add a topic"),
        ("--model sonar heat", "own models"),
        ("--recency day heat", "latest"),
        ("--reasoning heat", "takes its time"),
        ("x" * 4_001, "up to 4,000"),
    ],
)
def test_a_usage_error_explains_the_problem(text: str, problem: str) -> None:
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
        ("ask why", ("ask", "why")),
    ],
)
def test_a_message_that_begins_with_the_name_starts_a_deep_dive(text: str, command: tuple[str, str]) -> None:
    assert route_message(text, COMMANDS) == command


@dataclass
class FailingProgress:
    """A progress of which so much arrives as `arrives` says, one by one; then the question is stopped."""

    arrives: Sequence[bool]
    editable: bool = False
    milestones_shown: int = 0
    response_url_uses: int = 0
    milestones: list[bool] = field(default_factory=list)

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool:
        if len(self.milestones) == len(self.arrives):
            raise RequestCancelled("stopped")
        self.milestones.append(milestone)
        return self.arrives[len(self.milestones) - 1]


async def test_a_milestone_that_did_not_arrive_is_shown_again() -> None:
    progress = FailingProgress([False, False, True, False])
    work = command_context(FakeProvider("Slow", hangs=True), progress=progress)

    with pytest.raises(RequestCancelled):
        await answer(DEEPDIVE.parse("heat pumps"), work, pace_seconds=0.01)
    assert progress.milestones == [True, True, True, False]


@pytest.mark.parametrize(("text", "for_everyone"), [("heat & pumps", False), ("--public heat & pumps", True)])
def test_the_ack_of_a_deep_dive_has_a_stop_button_and_stays_true(text: str, for_everyone: bool) -> None:
    message = DEEPDIVE.pending_message(DEEPDIVE.parse(text), question_id="7", public=for_everyone)

    assert shown_text(message).startswith("*Deep dive*  “heat &amp; pumps”\nThe report has three parts")
    assert ("It is for everyone here." in shown_text(message), "public" in shown_text(message)) == (for_everyone, False)
    (button,) = message.blocks[1]["elements"]
    assert (button["action_id"], button["value"]) == ("stop", "7")
