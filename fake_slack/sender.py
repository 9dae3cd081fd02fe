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

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def signature_headers(body: bytes, *, secret: str, now: float) -> dict[str, str]:
    """Return the headers that sign a body; `now` is in seconds since 1970."""
    timestamp = str(int(now))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


ACK_SECONDS = 3.0


class AckError(Exception):
    """The app did not acknowledge the request in time; the message is Slack's error name."""


@dataclass(kw_only=True)
class Sender:
    """Posts forms and events to one address over one session.

    `clock` returns seconds since 1970; `ack_seconds` is the timeout.
    """

    url: str
    signing_secret: str = field(repr=False)
    clock: Callable[[], float] = time.time
    ack_seconds: float = ACK_SECONDS
    _session: ClientSession | None = None

    async def send_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """Post a form and return the acknowledgement's message, empty if there is none. Raises `AckError`."""
        return await self._post(urlencode(fields).encode(), content_type=FORM)

    async def send_interaction(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Post the payload of an interaction, and return its acknowledgement's message. Raises `AckError`."""
        return await self.send_form(interaction_form(payload))

    async def send_event(self, envelope: Mapping[str, Any]) -> None:
        """Post an event. Raises `AckError`."""
        await self._post(json.dumps(envelope).encode(), content_type=JSON)

    async def _post(self, body: bytes, *, content_type: str) -> dict[str, Any]:
        headers = signature_headers(body, secret=self.signing_secret, now=self.clock())
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
            raise AckError("operation_timeout") from None
        except ClientError:
            raise AckError("dispatch_failed") from None
        if response.status != 200:
            raise AckError("dispatch_failed")
        return _message(text)

    async def close(self) -> None:
        """Close the session; a later request opens another."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open_session(self) -> ClientSession:
        """Open the session on first use, because aiohttp needs a running loop."""
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
