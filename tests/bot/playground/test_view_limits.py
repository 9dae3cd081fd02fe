"""Slack's limits on views: each is exceeded once, and a view that has everything exceeds none."""

from __future__ import annotations

from typing import Any

import pytest

from fake_slack.limits import check_view
from tests.fakes.views import (
    ASKS,
    BUTTON,
    CONFIRM,
    DIVIDER,
    FULL,
    OPTIONS,
    TABLE,
    TEXT,
    Block,
    accessory,
    buttons,
    field,
    home,
    modal,
    option,
    plain,
)


def choices(kind: str, count: int, **more: Any) -> Block:
    return field(kind, options=[option(str(number)) for number in range(count)], **more)


MALFORMED: dict[str, dict[str, Any]] = {
    "a title that is too long": modal(title=plain("x" * 25)),
    "no title": {name: value for name, value in modal().items() if name != "title"},
    "a title with marks": modal(title={"type": "mrkdwn", "text": "x"}),
    "a submit that is too long": modal(submit=plain("x" * 25)),
    "a close that is too long": modal(close=plain("x" * 25)),
    "long private metadata": modal(private_metadata="x" * 3001),
    "a long callback id": modal(callback_id="x" * 256),
    "a long external id": modal(external_id="x" * 256),
    "too many blocks": modal(*[DIVIDER] * 101),
    "an input without a submit": {name: value for name, value in modal(ASKS).items() if name != "submit"},
    "a field that does not exist": modal(color="red"),
    "a title of a home tab": home(title=plain("x")),
    "a block id twice": modal({**TEXT, "block_id": "b"}, {**TEXT, "block_id": "b"}),
    "a long block id": modal({**TEXT, "block_id": "x" * 256}),
    "an action id twice": modal(buttons(BUTTON, BUTTON)),
    "the focus twice": modal(field("plain_text_input", focus_on_load=True), field("datepicker", focus_on_load=True)),
    "an unknown block": modal({"type": "news"}),
    "markdown in a modal": modal({"type": "markdown", "text": "x"}),
    "markdown in a home tab": home({"type": "markdown", "text": "x"}),
    "a rating in a modal": modal({"type": "context_actions", "elements": []}),
    "a plan in a home tab": home({"type": "plan", "title": "x", "tasks": []}),
    "a chart in a home tab": home({"type": "data_visualization", "title": "x"}),
    "a table in a modal": modal(TABLE),
    "an alert in a home tab": home({"type": "alert", "text": plain("x")}),
    "a long alert": modal({"type": "alert", "text": plain("x" * 201)}),
    "an alert of an unknown level": modal({"type": "alert", "text": plain("x"), "level": "red"}),
    "a table that is too long": home({**TABLE, "rows": TABLE["rows"] * 101}),
    "a table that is too wide": home({**TABLE, "rows": [TABLE["rows"][0] * 21]}),
    "tables with too much text": home({**TABLE, "rows": [[{"type": "raw_text", "text": "x" * 5001}]] * 2}),
    "a cell of an unknown type": home({**TABLE, "rows": [[plain("x")]]}),
    "a column with an unknown align": home({**TABLE, "column_settings": [{"align": "top"}]}),
    "a label that is too long": modal({**ASKS, "label": plain("x" * 2001)}),
    "a hint that is too long": modal(field("plain_text_input", hint=plain("x" * 2001))),
    "an input without an element": modal({"type": "input", "label": plain("x")}),
    "a button as input": modal(field("button", text=plain("x"))),
    "an input among buttons": modal(buttons(ASKS["element"])),
    "a rating among buttons": modal(buttons({"type": "feedback_buttons", "action_id": "a"})),
    "a text input beside a text": modal(accessory(**ASKS["element"])),
    "a long text": modal(field("plain_text_input", max_length=3001)),
    "lengths in the wrong order": modal(field("plain_text_input", min_length=9, max_length=8)),
    "a long placeholder": modal(field("plain_text_input", placeholder=plain("x" * 151))),
    "a long action id": modal(field("plain_text_input", name="x" * 256)),
    "11 checkboxes": modal(choices("checkboxes", 11)),
    "11 radio buttons": modal(choices("radio_buttons", 11)),
    "no options": modal(choices("static_select", 0)),
    "101 options": modal(choices("static_select", 101)),
    "101 options to choose several from": modal(choices("multi_static_select", 101)),
    "options and groups": modal(choices("static_select", 1, option_groups=[])),
    "a long label of a group": modal(
        field("static_select", option_groups=[{"label": plain("x" * 76), "options": OPTIONS}])
    ),
    "the text of an option": modal(field("static_select", options=[option("0", "x" * 76)])),
    "the value of an option": modal(field("static_select", options=[option("x" * 151)])),
    "the description of an option": modal(
        field("radio_buttons", options=[{**option("0"), "description": plain("x" * 76)}])
    ),
    "marks in the option of a menu": modal(
        field("static_select", options=[{"text": {"type": "mrkdwn", "text": "x"}, "value": "0"}])
    ),
    "an initial option that is not there": modal(
        field("static_select", options=OPTIONS, initial_option=option("0", "Other"))
    ),
    "initial options that are not there": modal(field("checkboxes", options=OPTIONS, initial_options=[option("2")])),
    "empty initial options": modal(field("checkboxes", options=OPTIONS, initial_options=[])),
    "an overflow menu without options": modal(buttons({"type": "overflow", "action_id": "more", "options": []})),
    "an overflow menu with 6 options": modal(
        buttons({"type": "overflow", "action_id": "more", "options": [option(str(n)) for n in range(6)]})
    ),
    "a date that is none": modal(field("datepicker", initial_date="1 May")),
    "a time that is none": modal(field("timepicker", initial_time="9:5")),
    "a zone that is none": modal(field("timepicker", timezone="Mars/Base")),
    "a moment that is none": modal(field("datetimepicker", initial_date_time=1)),
    "a number that may be anything": modal(field("number_input")),
    "numbers in the wrong order": modal(
        field("number_input", is_decimal_allowed=False, min_value="9", initial_value="8")
    ),
    "numbers that are none": modal(field("number_input", is_decimal_allowed=False, min_value="a few")),
    "none of the selected items": modal(field("multi_users_select", max_selected_items=0)),
    "an unknown kind of conversation": modal(field("conversations_select", filter={"include": ["secret"]})),
    "a response_url in a home tab": home(field("conversations_select", response_url_enabled=True)),
    "a confirmation with a long title": modal(buttons({**BUTTON, "confirm": {**CONFIRM, "title": plain("x" * 101)}})),
    "a confirmation with a long text": modal(buttons({**BUTTON, "confirm": {**CONFIRM, "text": plain("x" * 301)}})),
    "a confirmation with a long button": modal(buttons({**BUTTON, "confirm": {**CONFIRM, "deny": plain("x" * 31)}})),
    "a confirmation without a question": modal(buttons({**BUTTON, "confirm": {"title": plain("x")}})),
    "a long button": modal(buttons({**BUTTON, "text": plain("x" * 76)})),
    "a long value of a button": modal(accessory(**{**BUTTON, "value": "x" * 2001})),
    "11 fields": modal({"type": "section", "fields": [plain("x")] * 11}),
    "a long field": modal({"type": "section", "fields": [plain("x" * 2001)]}),
    "a list without a style": modal(
        {"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": [TEXT]}]}
    ),
}


@pytest.mark.parametrize("view", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_view_is_refused_with_the_reason(view: dict[str, Any]) -> None:
    problems = check_view(view)

    assert problems
    assert all(problem.startswith("invalid_arguments: /view") for problem in problems)


@pytest.mark.parametrize("view", [FULL, home(TABLE, buttons(BUTTON), accessory(**BUTTON))], ids=["modal", "home"])
def test_a_view_with_everything_is_taken(view: dict[str, Any]) -> None:
    assert check_view(view) == []


def test_a_view_that_is_too_large_has_an_error_of_its_own() -> None:
    texts = [{"type": "section", "text": {"type": "mrkdwn", "text": "é" * 3000}}] * 50

    assert check_view(modal(*texts)) == ["view_too_large: the view has more than 250,000 bytes"]
