"""Checks of this machine: the commands' names, the names in `.env`, the agent's settings, and the port.

https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence

from bot.commands.routing import slash_commands
from bot.doctor.checks import Context, Finding, failure, ok, warning
from bot.settings import unknown_names
from perplexity.errors import MissingExtra
from perplexity.extras import require

MAX_LENGTH = 32
"""The most characters of a name, with its slash: https://docs.slack.dev/reference/app-manifest"""

RESERVED = frozenset({
    "away", "close", "collapse", "dnd", "expand", "feed", "invite", "join", "leave", "me", "msg", "mute", "open", "pro",
    "remind", "shortcuts", "shrug", "status", "topic", "who",
})  # fmt: skip
"""Slack's own names. Slack rejects a manifest that contains one, with `invalid_name`."""

UNCERTAIN = frozenset({"search", "help"})
"""Names that Slack rejects for some apps and accepts for others."""

PREFIX = "Set COMMAND_PREFIX, such as COMMAND_PREFIX=x-, then paste the output of `python -m bot manifest`."


async def check_command_names(context: Context) -> Sequence[Finding]:
    """Check the names of the slash commands, which begin with COMMAND_PREFIX."""
    return name_findings(
        [command.name for command in slash_commands(context.offers.commands, prefix=context.settings.command_prefix)]
    )


def name_findings(names: Sequence[str]) -> list[Finding]:
    """Return findings on the names that Slack rejects, or one that lists all names. Names begin with a slash. Pure."""
    long = [name for name in names if len(name) > MAX_LENGTH]
    reserved = [name for name in names if name[1:] in RESERVED]
    findings = []
    if long:
        text = f"{', '.join(long)} is longer than the {MAX_LENGTH} characters that Slack takes."
        findings.append(failure(text, fix="Set a shorter COMMAND_PREFIX."))
    if reserved:
        text = f"{', '.join(reserved)} is reserved by Slack, which rejects a manifest that contains it (invalid_name)."
        findings.append(failure(text, fix=PREFIX))
    text = f"{', '.join(names)}."
    if uncertain := [name for name in names if name[1:] in UNCERTAIN]:
        text += f" Slack may reserve {', '.join(uncertain)}: if it answers invalid_name, set COMMAND_PREFIX."
    return findings or [ok(text)]


async def check_env_file(context: Context) -> Sequence[Finding]:
    """Check that the names in `.env` are settings; a misspelt name would be ignored."""
    return [
        warning(
            f"{name} in .env is not a setting{f'; did you mean {near}?' if near else '.'}",
            fix="Correct it, or remove it. docs/settings.md lists the settings.",
        )
        for name, near in unknown_names().items()
    ]


async def check_agent(context: Context) -> Sequence[Finding]:
    """Check the agent's settings and its extra. Return nothing without AGENT_MODEL."""
    settings = context.settings
    if not settings.agent_model:
        return []
    try:
        require("agent")
    except MissingExtra as error:
        text = "AGENT_MODEL is set, but the extra `agent` is not installed, so the app does not start."
        return [failure(text, fix=f"Install it ({error.command}), or unset AGENT_MODEL.")]
    if settings.missing_agent_setting is not None:
        text = f"AGENT_MODEL is set, but {settings.missing_agent_setting} is not, so there is no `/ask --agent`."
        return [warning(text, fix=f"Set {settings.missing_agent_setting} or OPENROUTER_API_KEY, or unset AGENT_MODEL.")]
    return [ok(f"{settings.agent_model} is set up. It was not tried, since that costs.")]


async def check_port(context: Context) -> Sequence[Finding]:
    """Check the port by listening on it for a moment: it must be free, or the app itself must be using it."""
    host, port = context.settings.bind_host, context.settings.port
    try:
        server = await asyncio.start_server(_close_connection, host, port)
    except OSError as error:
        return [await _explain(error, host, port)]
    server.close()
    await server.wait_closed()
    return [ok(f"{host}:{port} is free.")]


async def _close_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _explain(error: OSError, host: str, port: int) -> Finding:
    if error.errno == errno.EADDRINUSE:
        if await _is_the_app(host, port):
            return ok(f"The app is already listening on {host}:{port}.")
        return failure(f"Another program is listening on {host}:{port}.", fix="Stop it, or set another PORT.")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return failure(f"This user may not listen on port {port}.", fix="Set PORT to 1024 or higher.")
    return failure(f"{host} is not an address of this machine.", fix="Correct HOST, or unset it.")


async def _is_the_app(host: str, port: int) -> bool:
    """Return whether the app answers /healthz at this host and port."""
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection("127.0.0.1" if host == "0.0.0.0" else host, port)  # noqa: S104 - every address
            writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
            answer = await reader.read(1000)
            writer.close()
    except (OSError, TimeoutError):
        return False
    return answer.endswith(b'{"ok": true}')
