"""What a message shows, whose it is and who called, read from what the stand-ins remember."""

from __future__ import annotations

from typing import Any

import pytest

from bot.commands.ask import ASK
from bot.commands.help import text_message, too_many_open_message
from bot.commands.status import STATUS
from bot.listeners import messages, slash
from fake_slack.timeline import Author, SlackMessage
from tests.chaos.evidence import calls, copies, shows
from tests.chaos.judge import NoticeKind, Shows
from tests.chaos.load import read_notice
from tests.fakes.service import Served
from tests.fakes.slack import FakeSlack, Post

ANSWER = {"text": "Example answer", "blocks": [{"type": "markdown", "text": "Example answer"}]}
RETRY = {"type": "actions", "elements": [{"type": "button", "action_id": "retry"}]}


WAITING = ASK.pending_message(ASK.parse("why"), question_id="7")


def message_of(payload: dict[str, Any]) -> SlackMessage:
    return SlackMessage(**payload | {"author": Author.APP, "blocks": tuple(payload["blocks"])})


def shown(message: Any) -> dict[str, Any]:
    return {"text": message.text, "blocks": list(message.blocks)}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (ANSWER, Shows.ANSWER),
        ({"text": "plain words"}, Shows.ANSWER),
        ({"text": "Sorry", "blocks": [RETRY]}, Shows.FAILURE),
        (shown(WAITING), Shows.WAITING),
        (shown(STATUS.pending_message(STATUS.parse(""), question_id="7")), Shows.WAITING),
        (shown(text_message(messages.NOT_SAVED)), Shows.OTHER),
    ],
)
def test_what_a_message_shows(message: dict[str, Any], expected: Shows) -> None:
    assert shows(message) is expected


def test_what_an_ack_says() -> None:
    refused = too_many_open_message([("ask", "why", 1.0)]).text
    said = [WAITING.text, refused, slash.NOT_SAVED]

    assert [read_notice(text) for text in said] == [NoticeKind.TAKEN, NoticeKind.REFUSED, NoticeKind.MAYBE]


def test_messages_belong_to_who_asked_by_url_by_thread_and_by_person() -> None:
    slack = FakeSlack()
    slack.posts.append(Post(method="response_url", payload=ANSWER | {"token": "zq00001"}, at=1.0, acknowledged=False))
    for ts, channel, thread in (("2.0", "C1", "1.5"), ("3.0", "DUZQ00003", None), ("4.0", "C1", "9.9")):
        message = ANSWER | {"channel": channel, "ts": ts, "thread_ts": thread}
        slack.posts.append(Post(method="chat.postMessage", payload=message, at=float(ts)))
        slack.timeline.put(message_of(message))
    slack.posts.append(Post(method="chat.postEphemeral", payload={"channel": "C1", "user": "U1", "text": "only you"}))

    found = list(copies(slack, {"1.5": "zq00002"}))

    assert [(one.question, one.at, one.direct, one.acknowledged) for one in found] == [
        ("zq00001", 1.0, False, False),
        ("zq00002", 2.0, False, True),
        ("zq00003", 3.0, True, True),
    ]


def test_an_update_in_place_is_one_copy_of_the_moment_of_the_update() -> None:
    slack = FakeSlack()
    waiting = shown(WAITING) | {"channel": "C1", "ts": "2.0", "thread_ts": "1.5"}
    slack.posts.append(Post(method="chat.postMessage", payload=waiting, at=2.0))
    slack.posts.append(Post(method="chat.update", payload=ANSWER | {"channel": "C1", "ts": "2.0"}, at=5.0))
    slack.timeline.put(message_of(waiting | ANSWER))

    (copy,) = copies(slack, {"1.5": "zq00002"})

    assert (copy.shows, copy.at) == (Shows.ANSWER, 5.0)


def test_a_call_is_of_the_question_in_it_and_of_the_process_that_its_user_agent_names() -> None:
    perplexity = Served(
        path="/search", headers={"User-Agent": "web-answers/1.0 worker1"},
        content='{"query": "a zq00001"}', began=1.0, ended=2.0,
    )  # fmt: skip
    brave = Served(
        path="/llm/context", headers={"User-Agent": "web-answers/1.0 worker2"}, content="q=a+zq00002", began=3.0
    )
    models = Served(path="/v1/models", headers={}, content="", began=0.0, ended=0.1)

    found = list(calls([perplexity, brave, models], provider="any"))

    assert [(one.question, one.process, one.failed) for one in found] == [
        ("zq00001", "worker1", False),
        ("zq00002", "worker2", True),
    ]
