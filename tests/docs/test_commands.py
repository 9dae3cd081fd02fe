"""The pages of the commands: their options are the code's, their examples are taken, their mistakes answered so."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from bot.commands.ask import ASK
from bot.commands.base import ROOT_COMMAND, Command, Option
from bot.commands.parsing import is_help_request
from bot.commands.routing import route_slash_command
from bot.errors import UsageError
from bot.features import COMMANDS
from perplexity.errors import Attempt, ConnectionFailed
from perplexity.freshness import newest_source_line
from perplexity.notes import fallback_notice
from perplexity.types import Answer, AnswerKind, Source
from tests.docs.pages import FEATURES, PATHS, ROOT, blocks, codes, is_here, name

PAGE = ROOT / "docs" / "commands.md"
# Something behind the options, or it is only a way to name them: `/ask --public`.
EXAMPLE = re.compile(r"/(?:x-)?(?:search|ask|news|deepdive|pplx)(?!(?: --?\w+)+$) .+", re.DOTALL)
MENTIONS = [code for _, code in codes(PAGE) if code.startswith("@Web Answers ")]
OPTIONS = [
    pytest.param(command, option, id=f"{command.name} {option.name}")
    for command in COMMANDS
    for option in command.options
]
PAGES = (PAGE, *sorted(FEATURES.glob("*.md")))
SHOWN = [block for block in blocks() if block.page in {name(page) for page in PAGES}]
MISTAKES = re.findall(r"^(/\S+) (.+)\n→ (.+)$", "".join(block.text for block in SHOWN), re.MULTILINE)
EXAMPLES = [
    pytest.param(code, id=f"{name(path)} {code}")
    for path in PATHS
    for _, code in codes(path)
    if EXAMPLE.fullmatch(code) and is_here(code)
]


def section(command: Command[Any, Any]) -> list[str]:
    """Return the code in the section of a command, which is on the core's page or on that of its feature."""
    return [code for page in PAGES for above, code in codes(page) if above == heading(command)]


def heading(command: Command[Any, Any]) -> str:
    return f"/{command.name}" if command.has_slash_command else f"/{ROOT_COMMAND} {command.name}"


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_taken(example: str) -> None:
    called, text = example.split(maxsplit=1)
    routed = route_slash_command(called, text, COMMANDS)

    assert routed.unknown is None
    if routed.command is not None and not routed.help:
        routed.command.parse(routed.rest)


@pytest.mark.parametrize("mention", MENTIONS)
def test_a_mention_asks_as_the_command_does(mention: str) -> None:
    text = mention.removeprefix("@Web Answers ")

    assert is_help_request(text) or ASK.parse(text).question.text


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_has_an_example_in_its_command_s_section(command: Command[Any, Any], option: Option) -> None:
    examples = [code for code in section(command) if EXAMPLE.fullmatch(code)]
    forms = {option.name, *filter(None, [option.short])}

    assert {form for form in forms if any(form in example.split() for example in examples)} == forms


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_no_section_names_an_option_that_is_not_there(command: Command[Any, Any]) -> None:
    named = {code for code in section(command) if re.fullmatch(r"--?\w+", code)}

    assert named == {form for option in command.options for form in (option.name, option.short) if form}


@pytest.mark.parametrize(("called", "text", "answer"), MISTAKES)
def test_a_mistake_is_answered_as_the_page_says(called: str, text: str, answer: str) -> None:
    routed = route_slash_command(called, text, COMMANDS)
    assert routed.command is not None
    with pytest.raises(UsageError) as caught:
        routed.command.parse(routed.rest)

    assert caught.value.problem == answer


def test_there_are_mistakes_and_their_answers() -> None:
    arrows = [line for block in SHOWN for line in block.text.splitlines() if "→" in line]

    assert len(MISTAKES) == len(arrows) > 5


def test_the_lines_above_an_answer_are_the_app_s_own() -> None:
    away = Attempt(provider="Perplexity", seconds=1, error_class="X", summary=ConnectionFailed.summary)
    pages = Answer(text="", sources=(), provider="DuckDuckGo", kind=AnswerKind.PASSAGES, failed=(away,))
    old = newest_source_line(
        "latest", [Source(number=1, title="", url="", date="2026-05-03")], today=date(2026, 11, 22)
    )

    shown = {block.text.strip() for block in blocks() if block.page == name(PAGE)}
    assert {fallback_notice(pages), old} <= shown
