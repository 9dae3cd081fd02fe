"""Forms from the options of a command: one table for the parser, the help and the form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bot.commands.ask import ASK
from bot.commands.base import Command, Option, ValueKind
from bot.commands.help import options_of
from bot.commands.parsing import OptionParser, parse_options, write_arguments
from bot.errors import UsageError
from bot.features import COMMANDS
from bot.model.question import Choice
from bot.model.schedule import ZONES, zone_of
from bot.views.ask import ask_view
from bot.views.base import Submission
from bot.views.forms import FLAGS, entered_options, in_words, option_inputs, usage_response
from fake_slack.limits import check_view

THROW_AWAY = [
    (Option(name="--mood", value="sour|sweet", help="How it tastes", kind=ValueKind.CHOICE), "sweet"),
    (Option(name="--smell", value="roses", help="How it smells"), "old books, “roses”"),
    (Option(name="--until", value="YYYY-MM-DD", help="When it ends", kind=ValueKind.DATE), "2026-11-22"),
    (Option(name="--clock", value="Asia/Tokyo", help="Whose clock", kind=ValueKind.ZONE), "Europe/Berlin"),
    (Option(name="--loud", help="Say it loudly"), ""),
]


def submitted(blocks: list[dict[str, Any]]) -> Submission:
    """Return the submission of a form in which nothing was changed."""
    return Submission(body={"view": {"state": {"values": {block["block_id"]: _state(block) for block in blocks}}}})


def _state(block: dict[str, Any]) -> dict[str, Any]:
    element = block["element"]
    state = {
        name.replace("initial", "value" if name == "initial_value" else "selected"): value
        for name, value in element.items()
        if name.startswith("initial")
    }
    return {element["action_id"]: {"value": element["initial_value"]} if "initial_value" in element else state}


@pytest.mark.parametrize(("option", "value"), THROW_AWAY, ids=lambda item: getattr(item, "name", ""))
def test_a_new_option_is_in_the_help_the_parser_and_the_form(option: Option, value: str) -> None:
    command = replace(ASK, options=(*ASK.options, option))
    view = ask_view([command], Choice(command=ASK.name, options={option.name: value}), metadata={"more": True})
    (block,) = [block for block in view["blocks"] if option.name in json.dumps(block)]
    (entered,) = entered_options(submitted([block]), command.options)
    parsed = parse_options(write_arguments([entered], "why --smell"), OptionParser(options=command.options))

    assert option.help in "".join(options_of([command], "ask /ask", admin=False))
    assert (option.help in json.dumps(block), option.title in json.dumps(block)) == (True, True)
    assert block["block_id"] == (option.name if option.value else FLAGS)
    assert check_view(view) == []
    assert (parsed.text, parsed.options) == ("why --smell", {option.name: (value,)})


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.form], ids=lambda command: command.name)
@pytest.mark.parametrize("metadata", [{}, {"url": "https://hooks.slack.com/1", "channel": "C1"}])
def test_the_form_of_a_command_has_every_option_of_it(command: Command[Any, Any], metadata: Mapping[str, str]) -> None:
    view = ask_view(COMMANDS, Choice(command=command.name), metadata={**metadata, "more": True})
    values = [element["value"] for block in view["blocks"] for element in block["element"].get("options", ())]
    shown = {block["block_id"] for block in view["blocks"]} | set(values)

    typed_only = {"--model", "--reasoning"} | (set() if metadata else {"--public", "--private"})
    assert {option.name for option in command.options} - shown <= typed_only
    assert check_view(view) == []


def test_the_form_for_a_question_has_three_fields_and_the_rest_behind_more() -> None:
    metadata = {"url": "https://hooks.slack.com/1", "channel": "C1"}
    view = ask_view(COMMANDS, Choice(command=ASK.name), metadata=metadata)
    *fields, more = view["blocks"]

    assert [block["label"]["text"] for block in fields] == ["Question", "Who sees the answer", "How long to think"]
    assert [option["text"]["text"] for option in fields[1]["element"]["options"]] == ["Only me", "Everyone here"]
    assert [option["text"]["text"] for option in fields[2]["element"]["options"]] == ["Quick", "Longer", "Much longer"]
    assert [block["element"]["initial_option"]["text"]["text"] for block in fields[1:]] == ["Only me", "Quick"]
    assert more["elements"][0]["text"]["text"] == "More"
    assert check_view(view) == []


def test_the_form_about_a_message_is_for_a_question() -> None:
    view = ask_view(COMMANDS, Choice(command="news", options={"--recency": "week"}), metadata={}, about="x" * 4_000)

    assert [block["block_id"] for block in view["blocks"]] == ["question", "message", "--effort", "ask_more"]
    assert check_view(view) == []


@pytest.mark.parametrize(
    "kept", [{"--recency": "gone"}, {"--after": "yesterday"}, {"--gone": "x"}, {"--lang": "x" * 4_000}]
)
def test_a_choice_of_another_version_does_no_harm(kept: dict[str, str]) -> None:
    assert check_view(ask_view(COMMANDS, Choice(command="ask", options=kept), metadata={})) == []
    assert check_view(ask_view(COMMANDS, Choice(command="gone", options=kept), metadata={})) == []


def test_every_zone_is_known_and_one_more_fits_in_a_menu() -> None:
    assert [zone for zone in ZONES if zone_of(zone).key != zone] == []
    assert len(set(ZONES)) == len(ZONES) < 100


@pytest.mark.parametrize(
    ("error", "block"),
    [
        (UsageError("`--n` must be between 1 and 20.", option="--n"), "--n"),
        (UsageError("No.", option="--loud"), FLAGS),
        (UsageError("No.", option="--gone"), "question"),
        (UsageError("Add a question."), "question"),
    ],
)
def test_a_usage_error_is_shown_below_the_input_of_its_option(error: UsageError, block: str) -> None:
    options = (Option(name="--n", value="1-20", help="How many", label="How many pages"), THROW_AWAY[-1][0])
    response = usage_response(error, options, text_block="question")

    assert list(response["errors"]) == [block]
    assert in_words("`--n` and `x y`", options) == "“How many pages” and “x y”"


def test_flags_have_one_block_and_without_flags_there_is_none() -> None:
    flags = [Option(name=f"--{name}", help="Help `--x`") for name in "xyz"]

    assert [block["block_id"] for block in option_inputs(flags, {})] == [FLAGS]
    assert option_inputs([], {}) == []
