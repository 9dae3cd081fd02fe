"""`agent`: an answer by a model of your own choice, which searches as often as it needs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from perplexity.citations import format_result
from perplexity.cli.base import Command, Failure, UsageError, World, or_say
from perplexity.cli.options import (
    Form,
    add_filters,
    add_forms,
    add_providers,
    form_of,
    read_filters,
    read_providers,
    read_text,
)
from perplexity.cli.output import above, answer_text, as_json, on_one_line, printable, remarks
from perplexity.cli.progress import Progress
from perplexity.cli.providers import chain
from perplexity.client import open_timeout_of
from perplexity.errors import ConnectionFailed, InvalidRequest
from perplexity.freshness import with_as_of
from perplexity.notes import nothing_found
from perplexity.providers.openrouter import BASE_URL as OPENROUTER
from perplexity.threads import computed
from perplexity.tools import Tool
from perplexity.transport import checked_base_url, checked_key
from perplexity.types import JSON, Answer, Message, Question
from perplexity.urls import site, without_secrets
from perplexity.validation import checked_messages

_THINKS = "Thinking"
_DOES: Mapping[str, str] = {"search_pages": "Searching for", "ask_web": "Asking"}


@dataclass(frozen=True, kw_only=True)
class Model:
    """The agent's model, as the variables have it: its name, where it is, and its key if it wants one."""

    name: str
    base_url: str
    api_key: str | None = field(repr=False)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "question", nargs="*", metavar="QUESTION", help="what to answer; - or nothing reads it from stdin"
    )
    add_filters(parser)
    add_providers(parser)
    add_forms(parser)


def run(parsed: argparse.Namespace, world: World) -> None:
    """Let the agent work and write its answer. Raises UsageError, Failure or PerplexityError."""
    model, order, filters = model_from(world.environ), read_providers(parsed), read_filters(parsed)
    text = read_text(parsed.question, world.stdin, wanted="question")
    messages = checked_messages([Message(role="user", content=text)])
    # No one could resume a run after this process has ended.
    question = Question(messages=messages, filters=filters, resumable=False)
    with or_say(nothing_found(text, filters)):
        answer = world.signals.run(_answered(question, model, order, world))
    form, first, said = form_of(parsed, world), above(answer), remarks(answer)
    if form is Form.SCREEN:
        from perplexity.cli.live import Screen

        screen = Screen(world.stdout, color=not parsed.no_color)
        screen.head(first)
        screen.answer(answer)
        screen.below(answer, said)
    else:
        if form is Form.RAW and answer.notes:
            world.say("\n".join(map(on_one_line, answer.notes)))
        world.stdout.write(_written(answer, first, said, form))


def model_from(environ: Mapping[str, str]) -> Model:
    """Return the model of AGENT_MODEL, AGENT_BASE_URL and AGENT_API_KEY.

    At OpenRouter its key may be that of OPENROUTER_API_KEY. Raises Failure for a variable that is not set, and
    UsageError for one that cannot be right; both name it.
    """
    name, address = environ.get("AGENT_MODEL", "").strip(), environ.get("AGENT_BASE_URL", "").strip() or OPENROUTER
    if not name:
        raise Failure("AGENT_MODEL is not set; it names the model that answers, such as openai/gpt-6-luna")
    try:
        address = checked_base_url(address)
    except InvalidRequest as error:
        told = f"{without_secrets(address)!r} is not allowed; {error.allowed}"
        raise UsageError(f"AGENT_BASE_URL: {told}") from None
    is_openrouter = site(address) == site(OPENROUTER)
    variables = ("AGENT_API_KEY", "OPENROUTER_API_KEY") if is_openrouter else ("AGENT_API_KEY",)
    variable = next((variable for variable in variables if environ.get(variable, "").strip()), None)
    if variable is None and is_openrouter:
        raise Failure("AGENT_API_KEY is not set, nor OPENROUTER_API_KEY, which would do at OpenRouter")
    return Model(name=name, base_url=address, api_key=None if variable is None else _key(variable, environ))


def _key(variable: str, environ: Mapping[str, str]) -> str:
    try:
        return checked_key(environ[variable])
    except InvalidRequest as error:
        raise UsageError(f"{variable}: {error.message.removeprefix('api_key: ')}") from None


async def _answered(question: Question, model: Model, order: tuple[str, ...], world: World) -> Answer:
    # Over a second and 1,000 modules.
    from perplexity.agent import WebAgent, model_at, tools_over

    progress = Progress.of(world)
    try:
        made = model_at(
            model.base_url, name=model.name, api_key=model.api_key, open_timeout=open_timeout_of(world.environ)
        )
    except ConnectionFailed as error:
        raise UsageError(error.message) from None
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(chain(world, order))
        toolbox = tools_over(provider)
        agent = await stack.enter_async_context(WebAgent(made, lambda question: told(toolbox(question), progress.tell)))
        await stack.enter_async_context(progress.running(_THINKS))
        return await computed(with_as_of, await agent.answer(question), question, now=time.time())


def told(tools: Sequence[Tool], tell: Callable[[str], None]) -> list[Tool]:
    """Return the tools, which say before each call what it does, and after it that the model thinks again."""

    def telling(tool: Tool) -> Tool:
        async def handler(**arguments: JSON) -> str:
            tell(f"{_DOES.get(tool.name, tool.name)} {next(iter(arguments.values()), '')}")
            try:
                return await tool.handler(**arguments)
            finally:
                tell(_THINKS)

        return replace(tool, handler=handler)

    return [telling(tool) for tool in tools]


def _written(answer: Answer, first: Sequence[str], said: Sequence[str], form: Form) -> str:
    if form is Form.JSON:
        return as_json(answer)
    if form is Form.RAW:
        return "\n\n".join(filter(None, (" ".join(first), printable(format_result(answer))))) + "\n"
    return answer_text(answer, said, first)


AGENT = Command(
    name="agent",
    summary="let a model of your choice search step by step, and answer",
    add=add,
    run=run,
    extras=("cli", "agent"),
)
