"""The form of settings gone wrong: a deleted channel, a lost `trigger_id`, a double click."""

from __future__ import annotations

import json

import psycopg

from bot.views.base import TOO_LATE
from tests.driver import Driver
from tests.end_to_end.test_interaction_faults import LATE


async def test_deleted_channel__its_settings_stay_and_the_person_is_told(harness: Driver) -> None:
    message = await harness.answered("/pplx settings channel")
    harness.slack.delete_channel()
    await harness.click(message, "settings_modal")
    view = harness.slack.modal()

    assert not [block for block in view.blocks if str(block.get("block_id")).startswith("channel:")]
    assert "can change its settings" in json.dumps(view.content, ensure_ascii=False)
    assert await harness.submit(**{"own:language": "fr"}) == {}


async def test_lost_trigger__the_settings_say_so(harness: Driver) -> None:
    message = await harness.answered("/pplx settings channel")
    harness.slack.fail("views.open", LATE)

    assert await harness.told(message, "settings_modal") == TOO_LATE


async def test_double_click__settings_are_saved_once(harness: Driver, database: str) -> None:
    await harness.click(await harness.answered("/pplx settings channel"), "settings_modal")
    await harness.submit_twice(**{"own:language": "fr"})

    async with await psycopg.AsyncConnection.connect(database) as connection:
        chosen = await (await connection.execute("SELECT settings FROM person_settings")).fetchall()
    assert chosen == [({"language": "fr"},)]
