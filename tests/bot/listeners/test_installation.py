"""The installation of one token, by a clock that the test moves."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from slack_sdk.web.async_client import AsyncWebClient

from bot.listeners.installation import AUTH_SECONDS, Installation
from bot.model.membership import Identity
from bot.model.question import NewQuestion
from bot.storage.installation import UNINSTALLED, WorkspaceStore
from bot.storage.questions import QuestionStore, connection_pool
from tests.fakes.slack import FakeSlack
from tests.fakes.time import Time


async def test_what_comes_late_after_an_uninstallation_is_deleted_within_a_minute(database: str) -> None:
    time, left, over = Time(1_000.0), list[bool](), asyncio.Event()
    late = NewQuestion(
        id=uuid4(),
        delivery_key="late",
        surface="im",
        command="ask",
        text="why",
        team_id="T1",
        channel_id="D1",
        user_id="U1",
        response_url=None,
    )
    async with connection_pool(database) as pool, FakeSlack() as slack:
        workspaces, questions = WorkspaceStore(pool), QuestionStore(pool)
        identity = Identity(team_id="T1")
        await workspaces.save(identity, token_hash="x")
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        await workspaces.close(identity, state=UNINSTALLED, token_hash="x", event_at=tomorrow)

        async def sleep(seconds: float) -> None:
            """Let another process accept a question once the first clean-up is over."""
            if not time.slept:
                await questions.insert(late)
            left.append(await questions.get(late.id) is not None)
            await time.sleep(seconds)
            if time.now > 1_000 + 2 * AUTH_SECONDS:
                over.set()
                await asyncio.Event().wait()

        client = AsyncWebClient(token="xoxb-revoked", base_url=slack.api_url, retry_handlers=[])
        installation = Installation(client=client, workspaces=workspaces, token_hash="x", clock=time.clock, sleep=sleep)
        running = asyncio.create_task(installation.run())
        async with asyncio.timeout(60):
            await over.wait()
        running.cancel()

    assert left == sorted(left, reverse=True)
    assert (left[0], left[-1]) == (True, False)
