"""Slack's token rotation: each refresh token is used once, in time, by whichever process is first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.model.membership import ActiveWorkspace, Identity, act_for
from bot.settings import read_keys
from bot.slack.messages import NoToken
from bot.storage.questions import IDLE_SECONDS
from bot.workspaces.encryption import KeyRing, place_of
from bot.workspaces.installations import OAuthGrant
from bot.workspaces.registry import REFRESH_SECONDS, Workspaces
from tests.driver import serving
from tests.fakes.oauth import TOKEN_SECONDS
from tests.fakes.ports import free_port
from tests.fakes.slack import Fault
from tests.fakes.workspaces import KEY, Installations, many_workspaces

T1 = ActiveWorkspace(identity=Identity(team_id="T1", bot_user_id="U0APP"))


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database, work=False) as running:
        running.slack.oauth.rotates = True
        yield running


def registry(app: Installations) -> Workspaces:
    found = app.app.installation
    assert isinstance(found, Workspaces)
    return found


async def age(app: Installations, seconds: float) -> None:
    """Let time pass, for Slack and for the database's rows."""
    app.slack.advance(seconds)
    await app.execute("UPDATE installations SET expires_at = expires_at - %s * interval '1 second'", seconds)


async def refreshes(app: Installations) -> int:
    return sum(method == "oauth.v2.access" for method, _ in app.slack.calls) - 1


async def test_a_token_is_refreshed_before_it_ends(app: Installations) -> None:
    first = await app.install("T1")
    await age(app, TOKEN_SECONDS - REFRESH_SECONDS - 60)
    await app.app.installation.start()
    found = registry(app)
    found._refreshed_at = None
    await found.sweep()
    assert await refreshes(app) == 0

    await age(app, 120)
    found._refreshed_at = None
    await found.sweep()
    assert await refreshes(app) == 1
    act_for(T1)
    second = await found.token()
    assert second != first
    assert app.slack.oauth.valid(second)
    kept = await app.rows("SELECT expires_at > now() + interval '11 hours', refresh_error FROM installations")
    assert kept == [(True, None)]


async def test_two_processes_never_use_one_refresh_token_twice(app: Installations) -> None:
    await app.install("T1")
    settings = app.settings.model_copy(update={"port": free_port()})
    async with serving(settings, app.database, work=False) as second:
        other = second.installation
        assert isinstance(other, Workspaces)
        await age(app, TOKEN_SECONDS - 30)
        # Slack is slow, so that all of them wait for the one that came first.
        app.slack.fail("oauth.v2.access", Fault(status=200, serve_first=True, seconds=0.3))

        async def call(one: Workspaces) -> str:
            one.forget("T1")
            act_for(T1)
            return await one.token()

        tokens = await asyncio.gather(*(call(one) for _ in range(10) for one in (registry(app), other)))

    assert len(set(tokens)) == 1
    assert await refreshes(app) == 1
    assert app.slack.oauth.replays == 0


async def test_questions_are_answered_while_tokens_change(database: str) -> None:
    async with many_workspaces(database) as app:
        app.slack.oauth.rotates = True
        await app.install("T1")
        found = registry(app)
        for number in range(6):
            async with await app.person("T1", user=f"U{number}").mention(
                "why?", ts=f"179525520{number}.000100"
            ) as response:
                assert response.status == 200
            await age(app, TOKEN_SECONDS - 30)
            found.forget("T1")
            # No call takes as long as two tokens last.
            await app.wait_for_rows("SELECT count(*) FROM questions WHERE state = 'answered'", [(number + 1,)])

        assert app.slack.oauth.replays == 0
        assert "token_expired" not in {call.error for call in app.slack.answered}


def answer_slowly(app: Installations, seconds: float) -> None:
    """Have Slack replace the next token at once, and say so after some time."""
    app.slack.fail("oauth.v2.access", Fault(status=200, serve_first=True, seconds=seconds))


async def asked(app: Installations) -> None:
    """Wait until Slack has got the first refresh token."""
    async with asyncio.timeout(60):
        sent = await refreshes(app)
        while sent < 1:
            await asyncio.sleep(0.01)
            sent = await refreshes(app)


async def ending(app: Installations) -> asyncio.Task[str]:
    """Call Slack with a token that ends, and return the call once the next one is on its way."""
    await app.install("T1")
    await age(app, TOKEN_SECONDS - 30)
    registry(app).forget("T1")
    act_for(T1)
    answer_slowly(app, 0.5)
    call = asyncio.create_task(registry(app).token())
    await asked(app)
    return call


async def is_kept(app: Installations) -> bool:
    """Return whether the token that the app uses from now on is one that Slack accepts."""
    found = registry(app)
    found.forget("T1")
    act_for(T1)
    return app.slack.oauth.valid(await found.token()) is not None and app.slack.oauth.replays == 0


async def test_a_process_that_stops_keeps_the_token_that_slack_has_just_replaced(app: Installations) -> None:
    await app.install("T1")
    await age(app, TOKEN_SECONDS - 3600)
    settings = app.settings.model_copy(update={"port": free_port()})
    answer_slowly(app, 1)
    async with serving(settings, app.database, work=False):
        await asked(app)

    await age(app, 3600)
    assert await is_kept(app)


async def test_a_caller_that_gives_up_does_not_lose_the_new_token(app: Installations) -> None:
    call = await ending(app)
    call.cancel()
    await app.wait_for_rows("SELECT expires_at > now() + interval '11 hours' FROM installations", [(True,)])

    await age(app, 30)
    assert await is_kept(app)


async def test_a_connection_that_is_lost_during_the_call_does_not_lose_the_new_token(app: Installations) -> None:
    call = await ending(app)
    # As Postgres does after a pause of ten seconds in a transaction.
    await app.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        " AND datname = current_database() AND query LIKE '%FROM installations%'"
    )

    assert app.slack.oauth.valid(await call)
    await age(app, 30)
    assert await is_kept(app)


async def test_a_new_token_is_kept_also_if_the_old_one_was_encrypted_again_meanwhile(app: Installations) -> None:
    call = await ending(app)
    await app.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        " AND datname = current_database() AND query LIKE '%FROM installations%'"
    )
    ring, place = KeyRing.of(read_keys(KEY)), place_of("T1", "refresh_token")
    ((secret,),) = await app.rows("SELECT refresh_token FROM installations")
    again = ring.encrypt(ring.decrypt(secret, place=place), place=place)
    await app.execute("UPDATE installations SET refresh_token = %s", again)

    assert app.slack.oauth.valid(await call)
    await age(app, 30)
    assert await is_kept(app)


@pytest.mark.rare  # longer than any other transaction of the app may be idle
async def test_while_slack_takes_its_time_no_other_process_uses_the_refresh_token(app: Installations) -> None:
    await app.install("T1")
    await age(app, TOKEN_SECONDS - 30)
    used = []

    async def exchange(token: str) -> OAuthGrant:
        used.append(token)
        await asyncio.sleep(IDLE_SECONDS + 2)
        return OAuthGrant(token="xoxb-new", refresh_token="xoxe-new", expires_in=TOKEN_SECONDS)

    installations = registry(app).installations
    await asyncio.gather(*(installations.refresh("T1", seconds=REFRESH_SECONDS, exchange=exchange) for _ in range(2)))

    assert len(used) == 1


async def test_a_refused_refresh_is_kept_for_the_doctor_and_stops_nothing(app: Installations) -> None:
    token = await app.install("T1")
    app.slack.oauth.refused["refresh_token"] = "invalid_refresh_token"
    await age(app, TOKEN_SECONDS - 3600)
    found = registry(app)
    found._refreshed_at = None
    await found.sweep()

    assert await app.rows("SELECT refresh_error FROM installations") == [("invalid_refresh_token",)]
    act_for(T1)
    assert await found.token() == token


async def test_without_a_workspace_nothing_is_called(app: Installations) -> None:
    await app.install("T1")
    act_for(None)
    with pytest.raises(NoToken):
        await registry(app).token()
    act_for(ActiveWorkspace(identity=Identity(team_id="T2")))
    with pytest.raises(NoToken):
        await registry(app).token()
