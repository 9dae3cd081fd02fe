"""Verification of Slack's requests: what reaches Bolt, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.request_verification.async_request_verification import AsyncRequestVerification
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier

from bot.web.metrics import Metrics
from bot.web.signature import MAX_BODY_BYTES, RequestVerifier
from tests.fakes.person import SIGNING_SECRET, signed

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
Client = TestClient[web.Request, web.Application]


@dataclass
class Endpoint:
    """A verifier in front of a Bolt app that records what reaches it; `at` is its clock, None for the real one."""

    client: Client
    commands: list[str] = field(default_factory=list)
    clicks: list[str] = field(default_factory=list)
    at: float | None = None

    def now(self) -> float:
        return time.time() if self.at is None else self.at

    async def post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        async with self.client.post("/slack/events", data=body, headers=headers) as response:
            return response.status, await response.text()


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token="xoxb-1")

    app = AsyncApp(
        signing_secret=SIGNING_SECRET,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
    )
    made: list[Endpoint] = []
    verifier = RequestVerifier(app, signing_secret=SIGNING_SECRET, metrics=Metrics(), now=lambda: made[0].now())  # noqa: PLW0108 - made later
    application = web.Application(client_max_size=MAX_BODY_BYTES)
    application.router.add_post("/slack/events", verifier.handle)
    async with TestClient(TestServer(application)) as client:
        endpoint = Endpoint(client=client)
        made.append(endpoint)

        @app.command("/ask")
        async def ask(ack: AsyncAck, command: dict[str, Any]) -> None:
            endpoint.commands.append(command["text"])
            await ack("ok")

        @app.action("retry")
        async def retry(ack: AsyncAck, action: dict[str, Any]) -> None:
            endpoint.clicks.append(action["value"])
            await ack()

        yield endpoint


def command(text: str) -> bytes:
    return urlencode({"team_id": "T1", "user_id": "U1", "command": "/ask", "text": text, "trigger_id": "1"}).encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "what is a payload",
        "payload=1",
        "payload",
        "a&b=c",
        "ünï 💡 „quoted“",
        "100 % sure?",
        "a\nb",
        '{"payload": 1}',
    ],
)
async def test_a_command_arrives_word_for_word(endpoint: Endpoint, text: str) -> None:
    body = command(text)

    status, _ = await endpoint.post(body, signed(body) | FORM)

    assert (status, endpoint.commands) == (200, [text])


async def test_a_click_arrives(endpoint: Endpoint) -> None:
    payload = {"type": "block_actions", "user": {"id": "U1"}, "team": {"id": "T1"},
               "actions": [{"type": "button", "action_id": "retry", "block_id": "b", "value": "q1"}]}  # fmt: skip
    body = urlencode({"payload": json.dumps(payload)}).encode()

    status, _ = await endpoint.post(body, signed(body) | FORM)

    assert (status, endpoint.clicks) == (200, ["q1"])


def forged(what: str, body: bytes) -> tuple[bytes, dict[str, str]]:
    """Return a request that Slack's own library signed, changed or not."""
    timestamp = str(int(time.time()) - (301 if what == "old" else 0))
    secret = "another" if what == "secret" else SIGNING_SECRET
    signature = SignatureVerifier(secret).generate_signature(timestamp=timestamp, body=body)
    headers = {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": str(signature)}
    if what in {"X-Slack-Signature", "X-Slack-Request-Timestamp"}:
        del headers[what]
    return (body + b"&x=1" if what == "body" else body), headers


@pytest.mark.parametrize(
    "what", ["as it is", "body", "old", "secret", "X-Slack-Signature", "X-Slack-Request-Timestamp"]
)
async def test_bolt_s_own_signature_check_agrees(endpoint: Endpoint, what: str) -> None:
    async def next_() -> BoltResponse:
        return BoltResponse(status=200)

    body, headers = forged(what, command("why"))
    request = AsyncBoltRequest(body=body.decode(), headers=dict(headers))
    response = BoltResponse(status=404)
    theirs = await AsyncRequestVerification(SIGNING_SECRET).async_process(req=request, resp=response, next=next_)

    ours, _ = await endpoint.post(body, headers | FORM)

    assert theirs is not None
    assert ours == theirs.status == (200 if what == "as it is" else 401)


async def test_the_url_verification_is_answered(endpoint: Endpoint) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c1", "token": "t"}).encode()

    status, text = await endpoint.post(body, signed(body) | {"Content-Type": "application/json"})

    assert status == 200
    assert "c1" in text


async def test_the_ssl_check_is_answered(endpoint: Endpoint) -> None:
    body = b"ssl_check=1&token=t"

    assert await endpoint.post(body, signed(body) | FORM) == (200, "")


BODY = command("why")
NOW = time.time()
GOOD = signed(BODY, at=NOW)


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        ({}, 401, "unsigned"),
        ({"X-Slack-Signature": GOOD["X-Slack-Signature"]}, 401, "unsigned"),
        ({"X-Slack-Request-Timestamp": GOOD["X-Slack-Request-Timestamp"]}, 401, "unsigned"),
        (GOOD | {"X-Slack-Signature": "v0=" + "0" * 64}, 401, "bad signature"),
        (GOOD | {"X-Slack-Signature": ""}, 401, "bad signature"),
        (GOOD | {"X-Slack-Signature": "v0=ünï💡"}, 401, "bad signature"),
        (signed(BODY, secret="another", at=NOW), 401, "bad signature"),
        (signed(b"another body", at=NOW), 401, "bad signature"),
        (signed(BODY, at=NOW - 400), 401, "old timestamp"),
        (signed(BODY, at=NOW + 3600), 401, "old timestamp"),
        (GOOD | {"X-Slack-Request-Timestamp": "soon"}, 401, "bad timestamp"),
        (GOOD | {"X-Slack-Request-Timestamp": "-1"}, 401, "bad timestamp"),
        (GOOD | {"X-Slack-Request-Timestamp": "1" * 400}, 401, "bad timestamp"),
        (GOOD | {"X-Slack-Request-Timestamp": "١٢٣"}, 401, "bad timestamp"),
        ({"Content-Type": "application/octet-stream"}, 401, "unsigned"),
        (GOOD | {"Content-Type": "text/plain", "X-Slack-Signature": "v0="}, 401, "bad signature"),
        (GOOD | {"Content-Type": "text/plain"}, 400, "unsupported content type"),
        (GOOD | {"Content-Type": "multipart/form-data; boundary=x"}, 400, "unsupported content type"),
    ],
)
async def test_a_request_that_is_not_slack_s_is_refused(
    endpoint: Endpoint, headers: dict[str, str], status: int, reason: str
) -> None:
    endpoint.at = NOW

    assert await endpoint.post(BODY, FORM | headers) == (status, reason)
    assert endpoint.commands == []


async def test_a_repeated_signature_header_is_refused(endpoint: Endpoint) -> None:
    headers = [*signed(BODY).items(), ("X-Slack-Signature", "v0=1"), *FORM.items()]

    async with endpoint.client.post("/slack/events", data=BODY, headers=headers) as response:
        assert response.status == 401


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{not json", "application/json"),
        (b"[1]", "application/json"),
        (b'"text"', "application/json"),
        (b"", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"", "application/x-www-form-urlencoded"),
        (b"no equals sign", "application/x-www-form-urlencoded"),
        (b"payload=" + quote_plus("{not json").encode(), "application/x-www-form-urlencoded"),
        (b"payload=%5B%5D", "application/x-www-form-urlencoded"),
        (b"a=1&\xff=2", "application/x-www-form-urlencoded"),
    ],
)
async def test_a_signed_but_malformed_body_is_400(endpoint: Endpoint, body: bytes, kind: str) -> None:
    assert await endpoint.post(body, signed(body) | {"Content-Type": kind}) == (400, "malformed body")


@pytest.mark.parametrize("chunked", [False, True])
async def test_ten_megabytes_are_413(endpoint: Endpoint, chunked: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(160):
            yield b"x" * 65536

    data = pieces() if chunked else BytesIO(b"x" * 10_485_760)
    async with endpoint.client.post("/slack/events", data=data, headers=signed(b"x") | FORM) as response:
        assert response.status == 413
    assert endpoint.commands == []


async def test_a_command_without_a_listener_is_404_without_a_traceback(endpoint: Endpoint) -> None:
    body = BODY.replace(b"%2Fask", b"%2Fother")

    status, text = await endpoint.post(body, signed(body) | FORM)

    assert status == 404
    assert "Traceback" not in text
