"""`agent`: an answer from a model of your choice, which searches as often as it needs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from perplexity.cli.base import CliCommand, CommandFailed, ProcessIO, UsageError, explain_nothing_found
from perplexity.cli.options import add_options, add_text, parse_filters, parse_providers, read_input
from perplexity.cli.output import format_answer, format_raw, header, notes
from perplexity.cli.progress import ProgressLine
from perplexity.cli.services import open_chain
from perplexity.cli.writing import open_screen, write_reply
from perplexity.client import ca_bundle_of, first_variable, open_timeout_of
from perplexity.errors import ConnectionFailed, InvalidRequest
from perplexity.freshness import add_newest_source_line
from perplexity.notes import no_results_text
from perplexity.providers.openrouter import BASE_URL as OPENROUTER
from perplexity.threads import run_in_thread
from perplexity.tools import Tool
from perplexity.tools.environment import variable_error
from perplexity.transport import checked_base_url, checked_key
from perplexity.types import JSON, Answer, Message, Question, validate_messages
from perplexity.urls import hostname

_THINKING = "Thinking"
_ACTIVITIES: Mapping[str, str] = {"search_pages": "Searching for", "ask_web": "Asking"}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text(parser, "question", "what to answer")
    add_options(parser)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Run the agent and write its answer. Raises UsageError, CommandFailed or PerplexityError."""
    model, order, filters = model_from_env(process.environ), parse_providers(parsed), parse_filters(parsed)
    text = read_input(parsed.question, process.stdin, expected="question")
    messages = validate_messages([Message(role="user", content=text)])
    # If this process is stopped, its background run is cancelled, because nothing could resume it later.
    question = Question(messages=messages, filters=filters, resumable=False)
    with explain_nothing_found(no_results_text(text, filters)):
        answer = process.signals.run(_ask(question, model, order, process))
    first, remarks = header(answer), notes(answer)
    if (screen := open_screen(parsed, process, first)) is not None:
        screen.print_answer(answer)
        screen.print_sources(answer, remarks)
        return
    plain, raw = partial(format_answer, answer, remarks, first), format_raw(answer, first)
    write_reply(answer, parsed, process, plain=plain, raw=raw, notes=answer.notes)


def model_from_env(environ: Mapping[str, str]) -> tuple[str, str, str | None]:
    """Return the name, the base URL and the key of the model, from AGENT_MODEL, AGENT_BASE_URL and AGENT_API_KEY.

    At OpenRouter, the key may be in OPENROUTER_API_KEY instead. Raises CommandFailed for a missing variable and
    UsageError for an invalid one; both errors name the variable.
    """
    name, address = first_variable(environ, "AGENT_MODEL"), first_variable(environ, "AGENT_BASE_URL") or OPENROUTER
    if not name:
        raise CommandFailed("AGENT_MODEL is not set; set it to the model that answers, such as openai/gpt-6-luna")
    is_openrouter = hostname(address) == hostname(OPENROUTER)
    variables = ("AGENT_API_KEY", "OPENROUTER_API_KEY") if is_openrouter else ("AGENT_API_KEY",)
    key = first_variable(environ, *variables)
    try:
        address = checked_base_url(address)
        if not key and is_openrouter:
            raise CommandFailed("AGENT_API_KEY is not set; OpenRouter also accepts OPENROUTER_API_KEY")
        return name, address, checked_key(key) if key else None
    except InvalidRequest as error:
        message = variable_error(error, environ, keys=variables, address="AGENT_BASE_URL", quoted=True)
        raise UsageError(message) from None


async def _ask(
    question: Question, model: tuple[str, str, str | None], order: tuple[str, ...], process: ProcessIO
) -> Answer:
    # Imported only here, because the import takes more than a second.
    from perplexity.agent import WebAgent, build_model, provider_tools

    name, base_url, api_key = model
    progress = ProgressLine.for_process(process)
    try:
        made = build_model(
            base_url,
            name=name,
            api_key=api_key,
            open_timeout=open_timeout_of(process.environ),
            ca_bundle=ca_bundle_of(process.environ),
        )
    except ConnectionFailed as error:
        raise UsageError(error.message) from None
    async with (
        open_chain(process, order) as provider,
        WebAgent(made, lambda question: show_calls(provider_tools(provider)(question), progress.show)) as agent,
        progress.running(_THINKING),
    ):
        return await run_in_thread(add_newest_source_line, await agent.answer(question), question, now=time.time())


def show_calls(tools: Sequence[Tool], report: Callable[[str], None]) -> list[Tool]:
    """Return wrapped tools: each reports its call before it runs, and afterwards that the model is thinking."""

    def reporting(tool: Tool) -> Tool:
        async def handler(**arguments: JSON) -> str:
            report(f"{_ACTIVITIES.get(tool.name, tool.name)} {next(iter(arguments.values()), '')}")
            try:
                return await tool.handler(**arguments)
            finally:
                report(_THINKING)

        return replace(tool, handler=handler)

    return [reporting(tool) for tool in tools]


AGENT = CliCommand(
    name="agent",
    summary="let a model of your choice search step by step, and answer",
    add=add,
    run=run,
    extras=("cli", "agent"),
)
