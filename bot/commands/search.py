"""`/search`: lists the best pages for a query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.blocks.sources import results_messages
from bot.commands.base import Command, CommandContext, CommandForm, Option, Reply, Stats
from bot.commands.parsing import (
    FILTERS,
    MODE,
    PRIVATE,
    PUBLIC,
    OptionParser,
    PublicOrPrivate,
    audience_of,
    parse_filters,
    parse_options,
    parse_visibility,
    usage_errors,
)
from bot.errors import UsageError
from bot.model.message import Audience
from bot.model.question import AnswerButtons, SearchPage
from bot.preferences import Preferred
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.errors import InvalidRequest, cost_with_failures
from perplexity.filters import Filters
from perplexity.notes import no_results_text
from perplexity.types import MAX_RESULTS, Query, parse_max_results, validate_query

NUMBER = Option(
    name="--n", short="-n", value="1-20", help=N_("How many pages; 5 unless you say so"), label=N_("How many pages")
)
PARSER = OptionParser(
    options=(NUMBER, *FILTERS, MODE, PUBLIC, PRIVATE),
    unsupported={
        "--reasoning": N_("`--reasoning` works for answers only: a search lists pages."),
        "--model": N_("`--model` works for answers only: a search lists pages."),
        "--effort": N_("`--effort` works for answers only: a search lists pages."),
    },
)


@dataclass(frozen=True, kw_only=True)
class SearchRequest(PublicOrPrivate):
    """A query."""

    query: Query


def parse(text: str) -> SearchRequest:
    """Parse the text after `/search`. Raises UsageError."""
    arguments = parse_options(text, PARSER)
    if not arguments.text:
        raise UsageError(_("Add what to search for after the options."))
    with usage_errors(N_("a search")):
        filters = parse_filters(arguments)
        number = arguments.one(NUMBER.name)
        count = Query.max_results if number is None else _parse_count(number)
        query = validate_query(Query(text=arguments.text, filters=filters, max_results=count))
    return SearchRequest(query=query, **parse_visibility(arguments))


def _parse_count(number: str) -> int:
    try:
        return parse_max_results(number)
    except InvalidRequest:
        problem = _("`{option}` must be between 1 and {most}.").format(option=NUMBER.name, most=MAX_RESULTS)
        raise UsageError(problem, option=NUMBER.name) from None


async def answer(request: SearchRequest, context: CommandContext) -> SearchPage:
    """Search; after a click on "More results", find the results that follow. Raises PerplexityError."""
    shown = context.parent.result if context.parent is not None else None
    if not isinstance(shown, SearchPage):
        return SearchPage(results=await context.services.provider.search(request.query))
    before = (*shown.before, *(source.url for source in shown.results.results))
    # A service lists at most twenty results, always from the first.
    wanted = min(MAX_RESULTS, len(before) + request.query.max_results)
    found = await context.services.provider.search(replace(request.query, max_results=wanted))
    new = [source for source in found.results if source.url not in before][: request.query.max_results]
    return SearchPage(results=replace(found, results=tuple(new)), before=before)


def nothing_found_text(request: SearchRequest) -> str:
    """Return the sentence for an empty result."""
    return no_results_text(request.query.text, request.query.filters)


def question_text(request: SearchRequest) -> str:
    """Return the query."""
    return request.query.text


def render(page: SearchPage, request: SearchRequest, audience: Audience) -> Reply:
    """Render the results."""
    results = page.results
    return Reply(
        messages=results_messages(results, query=request.query, audience=audience, shown_before=len(page.before)),
        stats=Stats(provider=results.provider, cost_usd=cost_with_failures(results.cost_usd, results.failed)),
    )


def filters(request: SearchRequest) -> Filters:
    """Return the query's filters."""
    return request.query.filters


def prefer(request: SearchRequest, settings: Preferred) -> SearchRequest:
    """Return the request with the settings for everything that was not typed."""
    query = replace(request.query, filters=settings.filters(request.query.filters))
    return replace(request, query=query, public=settings.visible(public=request.public, private=request.private))


def buttons(page: SearchPage, request: SearchRequest) -> AnswerButtons | None:
    """Return the facts that decide the buttons below the results; None if there are no results."""
    found = len(page.results.results)
    if not found:
        return None
    more = found == request.query.max_results and len(page.before) + found < MAX_RESULTS
    return AnswerButtons(ask_about=True, more=more)


SEARCH = Command(
    name="search",
    summary=N_("Search the web and list the best pages"),
    usage="[--n 1-20] [--recency week] [--domain a.com,-b.com] [--public] QUERY",
    options=PARSER.options,
    examples=(
        ("python free threading", N_("the five best pages")),
        ("--n 10 --recency month postgres release", N_("ten pages from the past month")),
        ("--domain arxiv.org --mode academic graph databases", N_("papers on one site")),
        ('"exact words" --after 2026-01-01 --public', N_("pages of this year, shown to everyone here")),
    ),
    parse=parse,
    audience=audience_of,
    answer=answer,
    render=render,
    nothing_found=nothing_found_text,
    pending_label=N_("Searching the web"),
    stoppable=True,
    question_text=question_text,
    buttons=buttons,
    form=CommandForm(
        title=N_("Search for pages"), text=N_("What to search for"), missing=N_("Write what to search for.")
    ),
    filters=filters,
    prefer=prefer,
)
