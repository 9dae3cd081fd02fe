"""`search`: the best pages for a query."""

from __future__ import annotations

import argparse
from functools import partial

from perplexity.cli.base import CliCommand, ProcessIO, explain_nothing_found
from perplexity.cli.options import add_options, add_text, parse_filters, parse_providers, read_input
from perplexity.cli.output import format_raw, format_results, header, notes
from perplexity.cli.progress import FIRST_STEP, ProgressLine
from perplexity.cli.services import missing_key_variable, open_chain
from perplexity.cli.writing import open_screen, write_reply
from perplexity.notes import no_results_text
from perplexity.sanitize import one_line, printable_line
from perplexity.types import Answer, Query, SearchResults, parse_max_results, validate_query


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text(parser, "query", "what to search for")
    parser.add_argument("--n", default="5", metavar="1-20", help="how many pages; default: 5")
    add_options(parser, mode=True)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Search and write the pages. Raises UsageError, CommandFailed or PerplexityError."""
    count, filters, order = parse_max_results(parsed.n, name="n"), parse_filters(parsed), parse_providers(parsed)
    text = read_input(parsed.query, process.stdin, expected="query")
    query = validate_query(Query(text=text, filters=filters, max_results=count))
    nothing = printable_line(no_results_text(query.text, query.filters))
    with explain_nothing_found(no_results_text(query.text, query.filters)):
        results = process.signals.run(_search(query, process, order))
    missing = missing_key_variable(process, order)
    first, remarks = header(results, unset=missing), notes(results, unset=missing)
    if (screen := open_screen(parsed, process, first)) is not None:
        screen.print_results(results, remarks, nothing=nothing)
        return
    plain = partial(format_results, results, remarks, first, nothing=nothing)
    raw = format_raw(_as_answer(results), first)
    write_reply(results, parsed, process, plain=plain, raw=raw, notes=results.notes)


async def _search(query: Query, process: ProcessIO, order: tuple[str, ...]) -> SearchResults:
    async with open_chain(process, order) as provider, ProgressLine.for_process(process).running(FIRST_STEP):
        return await provider.search(query)


def _as_answer(results: SearchResults) -> Answer:
    """Return an answer whose text lists the pages for a model, each with its number, title and excerpt."""
    pages = [
        f"[{source.number}] {one_line(source.title)}\n{one_line(source.snippet)}".strip() for source in results.results
    ]
    return Answer(text="\n\n".join(pages), sources=results.results, provider=results.provider)


SEARCH = CliCommand(name="search", summary="search the web and list the best pages", add=add, run=run)
