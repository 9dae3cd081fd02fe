"""Options and arguments that commands share: text, filters, providers and output formats."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TextIO

from perplexity.cli.base import UsageError
from perplexity.errors import InvalidRequest
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
from perplexity.providers import PROVIDERS, validate_order

_DASHED_VALUES = ("--domain",)
_PROVIDERS = ",".join(PROVIDERS)


def add_text(parser: argparse.ArgumentParser, name: str, use: str) -> None:
    """Declare the text of a command, which `read_input` reads; `use` is its help."""
    parser.add_argument(name, nargs="*", metavar=name.upper(), help=f"{use}; omit it or use - to read stdin")


def add_options(parser: argparse.ArgumentParser, *, filters: bool = True, mode: bool = False) -> None:
    """Declare the options for providers and output; `filters` adds the filters, and `mode` adds --mode."""
    if filters:
        _add_filters(parser)
    if mode:
        parser.add_argument("--mode", metavar="web|academic|sec", help="the web, papers, or filings with the SEC")
    parser.add_argument("--providers", metavar="a,b", help=f"providers to ask, in this order, of {_PROVIDERS}")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object with all fields")
    forms.add_argument("--raw", action="store_true", help="<result> and <references>, as tools return to models")
    parser.add_argument("--no-color", action="store_true", help="without colours, as with NO_COLOR")


def _add_filters(parser: argparse.ArgumentParser) -> None:
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
    """Return the names in --providers; empty if the option is not given. Raises InvalidRequest for an invalid value."""
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


def option_hint(words: Iterable[str], known: Iterable[str], others: Mapping[str, Iterable[str]]) -> str:
    """Return a hint on the first unknown option among the words; empty if all options are known.

    `known` are the options of the chosen command. `others` maps the names of the other commands to their options.
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


def explain_invalid_request(error: InvalidRequest) -> str:
    """Return one line on an invalid value, with the name of its option."""
    # Without `allowed`, the field is not an option but, for example, a name in the API of a service.
    typed = error.allowed is not None and error.field not in {"query", "prompt", "category"}
    return f"--{error}" if typed else str(error)


def _split_values(values: Sequence[str]) -> list[str]:
    # A value that is empty (as from an unset shell variable) or has only commas is kept, so that an error reports it.
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
