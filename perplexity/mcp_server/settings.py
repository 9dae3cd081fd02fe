"""Reads the settings of the server from environment variables, most of which Perplexity's own server has too.

https://github.com/perplexityai/modelcontextprotocol#self-hosted-http-mode
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from perplexity.errors import InvalidRequest

PROXY = "PERPLEXITY_PROXY"
TIMEOUT = "PERPLEXITY_TIMEOUT_MS"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
LAST_PORT = 65_535
ANY = "*"
"""The value of ALLOWED_ORIGINS that allows pages of every site."""

_LEVEL = "PERPLEXITY_LOG_LEVEL"
_LEVELS: Mapping[str, int] = {
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
}
_DAY_MS = 86_400_000
_MOST_AT_ONCE = 1_000
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#@\s]+)")
_USUAL_PORTS: Mapping[str, str] = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings that apply to both transports, stdio and HTTP.

    `seconds` is the time limit of a call, None for the default. At most `at_once` calls of deep tools (see `McpTool`)
    run at the same time; the others wait.
    """

    seconds: float | None = None
    log_level: int = logging.ERROR
    at_once: int = 4


@dataclass(frozen=True, kw_only=True)
class HTTPSettings:
    """The HTTP server's address, additional hosts that requests may name, and the origins of pages that may call it.

    `allowed_hosts` are in lower case. A host with a port is allowed only with that port; a host without one is allowed
    without a port and with the server's port.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


def settings_from_env(environ: Mapping[str, str], *, at_once: str | None = None) -> ServerSettings:
    """Return the settings of both transports; `at_once` is the value of the option --at-once, None if not given.

    Raises InvalidRequest, which names the option or the variable.
    """
    limit = _value(environ, TIMEOUT)
    return ServerSettings(
        seconds=_checked_number(TIMEOUT, limit, _DAY_MS, "a whole number of milliseconds") / 1000 if limit else None,
        log_level=_log_level(_value(environ, _LEVEL)),
        at_once=ServerSettings.at_once
        if at_once is None
        else _checked_number("--at-once", at_once, _MOST_AT_ONCE, "a whole number"),
    )


def http_settings_from_env(
    environ: Mapping[str, str], *, host: str | None = None, port: str | None = None
) -> HTTPSettings:
    """Return the settings of HTTP; the options `host` and `port` override the variables.

    Raises InvalidRequest, which names the option or the variable.
    """
    allowed = "host names or addresses, with or without a port"
    hosts = tuple(_checked_list("ALLOWED_HOSTS", environ, check=parse_host, allowed=allowed))
    if host is None:
        host = _host("BIND_ADDRESS", _value(environ, "BIND_ADDRESS") or DEFAULT_HOST)
    elif is_every_address(_host("--host", host)) and not hosts:
        allowed = "it takes the one address that clients use, or every address if ALLOWED_HOSTS is set"
        raise InvalidRequest.for_field("--host", host, allowed)
    given = ("PORT", _value(environ, "PORT") or str(DEFAULT_PORT)) if port is None else ("--port", port)
    number = _checked_number(*given, LAST_PORT, "a port")
    allowed = "origins such as https://app.example.com, null, or * for all"
    origins = tuple(_checked_list("ALLOWED_ORIGINS", environ, check=_origin, allowed=allowed))
    return HTTPSettings(host=host, port=number, allowed_hosts=hosts, allowed_origins=origins)


def bracket_ipv6(host: str) -> str:
    """Return the host as it is written in a URL, with brackets around an IPv6 address."""
    return f"[{host}]" if ":" in host else host


def is_every_address(host: str) -> bool:
    """Return whether a host means every address of this machine: 0.0.0.0 or ::."""
    return _is_address(host) and ip_address(host).is_unspecified


def _value(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


def _checked_number(name: str, text: str, most: int, what: str) -> int:
    """Return the integer from 1 to `most` in a text. Raises InvalidRequest, which says `what` the setting takes."""
    number = _number(text, most)
    if number is None:
        raise InvalidRequest.for_field(name, text, f"it takes {what} from 1 to {most}")
    return number


def _number(text: str, most: int) -> int | None:
    """Return the integer from 1 to `most` in a text, None for anything else."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most
    return int(text) if is_number else None


def _log_level(text: str) -> int:
    name = text.upper().replace("WARNING", "WARN") or "ERROR"
    if name not in _LEVELS:
        raise InvalidRequest.for_field(_LEVEL, text, f"it takes {', '.join(_LEVELS)}")
    return _LEVELS[name]


def _host(name: str, text: str) -> str:
    host = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not (_is_address(host) or _NAME.fullmatch(host.lower())):
        raise InvalidRequest.for_field(name, text, "it takes one address or host name of this machine")
    return host


def _checked_list(
    name: str, environ: Mapping[str, str], *, check: Callable[[str], str | None], allowed: str
) -> Iterator[str]:
    """Yield the parts of a variable in the form that `check` returns. Raises InvalidRequest if it returns None."""
    for part in filter(None, map(str.strip, _value(environ, name).split(","))):
        checked = check(part.lower())
        if checked is None:
            raise InvalidRequest.for_field(name, part, f"it takes {allowed}, separated by commas")
        yield checked


def parse_host(text: str) -> str | None:
    """Return a host as a Host header has it, with or without a port; None if it is invalid.

    `text` must be in lower case; an IPv6 address without a port gets brackets.
    """
    if _is_address(text):
        return bracket_ipv6(text)
    name, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    name, port = (name, port) if colon else (text, "")
    bare = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    known = _is_address(bare) if bare != name or ":" in bare else bool(_NAME.fullmatch(bare))
    return text if known and (not colon or _number(port, LAST_PORT)) else None


def _origin(text: str) -> str | None:
    """Return an origin as browsers send it, without the default port of its scheme; None if it is invalid."""
    if text in {ANY, "null"}:
        return text
    match = _ORIGIN.fullmatch(text)
    place = parse_host(match[2]) if match else None
    if match is None or place is None:
        return None
    return f"{match[1]}://{place.removesuffix(_USUAL_PORTS.get(match[1], ''))}"


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False
