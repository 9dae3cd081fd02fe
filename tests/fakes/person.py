"""People in a workspace: what Slack sends to the app when they type and click, signed as Slack signs it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from aiohttp import ClientResponse, ClientSession

from fake_slack import payloads
from fake_slack.inputs import complaints, find_element, report, selections
from fake_slack.payloads import Actor, home_opened
from fake_slack.request_parsing import Block
from fake_slack.sender import ACK_SECONDS, signature_headers
from fake_slack.views import FAILURE, View
from tests.fakes.slack import FakeSlack

BOT_USER = "U0APP"
GENERAL = {"id": "C1", "name": "general"}
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


def signed(body: bytes, *, secret: str = SIGNING_SECRET, at: float | None = None) -> dict[str, str]:
    """Return the headers that Slack sends with a body."""
    return signature_headers(body, secret=secret, now=time.time() if at is None else at)


def actor(user: str, *, team: str = "T1") -> Actor:
    """Return a person of a workspace, who uses the app in the workspace T1."""
    return Actor(user=user, name="ada", team=team, installed="T1", domain="example", app="A1", bot=BOT_USER)


def slash_command(text: str, *, trigger: str, user: str, url: str) -> dict[str, str]:
    """Return what Slack says about a line such as `/ask why`; `url` is the response_url."""
    command, _, rest = text.partition(" ")
    return payloads.slash_command(actor(user), command, rest, channel=GENERAL, trigger_id=trigger, response_url=url)


def event_envelope(event: dict[str, Any], *, user: str, id: str) -> dict[str, Any]:
    """Return what Slack says about an event."""
    event = {"user": user, "event_ts": event.get("ts"), "team": "T1"} | event
    return payloads.event_envelope(actor(user), event, at=1795255200, id=id)


class NotSubmitted(Exception):
    """Slack's client did not submit a view; `errors` are what it says below the inputs, by block."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(errors)
        self.errors = errors


@dataclass(frozen=True, kw_only=True)
class Person:
    """Someone in the workspace who types commands, clicks and fills in views, as Slack reports it to the app.

    `app_url` is the app's address; `response_url` makes the address for a trigger. `team` is the workspace that the
    person is of; `sent` changes what Slack sends. With `slack`, triggers open views there: a `trigger` or `token` names
    one, which is valid once. A view is one of `slack.modal` or `slack.home`.
    """

    session: ClientSession
    app_url: str
    response_url: Callable[[str], str]
    secret: str = SIGNING_SECRET
    user: str = "U1"
    team: str = "T1"
    sent: dict[str, Any] = field(default_factory=dict)
    slack: FakeSlack | None = None

    async def type_command(self, text: str, *, trigger: str = "t1") -> ClientResponse:
        """Send a line such as `/ask why` as a slash command; the same `trigger` is the same delivery."""
        self._issue(trigger, channel="C1")
        form = slash_command(text, trigger=trigger, user=self.user, url=self.response_url(trigger))
        # A form has no objects: what only events and clicks name is left out.
        return await self._send(form | {name: value for name, value in self.sent.items() if isinstance(value, str)})

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
        action = {"type": "button", "action_id": action_id, "block_id": "b", "value": value, "action_ts": action_ts}
        payload = payloads.message_actions(
            self._actor,
            [action],
            message={"ts": message or "1.2"},
            private=message is None,
            channel=GENERAL | {"id": channel},
            trigger_id=self._issue(f"click-{token}", channel=channel),
            response_url=self.response_url(token),
        )
        return await self._interact(payload)

    async def choose(
        self,
        message: Mapping[str, Any],
        action_id: str,
        value: object = None,
        *,
        token: str = "choice",
        channel: str = "C1",
    ) -> ClientResponse:
        """Use an element of a message: a button, an option of a menu, a rating. One without a `ts` is ephemeral."""
        private = "ts" not in message
        blocks = [{"block_id": "b", **block} for block in message["blocks"]]
        action = _action(blocks, action_id, value, action_ts=f"1.{crc32(token.encode())}")
        payload = payloads.message_actions(
            self._actor,
            [action],
            message={"ts": "1.2", **message, "blocks": blocks},
            private=private,
            channel=GENERAL | {"id": channel},
            trigger_id=self._issue(token, channel=channel),
            response_url=self.response_url(token),
        )
        return await self._interact(payload)

    async def press(
        self,
        view: View,
        action_id: str,
        value: object = None,
        *,
        values: Mapping[str, Any] | None = None,
        token: str = "press",
    ) -> ClientResponse:
        """Use an element of a view, with `values` entered before, by block; what is chosen in an input stays there."""
        inputs = [block for block in view.blocks if block["type"] == "input"]
        chosen = {block["block_id"]: value for block in inputs if block["element"]["action_id"] == action_id}
        view = self._enter(view, {**(values or {}), **chosen})
        action = _action(view.blocks, action_id, value, action_ts=f"1.{crc32(token.encode())}")
        trigger = self._issue(token, channel=view.channel, view=view.id)
        payload = payloads.view_actions(self._actor, [action], view=self._as_slack(view), trigger_id=trigger)
        return await self._interact(payload)

    async def submit(
        self, view: View, values: Mapping[str, Any] | None = None, *, token: str = "submission"
    ) -> ClientResponse:
        """Enter values by block and submit a view; what the app answers is done to it.

        A value is text, the value of an option, an id, or a list of these. Raises NotSubmitted, BadInput for what the
        view does not offer, and TimeoutError if the app does not answer in time.
        """
        assert self.slack is not None
        view = self._enter(view, values or {})
        assert view.can_be_submitted, "the view has no button to submit it"
        if errors := complaints(view.blocks, view.state):
            self.slack.views.complain(view.id, errors)
            raise NotSubmitted(errors)
        urls = [
            {
                "block_id": block_id,
                "action_id": action_id,
                "channel_id": channel,
                "response_url": self.response_url(f"{token}-{block_id}"),
            }
            for block_id, action_id, channel in selections(view.blocks, view.state)
        ]
        trigger = self._issue(token, channel=view.channel, view=view.id)
        payload = payloads.view_submission(
            self._actor, view=self._as_slack(view), trigger_id=trigger, response_urls=urls
        )
        try:
            async with asyncio.timeout(ACK_SECONDS):
                response = await self._interact(payload)
                answer = await response.read()
        except TimeoutError:
            self.slack.views.complain(view.id, {}, failure=FAILURE)
            raise
        if response.status == 200:
            self.slack.views.answer(view.id, json.loads(answer) if answer else {})
        else:
            self.slack.views.complain(view.id, {}, failure=FAILURE)
        return response

    async def close(self, view: View, *, clear: bool = False) -> list[ClientResponse]:
        """Close a view, or with `clear` the whole modal; return the answers of the app to what it asked to hear."""
        assert self.slack is not None
        closed = self.slack.views.close(view.id, clear=clear)
        notified = [one for one in closed if one.content.get("notify_on_close")]
        return [
            await self._interact(payloads.view_closed(self._actor, view=self._as_slack(one), cleared=len(closed) > 1))
            for one in notified
        ]

    async def shortcut(self, callback_id: str, *, token: str = "shortcut") -> ClientResponse:
        """Use a global shortcut."""
        trigger = self._issue(token)
        return await self._interact(
            payloads.global_shortcut(self._actor, callback_id, trigger_id=trigger, action_ts="1.3")
        )

    async def message_shortcut(
        self, callback_id: str, message: Mapping[str, Any], *, token: str = "message-shortcut", channel: str = "C1"
    ) -> ClientResponse:
        """Use a shortcut of a message, which has at least a `ts`."""
        payload = payloads.message_shortcut(
            self._actor,
            callback_id,
            message={"type": "message", **message},
            channel=GENERAL | {"id": channel},
            trigger_id=self._issue(token, channel=channel),
            response_url=self.response_url(token),
            action_ts="1.3",
        )
        return await self._interact(payload)

    async def open_home(self, *, tab: str = "home", id: str = "Ev-home") -> ClientResponse:
        """Open the direct message with the app at its home tab, or at its messages."""
        assert self.slack is not None
        view = self.slack.views.home(self.user)
        shown = None if view is None else self._as_slack(view)
        event = home_opened(user=self.user, channel=f"D{self.user}", tab=tab, event_ts="1.4", view=shown)
        return await self.event(event, id=id)

    @property
    def _actor(self) -> Actor:
        return actor(self.user, team=self.team)

    def _issue(self, trigger: str, *, channel: str = "", view: str | None = None) -> str:
        if self.slack is not None:
            self.slack.views.issue_trigger(self.user, channel=channel, view=view, id=trigger)
        return trigger

    def _enter(self, view: View, values: Mapping[str, Any]) -> View:
        """Enter values into a view as it is now. Raises LookupError if it is closed."""
        assert self.slack is not None
        now = self.slack.views.find(view.id)
        if now is None:
            raise LookupError(view.id)
        inputs = {block["block_id"]: block["element"]["action_id"] for block in now.blocks if block["type"] == "input"}
        entered = {block: {inputs[block]: value} if block in inputs else value for block, value in values.items()}
        return self.slack.views.enter(now, entered)

    def _as_slack(self, view: View) -> dict[str, Any]:
        assert self.slack is not None
        return view.as_slack(self.slack.workspace.owner())

    async def _interact(self, payload: dict[str, Any]) -> ClientResponse:
        return await self._send(payloads.interaction_form(payload | self.sent))

    async def _send(self, form: dict[str, str]) -> ClientResponse:
        body = urlencode(form).encode()
        headers = signed(body, secret=self.secret) | {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.session.post(f"{self.app_url}/slack/events", data=body, headers=headers)


def _action(blocks: Sequence[Block], action_id: str, value: object, *, action_ts: str) -> dict[str, Any]:
    """Return what Slack reports about the first element with this id. Raises LookupError if there is none."""
    for block in blocks:
        element = find_element([block], block_id=block["block_id"], action_id=action_id)
        if element is not None:
            action = report(element, value, block_id=block["block_id"], action_ts=action_ts)
            if action is None:
                raise LookupError(f"{action_id} has no {value!r}")
            return action
    raise LookupError(action_id)
