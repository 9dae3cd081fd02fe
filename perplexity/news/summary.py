"""The news of a category: asked of the chain, told as stories, each of a page that was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from perplexity.computing import computed
from perplexity.costs import charged
from perplexity.domains import about_domains
from perplexity.errors import NothingFound
from perplexity.filters import Filters
from perplexity.lengths import shortened
from perplexity.news.categories import category as category_of
from perplexity.news.prompts import messages
from perplexity.news.reading import MOST_LISTED, Read, read
from perplexity.news.spans import after, span_of
from perplexity.news.stories import Story, grouped
from perplexity.providers.base import Provider
from perplexity.queries import parse_query
from perplexity.types import Answer, AnswerKind, Attempt, Question

LEAST, MOST = 5, 8
"""How many stories a summary has, where there are so many."""
_MOST_DAYS = 3
"""For so many days there may be that many stories each; a list is written only so long."""

AS_FOUND = "No model wrote this: headlines and sentences are the pages’ own."
NO_FORM = "The model’s reply wasn’t a list, so these are the pages’ own headlines."
"""Said where the stories are the pages that were found, by who found them."""


@dataclass(frozen=True, kw_only=True)
class NewsSummary:
    """The stories, the most important first, and when they were asked for.

    `provider`, `seconds`, `notes` and `failed` are as in an `Answer`; `topic` may be empty. `cost_usd` is the
    sum of all charges, including those of failed attempts.
    """

    stories: tuple[Story, ...]
    provider: str
    made_at: datetime
    category: str
    topic: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()


async def news_summary(
    provider: Provider,
    *,
    category: str,
    topic: str = "",
    filters: Filters | None = None,
    since: datetime | None = None,
    now: datetime,
    seconds: float | None = None,
    most: int | None = MOST,
) -> NewsSummary:
    """Return the news of a category, of the past day unless the filters name another time.

    `now` is the moment of the summary, in any time zone; `since` is one to tell the news from, whatever time the
    filters name, and the longer ago it is, the more stories are asked for. `seconds` is as in a `Question`. `most` is
    how many stories there may be; None gives all that were found, for whoever chooses among them, and says nothing of
    how few they are.
    Raises InvalidRequest for a category that there is not, NothingFound where no page tells a story, or another
    PerplexityError.
    """
    category = category_of(category)
    topic = parse_query(topic) if topic.strip() else ""
    filters = of_the_day(filters or Filters()) if since is None else _from(since, filters or Filters())
    asked = messages(
        category=category,
        topic=topic,
        filters=filters,
        since=since and since.astimezone(UTC),
        now=now,
        least=LEAST,
        most=MOST * (1 if since is None else _days(now - since)),
    )
    question = Question(messages=asked, filters=filters, news=True, seconds=seconds)
    answer = shortened(await provider.answer(question))
    cost_usd = charged(answer.usage.cost_usd, answer.failed)
    found = await computed(read, answer, span=span_of(filters, now=now.astimezone(UTC)))
    stories = (await computed(grouped, found.stories))[:most]
    if not stories:
        nothing = NothingFound("no page tells a story of this kind", provider=answer.provider, cost_usd=cost_usd)
        raise nothing.because((*_left_out(found), *about_domains(answer.notes, filters.domains)))
    few = len(stories) if most is not None and len(stories) < LEAST else 0
    return NewsSummary(
        stories=stories,
        provider=answer.provider,
        made_at=now,
        category=category,
        topic=topic,
        seconds=answer.seconds,
        cost_usd=cost_usd,
        notes=(*_remarks(answer, found, few=few), *answer.notes),
        failed=answer.failed,
    )


def of_the_day(filters: Filters) -> Filters:
    """Return the filters, for the past day where they name no time."""
    return filters if filters.recency or filters.after or filters.before else replace(filters, recency="day")


def _from(since: datetime, filters: Filters) -> Filters:
    return replace(filters, recency=None, after=after(since.astimezone(UTC)), before=None)


def _days(passed: timedelta) -> int:
    return min(max(1, round(passed / timedelta(days=1))), _MOST_DAYS)


def _remarks(answer: Answer, found: Read, *, few: int) -> Iterator[str]:
    """Yield what the reader should know of how the stories came about; `few` is their number where they are few."""
    if answer.incomplete is not None:
        why = f" ({answer.incomplete})" if answer.incomplete else ""
        yield f"The model stopped early{why}: stories may be missing."
    if found.as_found:
        yield AS_FOUND if answer.kind is AnswerKind.PASSAGES else NO_FORM
    if few:
        yield f"Only {_counted(few)} {'was' if few == 1 else 'were'} found."
    yield from _left_out(found)


def _left_out(found: Read) -> Iterator[str]:
    """Yield how many stories were left out, and why."""
    if found.unsourced:
        yield f"{_counted(found.unsourced)} left out: no source for {'it' if found.unsourced == 1 else 'them'}."
    if found.unread:
        yield f"{_counted(found.unread)} left out: only the first {MOST_LISTED} are read."
    if found.outdated:
        its = "its sources are" if found.outdated == 1 else "their sources are"
        yield f"{_counted(found.outdated)} left out: {its} outside this period."


def _counted(number: int) -> str:
    return f"{number} {'story' if number == 1 else 'stories'}"
