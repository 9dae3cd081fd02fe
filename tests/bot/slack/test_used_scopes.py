"""Each scope and event has a line of justification and is used, and nothing else of Slack is called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.features import FEATURES
from bot.manifest import EVENTS, FOLLOW_UP_EVENTS, ORGANIZATION_EVENTS
from bot.slack.scopes import ALL_FEATURES

pytestmark = pytest.mark.trust(2)

BOT = Path("bot")
NONE = ""
HISTORY = "*:history"
READ = "*:read"

METHODS = {
    "apps_connections_open": NONE,
    "apps_uninstall": NONE,
    "assistant_threads_setStatus": "chat:write",
    "assistant_threads_setSuggestedPrompts": "assistant:write",
    "auth_revoke": NONE,
    "auth_test": NONE,
    "canvases_access_set": "canvases:write",
    "canvases_create": "canvases:write",
    "chat_appendStream": "chat:write",
    "chat_delete": "chat:write",
    "chat_getPermalink": NONE,
    "chat_postEphemeral": "chat:write",
    "chat_postMessage": "chat:write",
    "chat_startStream": "chat:write",
    "chat_stopStream": "chat:write",
    "chat_update": "chat:write",
    "conversations_info": READ,
    "conversations_members": READ,
    "conversations_history": HISTORY,
    "conversations_open": "im:write",
    "conversations_replies": HISTORY,
    "files_info": "files:read",
    "files_upload_v2": "files:write",
    "oauth_v2_access": NONE,
    "oauth_v2_exchange": NONE,
    "usergroups_users_list": "usergroups:read",
    "users_info": "users:read",
    "users_list": "users:read",
    "views_open": NONE,
    "views_publish": NONE,
    "views_push": NONE,
    "views_update": NONE,
}
"""The methods that the app may call, with the scope that each needs. https://docs.slack.dev/reference/methods"""

BY_EVENT = {
    "app_mentions:read": "app_mention",
    "im:history": "message.im",
    "channels:history": "message.channels",
    "groups:history": "message.groups",
}
"""Scopes that an event needs. https://docs.slack.dev/reference/events"""

BY_MANIFEST = {"commands": "slash_commands"}
"""Scopes that a part of the manifest needs."""

PREFIXES = "|".join(sorted({name.split("_", 1)[0] for name in METHODS}))
CALL = re.compile(rf"\.((?:{PREFIXES})_[a-zA-Z0-9_]+)\(|\bapi_call\(\s*\"([\w.]+)\"")


def called() -> set[str]:
    """Return the methods of Slack that the sources name, outside of the stand-in."""
    texts = [path.read_text(encoding="utf-8") for path in BOT.rglob("*.py") if "playground" not in path.parts]
    found = {name or dotted.replace(".", "_") for text in texts for name, dotted in CALL.findall(text)}
    return {name for name in found if re.match(rf"(?:{PREFIXES})_", name)}


def test_the_app_calls_no_other_method() -> None:
    assert called() - METHODS.keys() - NOT_SLACK == set()


NOT_SLACK = {"users_of"}
"""Functions of ours with such a name."""


OF_FEATURES = {"canvases:write": "saving"}
"""Scopes that one feature uses. They are optional: a copy without the feature asks for them all the same."""

NAMES = {feature.name for feature in FEATURES}
USED = [scope.name for scope in ALL_FEATURES.scopes if OF_FEATURES.get(scope.name) in {None, *NAMES}]


@pytest.mark.parametrize("scope", USED)
def test_each_scope_is_used(scope: str) -> None:
    event, part = BY_EVENT.get(scope), BY_MANIFEST.get(scope)
    kind = f"*:{scope.partition(':')[2]}" if scope.partition(":")[0] in {"channels", "groups", "im"} else scope
    by_method = {name for name in called() if METHODS.get(name) in {scope, kind}}

    assert event in EVENTS | FOLLOW_UP_EVENTS or part is not None or by_method


@pytest.mark.parametrize("scope", ALL_FEATURES.scopes, ids=lambda scope: scope.name)
def test_each_scope_says_what_it_is_for_and_what_is_missing_without_it(scope: object) -> None:
    why, without = getattr(scope, "why", ""), getattr(scope, "without", "")

    assert (why.endswith("."), without.endswith("."), "\n" in why) == (True, True, False)


@pytest.mark.parametrize("event", [*EVENTS, *FOLLOW_UP_EVENTS, *ORGANIZATION_EVENTS])
def test_each_event_says_what_it_is_for_and_is_listened_to(event: str) -> None:
    assert (EVENTS | FOLLOW_UP_EVENTS | ORGANIZATION_EVENTS)[event].endswith(".")
    kind = event.partition(".")[0]
    listeners = "".join(path.read_text(encoding="utf-8") for path in (BOT / "listeners").glob("*.py"))
    membership = Path("bot/model/membership.py").read_text(encoding="utf-8")
    assert f'"{kind}"' in listeners + membership
