"""The app's manifest for Slack, for one configuration: pure. `manifest.yml` is what it writes for the defaults.

https://yaml.org/spec/1.2.2/

https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from bot.commands import COMMANDS
from bot.commands.routing import APP_NAME, ROOT_COMMAND, SlashCommand, slash_commands
from bot.slack.scopes import SCOPES

Plain = str | bool | int | Sequence["Plain"] | Mapping[str, "Plain"]

WIDTH = 118
_BARE = re.compile(r"(?!(?:true|false|yes|no|on|off|null)$)[A-Za-z/](?:[\w /.,;:?!…-]*[\w/.?!…])?", re.IGNORECASE)
"""Texts that mean themselves without quotes; a colon with a space behind it would make a mapping."""


def dump(value: Mapping[str, Plain], *, comments: Mapping[str, str]) -> str:
    """Write a mapping of printable texts; `comments` holds, by a list's entry, what is said in the lines above it."""
    return "\n".join(_lines(value, comments)) + "\n"


def comment(text: str, *, indent: int = 0) -> Iterator[str]:
    """Yield a text as lines of a comment."""
    start = " " * indent + "# "
    yield from wrap(text, WIDTH, initial_indent=start, subsequent_indent=start)


def _lines(value: Plain, comments: Mapping[str, str], *, indent: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _entry(f"{name}:", inner, comments, indent=indent)
    elif not isinstance(value, str | bool | int):
        for inner in value:
            yield from comment(comments.get(str(inner), ""), indent=indent)
            yield from _item(inner, comments, indent=indent)


def _entry(name: str, value: Plain, comments: Mapping[str, str], *, indent: int) -> Iterator[str]:
    if isinstance(value, str | bool | int):
        yield f"{' ' * indent}{name} {_scalar(value)}"
    else:
        yield f"{' ' * indent}{name}"
        yield from _lines(value, comments, indent=indent + 2)


def _item(value: Plain, comments: Mapping[str, str], *, indent: int) -> Iterator[str]:
    if isinstance(value, str | bool | int):
        yield f"{' ' * indent}- {_scalar(value)}"
        return
    first, *rest = _lines(value, comments, indent=indent + 2)
    yield f"{' ' * indent}- {first.lstrip()}"
    yield from rest


def _scalar(value: str | bool | int) -> str:
    bare = isinstance(value, str) and ": " not in value and " #" not in value and _BARE.fullmatch(value)
    return str(value) if bare else json.dumps(value, ensure_ascii=False)


DESCRIPTION = "Answers questions from the live web, with sources"
EXAMPLE = "https://example.com"

EVENTS = {
    "app_mention": "A mention in a channel; needs app_mentions:read.",
    "message.im": "A direct message; needs im:history.",
    "app_uninstalled": "The app was removed: its work ends and its texts are deleted.",
    "tokens_revoked": "The bot token was revoked: digests pause and open questions end.",
}
"""What Slack tells the app, and why. https://docs.slack.dev/reference/events"""


def as_yaml(*, prefix: str = "", url: str | None = EXAMPLE) -> str:
    """Write the manifest with comments. `url` is the app's public address, None for Socket Mode."""
    comments = EVENTS | {scope.name: scope.why for scope in SCOPES}
    head = "\n".join(line for text in _head(prefix, url) for line in comment(text))
    return f"{head}\n{dump(manifest(prefix=prefix, url=url), comments=comments)}"


def as_json(*, prefix: str = "", url: str | None = EXAMPLE) -> str:
    """Write the manifest as JSON, which Slack's command line reads."""
    return json.dumps(manifest(prefix=prefix, url=url), indent=2, ensure_ascii=False) + "\n"


def manifest(*, prefix: str, url: str | None) -> dict[str, Plain]:
    """Return the manifest; every name carries the prefix."""
    request_url: dict[str, Plain] = {} if url is None else {"request_url": f"{url.rstrip('/')}/slack/events"}
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": APP_NAME, "description": f"{DESCRIPTION}.", "background_color": "#20313b"},
        "features": _features(prefix, url),
        "oauth_config": {"scopes": _scopes()},
        "settings": {
            "event_subscriptions": request_url | {"bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True} | request_url,
            "org_deploy_enabled": False,
            "socket_mode_enabled": url is None,
            "token_rotation_enabled": False,
        },
    }


def _scopes() -> dict[str, Plain]:
    # Slack wants an optional scope in both lists: https://docs.slack.dev/reference/app-manifest/#oauth
    return {
        "bot": [scope.name for scope in SCOPES],
        "bot_optional": [scope.name for scope in SCOPES if scope.optional],
    }


def _features(prefix: str, url: str | None) -> dict[str, Plain]:
    return {
        "agent_view": {
            "agent_description": f"{DESCRIPTION} you can check.",
            "suggested_prompts": [
                {
                    "title": "What changed this week?",
                    "message": "What changed this week in open source databases?",
                },
                {
                    "title": "Compare two things",
                    "message": "Compare PostgreSQL and MySQL for full-text search.",
                },
            ],
        },
        # Without a writable messages tab nobody can send the app a direct message.
        "app_home": {
            "home_tab_enabled": False,
            "messages_tab_enabled": True,
            "messages_tab_read_only_enabled": False,
        },
        "bot_user": {"display_name": APP_NAME, "always_online": True},
        "slash_commands": [_command(command, url) for command in slash_commands(COMMANDS, prefix=prefix)],
    }


def _command(command: SlashCommand, url: str | None) -> dict[str, Plain]:
    request_url: dict[str, Plain] = {} if url is None else {"url": f"{url.rstrip('/')}/slack/events"}
    return {
        "command": command.name,
        **request_url,
        "description": command.description,
        "usage_hint": command.usage_hint,
        # Text arrives as it was typed: what is searched for holds no ids.
        "should_escape": False,
    }


def _head(prefix: str, url: str | None) -> list[str]:
    where = ", with your own address for example.com" if url == EXAMPLE else ""
    verify = "" if url is None else " Once the app runs at its address, let Slack verify it under Event Subscriptions."
    owned = "" if prefix else " (it may own /search)"
    paste = f"Paste this at https://api.slack.com/apps → Create New App → From a manifest{where}.{verify}"
    refused = (
        f"If Slack answers `invalid_name` for a command{owned}, set COMMAND_PREFIX to x- or the like, and paste what "
        f"`python -m bot manifest` prints then. `/{prefix}{ROOT_COMMAND} search` does what `/{prefix}search` does."
    )
    return [paste, refused]
