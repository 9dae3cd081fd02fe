"""Signs requests to an app as Slack does, and sends them.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout

from fake_slack.payloads import interaction_form
from fake_slack.request_parsing import FORM, JSON


def signature_headers(body: bytes, *, secret: str, now: float) -> dict[str, str]:
    """Return the headers that sign a body; `now` is in seconds since 1970."""
    timestamp = str(int(now))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


ACK_SECONDS = 3.0


RETRIES = 3
"""How often Slack repeats an event that is not acknowledged. https://docs.slack.dev/apis/events-api#retries"""


class AckError(Exception):
    """The app did not acknowledge a request as Slack requires; the message is Slack's error name.

    `reason` is the reason that Slack gives if it sends the event again; empty if the app has forbidden a repetition.
    """

    def __init__(self, error: str, *, reason: str) -> None:
        super().__init__(error)
        self.reason = reason


def ignore(mistake: str) -> None:
    """Do nothing about a mistake of the app."""


@dataclass(kw_only=True)
class Sender:
    """Posts forms and events to one address over one session.

    `clock` returns seconds since 1970; `ack_seconds` is the timeout. An event that is not acknowledged is sent again up
    to `retries` times, without Slack's pauses of one and five minutes. `deliveries` counts all deliveries of events;
    `last` is the last event. `on_mistake` is called with a sentence on each request that is not acknowledged.
    """

    url: str
    signing_secret: str = field(repr=False)
    clock: Callable[[], float] = time.time
    ack_seconds: float = ACK_SECONDS
    retries: int = 0
    deliveries: int = 0
    last: Mapping[str, Any] | None = None
    on_mistake: Callable[[str], None] = ignore
    _session: ClientSession | None = None

    async def send_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """Post a form and return the acknowledgement's message, empty if there is none. Raises `AckError`."""
        return await self._post(urlencode(fields).encode(), what=fields.get("command", "form"), content_type=FORM)

    async def send_interaction(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Post the payload of an interaction, and return its acknowledgement's message. Raises `AckError`."""
        body = urlencode(interaction_form(payload)).encode()
        return await self._post(body, what=payload["type"], content_type=FORM)

    async def send_event(self, envelope: Mapping[str, Any], *, retry: int = 0, reason: str = "http_timeout") -> None:
        """Post an event, and repeat it if it is not acknowledged. Raises `AckError` if no delivery succeeds.

        `retry` is 0 for the first delivery, then the number of the repetition; `reason` is the reason to repeat.
        """
        again = {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": reason} if retry else {}
        self.deliveries += 1
        self.last = envelope
        what = f"event {envelope['event']['type']}"
        try:
            await self._post(json.dumps(envelope).encode(), what=what, content_type=JSON, **again)
        except AckError as error:
            if retry >= self.retries or not error.reason:
                raise
            await self.send_event(envelope, retry=retry + 1, reason=error.reason)

    async def _post(self, body: bytes, *, what: str, content_type: str, **more: str) -> dict[str, Any]:
        headers = signature_headers(body, secret=self.signing_secret, now=self.clock()) | more
        headers |= {"Content-Type": content_type, "User-Agent": "Slackbot 1.0 (playground)"}
        try:
            async with self._open_session().post(
                self.url,
                data=body,
                headers=headers,
                timeout=ClientTimeout(total=self.ack_seconds),
                allow_redirects=False,
            ) as response:
                text = await response.text(errors="replace")
        except TimeoutError:
            self.on_mistake(f"{what}: operation_timeout, not acknowledged within {self.ack_seconds:g} s")
            raise AckError("operation_timeout", reason="http_timeout") from None
        except ClientError:
            self.on_mistake(f"{what}: dispatch_failed, no answer from {self.url}")
            raise AckError("dispatch_failed", reason="connection_failed") from None
        # For events, Slack accepts any status 2xx (https://docs.slack.dev/apis/events-api#responding), else only 200.
        if response.status != 200 and (content_type != JSON or response.status // 100 != 2):
            self.on_mistake(f"{what}: dispatch_failed, the app answered with status {response.status}")
            forbidden = response.headers.get("X-Slack-No-Retry") == "1"
            raise AckError("dispatch_failed", reason="" if forbidden else "http_error")
        return _message(text)

    async def close(self) -> None:
        """Close the session; a later request opens another."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open_session(self) -> ClientSession:
        """Return the session; the first call opens it, because aiohttp needs a running loop."""
        if self._session is None:
            self._session = ClientSession()
        return self._session


def _message(text: str) -> dict[str, Any]:
    """Return the message in the body of an acknowledgement: a JSON object, or anything else as the message's text."""
    if not text.strip():
        return {}
    try:
        message = json.loads(text)
    except ValueError:
        return {"text": text}
    return message if isinstance(message, dict) else {"text": text}
