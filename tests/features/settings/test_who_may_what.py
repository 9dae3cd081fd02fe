"""What a workspace and a channel allow, tried on every surface of the core, and who may set it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from bot.listeners.intake import MEMBERS_ONLY
from bot.preferences import NOT_ADMIN
from bot.settings import Settings
from tests.allowed import ADMIN, SETTINGS, STYLE, SURFACES, answered_command, assert_holds, with_follow_ups
from tests.driver import Driver
from tests.end_to_end.test_outsiders import GUESTS
from tests.fakes.all_services import Services, services
from tests.rare import one_in

__all__ = ["services"]


@pytest.fixture
def settings(settings: Settings, services: Services) -> Settings:
    return with_follow_ups(settings, services)


@pytest.mark.parametrize(("row", "surface"), one_in(4, product(SETTINGS, SURFACES)))
async def test_setting_by_surface(harness: Driver, services: Services, row: str, surface: str) -> None:
    cell = await assert_holds(harness, services, SETTINGS[row], surface)

    highest = {"effort of the workspace": "fast", "nothing stored": "medium"}.get(row)
    if surface == "form" and highest is not None:
        assert (cell.answers[0]["effort"], "instead of" in cell.shown) == (highest, False)


OTHERS: Mapping[str, Mapping[str, Any]] = {
    "a member": {"id": "U7", "team_id": "T1"},
    **GUESTS,
}


@pytest.mark.parametrize("kind", one_in(3, OTHERS))
async def test_no_one_else_sets_or_sees_what_a_workspace_allows(harness: Driver, kind: str) -> None:
    harness.slack.workspace.profiles["U7"] = dict(OTHERS[kind])
    other = replace(harness, person=replace(harness.person, user="U7"))
    for typed in ("workspace allow a.example", "workspace reset", "workspace"):
        async with await other.person.type_command(f"/pplx settings {typed}", trigger=str(uuid4())) as response:
            assert response.status == 200
            told = await response.text()
        await harness.settle()
        told += " ".join(post.shown_text for post in harness.slack.posts)
        assert MEMBERS_ONLY in told or NOT_ADMIN in told
        assert "Saved." not in told

    harness.slack.workspace.admins.add(ADMIN)
    admin = replace(harness, person=replace(harness.person, user=ADMIN))
    assert "a.example" not in json.dumps(await admin.answered("/pplx settings workspace"))


async def test_the_form_has_the_part_of_the_workspace_for_admins_and_is_checked_again(harness: Driver) -> None:
    harness.slack.workspace.admins.add(ADMIN)
    for user in ("U1", ADMIN):
        person = replace(harness.person, user=user)
        async with await person.type_command("/pplx settings", trigger=str(uuid4())) as response:
            assert response.status == 200
        shown = {block.get("block_id") for block in harness.slack.modal(user).blocks}
        assert ("workspace:allow" in shown) is (user == ADMIN)
    view = harness.slack.modal(ADMIN)

    await harness.submit(view, **{"workspace:allow": "a.example"})
    assert list(view_errors(harness, view)) == ["own:model"]
    changed = {"workspace:allow": "", "workspace:deny": "b.example", "channel:deny": "c.example"}
    assert await harness.as_user(ADMIN).submit(**changed) == {}

    admin = replace(harness, person=replace(harness.person, user=ADMIN))
    told = json.dumps(await admin.answered("/pplx settings workspace"))
    assert ("a.example" in told, "*b.example*" in told, "*c.example*" in told) == (False, True, True)


def view_errors(harness: Driver, view: Any) -> Mapping[str, str]:
    left = harness.slack.views.find(view.id)
    return {} if left is None else left.errors


async def test_a_channel_that_would_be_left_no_site_is_told_what_is_allowed(harness: Driver) -> None:
    harness.slack.workspace.admins.add(ADMIN)
    admin = replace(harness, person=replace(harness.person, user=ADMIN))
    await admin.answered("/pplx settings workspace allow a.example")
    refusal = "answers in this workspace come from a.example only"

    assert refusal in json.dumps(await harness.answered("/pplx settings channel allow b.example"))
    await harness.ask("/pplx settings", trigger=str(uuid4()))
    assert refusal in (await harness.submit(**{"channel:allow": "b.example"}))["channel:allow"]
    assert "b.example" not in json.dumps(await harness.answered("/pplx settings channel"))


async def test_instructions_are_shown_in_what_was_sent_and_of_them_the_audit_log_keeps_the_length(
    harness: Driver,
) -> None:
    await harness.answered(f"/pplx settings channel instructions {STYLE}")
    answer = await answered_command(harness)
    await harness.click(answer, "more", "sent")
    await harness.slack.wait_until(lambda: STYLE in json.dumps(harness.slack.modal().blocks))

    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        recorded = await connection.execute("SELECT after::text FROM audit_outbox UNION SELECT after::text FROM audit")
        told = str(await recorded.fetchall())
    assert (STYLE in told, f"{len(STYLE)} characters" in told) == (False, True)


async def test_instructions_that_are_too_long_are_refused(harness: Driver) -> None:
    told = json.dumps(await harness.ask(f"/pplx settings channel instructions {'long ' * 301}"))

    assert "It takes at most 1,500 characters" in told


async def test_a_preferred_model_that_is_not_allowed_is_left_out(harness: Driver) -> None:
    harness.slack.workspace.admins.add(ADMIN)
    await harness.answered("/pplx settings model openai/gpt-6-luna")
    await replace(harness, person=replace(harness.person, user=ADMIN)).answered("/pplx settings workspace models none")

    await harness.answered("/ask why is the sky blue")

    assert [request.json.get("effort") for request in harness.perplexity.requests] == ["fast"]


async def test_no_button_offers_what_is_not_allowed(harness: Driver) -> None:
    assert "go_deeper" in json.dumps(await answered_command(harness))
    await harness.answered("/pplx settings channel max-effort low")

    assert "go_deeper" not in json.dumps(await answered_command(harness))
