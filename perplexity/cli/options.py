"""Options and arguments that commands share: output formats, filters, text, and the chain of providers to open."""

from __future__ import annotations

import argparse
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import StrEnum
from itertools import takewhile
from typing import TextIO

from perplexity.cli.base import CommandFailed, ProcessIO, UsageError
from perplexity.cli.output import as_json, format_answer, format_raw
from perplexity.errors import AllProvidersFailed, InvalidRequest
from perplexity.fallback import Fallback, OnCandidate
from perplexity.filters import (
    Filters,
    parse_country,
    parse_day,
    parse_domains,
    parse_languages,
    parse_mode,
    parse_recency,
    validate,
)
from perplexity.formatting import did_you_mean
from perplexity.limiter import MemoryLimiter
from perplexity.models import FallbackTimeouts, Timeouts
from perplexity.providers import PROVIDERS, build_providers, open_providers, text_generators, validate_order
from perplexity.providers.base import ProviderConfig
from perplexity.sanitize import printable_line
from perplexity.tools.environment import config_from_env
from perplexity.transport import ProxyFor, proxy_for
from perplexity.types import Answer
from perplexity.urls import strip_secrets


class OutputFormat(StrEnum):
    """The output formats: `screen` for terminals, `plain` for pipes, `json` for programs, and `raw` for models."""

    SCREEN = "screen"
    PLAIN = "plain"
    JSON = "json"
    RAW = "raw"


def add_output_formats(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the output format."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object with all fields")
    forms.add_argument("--raw", action="store_true", help="<result> and <references>, as tools return to models")
    parser.add_argument("--no-color", action="store_true", help="without colours, as with NO_COLOR")


def output_format(parsed: argparse.Namespace, process: ProcessIO) -> OutputFormat:
    """Return the requested format; by default, `screen` if stdout is a terminal, else `plain`."""
    if parsed.json or parsed.raw:
        return OutputFormat.JSON if parsed.json else OutputFormat.RAW
    return OutputFormat.SCREEN if process.stdout.isatty() else OutputFormat.PLAIN


def write_answer(
    answer: Answer, form: OutputFormat, process: ProcessIO, *, above: Sequence[str], remarks: Sequence[str]
) -> None:
    """Write an answer in any format except `screen`; the notes of a `raw` answer go to stderr."""
    if form is OutputFormat.RAW:
        write_notes(answer.notes, process)
        process.stdout.write(format_raw(answer, above))
    else:
        process.stdout.write(as_json(answer) if form is OutputFormat.JSON else format_answer(answer, remarks, above))


def write_notes(notes: Sequence[str], process: ProcessIO) -> None:
    """Write notes to stderr, each on a line."""
    if notes:
        process.write_stderr("\n".join(map(printable_line, notes)))


def option_hint(words: Iterable[str], known: Iterable[str], others: Mapping[str, Iterable[str]]) -> str:
    """Return a hint on the first unknown option among the words; an empty text if there is none.

    `others` are the options of each other command.
    """
    options = set(known)
    for word in takewhile(lambda word: word != "--", words):
        option = word.split("=", 1)[0]
        if not option.startswith("-") or option == "-" or option in options:
            continue
        if commands := [command for command, has in others.items() if option in has]:
            return f"{option} goes with {' and '.join(commands)}"
        return did_you_mean(option, [known for known in options if known.startswith("--")]).strip()
    return ""


_DASHED_VALUES = ("--domain",)
_PROVIDERS = ",".join(PROVIDERS)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Declare the filters."""
    group = parser.add_argument_group("filters")
    group.add_argument("--recency", metavar="hour|day|week|month|year", help="only pages as new as this")
    group.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="a.com,-b.com",
        help="only these sites or, with - before each, all others; at most 20; repeatable",
    )
    group.add_argument("--lang", action="append", default=[], metavar="en,de", help="pages in these languages")
    group.add_argument("--country", metavar="DE", help="pages that matter in this country")
    group.add_argument("--after", metavar="YYYY-MM-DD", help="only pages from after this day; not with --recency")
    group.add_argument("--before", metavar="YYYY-MM-DD", help="only pages from before this day; not with --recency")


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Declare the option for the kind of pages."""
    parser.add_argument("--mode", metavar="web|academic|sec", help="the web, papers, or filings with the SEC")


def add_providers(parser: argparse.ArgumentParser) -> None:
    """Declare the option for the providers."""
    parser.add_argument("--providers", metavar="a,b", help=f"providers to ask, in this order, of {_PROVIDERS}")


def parse_filters(parsed: argparse.Namespace) -> Filters:
    """Return the filters of the options. Raises InvalidRequest for an invalid value or combination."""
    mode = getattr(parsed, "mode", None)
    return validate(
        Filters(
            recency=None if parsed.recency is None else parse_recency(parsed.recency),
            domains=parse_domains(_split_values(parsed.domain)),
            languages=parse_languages(_split_values(parsed.lang), name="lang"),
            country=None if parsed.country is None else parse_country(parsed.country),
            after=None if parsed.after is None else parse_day("after", parsed.after),
            before=None if parsed.before is None else parse_day("before", parsed.before),
            mode=None if mode is None else parse_mode(mode),
        )
    )


def parse_providers(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return the providers of the option, empty for all. Raises InvalidRequest for an unknown name."""
    if parsed.providers is None:
        return ()
    if not parsed.providers.strip(", "):
        raise InvalidRequest.for_field("providers", parsed.providers, f"it takes some of {_PROVIDERS}")
    return validate_order(parsed.providers.split(","))


def join_dashed_values(arguments: Iterable[str]) -> list[str]:
    """Return the arguments, with each value that may begin with a dash joined to its option, as argparse requires."""
    kept: list[str] = []
    for argument in arguments:
        if kept and kept[-1] in _DASHED_VALUES and not argument.startswith("--"):
            kept[-1] += f"={argument}"
        else:
            kept.append(argument)
    return kept


def explain_invalid_request(error: InvalidRequest) -> str:
    """Return one line on an invalid value, with the name of its option."""
    # An error from a service has no `allowed`; its field is one of the service's own, which is no option.
    typed = error.allowed is not None and error.field not in {"query", "prompt", "category"}
    return f"--{error}" if typed else str(error)


def _split_values(values: Sequence[str]) -> list[str]:
    # An empty value, as from an unset variable in a shell, or one of commas is kept, to be reported as an error.
    return [part for value in values for part in [part for part in value.split(",") if part.strip()] or [value]]


STDIN = "-"

_SURROGATES = re.compile("[\ud800-\udfff]")
"""Matches the characters with which Python replaces bytes that are not UTF-8: https://peps.python.org/pep-0383/."""


def read_input(words: Sequence[str], stdin: TextIO, *, expected: str) -> str:
    """Return the words joined by spaces, or the text from stdin.

    Stdin is read if the only word is `-`, or if there are no words and stdin is not a terminal.

    Raises UsageError if there is no text; `expected` is what its message calls the text.
    """
    text = _SURROGATES.sub("\ufffd", " ".join(words))
    if text == STDIN or (not text and not stdin.isatty()):
        text = _read_all(stdin)
    if not text.strip():
        raise UsageError(f"no {expected} given; add it after the options, or pipe it in")
    return text


def _read_all(stdin: TextIO) -> str:
    try:
        return stdin.buffer.read().decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"stdin cannot be read ({error.strerror})") from None


@asynccontextmanager
async def open_chain(
    process: ProcessIO,
    order: Sequence[str] = (),
    *,
    seconds: float | None = None,
    proxy: ProxyFor = proxy_for,
    on_candidate: OnCandidate | None = None,
) -> AsyncIterator[Fallback]:
    """Open the chain of providers in this or the default order, and close its connections at the end.

    `seconds` is the time limit of every request, None for the defaults; `proxy` returns the proxy for an address;
    `on_candidate` is as for `Fallback`.
    Raises UsageError or InvalidRequest for an invalid variable, and CommandFailed if no service is configured.
    """
    opened = open_chains(process, order, seconds=seconds, proxy=proxy, on_candidate=on_candidate)
    async with opened as (everyone, _):
        yield everyone


@asynccontextmanager
async def open_chains(
    process: ProcessIO,
    order: Sequence[str] = (),
    *,
    seconds: float | None = None,
    proxy: ProxyFor = proxy_for,
    on_candidate: OnCandidate | None = None,
) -> AsyncIterator[tuple[Fallback, Fallback]]:
    """Open two chains: that of `open_chain`, and one of those providers that can write from a given text."""
    provider_timeouts, chain_timeouts = timeouts(seconds)
    limiter = MemoryLimiter()
    config = replace(checked_config(process, order), timeouts=provider_timeouts, proxy=proxy, limiter=limiter)
    async with open_providers(config, order=order) as providers:
        everyone = Fallback(providers, timeouts=chain_timeouts, on_candidate=on_candidate, limiter=limiter)
        try:
            yield everyone, Fallback(text_generators(providers), timeouts=chain_timeouts, limiter=limiter)
        except AllProvidersFailed as error:
            if error.attempts:
                raise
            raise CommandFailed(_no_service(tuple(order) or tuple(PROVIDERS), config)) from None


def timeouts(seconds: float | None) -> tuple[Timeouts, FallbackTimeouts]:
    """Return the time limits of a provider and of the chain: `seconds` for all calls, or the defaults if it is None."""
    if seconds is None:
        return Timeouts(), FallbackTimeouts()
    same = {"search": seconds, "answer": seconds, "reasoning": seconds, "deep": seconds, "total": seconds}
    return Timeouts(**same), FallbackTimeouts(**same)


def checked_config(process: ProcessIO, order: Sequence[str] = ()) -> ProviderConfig:
    """Return the configuration of the providers. Raises UsageError or InvalidRequest if it is invalid."""
    try:
        config = config_from_env(process.environ)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None
    for name in order or PROVIDERS:
        try:
            build_providers(config, order=[name])
        except InvalidRequest as error:
            if error.field not in {"api_key", "base_url"}:
                raise
            raise UsageError(_variable_error(error, name, process.environ)) from None
    return config


def missing_key_variable(process: ProcessIO, order: Sequence[str] = ()) -> str:
    """Return the variable of the key that the first choice of provider lacks; empty if it lacks none."""
    first = (*order, *PROVIDERS)[0]
    return "" if first in config_from_env(process.environ).keys else next(iter(PROVIDERS[first].key_variables), "")


def _variable_error(error: InvalidRequest, name: str, environ: Mapping[str, str]) -> str:
    """Return the variable and what is wrong with it; an address is quoted without its password, a key is not quoted."""
    keys, address = PROVIDERS[name].key_variables, PROVIDERS[name].base_url_variable
    if error.field == "base_url":
        return f"{address}: {strip_secrets(environ.get(address, ''))!r} is not allowed; {error.allowed}"
    key = next((key for key in keys if environ.get(key, "").strip()), error.field)
    return f"{key}: {error.message.removeprefix(f'{error.field}: ')}"


def _no_service(order: Sequence[str], config: ProviderConfig) -> str:
    missing = [
        PROVIDERS[name].key_variables[0] for name in order if PROVIDERS[name].key_variables and name not in config.keys
    ]
    if missing:
        unset = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
        return f"No service is configured: {unset}, in the environment or in .env in this folder."
    return f"{' and '.join(order)} cannot do this; choose others with --providers."
