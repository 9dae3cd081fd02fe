"""Signed bodies that Slack would never send, through the guard, Bolt, the listeners and a real Postgres."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings

from bot.settings import Settings
from tests.driver import serving
from tests.fakes.odd_bodies import COMMAND, DIRECT, FORM, JSON, MENTION, OPENED, REPLY, as_form, as_payload, click, odd
from tests.fakes.person import signed


@dataclass(frozen=True, kw_only=True)
class EventEndpoint:
    """The app's door; no one works on what comes in."""

    session: ClientSession
    url: str

    async def post(self, body: bytes, kind: str) -> int:
        headers = signed(body) | {"Content-Type": kind}
        async with self.session.post(f"{self.url}/slack/events", data=body, headers=headers) as response:
            return response.status


pytestmark = pytest.mark.settings(follow_ups="always")


@pytest.fixture
async def endpoint(settings: Settings, database: str, session: ClientSession) -> AsyncIterator[EventEndpoint]:
    async with serving(settings, database, work=False):
        yield EventEndpoint(session=session, url=f"http://127.0.0.1:{settings.port}")


async def test_no_signed_body_whatever_is_a_500(endpoint: EventEndpoint) -> None:
    bodies: list[tuple[bytes, str]] = []

    @with_settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
    @given(odd)
    def draw(body: tuple[bytes, str]) -> None:
        bodies.append(body)

    draw()
    statuses = [(await endpoint.post(*body), body) for body in bodies]

    assert [told for told in statuses if told[0] not in {200, 400, 403, 404}] == []
    assert {status for status, _ in statuses} >= {200, 400, 404}


def with_event(**event: Any) -> bytes:
    return json.dumps(MENTION | {"event": MENTION["event"] | event}).encode()


def with_click(**more: Any) -> bytes:
    return as_payload(click("retry") | more)


def with_action(**action: Any) -> bytes:
    return with_click(actions=[click("retry")["actions"][0] | action])


NEVER_SENT = (
    (as_form(COMMAND | {"team_id": "T\x001"}), FORM),
    (as_form(COMMAND | {"user_id": "U\x001"}), FORM),
    (as_form(COMMAND | {"channel_id": "\x00"}), FORM),
    (as_form(COMMAND | {"trigger_id": "\x00"}), FORM),
    (as_form(COMMAND | {"trigger_id": "x" * 10_000}), FORM),
    (as_form(COMMAND | {"command": "/ask\x00"}), FORM),
    (as_form(COMMAND | {"response_url": "https://hooks.slack.com/\x00"}), FORM),
    (with_event(channel="C\x001"), JSON),
    (with_event(user="U\ud800"), JSON),
    (with_event(ts="\udfff"), JSON),
    (with_event(ts=1.1), JSON),
    (with_event(user=5), JSON),
    (with_event(user=["U1"]), JSON),
    (with_event(text={"a": 1}), JSON),
    (with_event(subtype=[]), JSON),
    (json.dumps(REPLY | {"event": REPLY["event"] | {"thread_ts": "1.1\x00"}}).encode(), JSON),
    (json.dumps(REPLY | {"event": REPLY["event"] | {"channel_type": []}}).encode(), JSON),
    (json.dumps(OPENED | {"event": OPENED["event"] | {"channel": "D\x001"}}).encode(), JSON),
    (with_event(type={}), JSON),
    (json.dumps(MENTION | {"event": "type"}).encode(), JSON),
    (json.dumps(MENTION | {"event": None}).encode(), JSON),
    (json.dumps(MENTION | {"event": []}).encode(), JSON),
    (json.dumps(MENTION | {"event": 5}).encode(), JSON),
    (json.dumps(MENTION | {"authorizations": {"0": {}}}).encode(), JSON),
    (json.dumps(MENTION | {"authorizations": ["x"]}).encode(), JSON),
    (json.dumps(MENTION | {"authorizations": "x"}).encode(), JSON),
    (json.dumps(MENTION | {"team_id": ["T1"]}).encode(), JSON),
    (json.dumps(MENTION | {"team_id": "T\ud8001"}).encode(), JSON),
    (json.dumps({"type": "url_verification", "challenge": {"a": 1}}).encode(), JSON),
    (b'{"event":' * 900 + b"1" + b"}" * 900, JSON),
    (with_click(actions=[]), FORM),
    (with_click(actions=None), FORM),
    (with_click(actions={}), FORM),
    (with_click(actions=["x"]), FORM),
    (with_click(user=["U1"]), FORM),
    (with_click(user=5), FORM),
    (with_click(user={"id": 5}), FORM),
    (with_click(team=5), FORM),
    (with_click(channel=["C1"]), FORM),
    (with_click(container="x"), FORM),
    (with_click(response_url=5), FORM),
    (with_action(value={"a": 1}), FORM),
    (with_action(action_id=5), FORM),
    (with_action(action_id=None), FORM),
    (as_payload([click("retry")]), FORM),
    (as_payload("x"), FORM),
    (as_form({"type": "event_callback", "event": "type"}), FORM),
)
SENT = (
    (as_form(COMMAND | {"text": "why \x00 not"}), FORM),
    (as_form(COMMAND | {"command": "/質問"}), FORM),
    (with_event(text="why \ud800 not"), JSON),
    (with_event(text=None), JSON),
    (json.dumps(MENTION | {"authorizations": None, "enterprise_id": None}).encode(), JSON),
    (json.dumps(DIRECT | {"event": DIRECT["event"] | {"edited": {"user": "U1", "ts": "1.2"}}}).encode(), JSON),
    (with_click(team=None, enterprise=None, is_enterprise_install=False), FORM),
    (with_click(message={"type": "message", "blocks": [{"text": {"user": 5}}], "metadata": {"event": 1}}), FORM),
)


async def test_what_slack_would_never_send_is_400_and_what_it_may_send_is_taken(endpoint: EventEndpoint) -> None:
    assert [body for body in NEVER_SENT if await endpoint.post(*body) != 400] == []
    assert [body for body in SENT if await endpoint.post(*body) != 200] == []
