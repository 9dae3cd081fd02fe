"""The options that narrow a search, the same for every command, and how their values are read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

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
from perplexity.providers import PROVIDERS, checked_order

_MAY_BEGIN_WITH_A_DASH = ("--domain",)
_PROVIDERS = ",".join(PROVIDERS)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Declare what every search can be narrowed by."""
    group = parser.add_argument_group("filters")
    group.add_argument("--recency", metavar="hour|day|week|month|year", help="only pages as new as this")
    group.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="a.com,-b.com",
        help="only these sites or, with a - each, all but these; at most 20; may be repeated",
    )
    group.add_argument("--lang", action="append", default=[], metavar="en,de", help="pages in these languages")
    group.add_argument("--country", metavar="DE", help="pages that matter in this country")
    group.add_argument("--after", metavar="YYYY-MM-DD", help="only pages from after this day; not with --recency")
    group.add_argument("--before", metavar="YYYY-MM-DD", help="only pages from before this day; not with --recency")


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Declare which kind of pages is searched."""
    parser.add_argument("--mode", metavar="web|academic|sec", help="the web, papers, or filings with the SEC")


def add_providers(parser: argparse.ArgumentParser) -> None:
    """Declare who is asked, and in which order."""
    parser.add_argument("--providers", metavar="a,b", help=f"who is asked, in this order, of {_PROVIDERS}")


def read_filters(parsed: argparse.Namespace) -> Filters:
    """Return the filters that were typed. Raises InvalidRequest for a value or a combination that is not allowed."""
    mode = getattr(parsed, "mode", None)
    return validate(
        Filters(
            recency=None if parsed.recency is None else parse_recency(parsed.recency),
            domains=parse_domains(_listed(parsed.domain)),
            languages=parse_languages(_listed(parsed.lang)),
            country=None if parsed.country is None else parse_country(parsed.country),
            after=None if parsed.after is None else parse_day("after", parsed.after),
            before=None if parsed.before is None else parse_day("before", parsed.before),
            mode=None if mode is None else parse_mode(mode),
        )
    )


def read_providers(parsed: argparse.Namespace) -> tuple[str, ...]:
    """Return who is asked; nobody stands for all of them. Raises InvalidRequest for a name that is none."""
    if parsed.providers is None:
        return ()
    if not parsed.providers.strip(", "):
        raise InvalidRequest.of("providers", parsed.providers, f"it takes some of {_PROVIDERS}")
    return checked_order(parsed.providers.split(","))


def joined(arguments: Iterable[str]) -> list[str]:
    """Return the arguments with the values that may begin with a dash tied to their options, as argparse wants them."""
    kept: list[str] = []
    for argument in arguments:
        if kept and kept[-1] in _MAY_BEGIN_WITH_A_DASH and not argument.startswith("--"):
            kept[-1] += f"={argument}"
        else:
            kept.append(argument)
    return kept


def explain_wrong(error: InvalidRequest) -> str:
    """Return one line on a value that is not allowed; fields are named as the options are."""
    # What a service says of its own accord is about its own fields.
    typed = error.allowed is not None and error.field not in {"query", "prompt", "category"}
    return f"--{error}" if typed else str(error)


def _listed(values: Sequence[str]) -> list[str]:
    # A value without any part, such as of a variable that is not set, is wrong and not nothing.
    return [part for value in values for part in [part for part in value.split(",") if part.strip()] or [value]]
