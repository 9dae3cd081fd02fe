"""The manifest: valid by Slack's schema for every configuration, and in step with the code and with manifest.yml."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bot.commands.routing import slash_commands
from bot.features import COMMANDS, OFFERS
from bot.manifest import EVENTS, EXAMPLE, FOLLOW_UP_EVENTS, as_json, as_yaml, render
from bot.settings import MAX_PREFIX
from bot.slack.scopes import ALL_FEATURES, Features
from bot.views.ask import ASK_ABOUT_THIS, ASK_ANYTHING

SCHEMA = json.loads(Path("tests/data/slack-manifest.v2.schema.json").read_text(encoding="utf-8"))
NEEDS = {"app_mention": "app_mentions:read", "message.im": "im:history"}
WITHOUT_SCOPE = ["agent_session_stopped", "app_home_opened", "app_uninstalled", "tokens_revoked"]


def read(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def urls(manifest: dict[str, Any]) -> list[str]:
    settings, commands = manifest["settings"], manifest["features"]["slash_commands"]
    places = [settings["event_subscriptions"], settings["interactivity"]]
    return [place["request_url"] for place in places if "request_url" in place] + [
        command["url"] for command in commands if "url" in command
    ]


def test_the_file_is_the_output_for_the_defaults() -> None:
    assert Path("manifest.yml").read_text(encoding="utf-8") == as_yaml(OFFERS)


@pytest.mark.parametrize("url", [EXAMPLE, "https://answers.example.com/base/", None])
@pytest.mark.parametrize("prefix", ["", "x-", "acme_", "9", "x" * MAX_PREFIX])
def test_it_is_valid_for_every_configuration_and_the_same_in_both_formats(prefix: str, url: str | None) -> None:
    manifest = read(as_yaml(OFFERS, prefix=prefix, url=url))

    jsonschema.validate(manifest, SCHEMA)
    assert json.loads(as_json(OFFERS, prefix=prefix, url=url)) == manifest


def test_its_commands_are_the_code_s() -> None:
    listed = [
        (c["command"], c["description"], c["usage_hint"]) for c in read(as_yaml(OFFERS))["features"]["slash_commands"]
    ]

    assert [(c.name, c.description, c.usage_hint) for c in slash_commands(COMMANDS)] == listed


def test_every_name_carries_the_prefix() -> None:
    commands = read(as_yaml(OFFERS, prefix="x-"))["features"]["slash_commands"]

    assert [c["command"] for c in commands] == [f"/x-{c.name[1:]}" for c in slash_commands(COMMANDS)]


def test_every_request_comes_to_one_address() -> None:
    found = urls(read(as_yaml(OFFERS, url="https://answers.example.com/")))

    assert (len(found), set(found)) == (2 + len(slash_commands(COMMANDS)), {"https://answers.example.com/slack/events"})


def test_with_socket_mode_there_is_no_address() -> None:
    manifest = read(as_yaml(OFFERS, url=None))

    assert urls(manifest) == []
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert "example.com" not in as_yaml(OFFERS, url=None)


def test_commands_arrive_as_typed() -> None:
    assert {c["should_escape"] for c in read(as_yaml(OFFERS))["features"]["slash_commands"]} == {False}


def test_its_scopes_are_those_that_are_used() -> None:
    assert read(as_yaml(OFFERS))["oauth_config"]["scopes"]["bot"] == [
        "app_mentions:read",
        "assistant:write",
        "canvases:write",
        "chat:write",
        "commands",
        "files:read",
        "im:history",
        "im:write",
        "usergroups:read",
        "users:read",
    ]


def test_what_is_optional_is_asked_for_and_may_be_left_out() -> None:
    scopes = read(as_yaml(OFFERS, features=Features(channels=True)))["oauth_config"]["scopes"]

    assert scopes["bot_optional"] == [
        "canvases:write",
        "channels:read",
        "files:read",
        "groups:read",
        "usergroups:read",
    ]
    assert set(scopes["bot_optional"]) < set(scopes["bot"])


def test_no_event_needs_an_optional_scope() -> None:
    scopes = read(as_yaml(OFFERS))["oauth_config"]["scopes"]

    assert set(NEEDS.values()).isdisjoint(scopes["bot_optional"])


def test_answers_to_replies_need_more_and_only_they_do() -> None:
    usual, more = read(as_yaml(OFFERS)), read(as_yaml(OFFERS, features=Features(follow_ups=True)))

    jsonschema.validate(more, SCHEMA)
    added = {
        "scopes": set(more["oauth_config"]["scopes"]["bot"]) - set(usual["oauth_config"]["scopes"]["bot"]),
        "events": set(events(more)) - set(events(usual)),
    }
    assert added == {
        "scopes": {"channels:history", "groups:history"},
        "events": {"message.channels", "message.groups"},
    }
    assert more["oauth_config"]["scopes"]["bot"] == sorted(more["oauth_config"]["scopes"]["bot"])
    assert more["oauth_config"]["scopes"]["bot_optional"] == usual["oauth_config"]["scopes"]["bot_optional"]


def test_other_messages_of_a_thread_need_scopes_and_no_events() -> None:
    with_history, with_both = (Features(follow_ups=both, thread_history=True) for both in (False, True))
    manifest = read(as_yaml(OFFERS, features=with_history))

    jsonschema.validate(manifest, SCHEMA)
    assert events(manifest) == events(read(as_yaml(OFFERS)))
    assert manifest["oauth_config"] == read(as_yaml(OFFERS, features=with_both))["oauth_config"]


def events(manifest: dict[str, Any]) -> list[str]:
    listed: list[str] = manifest["settings"]["event_subscriptions"]["bot_events"]
    return listed


def test_every_event_has_the_scope_that_it_needs() -> None:
    manifest = read(as_yaml(OFFERS))

    assert manifest["settings"]["event_subscriptions"]["bot_events"] == [*NEEDS, *WITHOUT_SCOPE]
    assert set(NEEDS.values()) <= set(manifest["oauth_config"]["scopes"]["bot"])


@pytest.mark.parametrize("name", [*(scope.name for scope in ALL_FEATURES.scopes), *EVENTS, *FOLLOW_UP_EVENTS])
def test_every_scope_and_event_says_why(name: str) -> None:
    lines = as_yaml(OFFERS, features=ALL_FEATURES).splitlines()

    assert lines[lines.index(next(line for line in lines if line.strip() == f"- {name}")) - 1].strip().startswith("# ")


def test_people_can_write_to_the_app() -> None:
    home = read(as_yaml(OFFERS))["features"]["app_home"]

    assert (home["messages_tab_enabled"], home["messages_tab_read_only_enabled"]) == (True, False)


def test_the_deprecated_view_is_not_used() -> None:
    features = read(as_yaml(OFFERS))["features"]

    assert "agent_view" in features
    assert "assistant_view" not in features


def test_its_shortcuts_are_those_that_the_app_listens_to() -> None:
    shortcuts = read(as_yaml(OFFERS, prefix="x-", url=None))["features"]["shortcuts"]

    assert [(one["type"], one["callback_id"]) for one in shortcuts][:2] == [
        ("global", ASK_ANYTHING),
        ("message", ASK_ABOUT_THIS),
    ]


def test_without_pyyaml_it_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    assert render(OFFERS, prefix="x-") == as_yaml(OFFERS, prefix="x-")
    monkeypatch.setitem(sys.modules, "yaml", None)

    assert render(OFFERS, prefix="x-") == as_json(OFFERS, prefix="x-")


@pytest.mark.parametrize("prefix", ["", "x-"])
@pytest.mark.parametrize("features", [Features(), Features(follow_ups=True)], ids=str)
def test_an_app_that_workspaces_install_names_where_slack_returns_to(prefix: str, features: Features) -> None:
    url = "https://answers.example.com"
    many = read(as_yaml(OFFERS, prefix=prefix, url=url, features=features, oauth=True))
    one = read(as_yaml(OFFERS, prefix=prefix, url=url, features=features))

    jsonschema.validate(many, SCHEMA)
    assert many["oauth_config"].pop("redirect_urls") == [f"{url}/slack/oauth_redirect"]
    assert many["settings"].pop("org_deploy_enabled")
    assert not one["settings"].pop("org_deploy_enabled")
    assert events(many)[-2:] == ["team_access_granted", "team_access_revoked"]
    del events(many)[-2:]
    assert many == one
