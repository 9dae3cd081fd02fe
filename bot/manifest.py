"""The app's manifest for Slack, for one configuration.

https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from textwrap import wrap
from typing import Any, Literal, TypedDict, Unpack

from bot.commands import COMMANDS
from bot.commands.base import ROOT_COMMAND, Command
from bot.commands.routing import APP_NAME, EXAMPLES, SlashCommand, slash_commands
from bot.slack.scopes import ALL_FEATURES, NO_FEATURES, Features

Value = str | bool | int | Sequence["Value"] | Mapping[str, "Value"]

WIDTH = 118

DESCRIPTION = "Answers questions from the live web, with sources"
EXAMPLE = "https://example.com"

EVENTS = {
    "app_mention": "A mention in a channel; needs app_mentions:read.",
    "message.im": "A direct message; needs im:history.",
    "agent_session_stopped": "Slack's own stop button was pressed while an answer was written.",
    "app_home_opened": "The home tab was opened, which the app shows; or the messages tab: it suggests questions.",
    "app_uninstalled": "The app was removed: its work ends and its texts are deleted.",
    "tokens_revoked": "The bot token was revoked: digests pause and open questions end.",
}
"""The events that Slack sends to the app, each with its reason. https://docs.slack.dev/reference/events"""

ORGANIZATION_EVENTS = {
    "team_access_granted": "An organization lets more of its workspaces use the app that it has installed.",
    "team_access_revoked": "It takes workspaces off the app: their work ends and their texts are deleted.",
}
"""Additional events if whole organizations can install the app."""

Shortcut = tuple[Literal["global", "message"], str, str, str]
"""A shortcut's type, name, callback_id and description. https://docs.slack.dev/interactivity/implementing-shortcuts"""

SHORTCUTS: tuple[Shortcut, ...] = (
    ("global", "Ask the web", "ask_anything", "Ask a question, search, or read the news"),
    ("message", "Ask about this", "ask_about_this", "Ask a question about this message"),
)


@dataclass(frozen=True, kw_only=True)
class Offers:
    """What people can use in Slack: the commands, in their order, and the shortcuts."""

    commands: tuple[Command[Any, Any], ...] = COMMANDS
    shortcuts: tuple[Shortcut, ...] = SHORTCUTS


FOLLOW_UP_EVENTS = {
    "message.channels": "A message in a public channel, for replies without a mention; needs channels:history.",
    "message.groups": "The same in a private channel; needs groups:history.",
}
"""Additional events if replies without a mention are answered."""


class Configuration(TypedDict, total=False):
    """The configuration of a manifest.

    `url` is the app's public address, None for Socket Mode. With `oauth`, workspaces install the app by themselves.
    """

    prefix: str
    url: str | None
    features: Features
    oauth: bool


def render(offers: Offers, **configuration: Unpack[Configuration]) -> str:
    """Render the manifest as YAML if PyYAML is installed, otherwise as JSON; Slack reads both."""
    return (as_yaml if find_spec("yaml") else as_json)(offers, **configuration)


def as_json(offers: Offers, **configuration: Unpack[Configuration]) -> str:
    """Render the manifest as JSON."""
    return json.dumps(manifest(offers, **configuration), indent=2, ensure_ascii=False) + "\n"


def as_yaml(offers: Offers, **configuration: Unpack[Configuration]) -> str:
    """Render the manifest as YAML, with a comment above each event and scope. Raises ImportError without PyYAML."""
    import yaml  # Only developers install it.

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
            # Lists are indented below their name.
            return super().increase_indent(flow, indentless=False)

    content = manifest(offers, **configuration)
    text = yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    reasons = EVENTS | FOLLOW_UP_EVENTS | ORGANIZATION_EVENTS | {scope.name: scope.why for scope in ALL_FEATURES.scopes}
    comments = {f"- {name}": why for name, why in reasons.items()}
    prefix, url = configuration.get("prefix", ""), configuration.get("url", EXAMPLE)
    lines = [line for sentence in _instructions(prefix, url) for line in _comment(sentence)]
    for line in text.splitlines():
        entry = line.lstrip()
        lines += [*_comment(comments.get(entry, ""), indent=len(line) - len(entry)), line]
    return "\n".join(lines) + "\n"


def manifest(
    offers: Offers,
    *,
    prefix: str = "",
    url: str | None = EXAMPLE,
    features: Features = NO_FEATURES,
    oauth: bool = False,
) -> dict[str, Value]:
    """Return the manifest; the name of every slash command begins with `prefix`."""
    address = "" if url is None else f"{url.rstrip('/')}/slack"
    request_url: dict[str, Value] = {"request_url": f"{address}/events"} if address else {}
    # The one address to which Slack may send a person who installs the app.
    redirect_urls: dict[str, Value] = {"redirect_urls": [f"{address}/oauth_redirect"]} if address and oauth else {}
    events = EVENTS | (FOLLOW_UP_EVENTS if features.follow_ups else {}) | (ORGANIZATION_EVENTS if oauth else {})
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": APP_NAME, "description": f"{DESCRIPTION}.", "background_color": "#20313b"},
        "features": _features(offers, prefix, url),
        "oauth_config": redirect_urls
        | {
            # Slack wants an optional scope in both lists: https://docs.slack.dev/reference/app-manifest/#oauth
            "scopes": {
                "bot": [scope.name for scope in features.scopes],
                "bot_optional": [scope.name for scope in features.scopes if scope.optional],
            }
        },
        "settings": {
            "event_subscriptions": request_url | {"bot_events": list(events)},
            "interactivity": {"is_enabled": True} | request_url,
            # A whole organization can install the app only if each workspace gets a token of its own, by OAuth.
            "org_deploy_enabled": oauth,
            "socket_mode_enabled": url is None,
            "token_rotation_enabled": False,
        },
    }


def _features(offers: Offers, prefix: str, url: str | None) -> dict[str, Value]:
    return {
        "agent_view": {
            "agent_description": f"{DESCRIPTION} you can check.",
            "suggested_prompts": [prompt._asdict() for prompt in EXAMPLES],
        },
        # Without a writable messages tab, nobody can send the app a direct message.
        "app_home": {
            "home_tab_enabled": True,
            "messages_tab_enabled": True,
            "messages_tab_read_only_enabled": False,
        },
        "bot_user": {"display_name": APP_NAME, "always_online": True},
        "shortcuts": [
            {"name": name, "type": kind, "callback_id": callback_id, "description": description}
            for kind, name, callback_id, description in offers.shortcuts
        ],
        "slash_commands": [_command(command, url) for command in slash_commands(offers.commands, prefix=prefix)],
    }


def _command(command: SlashCommand, url: str | None) -> dict[str, Value]:
    request_url: dict[str, Value] = {} if url is None else {"url": f"{url.rstrip('/')}/slack/events"}
    return {
        "command": command.name,
        **request_url,
        "description": command.description,
        "usage_hint": command.usage_hint,
        # If Slack escaped the text, a search would contain ids instead of the names that were typed.
        "should_escape": False,
    }


def _instructions(prefix: str, url: str | None) -> list[str]:
    where = ", with your own address for example.com" if url == EXAMPLE else ""
    verify = "" if url is None else " Once the app runs at its address, let Slack verify it under Event Subscriptions."
    owned = "" if prefix else " (it may own /search)"
    paste = f"Paste this at https://api.slack.com/apps → Create New App → From a manifest{where}.{verify}"
    refused = (
        f"If Slack answers `invalid_name` for a command{owned}, set COMMAND_PREFIX to x- or the like, and paste what "
        f"`python -m bot manifest` prints then. `/{prefix}{ROOT_COMMAND} search` does what `/{prefix}search` does."
    )
    return [paste, refused]


def _comment(text: str, *, indent: int = 0) -> Iterator[str]:
    """Yield a text as lines of a comment."""
    start = " " * indent + "# "
    yield from wrap(text, WIDTH, initial_indent=start, subsequent_indent=start)
