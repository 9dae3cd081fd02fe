"""`ask`: an answer from the web, with its sources."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from perplexity.citations import format_result
from perplexity.cli.base import Command, UsageError, World
from perplexity.cli.chain import chain, unset
from perplexity.cli.data import as_json
from perplexity.cli.forms import Form, add_forms, form_of
from perplexity.cli.lines import last_line, remarks
from perplexity.cli.options import add_filters, add_providers, read_filters, read_providers
from perplexity.cli.plain import answer_text
from perplexity.cli.printable import on_one_line, printable
from perplexity.cli.schema import hold, read_schema
from perplexity.cli.words import read_text
from perplexity.models import check_schema, resolve
from perplexity.queries import checked_messages
from perplexity.types import Answer, Message, Question

_WRITE_JSON = ("perplexity", "openrouter")
"""The providers whose models keep to a schema; a search engine's passages do not."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "question", nargs="*", metavar="QUESTION", help="what to answer; - or nothing reads it from stdin"
    )
    parser.add_argument("-r", "--reasoning", action="store_true", help="think longer before answering")
    parser.add_argument(
        "--model", metavar="NAME", help="sonar, sonar-pro, …, an effort from fast to xhigh, vendor/model"
    )
    parser.add_argument("--schema", metavar="FILE", help="answer with JSON, and nothing else, of this JSON Schema")
    add_filters(parser)
    add_providers(parser)
    add_forms(parser)


def run(parsed: argparse.Namespace, world: World) -> None:
    """Ask and write the answer. Raises UsageError, Failure or PerplexityError."""
    order = read_providers(parsed) or (_WRITE_JSON if parsed.schema else ())
    question = _question(parsed, world)
    form = form_of(parsed, world)
    if form is Form.SCREEN and question.schema is None:
        _on_screen(question, parsed, world, order)
        return
    answer = world.signals.run(_answered(question, world, order))
    if question.schema is not None:
        hold(answer, question.schema)
    said = remarks(answer, unset=unset(world, order))
    if question.schema is not None and form in {Form.SCREEN, Form.PLAIN}:
        world.stdout.write(printable(answer.text) + "\n")
        world.say("\n".join([*said, last_line(answer)]))
    else:
        if form is Form.RAW and answer.notes:
            world.say("\n".join(map(on_one_line, answer.notes)))
        world.stdout.write(_FORMS[form](answer, said))


def _question(parsed: argparse.Namespace, world: World) -> Question:
    target = resolve(parsed.model, reasoning=parsed.reasoning)
    schema = None if parsed.schema is None else read_schema(Path(parsed.schema))
    if schema is not None:
        check_schema(target)
    if parsed.reasoning and not target.slow:
        raise UsageError(f"--reasoning and --model contradict each other: {target.name} does not reason")
    filters = read_filters(parsed)
    text = read_text(parsed.question, world.stdin, wanted="question")
    return Question(
        messages=checked_messages([Message(role="user", content=text)]),
        reasoning=parsed.reasoning,
        model=parsed.model,
        filters=filters,
        schema=schema,
        # Nobody knows the run once this process is gone.
        resumable=False,
    )


async def _answered(question: Question, world: World, order: tuple[str, ...]) -> Answer:
    async with chain(world, order) as provider:
        return await provider.answer(question)


def _on_screen(question: Question, parsed: argparse.Namespace, world: World, order: tuple[str, ...]) -> None:
    from perplexity.cli.screen import Screen

    async def followed() -> Answer:
        async with chain(world, order) as provider:
            return await screen.follow(provider.stream(question))

    screen = Screen(world.stdout, color=not parsed.no_color)
    answer = world.signals.run(followed())
    screen.below(answer, remarks(answer, unset=unset(world, order)))


def _raw(answer: Answer, _: list[str]) -> str:
    return printable(format_result(answer)) + "\n"


def _json(answer: Answer, _: list[str]) -> str:
    return as_json(answer)


_FORMS: dict[Form, Callable[[Answer, list[str]], str]] = {Form.PLAIN: answer_text, Form.JSON: _json, Form.RAW: _raw}

ASK = Command(name="ask", summary="answer a question from the web, with sources", add=add, run=run)
