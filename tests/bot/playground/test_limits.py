"""Slack's limits: a message over one of them is refused."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fake_slack.limits import SCHEMA, check_message, rendered_blocks

BUTTON = {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "action_id": "go", "value": "1"}
RICH = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}]}
IMAGE = {"type": "image", "image_url": "https://a.example/x.png", "alt_text": "x"}
TASK = {"type": "task_card", "task_id": "1", "title": "Read 8 pages", "status": "complete"}
SOURCE = {"type": "url", "url": "https://a.example/", "text": "a.example"}
OPTION = {"text": {"type": "plain_text", "text": "x"}, "value": "x"}
MENU = {"type": "overflow", "action_id": "more", "options": [OPTION]}
RATING = {"text": {"type": "plain_text", "text": "Good"}, "value": "up"}
FEEDBACK = {
    "type": "feedback_buttons",
    "action_id": "feedback",
    "positive_button": RATING,
    "negative_button": RATING,
}
FINE: list[dict[str, Any]] = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "x", "verbatim": True}, "expand": True},
    {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}, IMAGE]},
    {"type": "markdown", "text": "# x"},
    {"type": "actions", "elements": [BUTTON, MENU]},
    {"type": "context_actions", "elements": [FEEDBACK]},
    {"type": "plan", "title": "Answering", "tasks": [TASK | {"status": "pending"}]},
    TASK | {"details": RICH, "output": RICH, "sources": [SOURCE]},
    {"type": "header", "text": {"type": "plain_text", "text": "x"}},
    {"type": "divider"},
    RICH,
]


def test_the_schema_of_slacks_limits_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_a_message_of_every_block_passes() -> None:
    assert check_message({"text": "x", "blocks": FINE}) == []


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def rich(*leaves: dict[str, Any], kind: str = "rich_text_section") -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": kind, "elements": list(leaves)}]}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "data_chart"},
        {"type": "section"},
        {"type": "section", "text": mrkdwn("")},
        {"type": "section", "text": mrkdwn("x" * 3001)},
        {"type": "section", "text": "x"},
        {"type": "section", "text": mrkdwn("x"), "extra": 1},
        {"type": "section", "text": {"type": "plain_text", "text": "x", "verbatim": True}},
        {"type": "context", "elements": []},
        {"type": "context", "elements": [mrkdwn("x")] * 11},
        {"type": "context", "elements": [IMAGE | {"alt_text": ""}]},
        {"type": "context", "elements": [IMAGE | {"image_url": "x" * 3001}]},
        {"type": "markdown", "text": " "},
        {"type": "actions", "elements": []},
        {"type": "actions", "elements": [BUTTON, BUTTON]},
        {"type": "actions", "elements": [BUTTON | {"value": "x" * 2001}]},
        {"type": "actions", "elements": [BUTTON | {"action_id": ""}]},
        {"type": "actions", "elements": [BUTTON | {"style": "blue"}]},
        {"type": "actions", "elements": [BUTTON | {"type": "menu"}]},
        {"type": "actions", "elements": [BUTTON | {"text": {"type": "plain_text", "text": "x" * 76}}]},
        {"type": "actions", "elements": [MENU | {"action_id": ""}]},
        {"type": "actions", "elements": [MENU | {"options": []}]},
        {"type": "actions", "elements": [MENU | {"options": [OPTION] * 6}]},
        {"type": "actions", "elements": [MENU | {"options": [OPTION | {"value": "x" * 151}]}]},
        {"type": "context_actions", "elements": []},
        {"type": "context_actions", "elements": [BUTTON]},
        {"type": "context_actions", "elements": [FEEDBACK | {"action_id": ""}]},
        {"type": "context_actions", "elements": [FEEDBACK | {"negative_button": {"text": RATING["text"]}}]},
        {"type": "context_actions", "elements": [FEEDBACK | {"positive_button": {"value": "up"}}]},
        {"type": "plan", "title": {"type": "plain_text", "text": "x"}, "tasks": [TASK]},
        {"type": "plan", "title": "x", "tasks": [TASK | {"status": "done"}]},
        TASK | {"status": "pending"},
        TASK | {"task_id": ""},
        TASK | {"title": ""},
        TASK | {"sources": [SOURCE | {"text": ""}]},
        {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}},
        {"type": "rich_text", "elements": []},
        rich(),
        rich({"type": "text", "text": ""}),
        rich({"type": "emoji", "text": "x"}),
        rich({"type": "text", "text": "x"}, kind="rich_text_poem"),
        rich({"type": "link", "text": "x", "url": "x" * 3001}),
    ],
)
def test_a_malformed_block_is_refused(block: dict[str, Any]) -> None:
    assert any(
        fault.startswith("invalid_blocks: /blocks/0 ") for fault in check_message({"text": "x", "blocks": [block]})
    )


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"text": " "}, "no_text"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "é" * 2_001, "blocks": FINE}, "msg_too_long"),
        ({"text": "\ud800"}, "invalid_arguments"),
        ({"text": "x", "blocks": [TASK | {"details": "x"}]}, "invalid_blocks"),
        ({"text": "x", "blocks": [TASK | {"sources": ["https://a.example/"]}]}, "invalid_blocks"),
        ({"text": "x", "blocks": [{"type": "divider"}] * 51}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [{"type": "markdown", "text": "# h\n" * 51}]}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [{"type": "markdown", "text": "x" * 12_001}]}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [{"type": "markdown", "text": "x" * 6_001}] * 2}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [{"type": "markdown", "text": "&" * 2_700}]}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [{"type": "section", "text": mrkdwn("x" * 2_700)}] * 5}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [{"type": "divider", "block_id": "a"}] * 2}, "invalid_blocks"),
    ],
)
def test_a_message_beyond_the_limits_is_refused(payload: dict[str, Any], error: str) -> None:
    assert [error] == [fault.split(":")[0] for fault in check_message(payload)]


def test_a_markdown_block_counts_as_what_slack_makes_of_it() -> None:
    assert rendered_blocks("a\n\nb\n\n# h\n\n- c\n- d\n\n```\ne\n```\n\n---\n\n|f|\n|-|\n|g|\n\nh") == 7
