"""Item 8: the state is single-use, for ten minutes, bound to the browser; the address is fixed; only allowed teams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.fakes.workspaces import PUBLIC_URL, Installations, many_workspaces

COOKIE = "__Host-slack-install"


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database, work=False) as running:
        yield running


async def test_the_installation_begins_at_slack_with_fixed_values(app: Installations) -> None:
    injected = "?team=T1%26user_scope=admin&redirect_uri=https://evil.example&state=mine"
    async with await app.browser().get(f"/slack/install{injected}") as response:
        address = urlsplit(response.headers["Location"])
        cookie = response.headers["Set-Cookie"]
        assert response.status == 302

    query = parse_qs(address.query)
    assert (address.hostname, address.path) == ("slack.com", "/oauth/v2/authorize")
    assert query["redirect_uri"] == [f"{PUBLIC_URL}/slack/oauth_redirect"]
    assert "chat:write" in query["scope"][0].split(",")
    assert "evil" not in address.query
    assert "user_scope" not in query
    assert "team" not in query
    assert cookie.startswith(f"{COOKIE}={query['state'][0]};")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"} <= set(cookie.split("; "))


async def test_no_state_is_kept_in_clear(app: Installations) -> None:
    state = await app.browser().begin()

    assert state not in str(await app.rows("SELECT * FROM oauth_states"))


async def test_a_state_is_good_for_one_installation(app: Installations) -> None:
    browser = app.browser()
    state = await browser.begin()
    kept = dict(browser.cookies)
    async with await browser.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 200
    browser.cookies = kept
    async with await browser.end(app.slack.oauth.code("T2"), state) as response:
        assert response.status == 400
        assert "used already" in await response.text()

    assert await app.rows("SELECT id FROM installations") == [("T1",)]


async def test_of_ten_at_once_one_installs(app: Installations) -> None:
    browser = app.browser()
    state = await browser.begin()
    kept = dict(browser.cookies)

    async def replay() -> int:
        one = app.browser()
        one.cookies = dict(kept)
        async with await one.end(app.slack.oauth.code("T1"), state) as response:
            return response.status

    statuses = await asyncio.gather(*(replay() for _ in range(10)))
    assert sorted(statuses) == [200] + [400] * 9
    assert [method for method, _ in app.slack.calls].count("oauth.v2.access") == 1


@pytest.mark.parametrize("cookie", [None, "another"])
async def test_another_browser_cannot_end_it(app: Installations, cookie: str | None) -> None:
    mine, theirs = app.browser(), app.browser()
    state = await mine.begin()
    if cookie is not None:
        theirs.cookies = {COOKIE: cookie}
    async with await theirs.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 400
        assert "another browser" in await response.text()
    assert await app.rows("SELECT id FROM installations") == []

    async with await mine.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 200


async def test_a_state_is_good_for_ten_minutes_by_the_clock_of_the_database(app: Installations) -> None:
    browser = app.browser()
    state = await browser.begin()
    (left,) = (await app.rows("SELECT extract(epoch FROM expires_at - now())::int FROM oauth_states"))[0]
    assert 590 <= left <= 600
    async with await psycopg.AsyncConnection.connect(app.database) as connection:
        await connection.execute("UPDATE oauth_states SET expires_at = expires_at - interval '601 seconds'")
    async with await browser.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 400
    assert await app.rows("SELECT id FROM installations") == []


@pytest.mark.parametrize(
    ("where", "status"),
    [
        ({"team": "T1"}, 200),
        ({"team": "T9"}, 403),
        ({"team": "T9", "enterprise": "E1"}, 200),
        ({"team": "T9", "enterprise": "E9"}, 403),
        ({"team": "T1", "enterprise": "E1", "organization": True}, 200),
        ({"team": "T1", "enterprise": "E9", "organization": True}, 403),
    ],
    ids=str,
)
async def test_only_allowed_teams_keep_the_app(app: Installations, where: dict[str, object], status: int) -> None:
    browser = app.browser()
    code = app.slack.oauth.code(**where)  # type: ignore[arg-type]
    async with await browser.end(code, await browser.begin()) as response:
        page = await response.text()
        assert response.status == status, page

    kept = await app.rows("SELECT id FROM installations")
    if status == 200:
        assert len(kept) == 1
        assert app.slack.oauth.revoked == []
    else:
        assert kept == []
        assert "ALLOWED_TEAMS" in page
        assert app.slack.oauth.tokens == {}
        assert len(app.slack.oauth.revoked) == 1


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?code=x",
        "?state=x",
        "?error=access_denied",
        "?error=<script>alert(1)</script>",
        "?error=%00%ff&state=%ed%a0%80",
        "?code=a&code=b&state=c&state=d",
        "?" + "a" * 4000,
    ],
)
async def test_a_page_says_nothing_of_the_address_and_runs_nothing(app: Installations, query: str) -> None:
    async with await app.browser().get(f"/slack/oauth_redirect{query}") as response:
        page = await response.text()
        headers = response.headers
        assert response.status in {200, 400}

    assert "<script" not in page
    assert "Traceback" not in page
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert await app.rows("SELECT id FROM installations") == []


async def test_a_refused_code_and_an_unreachable_slack_are_pages(
    app: Installations, caplog: pytest.LogCaptureFixture
) -> None:
    browser = app.browser()
    async with await browser.end("never-issued", await browser.begin()) as response:
        assert response.status == 400
    app.slack.oauth.refused["authorization_code"] = "internal_error"
    async with await browser.end(app.slack.oauth.code("T1"), await browser.begin()) as response:
        assert response.status == 502

    assert "never-issued" not in caplog.text
    assert await app.rows("SELECT id FROM installations") == []
