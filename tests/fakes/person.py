"""People in a workspace: what Slack sends to the app when they type and click, signed as Slack signs it."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from aiohttp import ClientResponse, ClientSession

BOT_USER = "U0APP"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


def signed(body: bytes, *, secret: str = SIGNING_SECRET, at: float | None = None) -> dict[str, str]:
    """Return the headers that Slack sends with a body.

    https://docs.slack.dev/authentication/verifying-requests-from-slack
    """
    timestamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


def slash_command(text: str, *, trigger: str, user: str, url: str) -> dict[str, str]:
    """Return what Slack says about a line such as `/ask why`; `url` is the response_url."""
    command, _, rest = text.partition(" ")
    return {
        "token": "deprecated",
        "team_id": "T1",
        "team_domain": "example",
        "channel_id": "C1",
        "channel_name": "general",
        "user_id": user,
        "user_name": "ada",
        "command": command,
        "text": rest,
        "api_app_id": "A1",
        "is_enterprise_install": "false",
        "response_url": url,
        "trigger_id": trigger,
    }


def event_envelope(event: dict[str, Any], *, user: str, id: str) -> dict[str, Any]:
    """Return what Slack says about an event. https://docs.slack.dev/apis/events-api#callback-field"""
    return {
        "token": "deprecated",
        "team_id": "T1",
        "context_team_id": "T1",
        "api_app_id": "A1",
        "event": {"user": user, "event_ts": event.get("ts"), "team": "T1"} | event,
        "type": "event_callback",
        "event_id": id,
        "event_time": 1795255200,
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": "T1",
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


@dataclass(frozen=True, kw_only=True)
class Person:
    """Someone in the workspace who types commands and clicks, as Slack reports it to the app at `app_url`.

    `response_url` makes the address for a trigger. `team` is the workspace that the person is of; `sent` changes what
    Slack sends.
    """

    session: ClientSession
    app_url: str
    response_url: Callable[[str], str]
    secret: str = SIGNING_SECRET
    user: str = "U1"
    team: str = "T1"
    sent: dict[str, Any] = field(default_factory=dict)

    async def type_command(self, text: str, *, trigger: str = "t1") -> ClientResponse:
        """Send a line such as `/ask why` as a slash command; the same `trigger` is the same delivery."""
        form = slash_command(text, trigger=trigger, user=self.user, url=self.response_url(trigger))
        return await self._send(form | self.sent)

    async def mention(self, text: str, /, *, ts: str = "1795255200.000100", **more: Any) -> ClientResponse:
        """Mention the app in a channel, as the event `app_mention` says; the same `ts` is the same message."""
        return await self.event(
            {"type": "app_mention", "channel": "C1", "text": f"<@{BOT_USER}> {text}", "ts": ts} | more
        )

    async def send_direct_message(self, text: str, /, *, ts: str = "1795255200.000100", **more: Any) -> ClientResponse:
        """Write to the app directly."""
        event = {"type": "message", "channel": "DU1", "channel_type": "im", "text": text, "ts": ts}
        return await self.event(event | more)

    async def event(
        self, event: dict[str, Any], *, id: str = "Ev1", headers: dict[str, str] | None = None
    ) -> ClientResponse:
        """Have Slack report an event; a delivery that is one more has the header `X-Slack-Retry-Num`."""
        if self.team != "T1":
            event = {"user_team": self.team} | event
        body = json.dumps(event_envelope(event, user=self.user, id=id) | self.sent).encode()
        sent = signed(body, secret=self.secret) | {"Content-Type": "application/json"} | (headers or {})
        return await self.session.post(f"{self.app_url}/slack/events", data=body, headers=sent)

    async def click(
        self, action_id: str, value: str, *, token: str = "click", channel: str = "C1", message: str | None = None
    ) -> ClientResponse:
        """Click a button, on an ephemeral message or on the one with the `ts` that is named.

        The `token` tells two clicks apart, in their response_url and by the moment.
        """
        action_ts = f"1.{crc32(token.encode())}"
        payload = {
            "type": "block_actions",
            "user": {"id": self.user, "team_id": self.team},
            "team": {"id": "T1"},
            "api_app_id": "A1",
            "container": {
                "type": "message",
                "is_ephemeral": message is None,
                "channel_id": channel,
                "message_ts": message or "1.2",
            },
            "channel": {"id": channel},
            "trigger_id": "click-trigger",
            "response_url": self.response_url(token),
            "actions": [
                {"type": "button", "action_id": action_id, "block_id": "b", "value": value, "action_ts": action_ts}
            ],
        }
        return await self._send({"payload": json.dumps(payload | self.sent)})

    async def _send(self, form: dict[str, str]) -> ClientResponse:
        body = urlencode(form).encode()
        headers = signed(body, secret=self.secret) | {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.session.post(f"{self.app_url}/slack/events", data=body, headers=headers)
