"""`mcp`: a server for the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from perplexity.cli.base import Command, ProcessIO, UsageError
from perplexity.cli.providers import checked_config, open_chain
from perplexity.errors import ConnectionFailed, InvalidRequest
from perplexity.fallback import Fallback
from perplexity.providers import openrouter
from perplexity.providers.base import ProviderConfig
from perplexity.transport import HTTP, ProxyFor, checked_proxy, named_proxy
from perplexity.urls import strip_secrets

if TYPE_CHECKING:
    from perplexity.mcp_server.settings import HTTPSettings

MCP_PROVIDERS = ("perplexity", "openrouter")
"""The tools bear Perplexity's name, so its own models answer: by itself, or through OpenRouter."""

_ADDRESSES = {"perplexity": "https://api.perplexity.ai", "openrouter": openrouter.BASE_URL}
_STOPPED = "Stopped."


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio", help="stdio unless you say so")
    parser.add_argument(
        "--host", metavar="HOST", help="where http listens; BIND_ADDRESS or 127.0.0.1 unless you say so"
    )
    parser.add_argument("--port", metavar="N", help="the port of http; PORT or 8765 unless you say so")


def run(parsed: argparse.Namespace, world: ProcessIO) -> None:
    """Serve until the client or a signal ends it. Raises UsageError, also for a variable that cannot be right."""
    if parsed.transport == "stdio" and (closed := sorted(world.closed & {"stdin", "stdout"})):
        told = " and ".join(f"{name} is closed" for name in closed)
        raise UsageError(f"{told}, where the client should be; --transport http needs neither")
    from perplexity.mcp_server.server import log_to
    from perplexity.mcp_server.settings import PROXY, http_settings_from_env, settings_from_env

    # What cannot be right is said before stdin is read: the thread that reads it could not be called off.
    setup = checked_config(world, MCP_PROVIDERS)
    own = (PROXY, world.environ.get(PROXY, ""))
    _check_proxies(setup, own)
    # The variables of HTTP mean nothing to stdio: PORT may be another program's.
    is_http = parsed.transport == "http"
    try:
        settings = settings_from_env(world.environ)
        variables = world.environ if is_http else {}
        http = http_settings_from_env(variables, host=parsed.host, port=parsed.port)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None
    opening = open_chain(world, MCP_PROVIDERS, seconds=settings.seconds, proxy=_proxy(own))
    with log_to(world.stderr, level=settings.log_level):
        if is_http:
            _over_http(opening, http, world)
        else:
            _over_stdio(opening, world)


def _over_stdio(opening: AbstractAsyncContextManager[Fallback], world: ProcessIO) -> None:
    from perplexity.mcp_server import serve_stdio

    world.signals.run(serve_stdio(opening, stopped=partial(_stopped, world)))


def _over_http(opening: AbstractAsyncContextManager[Fallback], settings: HTTPSettings, world: ProcessIO) -> None:
    from perplexity.mcp_server import serve_http
    from perplexity.mcp_server.server import CannotListen

    try:
        world.signals.run(serve_http(opening, settings=settings, ready=partial(_ready, world, settings)))
    except CannotListen:
        told = f"{settings.host} port {settings.port} cannot be listened on; --port takes another"
        raise UsageError(told) from None


def _proxy(own: tuple[str, str]) -> ProxyFor:
    """Return what finds the proxy for an address: PERPLEXITY_PROXY, else HTTPS_PROXY or ALL_PROXY, else HTTP_PROXY."""
    return lambda url: checked_proxy(*named_proxy(url, own=own, https_by_http=True))


def _check_proxies(setup: ProviderConfig, own: tuple[str, str]) -> None:
    """Raise UsageError for a proxy that would be used and cannot be."""
    addresses = [setup.address(name, _ADDRESSES[name]) for name in MCP_PROVIDERS if name in setup.keys]
    for variable, value in (own, *(named_proxy(address, own=own, https_by_http=True) for address in addresses)):
        try:
            checked_proxy(variable, value)
        except ConnectionFailed:
            allowed = f"it takes {' or '.join(f'{kind}://host:port' for kind in HTTP)}"
            raise UsageError(f"{variable}: {strip_secrets(value)!r} is not allowed; {allowed}") from None


def _ready(world: ProcessIO, settings: HTTPSettings, address: str, *, alone: bool) -> None:
    from perplexity.mcp_server.settings import ANY, is_every_address

    world.write_stderr(f"Listening on {address}  (Ctrl-C stops)")
    if not alone:
        world.write_stderr("Whoever reaches this address can ask at your cost: there is no sign-in.")
    if is_every_address(settings.host) and not settings.allowed_hosts:
        world.write_stderr("Only requests to localhost are answered: set ALLOWED_HOSTS to the names that clients use.")
    if ANY in settings.allowed_origins:
        world.write_stderr("ALLOWED_ORIGINS is *: any web page that you open can ask at your cost.")


def _stopped(world: ProcessIO) -> NoReturn:
    world.write_stderr(f"\n{_STOPPED}")
    os._exit(world.signals.exit_code)


MCP = Command(
    name="mcp",
    summary="serve the tools over the Model Context Protocol",
    add=add,
    run=run,
    cancelled=_STOPPED,
    extras=("mcp",),
)
