"""The manifest: valid by Slack's schema, and in step with the code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bot.commands import COMMANDS
from bot.commands.slash import slash_commands


@pytest.fixture
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(Path("manifest.yml").read_text(encoding="utf-8"))
    return loaded


def test_it_is_valid(manifest: dict[str, Any]) -> None:
    schema = json.loads(Path("tests/data/slack-manifest.v2.schema.json").read_text(encoding="utf-8"))

    jsonschema.validate(manifest, schema)


def test_its_commands_are_the_code_s(manifest: dict[str, Any]) -> None:
    listed = [(c["command"], c["description"], c["usage_hint"]) for c in manifest["features"]["slash_commands"]]

    assert [(c.name, c.description, c.usage_hint) for c in slash_commands(COMMANDS)] == listed


def test_commands_arrive_as_typed(manifest: dict[str, Any]) -> None:
    assert {c["should_escape"] for c in manifest["features"]["slash_commands"]} == {False}


def test_its_scopes_are_those_that_are_used(manifest: dict[str, Any]) -> None:
    assert sorted(manifest["oauth_config"]["scopes"]["bot"]) == [
        "assistant:write",
        "chat:write",
        "commands",
        "im:history",
        "im:write",
    ]


def test_the_deprecated_view_is_not_used(manifest: dict[str, Any]) -> None:
    assert "agent_view" in manifest["features"]
    assert "assistant_view" not in manifest["features"]
