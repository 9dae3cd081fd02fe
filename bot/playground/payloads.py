"""The bodies of what Slack sends: a slash command, an event and a click, field by field as the app knows them.

https://docs.slack.dev/interactivity/implementing-slash-commands
https://docs.slack.dev/apis/events-api#callback-field
https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from bot.blocks.base import Block
from bot.playground import workspace
from bot.playground.timeline import Message
from bot.playground.workspace import Channel

VERIFICATION_TOKEN = "deprecated"  # noqa: S105 - Slack still sends this field; nobody may rely on it


@dataclass(frozen=True, kw_only=True)
class Click:
    """A press of a button in a message; `action_ts` is when."""

    message: Message
    block_id: str
    element: dict[str, Any]
    action_ts: str


def command_form(*, command: str, text: str, channel: Channel, trigger_id: str, response_url: str) -> dict[str, str]:
    """Return the form fields of a slash command."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": workspace.TEAM_ID,
        "team_domain": workspace.TEAM_DOMAIN,
        "channel_id": channel.id,
        "channel_name": channel.name,
        "user_id": workspace.USER_ID,
        "user_name": workspace.USER_NAME,
        "command": command,
        "text": text,
        "api_app_id": workspace.APP_ID,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger_id,
    }


def message_event(message: Message, *, text: str, direct: bool) -> dict[str, Any]:
    """Return the envelope that reports a person's message: a mention, or what was written to the app directly.

    `text` is the message's as Slack reports it, with ids for names.
    """
    event: dict[str, Any] = {
        "type": "message" if direct else "app_mention",
        "user": workspace.USER_ID,
        "text": text,
        "ts": message.ts,
        "channel": message.channel,
        "event_ts": message.ts,
        "team": workspace.TEAM_ID,
    }
    if direct:
        event["channel_type"] = "im"
    if message.thread_ts is not None:
        event["thread_ts"] = message.thread_ts
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": workspace.TEAM_ID,
        "context_team_id": workspace.TEAM_ID,
        "api_app_id": workspace.APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{secrets.token_hex(5).upper()}",
        "event_time": int(float(message.ts)),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": workspace.TEAM_ID,
                "user_id": workspace.BOT_USER_ID,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }


def click_form(click: Click, *, channel: Channel, trigger_id: str, response_url: str) -> dict[str, str]:
    """Return the form of a click: one field, `payload`, that holds JSON."""
    message = click.message
    payload: dict[str, Any] = {
        "type": "block_actions",
        "user": {
            "id": workspace.USER_ID,
            "username": workspace.USER_NAME,
            "name": workspace.USER_NAME,
            "team_id": workspace.TEAM_ID,
        },
        "api_app_id": workspace.APP_ID,
        "token": VERIFICATION_TOKEN,
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": channel.id,
            "is_ephemeral": message.private,
        },
        "trigger_id": trigger_id,
        "team": {"id": workspace.TEAM_ID, "domain": workspace.TEAM_DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": channel.id, "name": channel.name},
        "state": {"values": {}},
        "response_url": response_url,
        "actions": [_action(click)],
    }
    # Slack leaves the message out when it is ephemeral: it keeps no copy of one.
    if not message.private:
        payload["message"] = message.as_slack()
    return {"payload": json.dumps(payload)}


def _action(click: Click) -> dict[str, Any]:
    known = ("action_id", "type", "text", "value", "style", "url")
    kept = {name: click.element[name] for name in known if name in click.element}
    return {**kept, "block_id": click.block_id, "action_ts": click.action_ts}


def find_element(blocks: tuple[Block, ...], *, block_id: str, action_id: str) -> dict[str, Any] | None:
    """Find a button by its block and its own id, among the elements of a block or as a section's accessory."""
    for block in blocks:
        if block.get("block_id") == block_id:
            elements = block.get("elements")
            candidates = [*(elements if isinstance(elements, list) else ()), block.get("accessory")]
            return next((e for e in candidates if isinstance(e, dict) and e.get("action_id") == action_id), None)
    return None
