"""`ask`: an answer from the web, with its sources.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jsonschema import SchemaError
from referencing.exceptions import Unresolvable

from perplexity.cli.base import CliCommand, CommandFailed, ProcessIO, UsageError, explain_nothing_found
from perplexity.cli.options import add_options, add_text, parse_filters, parse_providers, read_input
from perplexity.cli.output import footer, format_answer, format_raw, header, notes
from perplexity.cli.progress import FIRST_STEP, ProgressLine
from perplexity.cli.services import missing_key_variable, open_chain
from perplexity.cli.writing import open_screen, write_reply
from perplexity.errors import Attempt, InvalidRequest
from perplexity.formatting import did_you_mean
from perplexity.freshness import add_newest_source_line, max_age_days
from perplexity.models import EFFORTS, check_schema, resolve
from perplexity.notes import no_results_text
from perplexity.sanitize import printable
from perplexity.threads import run_in_thread
from perplexity.tools.schemas import schema_mismatch, validate_schema
from perplexity.types import JSON, Answer, Done, Event, Message, Question, validate_messages

if TYPE_CHECKING:
    from perplexity.cli.live import Screen


def read_schema(path: Path) -> dict[str, JSON]:
    """Return the JSON Schema in a file.

    Raises UsageError if the file has no valid schema, or if the schema refers to anything outside itself.
    """
    try:
        schema = json.loads(path.read_bytes())
        validate_schema(schema)
    except OSError as error:
        raise UsageError(f"--schema: {path} cannot be read ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"--schema: {path} is not JSON") from None
    except RecursionError:
        raise UsageError(f"--schema: {path} is nested too deeply") from None
    except SchemaError as error:
        raise UsageError(f"--schema: {path} is not a JSON Schema: {error.message}") from None
    except Unresolvable as error:
        raise UsageError(f"--schema: {path} refers to {error.ref!r}, which it does not contain") from None
    if not isinstance(schema, dict):
        raise UsageError(f"--schema: {path} contains no JSON object; a JSON Schema is one")
    return schema


def require_schema(answer: Answer, schema: Mapping[str, JSON]) -> None:
    """Raise CommandFailed unless the answer is JSON of this schema."""
    if answer.incomplete:
        raise CommandFailed(f"the JSON was cut off ({answer.incomplete}); ask for less, or try again")
    if wrong := schema_mismatch(answer.text, schema):
        raise CommandFailed(f"{wrong}; try again, or with another --model")


_JSON_PROVIDERS = ("perplexity", "openrouter")
"""The providers whose models follow a schema; passages of a search engine do not."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text(parser, "question", "what to answer")
    parser.add_argument("-r", "--reasoning", action="store_true", help="think longer before answering")
    parser.add_argument(
        "--model", metavar="NAME", help="sonar, sonar-pro, …, an effort from fast to xhigh, vendor/model"
    )
    parser.add_argument("--effort", metavar="|".join(EFFORTS), help="how long to think; --model takes these levels too")
    parser.add_argument("--schema", metavar="FILE", help="answer with JSON of this JSON Schema only")
    add_options(parser)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Ask and write the answer. Raises UsageError, CommandFailed or PerplexityError."""
    order = parse_providers(parsed) or (_JSON_PROVIDERS if parsed.schema else ())
    question = _question(parsed, process)
    if question.schema is None and (screen := open_screen(parsed, process)) is not None:
        _on_screen(question, screen, process, order)
        return
    with explain_nothing_found(no_results_text(question.text, question.filters)):
        answer = process.signals.run(_ask(question, process, order, ProgressLine.for_process(process)))
    if question.schema is not None:
        require_schema(answer, question.schema)
    missing = missing_key_variable(process, order)
    first, remarks = header(answer, unset=missing), notes(answer, unset=missing)
    if question.schema is not None and not (parsed.json or parsed.raw):
        process.stdout.write(printable(answer.text) + "\n")
        process.write_stderr("\n".join([*first, *remarks, footer(answer)]))
        return
    plain, raw = partial(format_answer, answer, remarks, first), format_raw(answer, first)
    write_reply(answer, parsed, process, plain=plain, raw=raw, notes=answer.notes)


def _model(model: str | None, effort: str | None) -> str | None:
    """Return the model or the effort that the options name. Raises InvalidRequest."""
    if effort is None:
        return model
    level = effort.strip().lower()
    if level not in EFFORTS:
        hint = did_you_mean(level, EFFORTS)
        raise InvalidRequest.for_field("effort", effort, f"{hint}it takes {', '.join(EFFORTS[:-1])} or {EFFORTS[-1]}")
    if model is not None and model.strip().lower() != level:
        raise InvalidRequest.for_field(
            "effort", effort, "it cannot be combined with --model, which takes these levels too"
        )
    return level


def _question(parsed: argparse.Namespace, process: ProcessIO) -> Question:
    model = _model(parsed.model, parsed.effort)
    target = resolve(model, reasoning=parsed.reasoning)
    schema = None if parsed.schema is None else read_schema(Path(parsed.schema))
    if schema is not None:
        check_schema(target)
    if parsed.reasoning and not target.slow:
        raise UsageError(f"--reasoning and --model contradict each other: {target.name} does not reason")
    filters = parse_filters(parsed)
    text = read_input(parsed.question, process.stdin, expected="question")
    return Question(
        messages=validate_messages([Message(role="user", content=text)]),
        reasoning=parsed.reasoning,
        model=model,
        filters=filters,
        schema=schema,
        # If this process is stopped, its background run is cancelled, because nothing could resume it later.
        resumable=False,
    )


async def _ask(question: Question, process: ProcessIO, order: tuple[str, ...], progress: ProgressLine) -> Answer:
    async with open_chain(process, order) as provider, progress.running(FIRST_STEP):
        answer = await provider.answer(replace(question, on_event=progress.show_event))
        return await run_in_thread(add_newest_source_line, answer, question, now=time.time())


def _on_screen(question: Question, screen: Screen, process: ProcessIO, order: tuple[str, ...]) -> None:
    missing, progress = missing_key_variable(process, order), ProgressLine.for_process(process)
    begun = Answer(text="", sources=(), provider="")

    def on_candidate(name: str, failed: Sequence[Attempt]) -> None:
        nonlocal begun
        begun = replace(begun, provider=name, failed=tuple(failed))

    def first(answer: Answer | None) -> list[str]:
        return header(answer or begun, unset=missing)

    async def stream() -> Answer:
        async with open_chain(process, order, on_candidate=on_candidate) as provider, progress.running(FIRST_STEP):
            # The line about the sources' age comes before the text, but the cited sources are known only at the end. So
            # the text waits if there may be such a line.
            held = max_age_days(question.text, question.filters.recency) is not None
            events = _with_as_of(provider.stream(question), question)
            return await screen.print_stream(events, progress, above=first, wait=held)

    with explain_nothing_found(no_results_text(question.text, question.filters)):
        answer = process.signals.run(stream())
    screen.print_sources(answer, notes(answer, unset=missing))


async def _with_as_of(events: AsyncGenerator[Event, None], question: Question) -> AsyncGenerator[Event, None]:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Done):
                yield Done(answer=await run_in_thread(add_newest_source_line, event.answer, question, now=time.time()))
            else:
                yield event


ASK = CliCommand(name="ask", summary="answer a question from the web, with sources", add=add, run=run)
