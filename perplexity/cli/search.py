"""`search`: the best pages for a query."""

from __future__ import annotations

import argparse

from perplexity.citations import format_result
from perplexity.cli.base import Command, World, or_say
from perplexity.cli.options import (
    Form,
    add_filters,
    add_forms,
    add_mode,
    add_providers,
    form_of,
    read_filters,
    read_providers,
    read_text,
)
from perplexity.cli.output import above, as_json, on_one_line, printable, remarks, results_text
from perplexity.cli.providers import chain, unset
from perplexity.notes import nothing_found
from perplexity.sanitize import quoted
from perplexity.types import Answer, Query, SearchResults
from perplexity.validation import checked_query, parse_results


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "query", nargs="*", metavar="QUERY", help="what to search for; - or nothing reads it from stdin"
    )
    parser.add_argument("--n", default="5", metavar="1-20", help="how many pages; 5 unless you say so")
    add_filters(parser)
    add_mode(parser)
    add_providers(parser)
    add_forms(parser)


def run(parsed: argparse.Namespace, world: World) -> None:
    """Search and write the pages. Raises UsageError or PerplexityError."""
    count, filters, order = parse_results(parsed.n), read_filters(parsed), read_providers(parsed)
    text = read_text(parsed.query, world.stdin, wanted="query")
    query = checked_query(Query(text=text, filters=filters, max_results=count))
    nothing = nothing_found(query.text, query.filters)
    with or_say(nothing):
        results = world.signals.run(_found(query, world, order))
    missing = unset(world, order)
    first, said = above(results, unset=missing), remarks(results, unset=missing)
    form = form_of(parsed, world)
    if form is Form.SCREEN:
        from perplexity.cli.live import Screen

        screen = Screen(world.stdout, color=not parsed.no_color)
        screen.head(first)
        screen.results(results, said, nothing=on_one_line(nothing))
    elif form is Form.PLAIN:
        world.stdout.write(results_text(results, said, first, nothing=on_one_line(nothing)))
    else:
        if form is Form.RAW and results.notes:
            world.say("\n".join(map(on_one_line, results.notes)))
        world.stdout.write(as_json(results) if form is Form.JSON else _raw(results, first))


async def _found(query: Query, world: World, order: tuple[str, ...]) -> SearchResults:
    async with chain(world, order) as provider:
        return await provider.search(query)


def _raw(results: SearchResults, first: list[str]) -> str:
    return "\n\n".join(filter(None, (" ".join(first), printable(format_result(_as_answer(results)))))) + "\n"


def _as_answer(results: SearchResults) -> Answer:
    """Return the pages as the text that a model is given: what each says, under its number."""
    pages = [
        f"[{source.number}] {quoted(source.title)}\n{quoted(source.snippet)}".strip() for source in results.results
    ]
    return Answer(text="\n\n".join(pages), sources=results.results, provider=results.provider)


SEARCH = Command(name="search", summary="search the web and list the best pages", add=add, run=run)
