"""`mcp`: serve the tools over the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from perplexity.cli.base import CliCommand, ProcessIO, UsageError
from perplexity.cli.services import checked_config, open_chain
from perplexity.errors import ConnectionFailed, InvalidRequest
from perplexity.providers import PROVIDERS
from perplexity.transport import HTTP, checked_proxy, named_proxy
from perplexity.urls import is_loopback, strip_secrets

if TYPE_CHECKING:
    from perplexity.mcp_server.settings import HTTPSettings

MCP_PROVIDERS = tuple(name for name, spec in PROVIDERS.items() if spec.perplexity_models)
"""The providers of Perplexity's own models. No others are asked, because the tools have Perplexity's name."""

_STOPPED = "Stopped."


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="default: stdio")
    parser.add_argument("--host", metavar="HOST", help="address for http; default: BIND_ADDRESS or 127.0.0.1")
    parser.add_argument("--port", metavar="N", help="port for http; default: PORT or 8765")
    parser.add_argument("--at-once", metavar="N", help="how many deep researches run at once; default: 4")


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Serve until the client closes stdin or a signal stops the process.

    Raises UsageError for an invalid option or variable, for closed standard streams, and for a port that is not
    available.
    """
    if parsed.transport == "stdio" and (closed := sorted(process.closed & {"stdin", "stdout"})):
        message = " and ".join(f"{name} is closed" for name in closed)
        raise UsageError(f"{message}, but the client needs it; use --transport http instead")
    from perplexity.mcp_server.server import CannotListen, log_to, serve_http, serve_stdio
    from perplexity.mcp_server.settings import PROXY, http_settings_from_env, settings_from_env

    # Settings are checked before stdin is read, because the thread that reads it could not be cancelled after an error.
    config = checked_config(process, MCP_PROVIDERS)
    own = (PROXY, process.environ.get(PROXY, ""))
    # PERPLEXITY_PROXY counts first, then HTTPS_PROXY or ALL_PROXY, then HTTP_PROXY.
    find_proxy = partial(named_proxy, own=own, https_by_http=True)
    addresses = [config.address(name, PROVIDERS[name].base_url) for name in MCP_PROVIDERS if name in config.keys]
    for variable, value in (own, *map(find_proxy, addresses)):
        _check_proxy(variable, value)
    # For stdio, the variables of the HTTP server are not read, because PORT may be meant for another program.
    is_http = parsed.transport == "http"
    try:
        settings = settings_from_env(process.environ, at_once=parsed.at_once)
        variables = process.environ if is_http else {}
        http = http_settings_from_env(variables, host=parsed.host, port=parsed.port)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None
    opening = open_chain(
        process, MCP_PROVIDERS, seconds=settings.seconds, proxy=lambda url: checked_proxy(*find_proxy(url))
    )
    if is_http:
        serving = serve_http(opening, settings=http, ready=partial(_announce, process, http), at_once=settings.at_once)
    else:
        serving = serve_stdio(opening, stopped=partial(_exit_stopped, process), at_once=settings.at_once)
    with log_to(process.stderr, level=settings.log_level):
        try:
            process.signals.run(serving)
        except CannotListen:
            message = f"{http.host} port {http.port} is not available; choose another with --port"
            raise UsageError(message) from None


def _check_proxy(variable: str, value: str) -> None:
    """Raise UsageError for an unusable proxy."""
    try:
        checked_proxy(variable, value)
    except ConnectionFailed:
        allowed = f"it takes {' or '.join(f'{kind}://host:port' for kind in HTTP)}"
        raise UsageError(f"{variable}: {strip_secrets(value)!r} is not allowed; {allowed}") from None


def _announce(process: ProcessIO, settings: HTTPSettings, address: str) -> None:
    from perplexity.mcp_server.settings import ANY, is_every_address

    process.write_stderr(f"Listening on {address}  (Ctrl-C stops)")
    if not is_loopback(settings.host):
        process.write_stderr("Anyone who can reach this address can ask at your cost: there is no sign-in.")
    if is_every_address(settings.host) and not settings.allowed_hosts:
        process.write_stderr(
            "Only requests to localhost are answered. Set ALLOWED_HOSTS to the names that clients use."
        )
    if ANY in settings.allowed_origins:
        process.write_stderr("ALLOWED_ORIGINS is *: any web page that you open can ask at your cost.")


def _exit_stopped(process: ProcessIO) -> NoReturn:
    process.write_stderr(f"\n{_STOPPED}")
    os._exit(process.signals.exit_code)


MCP = CliCommand(
    name="mcp",
    summary="serve the tools over the Model Context Protocol",
    add=add,
    run=run,
    cancelled=_STOPPED,
    extras=("mcp",),
)
