"""Pages from elsewhere cannot reach the playground, and its own page is served safely."""

from __future__ import annotations

import pytest
from aiohttp import ClientSession
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from bot.playground import server
from bot.playground.server import NO_COOKIE
from fake_slack.workspace import GENERAL
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import Site, serve


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1:3000", True),
        ("localhost:3000", True),
        ("localhost", True),
        ("[::1]:3000", True),
        ("app.localhost", True),
        ("evil.example:3000", False),
        ("127.0.0.1.evil.example", False),
        ("192.168.1.7:3000", False),
        ("", False),
        ("[", False),
    ],
)
def test_only_names_of_this_machine_are_loopback(host: str, loopback: bool) -> None:
    assert server.names_loopback(host) is loopback


@pytest.mark.parametrize("path", ["/", "/playground", "/playground/events", "/playground/static/page.js"])
async def test_a_rebound_name_is_turned_away(browser: BrowserClient, path: str) -> None:
    async with browser.session.get(browser.origin + path, headers={"Host": "evil.example"}) as response:
        assert response.status == 403


async def test_another_host_is_served_when_that_is_asked_for(browser: BrowserClient) -> None:
    async with (
        serve(allow_any_host=True) as site,
        browser.session.get(site.origin + "/playground", headers={"Host": "box.lan"}) as response,
    ):
        assert response.status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 204),
        ({"Sec_Fetch_Site": "same-origin"}, 204),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "https://HOST"}, 403),
        ({"Origin": "ftp://HOST"}, 403),
        ({"Origin": "HOST"}, 403),
        ({"Origin": "//HOST"}, 403),
        ({"Origin": "http://HOST/"}, 403),
        ({"Origin": "http://HOST?x"}, 403),
        ({"Origin": "http://you@HOST"}, 403),
        ({"Origin": "http://HOST0"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://HOST, http://HOST"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
async def test_only_the_page_itself_may_post(browser: BrowserClient, headers: dict[str, str], status: int) -> None:
    sent = {name: value.replace("HOST", browser.origin.removeprefix("http://")) for name, value in headers.items()}

    assert await browser.post("say", {"channel": GENERAL.id, "text": "hi"}, **sent) == status


@pytest.mark.parametrize("what", ["say", "click", "shortcut", "press", "submit", "close"])
async def test_a_post_that_names_no_origin_is_refused(browser: BrowserClient, what: str) -> None:
    for headers in ({}, {"Sec-Fetch-Site": "same-origin"}):
        url = f"{browser.origin}/playground/{what}"
        async with browser.session.post(url, json={"channel": GENERAL.id, "text": "hi"}, headers=headers) as response:
            assert response.status == 403


@pytest.mark.parametrize(
    ("host", "origin", "scheme", "same"),
    [
        ("localhost", "http://localhost", "http", True),
        ("localhost:80", "http://localhost", "http", True),
        ("LOCALHOST:3000", "http://localhost:3000", "http", True),
        ("[::1]:3000", "http://[::1]:3000", "http", True),
        ("box.lan", "https://box.lan", "https", True),
        ("box.lan", "https://box.lan", "http", False),
        ("localhost:3000", "http://localhost:3001", "http", False),
        ("localhost:3000", "http://127.0.0.1:3000", "http", False),
        ("", "http://", "http", False),
    ],
)
def test_whole_origins_are_compared(host: str, origin: str, scheme: str, same: bool) -> None:
    headers = CIMultiDictProxy(CIMultiDict({"Host": host, "Origin": origin}))

    assert server.is_same_origin(headers, scheme=scheme) is same


async def test_behind_tls_the_proxy_says_the_scheme(browser: BrowserClient) -> None:
    headers = {"Host": "box.lan", "Origin": "https://box.lan", "X-Forwarded-Proto": "https"}
    for allowed, status in ((True, 204), (False, 403)):
        async with serve(allow_any_host=allowed) as site:
            await BrowserClient.enter(browser.session, site.address)
            url, body = site.origin + "/playground/say", {"channel": GENERAL.id, "text": "hi"}
            async with browser.session.post(url, json=body, headers=headers) as response:
                assert response.status == status


@pytest.mark.parametrize("body", [[], "x", {}, {"channel": "C1", "text": "x"}])
async def test_a_post_that_makes_no_sense_is_refused(browser: BrowserClient, body: object) -> None:
    assert await browser.post("say", body) == 400


ROUTES = [
    ("GET", "events"),
    ("GET", "static/page.js"),
    ("GET", "files/F1"),
    ("GET", "archives/C1/p1700000000000100"),
    *(("POST", what) for what in ("say", "open", "stop", "click", "shortcut", "press", "submit", "close")),
]


@pytest.mark.parametrize("cookie", ["", "playground_0=x", "playground_PORT=x", "playground_PORT=é"])
async def test_without_its_cookie_the_page_says_where_its_address_is_and_does_nothing(site: Site, cookie: str) -> None:
    port = site.origin.rpartition(":")[2]
    sent = {"Origin": site.origin, "Cookie": cookie.replace("PORT", port)}
    async with ClientSession(headers=sent) as session:
        for path in ("/", "/playground", "/playground?token=", "/playground?token=x"):
            async with session.get(site.origin + path) as response:
                assert (response.status, await response.text()) == (200, NO_COOKIE)
                assert not response.cookies
        for method, path in ROUTES:
            url, body = f"{site.origin}/playground/{path}", {"channel": GENERAL.id, "text": "/ask why"}
            async with session.request(method, url, json=body if method == "POST" else None) as response:
                assert (path, response.status, await response.text()) == (path, 403, NO_COOKIE)

    assert site.app.requests == []


async def test_its_address_lets_a_browser_in(site: Site) -> None:
    async with ClientSession() as session, session.get(site.address, allow_redirects=False) as response:
        (cookie,) = response.cookies.values()

    assert (response.status, response.headers["Location"]) == (302, "/playground")
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/playground")
    assert site.address == f"{site.origin}/playground?token={cookie.value}"


async def test_the_root_leads_to_the_page(browser: BrowserClient) -> None:
    async with browser.session.get(browser.origin + "/") as response:
        assert (response.url.path, response.status, response.content_type) == ("/playground", 200, "text/html")


async def test_the_page_may_load_nothing_from_elsewhere(browser: BrowserClient) -> None:
    async with browser.session.get(browser.origin + "/playground") as response:
        policy = response.headers["Content-Security-Policy"]

    assert policy.startswith("default-src 'self'; ")
    assert "http" not in policy


@pytest.mark.parametrize(
    ("name", "status"),
    [("page.js", 200), ("renderer.css", 200), ("none.js", 404), ("..%2Fserver.py", 404), ("%2Fetc%2Fpasswd", 404)],
)
async def test_only_the_pages_own_files_are_served(browser: BrowserClient, name: str, status: int) -> None:
    url = URL(f"{browser.origin}/playground/static/{name}", encoded=True)
    async with browser.session.get(url) as response:
        assert response.status == status
