"""Socket Mode, for development: the same questions and answers, over a connection that the app opens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession

from fake_slack import payloads
from tests.driver import KEY
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import BOT_USER, actor, event_envelope, slash_command
from tests.fakes.process import Process
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_socket import FakeSlackSocket

WORDS = "canary-words-of-a-person"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A Slack that only speaks over the socket, and the app connected to it."""

    slack: FakeSlack
    socket: FakeSlackSocket
    process: Process

    async def types(self, text: str, *, trigger: str) -> str:
        """Send a slash command and return what its ack shows."""
        command = slash_command(text, trigger=trigger, user="U1", url=self.slack.response_url(trigger))
        ack = await self.socket.deliver("slash_commands", command)
        shown: str = ack["payload"]["text"]
        return shown


async def started(slack: FakeSlack, perplexity: FakePerplexity, database: str, **variables: Any) -> Process:
    return await Process.start(
        "run",
        SLACK_BOT_TOKEN=BOT_TOKEN,
        SLACK_APP_TOKEN=APP_TOKEN,
        SLACK_API_URL=slack.api_url,
        PERPLEXITY_API_KEY=KEY,
        PERPLEXITY_BASE_URL=perplexity.base_url,
        DATABASE_URL=database,
        LOG_LEVEL="DEBUG",
        **variables,
    )


@pytest.fixture
async def workspace(slack: FakeSlack, perplexity: FakePerplexity, database: str) -> AsyncIterator[Workspace]:
    async with FakeSlackSocket() as socket:
        slack.socket_url = socket.url
        process = await started(slack, perplexity, database)
        await socket.connected(1)
        yield Workspace(slack=slack, socket=socket, process=process)
        if process.process.returncode is None:
            await process.kill()


async def test_questions_are_answered_before_and_after_slack_recycles_the_connection(workspace: Workspace) -> None:
    assert "Searching" in await workspace.types("/ask why", trigger="t1")
    await workspace.slack.wait_for(1)
    await workspace.socket.recycle()
    await workspace.socket.connected(2)
    assert "Searching" in await workspace.types("/ask why not", trigger="t2")
    posts = await workspace.slack.wait_for(2)

    assert [post.payload["token"] for post in posts] == ["t1", "t2"]


async def test_a_connection_that_ends_without_a_word_is_made_again(workspace: Workspace) -> None:
    await workspace.socket.cut()
    await workspace.socket.connected(2, seconds=20)

    assert "Searching" in await workspace.types("/ask why", trigger="t1")


async def test_a_mention_is_answered_in_its_thread(workspace: Workspace) -> None:
    event = {"type": "app_mention", "channel": "C1", "text": f"<@{BOT_USER}> why", "ts": "1795255200.000100"}
    ack = await workspace.socket.deliver("events_api", event_envelope(event, user="U1", id="Ev1"))
    (line, *_) = await workspace.slack.wait_for(1)

    assert "payload" not in ack
    assert (line.payload["channel"], line.payload["thread_ts"]) == ("C1", "1795255200.000100")


async def test_a_wrong_question_is_explained_in_the_ack(workspace: Workspace) -> None:
    assert "--recency" in await workspace.types("/ask --recency soon why", trigger="t1")


async def test_it_says_that_it_is_for_development_and_logs_no_words(workspace: Workspace) -> None:
    await workspace.types(f"/ask {WORDS}", trigger="t1")
    await workspace.process.logs("question.settled", 1)
    code = await workspace.process.terminate()
    everything = "\n".join([*workspace.process.log, *workspace.process.output])

    assert code == 0
    assert workspace.process.prints("for development")
    assert [word for word in (WORDS, APP_TOKEN, BOT_TOKEN, "Example answer") if word in everything] == []


async def test_the_health_pages_are_there_and_signed_requests_are_not_taken(
    workspace: Workspace, session: ClientSession
) -> None:
    async with session.get(f"{workspace.process.url}/healthz") as healthy:
        assert healthy.status == 200
    async with session.post(f"{workspace.process.url}/slack/events") as refused:
        assert refused.status == 404


async def test_a_token_that_slack_refuses_ends_the_start_with_the_reason(
    slack: FakeSlack, perplexity: FakePerplexity, database: str
) -> None:
    with pytest.raises(AssertionError, match=r"Slack rejects SLACK_APP_TOKEN \(invalid_auth\)"):
        await Process.start(
            "run",
            SLACK_BOT_TOKEN=BOT_TOKEN,
            SLACK_APP_TOKEN="xapp-another",
            SLACK_API_URL=slack.api_url,
            DATABASE_URL=database,
        )


async def test_a_form_is_opened_and_submitted(workspace: Workspace) -> None:
    workspace.slack.views.issue_trigger("U1", id="s1")
    opened = payloads.global_shortcut(actor("U1"), "ask_anything", trigger_id="s1", action_ts="1.3")
    await workspace.socket.deliver("interactive", opened)
    view = workspace.slack.views.enter(workspace.slack.modal(), {"question": {"question": "why"}})
    shown = view.as_slack(workspace.slack.workspace.owner())
    submitted = payloads.view_submission(actor("U1"), view=shown, trigger_id="s2")
    ack = await workspace.socket.deliver("interactive", submitted)

    assert not ack.get("payload")
    await workspace.slack.wait_until(
        lambda: any("Example answer" in str(message) for message in workspace.slack.shown.values())
    )
