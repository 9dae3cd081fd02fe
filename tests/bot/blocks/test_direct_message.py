"""Answers that go to the asker as a direct message: why, to which question, how late, and who sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.blocks.elements import context, markdown, question_line
from bot.blocks.messages import as_direct_message
from bot.blocks.words import ago
from bot.model.message import Audience, OutgoingMessage
from fake_slack.limits import check_message

HERE = "so here it is as a direct message"
ANSWER = OutgoingMessage(text="It is so.", blocks=(markdown("It is so."), context("a.example")))


def directly(*, part: int = 0, question: str | None = "why", public: bool = False, age: float = 0.0) -> OutgoingMessage:
    return as_direct_message(ANSWER, part=part, question=question, public=public, age=age)


def first_text(message: OutgoingMessage) -> str:
    return str(message.blocks[0]["elements"][0]["text"])


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (directly(), f"You asked “why”. I couldn’t post my answer there, {HERE}."),
        (
            directly(public=True),
            f"You asked “why”. I couldn’t post my answer for everyone there, {HERE} to you.",
        ),
        (
            directly(part=1),
            "You asked “why”. I couldn’t post the rest of my answer there, so here it is as a direct message.",
        ),
        (directly(age=119), f"You asked “why”. I couldn’t post my answer there, {HERE}."),
        (
            directly(age=7_260),
            "You asked “why” 2 hours ago. I couldn’t post my answer there, so here it is as a direct message.",
        ),
        (
            directly(question=" ", age=180),
            "You asked me something 3 minutes ago. I couldn’t post my answer there, so here it is as a direct message.",
        ),
    ],
)
def test_a_direct_message_gives_the_reason(message: OutgoingMessage, said: str) -> None:
    assert first_text(message) == said
    assert message.text.startswith(f"{said}\n")
    assert check_message({"text": message.text, "blocks": list(message.blocks)}) == []


@pytest.mark.parametrize(("public", "where"), [(False, "there"), (True, "for everyone there")])
def test_an_unconfirmed_answer_says_so(*, public: bool, where: str) -> None:
    message = as_direct_message(ANSWER, part=0, question="why", public=public, unconfirmed=True, age=0.0)

    assert f"Slack didn’t confirm my answer {where}" in first_text(message)
    assert "again as a direct message" in first_text(message)


def test_the_question_is_not_quoted_twice() -> None:
    quoted = question_line("why", Audience.ASKER)
    above = replace(ANSWER, text=f"“why”\n{ANSWER.text}", blocks=(*quoted, *ANSWER.blocks))

    message = as_direct_message(above, part=0, question="why", public=False, age=0.0)

    assert message == directly()


def test_a_digest_needs_no_reason() -> None:
    assert directly(question=None).blocks[0] == ANSWER.blocks[0]


def test_a_message_without_blocks_gets_none() -> None:
    message = as_direct_message(OutgoingMessage(text="It is so."), part=0, question="why", public=False, age=0)

    assert message.blocks == ()
    assert message.text.endswith("as a direct message.\n\nIt is so.")


@pytest.mark.parametrize("question", ["<!channel> " * 40, "x" * 5_000, "`*_~<@U1>|&amp;", "שלום", "\x00\ud800"])
def test_a_quoted_question_is_escaped(question: str) -> None:
    message = directly(question=question)

    assert "<!" not in first_text(message)
    assert "<@" not in first_text(message)
    assert check_message({"text": message.text, "blocks": list(message.blocks)}) == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "just now"), (59, "just now"), (60, "1 minute ago"), (3_599, "59 minutes ago"), (3_600, "1 hour ago"),
     (7_200, "2 hours ago"), (86_400, "1 day ago"), (400_000, "4 days ago")],
)  # fmt: skip
def test_how_long_ago(seconds: float, said: str) -> None:
    assert ago(seconds) == said


@pytest.mark.parametrize("text", ["word " * 780, "ü" * 1_990, "&amp;" * 780])
def test_the_fallback_text_stays_within_slack_s_limit(text: str) -> None:
    long = OutgoingMessage(text=text, blocks=ANSWER.blocks)
    message = as_direct_message(long, part=0, question="warum " * 40, public=True, age=9_000)

    assert check_message({"text": message.text, "blocks": list(message.blocks)}) == []
    assert message.text.startswith("You asked")
