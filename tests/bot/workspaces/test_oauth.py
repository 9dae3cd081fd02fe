"""The state is single-use, for ten minutes, bound to the browser; the address is fixed; only allowed teams."""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator
from time import time
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from bot.storage.questions import connection_pool
from bot.workspaces.oauth import OAuthStates
from tests.fakes.oauth import CLIENT_SECRET
from tests.fakes.workspaces import PUBLIC_URL, Installations, many_workspaces

pytestmark = pytest.mark.trust(8)

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


async def test_what_anyone_may_begin_is_not_kept_and_keeps_no_one_from_installing(app: Installations) -> None:
    """Item 8's state needs no room in the database, so that no one can take all of it."""
    states = {await app.browser().begin() for _ in range(50)}
    assert len(states) == 50
    assert await app.rows("SELECT * FROM oauth_states") == []

    browser = app.browser()
    state = await browser.begin()
    async with await browser.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 200
    assert await app.rows("SELECT count(*) FROM oauth_states") == [(1,)]
    assert state not in str(await app.rows("SELECT * FROM oauth_states"))


def forged(state: str) -> dict[str, str]:
    """Return states that a person could make of their own."""
    ends, nonce, signature = state.split(".")
    later = int(ends) + 1
    other = base64.urlsafe_b64encode(bytes(32)).rstrip(b"=").decode()
    by_another = hmac.new(b"oauth state", f"{later}.{nonce}".encode(), "sha256").digest()
    return {
        "later": f"{later}.{nonce}.{signature}",
        "another nonce": f"{ends}.{nonce[::-1]}.{signature}",
        "another signature": f"{ends}.{nonce}.{other}",
        "another key": f"{later}.{nonce}.{base64.urlsafe_b64encode(by_another).rstrip(b'=').decode()}",
        "no signature": f"{ends}.{nonce}.",
        "two parts": f"{ends}.{nonce}",
        "another sign at the end": f"{state[:-1]}{'A' if state[-1] != 'A' else 'B'}",
        "more behind it": f"{state}A",
        "before it": f"0{state}",
        "of the old form": "k" * 43,
        "odd digits": f"{ends.translate(str.maketrans('0123456789', '٠١٢٣٤٥٦٧٨٩'))}.{nonce}.{signature}",
    }


async def test_a_state_of_one_s_own_installs_nothing(app: Installations) -> None:
    for name, state in forged(await app.browser().begin()).items():
        browser = app.browser()
        browser.cookies = {COOKIE: quote(state)} if not state.isascii() else {COOKIE: state}
        async with await browser.end(app.slack.oauth.code("T1"), quote(state)) as response:
            assert response.status == 400, name
    assert await app.rows("SELECT id FROM installations") == []
    assert await app.rows("SELECT count(*) FROM oauth_states") == [(0,)]


async def test_a_state_is_good_for_one_installation(app: Installations) -> None:
    browser = app.browser()
    state = await browser.begin()
    kept = dict(browser.cookies)
    async with await browser.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 200
    browser.cookies = kept
    async with await browser.end(app.slack.oauth.code("T2"), state) as response:
        assert response.status == 400
        assert "already completed" in await response.text()

    assert await app.rows("SELECT id FROM installations") == [("T1",)]


async def test_a_state_ends_with_a_refusal(app: Installations) -> None:
    browser, other = app.browser(), app.browser()
    state = await browser.begin()
    kept = dict(browser.cookies)
    async with await other.get(f"/slack/oauth_redirect?error=access_denied&state={state}") as response:
        assert response.status == 200
    assert await app.rows("SELECT count(*) FROM oauth_states") == [(0,)], "another browser cannot end it"

    async with await browser.get(f"/slack/oauth_redirect?error=access_denied&state={state}") as response:
        assert "cancelled" in await response.text()
    browser.cookies = kept
    async with await browser.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == 400
    assert await app.rows("SELECT id FROM installations") == []


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


@pytest.mark.parametrize(("seconds", "status"), [(595, 200), (601, 400), (86_400, 400)])
async def test_a_state_is_good_for_ten_minutes(app: Installations, seconds: float, status: int) -> None:
    async with connection_pool(app.database) as pool:
        before = OAuthStates(pool, secret=CLIENT_SECRET, now=lambda: time() - seconds)
        state = await before.async_issue()
    browser = app.browser()
    browser.cookies = {COOKIE: state}
    async with await browser.end(app.slack.oauth.code("T1"), state) as response:
        assert response.status == status
    assert await app.rows("SELECT id FROM installations") == ([("T1",)] if status == 200 else [])


async def test_a_used_state_is_kept_until_it_is_worthless(app: Installations) -> None:
    await app.install("T1")
    (left,) = (await app.rows("SELECT extract(epoch FROM expires_at - now())::int FROM oauth_states"))[0]
    assert left > 600
    await app.execute("UPDATE oauth_states SET expires_at = expires_at - interval '1 day'")
    await app.execute(
        "INSERT INTO oauth_states"
        " SELECT sha256(n::text::bytea), now() - interval '1 day' FROM generate_series(1, 300) n"
    )
    for number in range(4):
        await app.install("T1")
        assert await app.rows("SELECT count(*) FROM oauth_states") == [(max(301 - 100 * (number + 1), 0) + number + 1,)]


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
