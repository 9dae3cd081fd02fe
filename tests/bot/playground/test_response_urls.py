"""A response_url takes answers where Slack's would, five times in thirty minutes."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import replace

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.webhook.async_client import AsyncWebhookClient

from fake_slack import response_urls
from fake_slack.response_urls import ResponseUrlToken
from fake_slack.workspace import GENERAL
from tests.bot.playground.browser_client import BrowserClient
from tests.fakes.playground_app import SIGNING_SECRET, Clock, PlaygroundApp, Site, serve


@pytest.fixture
async def url(site: Site, browser: BrowserClient) -> str:
    await browser.say("/ask bees")
    return str(site.app.requests[0]["response_url"])


async def test_an_answer_is_private_unless_it_says_otherwise(url: str, browser: BrowserClient) -> None:
    await browser.respond(url, text="one")
    await browser.respond(url, text="two", response_type="in_channel")
    await browser.respond(url, text="three", response_type="in_channel", thread_ts="1.2")

    assert await browser.texts() == [
        ("app", "one", True),
        ("you", "/ask bees", False),
        ("app", "two", False),
        ("app", "three", False),
    ]


async def test_slack_s_own_client_posts_there(url: str, browser: BrowserClient) -> None:
    client = AsyncWebhookClient(url, session=browser.session)

    answers = [await client.send(text=f"{number}", response_type="ephemeral") for number in range(6)]

    assert [(a.status_code, a.body) for a in answers] == [(200, "ok")] * 5 + [(404, "used_url")]


async def test_replacing_takes_the_place_of_the_private_original_and_nothing_else(
    url: str, browser: BrowserClient
) -> None:
    await browser.respond(url, text="Searching…", replace_original=True)
    await browser.respond(url, text="More", replace_original=False)
    await browser.respond(url, text="The answer", replace_original=True, blocks=[{"type": "divider"}])
    await browser.respond(url, text="For all", replace_original=True, response_type="in_channel")
    shown = await browser.shown()

    assert [m["text"] for m in shown] == ["The answer", "More", "/ask bees", "For all"]
    assert [block["type"] for block in shown[0]["blocks"]] == ["divider"]


async def test_deleting_removes_the_original(url: str, browser: BrowserClient) -> None:
    await browser.respond(url, text="Searching…", replace_original=True)
    status = await browser.respond(url, delete_original=True)

    assert (status, await browser.texts()) == ((200, "ok"), [])


async def test_the_sixth_use_is_refused(url: str, browser: BrowserClient) -> None:
    answers = [await browser.respond(url, text=str(n)) for n in range(6)]

    assert answers == [(200, "ok")] * 5 + [(404, "used_url")]
    assert len(await browser.texts()) == 5


@pytest.mark.parametrize(("age", "answer"), [(30 * 60, (200, "ok")), (30 * 60 + 1, (404, "expired_url"))])
async def test_after_thirty_minutes_it_is_expired(
    url: str, browser: BrowserClient, clock: Clock, age: float, answer: tuple[int, str]
) -> None:
    clock.seconds += age

    assert await browser.respond(url, text="late") == answer


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b"{", (400, "invalid_payload")),
        (b"[]", (400, "invalid_payload")),
        (b'"x"', (400, "invalid_payload")),
        (b"{}", (400, "no_text")),
        (b'{"text": ""}', (400, "no_text")),
        (b'{"text": "x", "blocks": [{"type": "data_chart"}]}', (400, "invalid_blocks")),
        (b'{"response_type": "in_channel"}', (400, "no_text")),
    ],
)
async def test_what_says_nothing_is_refused(url: str, body: bytes, answer: tuple[int, str]) -> None:
    async with aiohttp.ClientSession() as session, session.post(url, data=body) as response:
        assert (response.status, await response.text()) == answer


async def test_it_works_after_a_restart_and_replaces_what_the_page_still_shows(
    site: Site, browser: BrowserClient
) -> None:
    await browser.say("/ask bees")
    token = str(site.app.requests[0]["response_url"]).rpartition("/")[2]
    async with serve(app=PlaygroundApp()) as second:
        await browser.respond(f"{second.origin}/playground/response/{token}", text="late", replace_original=True)
        shown = await (await BrowserClient.enter(browser.session, second.address)).shown()

    assert [(m["ts"], m["text"]) for m in shown] == [
        (response_urls.decode(token, secret=SIGNING_SECRET).original, "late")
    ]


@given(
    ticket=st.builds(
        ResponseUrlToken,
        channel=st.text(),
        original=st.text(),
        trigger=st.text(),
        issued=st.floats(allow_nan=False),
        private=st.booleans(),
    )
)
def test_a_ticket_survives_its_address(ticket: ResponseUrlToken) -> None:
    token = response_urls.encode(ticket, secret="s")

    assert response_urls.decode(token, secret="s") == ticket
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(token=st.text() | st.binary().map(lambda b: base64.urlsafe_b64encode(b).decode()))
def test_a_made_up_address_is_refused_and_never_fails_otherwise(token: str) -> None:
    with pytest.raises(response_urls.ClosedError, match="invalid_url"):
        response_urls.decode(token, secret="s")


TICKET = ResponseUrlToken(channel=GENERAL.id, original="1.2", trigger="t", issued=1_700_000_000.0)


@pytest.mark.parametrize("place", [0, 20, 41, 44, 60, 100])
def test_a_changed_ticket_is_refused(place: int) -> None:
    signed = bytearray(response_urls.encode(TICKET, secret="s").encode())
    signed[place] = ord("B") if signed[place] == ord("A") else ord("A")

    with pytest.raises(response_urls.ClosedError, match="invalid_url"):
        response_urls.decode(signed.decode(), secret="s")


@pytest.mark.parametrize("issued", [b"1700000000.0", b"NaN", b"Infinity", b"1e999", b'"x"', b"[]"])
async def test_an_unsigned_ticket_or_one_of_another_secret_is_refused(
    site: Site, browser: BrowserClient, issued: bytes
) -> None:
    packed = b'{"channel":"%s","original":"1.2","trigger":"t","private":true,"issued":%s}' % (
        GENERAL.id.encode(),
        issued,
    )
    stolen = hmac.new(b"other", b"response_url:" + packed, hashlib.sha256).digest()
    for raw in (packed, bytes(32) + packed, stolen + packed):
        token = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        url = f"{site.origin}/playground/response/{token}"
        assert await browser.respond(url, text="spam") == (404, "invalid_url")

    assert await browser.texts() == []


@pytest.mark.parametrize("issued", [float("nan"), float("inf"), float("-inf"), 1_700_000_000.0 + 1801])
def test_a_ticket_of_no_time_or_of_the_future_is_expired(issued: float) -> None:
    uses = response_urls.UseCounter(clock=lambda: 1_700_000_000.0)

    with pytest.raises(response_urls.ClosedError, match="expired_url"):
        uses.spend(replace(TICKET, issued=issued))


def test_uses_are_counted_for_so_many_addresses_and_no_more() -> None:
    uses = response_urls.UseCounter(clock=lambda: 1_700_000_000.0)
    for number in range(response_urls.MAX_TRACKED + 10):
        uses.spend(replace(TICKET, trigger=str(number)))

    assert len(uses._used) == response_urls.MAX_TRACKED
