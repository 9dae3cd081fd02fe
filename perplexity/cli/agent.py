"""`agent`: an answer from a model of your choice, which searches as often as it needs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from perplexity.cli.base import CliCommand, CommandFailed, ProcessIO, UsageError, explain_nothing_found
from perplexity.cli.options import (
    OutputFormat,
    add_filters,
    add_output_formats,
    add_providers,
    open_chain,
    output_format,
    parse_filters,
    parse_providers,
    read_input,
    write_answer,
)
from perplexity.cli.output import header, notes
from perplexity.cli.progress import ProgressLine
from perplexity.client import ca_bundle_of, open_timeout_of
from perplexity.errors import ConnectionFailed, InvalidRequest
from perplexity.freshness import add_newest_source_line
from perplexity.notes import no_results_text
from perplexity.providers.openrouter import BASE_URL as OPENROUTER
from perplexity.threads import run_in_thread
from perplexity.tools import Tool
from perplexity.transport import checked_base_url, checked_key
from perplexity.types import JSON, Answer, Message, Question, validate_messages
from perplexity.urls import hostname, strip_secrets

_THINKING = "Thinking"
_ACTIVITIES: Mapping[str, str] = {"search_pages": "Searching for", "ask_web": "Asking"}


@dataclass(frozen=True, kw_only=True)
class AgentModel:
    """The agent's model from the environment: its name, its address, and its key if it needs one."""

    name: str
    base_url: str
    api_key: str | None = field(repr=False)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "question", nargs="*", metavar="QUESTION", help="what to answer; omit it or use - to read stdin"
    )
    add_filters(parser)
    add_providers(parser)
    add_output_formats(parser)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Run the agent and write its answer. Raises UsageError, CommandFailed or PerplexityError."""
    model, order, filters = model_from_env(process.environ), parse_providers(parsed), parse_filters(parsed)
    text = read_input(parsed.question, process.stdin, expected="question")
    messages = validate_messages([Message(role="user", content=text)])
    # If this process is stopped, its background run is cancelled, because nothing could resume it later.
    question = Question(messages=messages, filters=filters, resumable=False)
    with explain_nothing_found(no_results_text(text, filters)):
        answer = process.signals.run(_ask(question, model, order, process))
    form, first, remarks = output_format(parsed, process), header(answer), notes(answer)
    if form is OutputFormat.SCREEN:
        from perplexity.cli.live import Screen

        screen = Screen(process.stdout, color=not parsed.no_color)
        screen.print_header(first)
        screen.print_answer(answer)
        screen.print_sources(answer, remarks)
    else:
        write_answer(answer, form, process, above=first, remarks=remarks)


def model_from_env(environ: Mapping[str, str]) -> AgentModel:
    """Return the model that AGENT_MODEL, AGENT_BASE_URL and AGENT_API_KEY describe.

    At OpenRouter, the key may be in OPENROUTER_API_KEY instead. Raises CommandFailed for a missing variable and
    UsageError for an invalid one; both errors name the variable.
    """
    name, address = environ.get("AGENT_MODEL", "").strip(), environ.get("AGENT_BASE_URL", "").strip() or OPENROUTER
    if not name:
        raise CommandFailed("AGENT_MODEL is not set; set it to the model that answers, such as openai/gpt-6-luna")
    try:
        address = checked_base_url(address)
    except InvalidRequest as error:
        message = f"{strip_secrets(address)!r} is not allowed; {error.allowed}"
        raise UsageError(f"AGENT_BASE_URL: {message}") from None
    is_openrouter = hostname(address) == hostname(OPENROUTER)
    variables = ("AGENT_API_KEY", "OPENROUTER_API_KEY") if is_openrouter else ("AGENT_API_KEY",)
    variable = next((variable for variable in variables if environ.get(variable, "").strip()), None)
    if variable is None and is_openrouter:
        raise CommandFailed("AGENT_API_KEY is not set; OpenRouter also accepts OPENROUTER_API_KEY")
    return AgentModel(name=name, base_url=address, api_key=None if variable is None else _key(variable, environ))


def _key(variable: str, environ: Mapping[str, str]) -> str:
    try:
        return checked_key(environ[variable])
    except InvalidRequest as error:
        raise UsageError(f"{variable}: {error.message.removeprefix('api_key: ')}") from None


async def _ask(question: Question, model: AgentModel, order: tuple[str, ...], process: ProcessIO) -> Answer:
    # Imported only here, because the import takes over a second.
    from perplexity.agent import WebAgent, build_model, provider_tools

    progress = ProgressLine.for_process(process)
    try:
        made = build_model(
            model.base_url,
            name=model.name,
            api_key=model.api_key,
            open_timeout=open_timeout_of(process.environ),
            ca_bundle=ca_bundle_of(process.environ),
        )
    except ConnectionFailed as error:
        raise UsageError(error.message) from None
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(open_chain(process, order))
        toolbox = provider_tools(provider)
        agent = await stack.enter_async_context(
            WebAgent(made, lambda question: show_calls(toolbox(question), progress.show))
        )
        await stack.enter_async_context(progress.running(_THINKING))
        return await run_in_thread(add_newest_source_line, await agent.answer(question), question, now=time.time())


def show_calls(tools: Sequence[Tool], report: Callable[[str], None]) -> list[Tool]:
    """Return the tools, each wrapped so that it reports its call before it, and that the model is thinking after it."""

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
