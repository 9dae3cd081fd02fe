"""Slack's requests to an app: slash commands, events, and the payloads of buttons, menus, shortcuts and views.

https://docs.slack.dev/interactivity/implementing-slash-commands https://docs.slack.dev/apis/events-api#callback-field
https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

VERIFICATION_TOKEN = "deprecated"  # noqa: S105 - Slack still sends this deprecated field


@dataclass(frozen=True, kw_only=True)
class Actor:
    """A person who acts: `team` is the person's workspace, `installed` the app's workspace, `bot` the app's user."""

    user: str
    name: str
    team: str
    installed: str
    domain: str
    app: str
    bot: str

    def payload(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Return a payload of this kind, with the fields that all payloads have."""
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


def slash_command(
    actor: Actor, command: str, text: str, *, channel: Mapping[str, str], trigger_id: str, response_url: str
) -> dict[str, str]:
    """Return the form fields of a slash command."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": actor.installed,
        "team_domain": actor.domain,
        "channel_id": channel["id"],
        "channel_name": channel["name"],
        "user_id": actor.user,
        "user_name": actor.name,
        "command": command,
        "text": text,
        "api_app_id": actor.app,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def event_envelope(actor: Actor, event: Mapping[str, Any], *, at: float, id: str | None = None) -> dict[str, Any]:
    """Return an event as Slack delivers it; `at` is its time in seconds since 1970."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": actor.installed,
        "context_team_id": actor.installed,
        "api_app_id": actor.app,
        "event": event,
        "type": "event_callback",
        "event_id": id or f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(at),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": actor.installed,
                "user_id": actor.bot,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


def message_event(
    actor: Actor, text: str, *, channel: str, ts: str, thread_ts: str | None = None, channel_type: str = ""
) -> dict[str, Any]:
    """Return the event of a person's message; without a `channel_type`, return an `app_mention`.

    `text` has ids in place of names.
    """
    event: dict[str, Any] = {
        "type": "message" if channel_type else "app_mention",
        "user": actor.user,
        "text": text,
        "ts": ts,
        "channel": channel,
        "event_ts": ts,
        "team": actor.team,
    }
    more = {"channel_type": channel_type, "thread_ts": thread_ts}
    return event | {name: value for name, value in more.items() if value}


def link_preview(event: Mapping[str, Any], *, event_ts: str) -> dict[str, Any]:
    """Return the event by which Slack reports the preview of a link: an edit that leaves the message's text as it was.

    https://docs.slack.dev/reference/events/message/message_changed
    """
    before = {name: value for name, value in event.items() if name not in {"channel", "channel_type", "event_ts"}}
    return {
        **event,
        "subtype": "message_changed",
        "hidden": True,
        "ts": event_ts,
        "event_ts": event_ts,
        "message": before | {"attachments": [{"id": 1, "fallback": "A page"}]},
        "previous_message": before,
    }


def home_opened(
    *, user: str, channel: str, tab: str, event_ts: str, view: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the event of a person who opens the direct message with the app, at the tab "home" or "messages".

    `view` is the home tab that the person sees, None if the app has not published one.
    https://docs.slack.dev/reference/events/app_home_opened
    """
    shown = {} if view is None or tab != "home" else {"view": dict(view)}
    return {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab, "event_ts": event_ts, **shown}


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


def interaction_form(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the form in which the payload of an interaction is sent."""
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
    """Return the payload for a person's use of an element in a message; `message` is the message object.

    https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
    """
    container = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel["id"],
        "is_ephemeral": private,
        **({"thread_ts": message["thread_ts"]} if message.get("thread_ts") else {}),
    }
    # Slack keeps no copy of an ephemeral message, so the payload does not contain it.
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
    """Return the payload for a person's use of an element in a view; it has no response_url."""
    container = {"type": "view", "view_id": view["id"]}
    return actor.payload(
        "block_actions", container=container, trigger_id=trigger_id, view=dict(view), actions=list(actions)
    )


def view_submission(
    actor: Actor, *, view: Mapping[str, Any], trigger_id: str, response_urls: Sequence[Mapping[str, str]] = ()
) -> dict[str, Any]:
    """Return the payload for a submitted modal; `response_urls` come from its inputs with `response_url_enabled`.

    https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
    """
    urls = [dict(one) for one in response_urls]
    return actor.payload("view_submission", view=dict(view), trigger_id=trigger_id, response_urls=urls)


def view_closed(actor: Actor, *, view: Mapping[str, Any], cleared: bool) -> dict[str, Any]:
    """Return the payload for a closed view with `notify_on_close`; `cleared` is whether the whole modal was closed."""
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
    """Return the payload for a person's use of a shortcut on a message.

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
    """Return the payload for a person's use of a global shortcut; it has no channel and no response_url."""
    return actor.payload("shortcut", callback_id=callback_id, trigger_id=trigger_id, action_ts=action_ts)
