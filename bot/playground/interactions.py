"""What Slack sends when people use buttons, menus, shortcuts and views: one form field, `payload`, with JSON.

https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.playground.events import VERIFICATION_TOKEN


@dataclass(frozen=True, kw_only=True)
class Actor:
    """A person who does something: `team` is the person's workspace, `installed` that of the app."""

    user: str
    name: str
    team: str
    installed: str
    domain: str
    app: str

    def payload(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return a payload of this kind, with what all have in common."""
        return {
            "type": kind,
            "user": {"id": self.user, "username": self.name, "name": self.name, "team_id": self.team},
            "api_app_id": self.app,
            "token": VERIFICATION_TOKEN,
            "team": {"id": self.installed, "domain": self.domain},
            "enterprise": None,
            "is_enterprise_install": False,
            **fields,
        }


def form(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the form that a payload is sent in."""
    return {"payload": json.dumps(payload)}


def message_actions(
    actor: Actor,
    actions: Sequence[Mapping[str, Any]],
    *,
    message: Mapping[str, Any],
    private: bool,
    channel: Mapping[str, str],
    trigger_id: str,
    response_url: str,
) -> dict[str, Any]:
    """Return what Slack sends when a person uses an element of a message; `message` is the message object.

    https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
    """
    container = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel["id"],
        "is_ephemeral": private,
        **({"thread_ts": message["thread_ts"]} if message.get("thread_ts") else {}),
    }
    # Slack leaves the message out when it is ephemeral: it keeps no copy of one.
    kept = {} if private else {"message": dict(message)}
    return actor.payload(
        "block_actions",
        container=container,
        trigger_id=trigger_id,
        channel=dict(channel),
        state={"values": {}},
        response_url=response_url,
        actions=list(actions),
        **kept,
    )


def view_actions(
    actor: Actor, actions: Sequence[Mapping[str, Any]], *, view: Mapping[str, Any], trigger_id: str
) -> dict[str, Any]:
    """Return what Slack sends when a person uses an element of a view, which has no response_url."""
    return actor.payload(
        "block_actions",
        container={"type": "view", "view_id": view["id"]},
        trigger_id=trigger_id,
        view=dict(view),
        actions=list(actions),
    )


def view_submission(
    actor: Actor, *, view: Mapping[str, Any], trigger_id: str, response_urls: Sequence[Mapping[str, str]] = ()
) -> dict[str, Any]:
    """Return what Slack sends when a person submits a modal; `response_urls` are those that its inputs enable.

    https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
    """
    urls = [dict(one) for one in response_urls]
    return actor.payload("view_submission", view=dict(view), trigger_id=trigger_id, response_urls=urls)


def view_closed(actor: Actor, *, view: Mapping[str, Any], cleared: bool) -> dict[str, Any]:
    """Return what Slack sends when a person closes a view with `notify_on_close`; `cleared`: with the whole modal."""
    return actor.payload("view_closed", view=dict(view), is_cleared=cleared)


def message_shortcut(
    actor: Actor,
    callback_id: str,
    *,
    message: Mapping[str, Any],
    channel: Mapping[str, str],
    trigger_id: str,
    response_url: str,
    action_ts: str,
) -> dict[str, Any]:
    """Return what Slack sends when a person uses a shortcut on a message.

    https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
    """
    return actor.payload(
        "message_action",
        callback_id=callback_id,
        trigger_id=trigger_id,
        action_ts=action_ts,
        message_ts=message["ts"],
        message=dict(message),
        channel=dict(channel),
        response_url=response_url,
    )


def global_shortcut(actor: Actor, callback_id: str, *, trigger_id: str, action_ts: str) -> dict[str, Any]:
    """Return what Slack sends when a person uses a shortcut from anywhere: no channel, and no response_url."""
    return actor.payload("shortcut", callback_id=callback_id, trigger_id=trigger_id, action_ts=action_ts)
