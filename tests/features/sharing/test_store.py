"""Shares: one a channel, however many processes begin it."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from bot.features.sharing.posting import ShareState, ShareStore
from bot.model.question import NewQuestion
from bot.storage.questions import QuestionStore, connection_pool


def new_question() -> NewQuestion:
    number = uuid4()
    return NewQuestion(
        id=number,
        delivery_key=str(number),
        surface="slash",
        command="ask",
        text="w",
        team_id="T1",
        channel_id="C1",
        user_id="U1",
    )


async def test_of_many_that_begin_at_once_one_posts(database: str) -> None:
    question = new_question()
    async with connection_pool(database, size=8) as one, connection_pool(database, size=8) as other:
        await QuestionStore(one).insert(question)
        stores = [ShareStore(one), ShareStore(other)]
        begun = await asyncio.gather(*(stores[n % 2].begin(question.id, "C1") for n in range(20)))
        assert sum(begun) == 1
        assert await stores[0].begin(question.id, "C2")
        assert await stores[0].state(question.id, "C1") is ShareState.POSTING


async def test_only_what_was_surely_not_posted_can_be_shared_again(database: str) -> None:
    question = new_question()
    async with connection_pool(database, size=2) as pool:
        await QuestionStore(pool).insert(question)
        store = ShareStore(pool)
        await store.begin(question.id, "C1")
        await store.finish(question.id, "C1", ShareState.UNCONFIRMED)
        assert not await store.begin(question.id, "C1")
        assert await store.state(question.id, "C1") is ShareState.UNCONFIRMED
        await store.cancel(question.id, "C1")
        assert await store.begin(question.id, "C1")


async def test_an_answer_that_is_deleted_cannot_be_shared(database: str) -> None:
    async with connection_pool(database, size=1) as pool:
        assert not await ShareStore(pool).begin(uuid4(), "C1")
