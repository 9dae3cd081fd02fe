"""`/news`: lists the day's news of a category without duplicates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from bot.blocks.sources import news_messages
from bot.commands.base import Command, CommandContext, CommandForm, Reply, Stats
from bot.commands.parsing import (
    COUNTRY,
    DOMAIN,
    LANG,
    PRIVATE,
    PUBLIC,
    RECENCY,
    OptionParser,
    PublicOrPrivate,
    audience_of,
    category_argument,
    filter_options,
    parse_filters,
    parse_options,
    parse_visibility,
    usage_errors,
    visibility_options,
    write_command,
)
from bot.model.message import Audience
from bot.model.question import AnswerButtons, SearchPage
from bot.preferences import Preferred
from bot.translation import N_
from perplexity.filters import Filters
from perplexity.news.summary import CATEGORIES, NewsSummary, default_to_past_day, news_summary
from perplexity.notes import no_news_text
from perplexity.types import SearchResults, parse_query

PARSER = OptionParser(
    options=(RECENCY, DOMAIN, LANG, COUNTRY, PUBLIC, PRIVATE),
    unsupported={
        "--after": N_("`--after` doesn’t work for news: use `--recency` to set how new the stories must be."),
        "--before": N_("`--before` doesn’t work for news: use `--recency` to set how new the stories must be."),
        "--mode": N_("`--mode` works for searches only: news always comes from the open web."),
        "--n": N_("`--n` works for searches only: news lists five to eight stories if there are that many."),
    },
)


@dataclass(frozen=True, kw_only=True)
class NewsRequest(PublicOrPrivate):
    """A category and a topic; an empty `topic` means any topic. `text` is the category and the topic as typed."""

    category: str
    topic: str
    text: str = field(default="", compare=False)
    filters: Filters


def parse(text: str) -> NewsRequest:
    """Parse the text after `/news`. Raises UsageError."""
    arguments = parse_options(text, PARSER)
    first, *rest = arguments.text.split(maxsplit=1) or [""]
    named = category_argument(first)
    with usage_errors(N_("a topic")):
        filters = default_to_past_day(parse_filters(arguments))
        topic = parse_query(rest[0]) if rest else ""
    return NewsRequest(category=named, topic=topic, text=arguments.text, filters=filters, **parse_visibility(arguments))


async def answer(request: NewsRequest, context: CommandContext) -> NewsSummary:
    """Find the news. Raises PerplexityError."""
    now = datetime.fromtimestamp(context.now(), UTC)
    return await news_summary(
        context.services.provider, category=request.category, topic=request.topic, filters=request.filters, now=now
    )


def nothing_found_text(request: NewsRequest) -> str:
    """Return the sentence for an empty result."""
    return no_news_text(request.category, request.topic, request.filters)


def past_week(text: str) -> str | None:
    """Return a text that asks the same for the past week; None if `text` already asks for a week or more.

    Raises UsageError if the text cannot be parsed.
    """
    request = parse(text)
    if request.filters.recency not in {"hour", "day"}:
        return None
    wider = replace(request, filters=replace(request.filters, recency="week"))
    typed = " ".join(filter(None, (request.category, parse_options(text, PARSER).text.partition(" ")[2].strip())))
    options = (*filter_options(wider.filters), *visibility_options(public=wider.public, private=wider.private))
    return write_command(options, typed, parse=parse, meaning=wider)


def prefer(request: NewsRequest, settings: Preferred) -> NewsRequest:
    """Return the request with the settings for everything that was not typed."""
    filters = settings.filters(request.filters, language=True)
    return replace(request, filters=filters, public=settings.visible(public=request.public, private=request.private))


def question_text(request: NewsRequest) -> str:
    """Return the category and the topic as typed."""
    return request.text


def render(summary: NewsSummary, request: NewsRequest, audience: Audience) -> Reply:
    """Render the news."""
    return Reply(
        messages=news_messages(summary, filters=request.filters),
        stats=Stats(provider=summary.provider, cost_usd=summary.cost_usd),
    )


def as_results(summary: NewsSummary) -> SearchPage:
    """Return the stories as search results, without the other sites that report them."""
    pages = (
        replace(story.source, number=number, title=story.headline, snippet=story.sentence)
        for number, story in enumerate(summary.stories, 1)
    )
    results = SearchResults(
        results=tuple(pages),
        provider=summary.provider,
        seconds=summary.seconds,
        cost_usd=summary.cost_usd,
        notes=summary.notes,
    )
    return SearchPage(results=results)


def remember(summary: NewsSummary) -> str:
    """Return a numbered list of headlines with their sentences, so that a follow-up question can refer to a story."""
    return "\n".join(
        f"{number}. {story.headline}. {story.sentence}".strip() for number, story in enumerate(summary.stories, 1)
    )


def buttons(summary: NewsSummary, request: NewsRequest) -> AnswerButtons | None:
    """Return the facts that decide the buttons below the news; None if there are no stories."""
    return AnswerButtons(scheduled=True) if summary.stories else None


NEWS = Command(
    name="news",
    summary=N_("Get the day’s news, each story once, with sources"),
    usage="CATEGORY [TOPIC] [--recency week] [--domain a.com,-b.com] [--public]",
    options=PARSER.options,
    examples=(
        ("tech", N_("the past day in technology")),
        ("business open source companies", N_("about one topic")),
        ("science --recency week --lang de", N_("the past week, pages in German")),
        ("world --domain -x.com --public", N_("without one site, shown to everyone here")),
    ),
    parse=parse,
    audience=audience_of,
    answer=answer,
    render=render,
    buttons=buttons,
    keep=as_results,
    remember=remember,
    nothing_found=nothing_found_text,
    pending_label=N_("Searching the news"),
    stoppable=True,
    past_week=past_week,
    question_text=question_text,
    form=CommandForm(title=N_("Read the news"), text=N_("Topic"), categories=tuple(CATEGORIES)),
    prefer=prefer,
)
