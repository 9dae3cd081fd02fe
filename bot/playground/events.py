"""What Slack sends: slash commands and events, and how each request is signed and sent.

https://docs.slack.dev/interactivity/implementing-slash-commands
https://docs.slack.dev/apis/events-api#callback-field
https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout

from bot.playground.timeline import APP_ID, BOT_USER_ID, TEAM_DOMAIN, TEAM_ID, USER_ID, USER_NAME, Channel, Message

VERIFICATION_TOKEN = "deprecated"  # noqa: S105 - Slack still sends this deprecated field


def command_form(*, command: str, text: str, channel: Channel, trigger_id: str, response_url: str) -> dict[str, str]:
    """Return the form fields of a slash command."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": TEAM_ID,
        "team_domain": TEAM_DOMAIN,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": USER_ID,
        "user_name": USER_NAME,
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def message_event(message: Message, *, text: str, direct: bool) -> dict[str, Any]:
    """Return the envelope of a person's message: a mention or a direct message.

    `text` is the text as Slack sends it, with ids for names.
    """
    event: dict[str, Any] = {
        "type": "message" if direct else "app_mention",
        "user": USER_ID,
        "text": text,
        "ts": message.ts,
        "channel": message.channel,
        "event_ts": message.ts,
        "team": TEAM_ID,
    }
    if direct:
        event["channel_type"] = "im"
    if message.thread_ts is not None:
        event["thread_ts"] = message.thread_ts
    return envelope(event, ts=message.ts)


def home_opened(
    *, user: str, channel: str, tab: str, event_ts: str, view: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the event of a person who opens the direct message with the app, at the tab "home" or "messages".

    `view` is the home tab that the person sees, None before the first one was published.
    https://docs.slack.dev/reference/events/app_home_opened
    """
    shown = {} if view is None or tab != "home" else {"view": dict(view)}
    return {
        "type": "app_home_opened",
        "user": user,
        "channel": channel,
        "tab": tab,
        "event_ts": event_ts,
        **shown,
    }


def session_stopped(
    *, channel: str, thread_ts: str, user: str, streams: Sequence[str], event_ts: str
) -> dict[str, Any]:
    """Return the event of Slack's own stop button; `streams` are the `ts` of the streams that Slack ended.

    https://docs.slack.dev/reference/events/agent_session_stopped
    """
    return {
        "type": "agent_session_stopped",
        "channel": channel,
        "thread_ts": thread_ts,
        "user": user,
        "streaming_message_ts": list(streams),
        "event_ts": event_ts,
    }


def envelope(event: Mapping[str, Any], *, ts: str) -> dict[str, Any]:
    """Return an event as Slack delivers it; `ts` says when it happened."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": TEAM_ID,
        "context_team_id": TEAM_ID,
        "api_app_id": APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(float(ts)),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM_ID,
                "user_id": BOT_USER_ID,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def form_body(fields: Mapping[str, str]) -> bytes:
    """Encode form fields as Slack sends them."""
    return urlencode(fields).encode()


def signed_headers(body: bytes, *, secret: str, now: float, content_type: str = FORM) -> dict[str, str]:
    """Return the headers of a signed body, by default a form; `now` is seconds since 1970."""
    timestamp = str(int(now))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": content_type,
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": f"v0={digest}",
        "User-Agent": "Slackbot 1.0 (playground)",
    }


ACK_SECONDS = 3.0


class AckError(Exception):
    """The app did not acknowledge the request in time; the message is Slack's error name."""


class Sender:
    """Posts forms and events to one address over one session.

    `clock` returns seconds since 1970; `ack_seconds` is the timeout.
    """

    def __init__(
        self,
        *,
        url: str,
        signing_secret: str,
        clock: Callable[[], float] = time.time,
        ack_seconds: float = ACK_SECONDS,
    ) -> None:
        self._url = url
        self._secret = signing_secret
        self._clock = clock
        self._timeout = ClientTimeout(total=ack_seconds)
        self._session: ClientSession | None = None

    async def send_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """Post a form and return the acknowledgement's message, empty if it has none. Raises `AckError`."""
        return await self._post(form_body(fields), content_type=FORM)

    async def send_event(self, envelope: Mapping[str, Any]) -> None:
        """Post an event. Raises `AckError`."""
        await self._post(json.dumps(envelope).encode(), content_type=JSON)

    async def _post(self, body: bytes, *, content_type: str) -> dict[str, Any]:
        headers = signed_headers(body, secret=self._secret, now=self._clock(), content_type=content_type)
        try:
            async with self._open_session().post(
                self._url, data=body, headers=headers, timeout=self._timeout, allow_redirects=False
            ) as response:
                text = await response.text(errors="replace")
        except TimeoutError:
            raise AckError("operation_timeout") from None
        except ClientError:
            raise AckError("dispatch_failed") from None
        if response.status != 200:
            raise AckError("dispatch_failed")
        return _message(text)

    async def close(self) -> None:
        """Close the session; a request after this opens another."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open_session(self) -> ClientSession:
        """Open the session late: aiohttp wants a running loop for it."""
        if self._session is None:
            self._session = ClientSession()
        return self._session


def _message(text: str) -> dict[str, Any]:
    """Parse the body of an acknowledgement: JSON is a message, anything else is its text."""
    if not text.strip():
        return {}
    try:
        message = json.loads(text)
    except ValueError:
        return {"text": text}
    return message if isinstance(message, dict) else {"text": text}
