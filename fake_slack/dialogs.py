"""A person's actions outside of messages, in shortcuts, modals and the home tab, and the app's answers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fake_slack import payloads
from fake_slack.inputs import Entered, complaints, find_element, report, selections
from fake_slack.payloads import Actor
from fake_slack.request_parsing import BadInput
from fake_slack.sender import AckError, Sender
from fake_slack.timeline import Timeline
from fake_slack.views import FAILURE, View
from fake_slack.workspace import Channel, Workspace


@dataclass(frozen=True, kw_only=True)
class Dialogs:
    """Sends a person's shortcuts, and actions in views, to the app.

    `issue_response_url` returns a response_url for a channel and a `trigger_id`. `shortcuts` are the shortcuts in
    the app's manifest. If they are None, the manifest is not known, and every shortcut is sent.
    """

    timeline: Timeline
    workspace: Workspace
    sender: Sender
    actor: Actor
    shortcuts: Sequence[Mapping[str, Any]] | None
    issue_response_url: Callable[[Channel, str], str]

    async def open(self, channel: Channel, *, tab: str) -> None:
        """Report that the person opened a channel at a tab; Slack does this only for direct messages with the app."""
        if not channel.is_im:
            return
        user, ts = self.actor.user, self.timeline.next_ts()
        home = self.timeline.views.home(user)
        shown = None if home is None else self._as_slack(home)
        event = payloads.home_opened(user=user, channel=channel.id, tab=tab, event_ts=ts, view=shown)
        with suppress(AckError):  # an app that does not listen misses nothing
            await self.sender.send_event(payloads.event_envelope(self.actor, event, at=float(ts)))

    async def use_shortcut(self, callback_id: str, *, channel: Channel, message_ts: str | None = None) -> None:
        """Use a shortcut: a global one, or with `message_ts` a shortcut of that message.

        Raises BadInput if there is no such shortcut or message, and `AckError` if the app does not acknowledge it.
        """
        kind = "global" if message_ts is None else "message"
        known = [(one["callback_id"], one["type"]) for one in self.shortcuts or ()]
        if self.shortcuts is not None and (callback_id, kind) not in known:
            raise BadInput("callback_id: there is no such shortcut")
        trigger = self.timeline.views.issue_trigger(self.actor.user, channel="" if message_ts is None else channel.id)
        ts = self.timeline.next_ts()
        if message_ts is None:
            payload = payloads.global_shortcut(self.actor, callback_id, trigger_id=trigger, action_ts=ts)
        else:
            message = self.timeline.find(channel.id, message_ts)
            if message is None or message.private:
                raise BadInput("ts: there is no such message")
            payload = payloads.message_shortcut(
                self.actor,
                callback_id,
                message=message.as_slack(),
                channel=channel.as_payload(),
                trigger_id=trigger,
                response_url=self.issue_response_url(channel, trigger),
                action_ts=ts,
            )
        await self.sender.send_interaction(payload)

    async def press(self, view_id: str, *, block_id: str, action_id: str, raw: object, values: Entered) -> None:
        """Enter `values` in a view, then use one of its elements. Raises BadInput if there is no such element."""
        view = self.timeline.views.enter(self._find(view_id), values)
        element = find_element(view.blocks, block_id=block_id, action_id=action_id)
        ts = self.timeline.next_ts()
        action = None if element is None else report(element, raw, block_id=block_id, action_ts=ts)
        if action is None:
            raise BadInput("action_id: the view has no such element")
        trigger = self.timeline.views.issue_trigger(self.actor.user, view=view.id, channel=view.channel)
        shown = self._as_slack(view)
        payload = payloads.view_actions(self.actor, [action], view=shown, trigger_id=trigger)
        try:
            await self.sender.send_interaction(payload)
        except AckError:
            self.timeline.views.complain(view.id, {}, failure=FAILURE)

    async def submit(self, view_id: str, values: Entered) -> None:
        """Submit a modal, unless Slack's client complains about a value.

        Raises BadInput if the modal is closed, has no submit button, or does not offer one of the values.
        """
        view = self._find(view_id)
        if not view.can_be_submitted:
            raise BadInput("view_id: this view has no button to submit it")
        view = self.timeline.views.enter(view, values)
        if errors := complaints(view.blocks, view.state):
            self.timeline.views.complain(view.id, errors)
            return
        trigger = self.timeline.views.issue_trigger(self.actor.user, view=view.id, channel=view.channel)
        payload = payloads.view_submission(
            self.actor, view=self._as_slack(view), trigger_id=trigger, response_urls=self._response_urls(view, trigger)
        )
        try:
            self.timeline.views.answer(view.id, await self.sender.send_interaction(payload))
        except AckError:
            self.timeline.views.complain(view.id, {}, failure=FAILURE)

    async def close(self, view_id: str, *, clear: bool) -> None:
        """Close a view, or with `clear` the whole modal; tell the app about closed views that set `notify_on_close`."""
        closed = self.timeline.views.close(view_id, clear=clear)
        for view in closed:
            if view.content.get("notify_on_close"):
                payload = payloads.view_closed(self.actor, view=self._as_slack(view), cleared=len(closed) > 1)
                with suppress(AckError):
                    await self.sender.send_interaction(payload)

    def _find(self, view_id: str) -> View:
        view = self.timeline.views.find(view_id)
        if view is None:
            raise BadInput("view_id: this view is closed")
        return view

    def _as_slack(self, view: View) -> dict[str, Any]:
        return view.as_slack(self.workspace.owner())

    def _response_urls(self, view: View, trigger: str) -> list[dict[str, str]]:
        return [
            {
                "block_id": block_id,
                "action_id": action_id,
                "channel_id": channel_id,
                "response_url": self.issue_response_url(self.workspace.conversations[channel_id], trigger),
            }
            for block_id, action_id, channel_id in selections(view.blocks, view.state)
            if channel_id in self.workspace.conversations
        ]
