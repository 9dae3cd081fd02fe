"""Which installation a request is for: read once in half a minute, and never kept for longer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from psycopg import OperationalError

from bot.model.membership import FOREIGN, Identity, act_for, current_scope
from bot.slack.messages import NoToken
from bot.storage.installation import WorkspaceStore
from bot.workspaces.installations import Installations, Installed, OAuthGrant
from bot.workspaces.registry import ABSENT_SECONDS, CACHE_SECONDS, MAX_CACHED, NOT_INSTALLED, Workspaces
from tests.fakes.time import Time


def installed(team: str, *, organization: bool = False) -> Installed:
    identity = Identity(
        team_id=team, enterprise_id=team if organization else None, is_enterprise_install=organization, bot_user_id="U0"
    )
    return Installed(identity=identity, app_id="A1", token=f"xoxb-{team}")


@dataclass
class Table:
    """The installations, and how often they were read; `away` if the database cannot be reached."""

    rows: dict[str, Installed]
    reads: list[Sequence[str]] = field(default_factory=list)
    away: bool = False

    async def find(self, ids: Sequence[str], *, team_id: str = "") -> Installed | None:
        self.reads.append(tuple(ids))
        await asyncio.sleep(0)
        if self.away:
            raise OperationalError
        return next((self.rows[one] for one in ids if one in self.rows), None)

    async def find_by_team(self, team_id: str) -> Installed | None:
        return await self.find([team_id])

    async def remember_team(self, team_id: str, enterprise_id: str) -> None:
        self.reads.append(("remember", team_id, enterprise_id))


async def no_exchange(refresh_token: str) -> OAuthGrant:
    raise AssertionError


async def no_check(token: str) -> bool:
    raise AssertionError


def workspaces(table: Table, clock: Time) -> Workspaces:
    return Workspaces(
        installations=cast("Installations", table),
        store=cast("WorkspaceStore", None),
        allowed={"T1", "T2", "E1"},
        exchange=no_exchange,
        takes=no_check,
        clock=clock.clock,
    )


def command(team: str, *, enterprise: str = "", organization: bool = False, app: str = "A1") -> dict[str, Any]:
    return {
        "team_id": team,
        "enterprise_id": enterprise,
        "is_enterprise_install": "true" if organization else "false",
        "api_app_id": app,
    }


async def test_a_warm_cache_reads_nothing_for_half_a_minute() -> None:
    table, clock = Table({"T1": installed("T1")}), Time()
    one = workspaces(table, clock)
    await asyncio.gather(*(one.of_request(command("T1")) for _ in range(100)))
    assert len(table.reads) == 1

    for _ in range(50):
        act_for(await one.of_request(command("T1")))
        assert await one.token() == "xoxb-T1"
    assert len(table.reads) == 1
    await clock.sleep(CACHE_SECONDS + 1)
    await one.of_request(command("T1"))
    assert len(table.reads) == 2


async def test_one_that_is_absent_is_looked_for_again_soon() -> None:
    table, clock = Table({}), Time()
    one = workspaces(table, clock)
    assert await one.of_request(command("T1")) is None
    table.rows["T1"] = installed("T1")
    assert await one.of_request(command("T1")) is None
    await clock.sleep(ABSENT_SECONDS)
    assert await one.of_request(command("T1")) is not None


async def test_while_the_database_is_away_what_was_read_last_counts() -> None:
    table, clock = Table({"T1": installed("T1")}), Time()
    one = workspaces(table, clock)
    act_for(await one.of_request(command("T1")))
    table.away = True
    await clock.sleep(CACHE_SECONDS + 1)

    assert await one.of_request(command("T1")) is not None
    assert await one.token() == "xoxb-T1"
    with pytest.raises(OperationalError):
        await one.of_request(command("T2"))


async def test_what_ends_while_it_is_read_is_not_kept() -> None:
    table, clock = Table({"T1": installed("T1")}), Time()
    one = workspaces(table, clock)
    reading = asyncio.create_task(one.of_request(command("T1")))
    for _ in range(2):
        await asyncio.sleep(0)
    assert (len(table.reads), reading.done()) == (1, False)
    one.forget("T1")  # as when its end is recorded
    await reading
    del table.rows["T1"]

    assert await one.of_request(command("T1")) is None


async def test_the_cache_is_bounded() -> None:
    table, clock = Table({}), Time()
    one = workspaces(table, clock)
    for number in range(MAX_CACHED + 50):
        await one.of_request(command(f"T{number}X"))

    assert len(one._kept) == MAX_CACHED


async def test_the_installation_is_the_one_that_slack_names() -> None:
    table, clock = Table({"T1": installed("T1"), "E1": installed("E1", organization=True)}), Time()
    one = workspaces(table, clock)
    for body, expected in (
        (command("T1", enterprise="E1"), "T1"),
        (command("T1", enterprise="E1", organization=True), "E1"),
        (command("T7", enterprise="E1", organization=True), "E1"),
        (command("T7", enterprise="E1"), "E1"),
        (command("T7", enterprise="E9"), None),
        (command("", enterprise=""), None),
    ):
        found = await one.of_request(body)
        assert (found.identity.id if found else None) == expected, body
    assert ("remember", "T7", "E1") in table.reads
    assert table.reads.count(("remember", "T7", "E1")) == 1


async def test_what_is_not_listed_is_as_absent() -> None:
    table, clock = Table({"T9": installed("T9")}), Time()

    assert await workspaces(table, clock).of_request(command("T9")) is None


async def test_a_request_is_refused_for_no_installation_and_for_another_app() -> None:
    table, clock = Table({"T1": installed("T1")}), Time()
    one = workspaces(table, clock)
    act_for(None)
    assert one.refusal(command("T1")) == NOT_INSTALLED
    assert one.refusal({"event": {"type": "app_uninstalled"}, "team_id": "T1"}) is None
    act_for(await one.of_request(command("T1")))
    assert one.refusal(command("T1")) is None
    assert one.refusal(command("T1", enterprise="E5")) is None  # it has joined an organization
    assert one.refusal(command("T1", app="A2")) == FOREIGN


async def test_a_task_that_acts_for_no_one_has_no_token() -> None:
    table, clock = Table({"T1": installed("T1")}), Time()
    one = workspaces(table, clock)
    assert await one.enter_team("T1")
    assert not await one.enter_team("T2")

    assert current_scope().workspace is None
    with pytest.raises(NoToken):
        await one.token()
