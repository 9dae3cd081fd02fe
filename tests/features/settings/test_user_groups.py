"""Admins and askers by Slack user group, through the front door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bot.listeners.intake import MEMBERS_ONLY
from bot.preferences import NOT_ADMIN
from bot.worker.runner import ALLOWED_UNKNOWN, NOT_ALLOWED_HERE
from tests.driver import Driver
from tests.end_to_end.test_outsiders import GUESTS
from tests.fakes.slack import refusal
from tests.rare import one_in

ALLOW = "/pplx settings workspace allow a.example"


pytestmark = pytest.mark.settings(admin_user_ids="U5,S9")


async def test_a_member_of_the_group_is_an_admin__and_no_other_member(harness: Driver) -> None:
    harness.slack.workspace.groups = {"S9": ["U8"]}
    assert NOT_ADMIN in json.dumps(await harness.as_user("U7").answered(ALLOW))
    assert "Saved." in json.dumps(await harness.as_user("U8").answered(ALLOW))


@pytest.mark.parametrize("kind", one_in(4, GUESTS))
async def test_a_guest_in_the_group_is_none(harness: Driver, kind: str) -> None:
    harness.slack.workspace.groups = {"S9": ["U7"]}
    harness.slack.workspace.profiles["U7"] = dict(GUESTS[kind])
    before = len(harness.slack.posts)
    async with await harness.as_user("U7").person.type_command(ALLOW, trigger="t1") as response:
        told = await response.text()
    if MEMBERS_ONLY not in told:
        await harness.slack.wait_for(before + 1)
        assert NOT_ADMIN in harness.slack.posts[-1].shown_text or MEMBERS_ONLY in harness.slack.posts[-1].shown_text


@pytest.mark.parametrize("error", ["missing_scope", "no_such_subteam", "internal_error"])
async def test_without_a_list_no_one_is_in_the_group__and_the_asker_is_told_why(harness: Driver, error: str) -> None:
    harness.slack.workspace.groups = {"S1": ["U1"], "S9": ["U8"]}
    harness.slack.fail("usergroups.users.list", *[refusal(error)] * 9)
    assert NOT_ADMIN in json.dumps(await harness.as_user("U8").answered(ALLOW))
    await harness.as_user("U5").answered("/pplx settings channel askers S1")

    told = json.dumps(await harness.answered("/ask why"), ensure_ascii=False)

    assert (NOT_ALLOWED_HERE if error == "no_such_subteam" else ALLOWED_UNKNOWN) in told
    assert harness.perplexity.requests == []


async def test_the_form_keeps_and_takes_groups(harness: Driver) -> None:
    admin = harness.as_user("U5")
    await admin.answered("/pplx settings channel askers U1 S1")
    await admin.ask("/pplx settings", trigger="t1")
    inputs: Mapping[str, Any] = {
        block["block_id"]: block["element"] for block in harness.slack.modal("U5").blocks if block["type"] == "input"
    }
    assert (inputs["people"]["initial_users"], inputs["groups"]["initial_value"]) == (["U1"], "S1")

    assert await harness.as_user("U5").submit(people=[], groups="S1, S2") == {}

    named = [
        block for block in (await admin.answered("/pplx settings channel"))["blocks"] if block["type"] == "rich_text"
    ]
    assert ("U1" in json.dumps(named), "S1" in json.dumps(named), "S2" in json.dumps(named)) == (False, True, True)
