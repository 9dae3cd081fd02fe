"""Sends signed requests to the app as Slack does, and reads what the app says within Slack's three seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout

from bot.playground.signing import FORM, JSON, form_body, signed_headers

ACK_SECONDS = 3.0


class AckError(Exception):
    """The app did not say in time that it has the request; the message is Slack's word for it."""


class Sender:
    """Posts forms and events to one address over one session.

    `clock` gives seconds since 1970, `ack_seconds` is the patience.
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

    async def send(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """Post one form; returns the ack's message, empty for a bare 200. Raises `AckError`."""
        return await self._post(form_body(fields), content_type=FORM)

    async def report(self, envelope: Mapping[str, Any]) -> None:
        """Post one event. Raises `AckError`."""
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
    """Read the body of an ack: JSON is a message, anything else is its text."""
    if not text.strip():
        return {}
    try:
        message = json.loads(text)
    except ValueError:
        return {"text": text}
    return message if isinstance(message, dict) else {"text": text}
