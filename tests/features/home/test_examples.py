"""An example that is replayed is listed, and counts as no question of the month."""

from __future__ import annotations

from bot.features.home.store import HomeStore
from bot.storage.questions import connection_pool
from tests.driver import wait_for_rows
from tests.end_to_end.test_examples import answered, keyless
from tests.fakes.first_run import RecordedPauses


async def test_an_example_is_listed_and_not_counted(database: str) -> None:
    async with keyless(database, pause=RecordedPauses()) as browser:
        await answered(browser, "/ask Why is the sky blue?", "sky")
        await wait_for_rows(database, "SELECT state FROM questions", [("answered",)])

    async with connection_pool(database) as pool:
        async with pool.connection() as connection:
            (asked,) = await (await connection.execute("SELECT team_id, user_id FROM questions")).fetchall()
        used = await HomeStore(pool).read(asked["team_id"], asked["user_id"], commands=["ask"])
    assert (used.questions, used.cost, len(used.recent)) == (0, 0, 1)
