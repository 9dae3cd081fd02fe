"""`news`: the news of a category."""

from __future__ import annotations

import argparse
import asyncio
from datetime import UTC, datetime
from functools import partial

from perplexity.cli.base import CliCommand, ProcessIO, explain_nothing_found
from perplexity.cli.options import add_options, parse_filters, parse_providers
from perplexity.cli.output import format_raw, format_results, notes
from perplexity.cli.progress import FIRST_STEP, ProgressLine
from perplexity.cli.services import missing_key_variable, open_chain
from perplexity.cli.writing import open_screen, write_reply
from perplexity.errors import without_costs
from perplexity.filters import Filters
from perplexity.news.stories import Story
from perplexity.news.summary import (
    CATEGORIES,
    NewsSummary,
    as_answer,
    default_to_past_day,
    format_time,
    news_stand_in,
    news_summary,
    other_sites,
    parse_category,
)
from perplexity.notes import no_news_text
from perplexity.sanitize import printable_line
from perplexity.types import SearchResults, Source


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("category", metavar="CATEGORY", help=f"one of {', '.join(CATEGORIES)}")
    parser.add_argument(
        "topic", nargs="*", default=[], metavar="TOPIC", help="what the news should be about; default: anything"
    )
    add_options(parser)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Find the news and write the stories. Raises UsageError, CommandFailed or PerplexityError."""
    filters, order, kind = parse_filters(parsed), parse_providers(parsed), parse_category(parsed.category)
    topic = " ".join(parsed.topic)
    with explain_nothing_found(no_news_text(kind, topic, default_to_past_day(filters))):
        summary = asyncio.run(_summarize(kind, topic, filters, process=process, order=order))
    results, missing = as_results(summary), missing_key_variable(process, order)
    first = [printable_line(line) for line in filter(None, [news_stand_in(summary, unset=missing)])]
    remarks = [_title_line(summary), *notes(results, unset=missing)]
    if (screen := open_screen(parsed, process, first)) is not None:
        screen.print_results(results, remarks)
        return
    raw = format_raw(as_answer(summary), first, f"As of {format_time(summary)}.")
    write_reply(summary, parsed, process, plain=partial(format_results, results, remarks, first), raw=raw)


async def _summarize(
    kind: str, topic: str, filters: Filters, *, process: ProcessIO, order: tuple[str, ...]
) -> NewsSummary:
    async with open_chain(process, order) as provider, ProgressLine.for_process(process).running(FIRST_STEP):
        return await news_summary(provider, category=kind, topic=topic, filters=filters, now=datetime.now(UTC))


def as_results(summary: NewsSummary) -> SearchResults:
    """Return the stories as pages: headline, day, address, what happened, and the other sites."""
    return SearchResults(
        results=tuple(_as_page(number, story) for number, story in enumerate(summary.stories, 1)),
        provider=summary.provider,
        seconds=summary.seconds,
        cost_usd=summary.cost_usd,
        notes=summary.notes,
        failed=without_costs(summary.failed),
    )


def _as_page(number: int, story: Story) -> Source:
    others = f"(also: {', '.join(sites)})" if (sites := other_sites(story)) else ""
    return Source(
        number=number,
        title=story.headline,
        url=story.source.url,
        snippet=f"{story.sentence} {others}".strip(),
        date=story.date.isoformat() if story.date else None,
    )


def _title_line(summary: NewsSummary) -> str:
    about = f" about {summary.topic}" if summary.topic else ""
    return f"{summary.category.capitalize()} news{about}, as of {format_time(summary)}."


NEWS = CliCommand(name="news", summary="list today's news of a category, without duplicates", add=add, run=run)
