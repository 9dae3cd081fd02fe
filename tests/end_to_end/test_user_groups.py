"""Admins and askers by Slack user group, through the front door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.listeners.admission import MEMBERS_ONLY
from bot.preferences.settings import NOT_ADMIN
from bot.settings import Settings
from bot.worker.runner import ALLOWED_UNKNOWN, NOT_ALLOWED_HERE
from tests.end_to_end.answer_buttons import ask, submit
from tests.end_to_end.conftest import AppHarness
from tests.fakes.slack import refusal
from tests.trust.test_21_outsiders import GUESTS

ALLOW = "/pplx settings workspace allow a.example"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"admin_user_ids": "U5,S9"})


def of(harness: AppHarness, user: str) -> AppHarness:
    return replace(harness, person=replace(harness.person, user=user))


async def test_a_member_of_the_group_is_an_admin__and_no_other_member(harness: AppHarness) -> None:
    harness.slack.workspace.groups = {"S9": ["U8"]}
    assert NOT_ADMIN in json.dumps(await ask(of(harness, "U7"), ALLOW))
    assert "Saved." in json.dumps(await ask(of(harness, "U8"), ALLOW))


@pytest.mark.parametrize("kind", GUESTS)
async def test_a_guest_in_the_group_is_none(harness: AppHarness, kind: str) -> None:
    harness.slack.workspace.groups = {"S9": ["U7"]}
    harness.slack.workspace.profiles["U7"] = dict(GUESTS[kind])
    before = len(harness.slack.posts)
    async with await of(harness, "U7").person.type_command(ALLOW, trigger="t1") as response:
        told = await response.text()
    if MEMBERS_ONLY not in told:
        await harness.slack.wait_for(before + 1)
        assert NOT_ADMIN in harness.slack.posts[-1].shown_text or MEMBERS_ONLY in harness.slack.posts[-1].shown_text


@pytest.mark.parametrize("error", ["missing_scope", "no_such_subteam", "internal_error"])
async def test_without_a_list_no_one_is_in_the_group__and_the_asker_is_told_why(
    harness: AppHarness, error: str
) -> None:
    harness.slack.workspace.groups = {"S1": ["U1"], "S9": ["U8"]}
    harness.slack.fail("usergroups.users.list", *[refusal(error)] * 9)
    assert NOT_ADMIN in json.dumps(await ask(of(harness, "U8"), ALLOW))
    await ask(of(harness, "U5"), "/pplx settings channel askers S1")

    told = json.dumps(await ask(harness, "/ask why"), ensure_ascii=False)

    assert (NOT_ALLOWED_HERE if error == "no_such_subteam" else ALLOWED_UNKNOWN) in told
    assert harness.perplexity.requests == []


async def test_the_form_keeps_and_takes_groups(harness: AppHarness) -> None:
    admin = of(harness, "U5")
    await ask(admin, "/pplx settings channel askers U1 S1")
    async with await admin.person.type_command("/pplx settings", trigger="t1") as response:
        assert response.status == 200
    inputs: Mapping[str, Any] = {
        block["block_id"]: block["element"] for block in harness.slack.modal("U5").blocks if block["type"] == "input"
    }
    assert (inputs["people"]["initial_users"], inputs["groups"]["initial_value"]) == (["U1"], "S1")

    assert await submit(harness, user="U5", people=[], groups="S1, S2") == {}

    named = [block for block in (await ask(admin, "/pplx settings channel"))["blocks"] if block["type"] == "rich_text"]
    assert ("U1" in json.dumps(named), "S1" in json.dumps(named), "S2" in json.dumps(named)) == (False, True, True)
