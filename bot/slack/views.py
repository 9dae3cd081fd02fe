"""Slack's calls for modals and the App Home, each tried once, and the meaning of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.messages import FAILURES, Retryable, classify_error

View = dict[str, Any]
"""A modal or the App Home, as plain JSON. https://docs.slack.dev/reference/views"""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Slack shows the view. `hash` identifies its version, so that an update does not overwrite a later version."""

    id: str
    hash: str


@dataclass(frozen=True, kw_only=True)
class NotOpened:
    """Slack did not show the view; `seconds` is its Retry-After, if any.

    `error` is Slack's error name, such as `expired_trigger_id`, or the name of an exception's class.
    """

    error: str
    seconds: float | None = None


ViewResult = Opened | NotOpened


class Views:
    """Opens and changes views; `sanitize` makes everything in a view harmless.

    https://docs.slack.dev/surfaces/modals
    """

    def __init__(self, client: AsyncWebClient, *, sanitize: Callable[[View], View]) -> None:
        self._client = client
        self._sanitize = sanitize

    async def open(self, trigger_id: str, view: View) -> ViewResult:
        """Open a modal. `trigger_id` is from a person's action, and expires three seconds after the action."""
        return await self._call("views.open", trigger_id=trigger_id, view=view)

    async def push(self, trigger_id: str, view: View) -> ViewResult:
        """Open a modal on top of the one in which a person acted."""
        return await self._call("views.push", trigger_id=trigger_id, view=view)

    async def update(self, view_id: str, view: View, *, hash: str | None = None) -> ViewResult:
        """Change an open modal; with a `hash`, only if the modal is still that version."""
        return await self._call("views.update", view_id=view_id, view=view, **({"hash": hash} if hash else {}))

    async def publish(self, user_id: str, view: View) -> ViewResult:
        """Show the App Home of a person."""
        return await self._call("views.publish", user_id=user_id, view=view)

    async def _call(self, method: str, *, view: View, **arguments: Any) -> ViewResult:
        try:
            response = await self._client.api_call(method, json=arguments | {"view": self._sanitize(view)})
        except FAILURES as error:
            result = classify_error(error)
            return NotOpened(error=result.error, seconds=result.seconds if isinstance(result, Retryable) else None)
        shown: dict[str, Any] = response.get("view") or {}
        return Opened(id=str(shown.get("id", "")), hash=str(shown.get("hash", "")))
