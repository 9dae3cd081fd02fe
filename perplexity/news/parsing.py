"""Reads the stories of a reply, from the list that a model wrote or from the pages that a search found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import zip_longest

from perplexity.citations import CitedText, number_citations, number_each
from perplexity.filters import Filters, Recency
from perplexity.news.headlines import strip_site_name
from perplexity.news.stories import Story, parse_date
from perplexity.types import Answer, AnswerKind, Source
from perplexity.urls import is_section_page

_LENGTHS: dict[Recency, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}
_TIMEZONE_MARGIN = timedelta(hours=12)
"""Added to a period, because a page is dated in its own time zone, in which it may still be the day before."""


@dataclass(frozen=True, kw_only=True)
class DateRange:
    """The days from `first` to `last`, inclusive; None leaves an end open."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: date) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


ANY_TIME = DateRange()


def date_range(filters: Filters, *, now: datetime) -> DateRange:
    """Return the days that the filters allow at this moment (in UTC)."""
    if filters.recency:
        return DateRange(first=(now - _LENGTHS[filters.recency] - _TIMEZONE_MARGIN).date())
    return DateRange(first=filters.after, last=filters.before)


MAX_HEADLINE = 200
MAX_SENTENCE = 300

_BULLET = re.compile(r"^\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
_SEPARATOR = re.compile("[|¦｜]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_EMPHASIS = "*_# \t"
_TABLE_RULE = re.compile(r"[\s|¦｜:]*-[\s|¦｜:-]*")
_NONE = re.compile(r"[\W_]*none\b(?!.*[|¦｜])", re.IGNORECASE)
_ONLY_NONE = re.compile(r"[\W_]*none\b(?:\[[^][]*\]|[^\w[]|_)*", re.IGNORECASE)
_DENIAL = re.compile(
    r"^\W*no\b|\b(?:found|find|see|is|are|was|were|has|have|with|contains?|returned)\s+no\b", re.IGNORECASE
)
_NEWS_NOUN = re.compile(r"\b(?:news|stor(?:y|ies)|results?|reports?|articles?|pages?|updates?)\b", re.IGNORECASE)
"""A word for news. If it follows a match of `_DENIAL` in the same sentence, the sentence says that there is no news."""
_STOP = re.compile("[.!?]")
_NOTHING_FOUND = re.compile(
    r"^\W*nothing\b"
    r"|\b(?:could|did|can|was|were)\s*(?:not|n['’]t)\s+(?:able\s+to\s+)?(?:find|found|locate)\b"
    r"|\bunable\s+to\s+find\b",
    re.IGNORECASE,
)
"""How models report that there is no news, other than by the word NONE that the prompt asks for."""
MAX_LISTED = 100
"""The most stories read from one answer, because each is compared with every other; no caller asks for that many."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|(?<=[。！？])")


@dataclass(frozen=True, kw_only=True)
class ParsedStories:
    """The stories of an answer.

    `unsourced` counts the stories left out because they name no page, `out_of_range` those dated outside the period,
    `unread` those after the first hundred. `from_pages` is True if the pages themselves are the stories.
    """

    stories: tuple[Story, ...]
    unsourced: int = 0
    out_of_range: int = 0
    from_pages: bool = False
    unread: int = 0


def parse_stories(answer: Answer, *, period: DateRange = ANY_TIME) -> ParsedStories:
    """Return the stories that a model listed, or the pages themselves if it wrote no list or no model was used.

    A list in which no story names a source does not count as a list. If the reply says that there is no news, no
    stories are returned, unless it goes on to list stories with sources. Section pages, and stories whose pages are all
    dated outside the `period`, are left out.
    """
    if answer.kind is AnswerKind.PASSAGES:
        return _from_pages(answer.sources, period)
    listed = list(_story_lines(answer.text.splitlines()))
    cited_lines = number_each(listed[:MAX_LISTED], answer.sources)
    found = [story for cited in cited_lines if (story := _parse_line(cited, period)) is not None]
    if not found and _reports_no_news(answer, listed=bool(cited_lines)):
        return ParsedStories(stories=())
    if not found:
        return _from_pages(answer.sources, period)
    stories = tuple(story for story in found if _in_period(story.source, period))
    return ParsedStories(
        stories=stories,
        unsourced=len(cited_lines) - len(found),
        out_of_range=len(found) - len(stories),
        unread=len(listed) - len(cited_lines),
    )


def _story_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines that have the form of a story, without the head of a table and the rule below the head.

    Yield nothing if the first line that is not empty says only NONE.
    """
    if _ONLY_NONE.fullmatch(next(filter(str.strip, lines), "")):
        return
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        if len(_SEPARATOR.findall(line)) >= 2 and not _TABLE_RULE.fullmatch(line) and not _TABLE_RULE.fullmatch(below):
            yield line


def _from_pages(sources: Iterable[Source], period: DateRange) -> ParsedStories:
    stories = tuple(_page_stories(sources, period))
    return ParsedStories(stories=stories[:MAX_LISTED], from_pages=True, unread=max(0, len(stories) - MAX_LISTED))


def _in_period(source: Source, period: DateRange) -> bool:
    """Return whether a page is undated or dated within the period."""
    dated = parse_date(source.date)
    return dated is None or dated in period


def _reports_no_news(answer: Answer, *, listed: bool) -> bool:
    """Return whether a reply without sourced stories says that there is no news, or is one line without a source.

    If stories are `listed`, only the word NONE counts, because other words may be part of a headline.
    """
    first, *more = [line for line in answer.text.splitlines() if line.strip()] or [""]
    if listed or _NONE.match(first):
        return bool(_NONE.match(first))
    return _denies_news(first) or not (more or number_citations(first, answer.sources).sources)


def _denies_news(line: str) -> bool:
    """Return whether a line says that there is no news, as in "nothing found", "no stories" or "no results"."""
    if _NOTHING_FOUND.search(line):
        return True
    searched = 0
    for denial in _DENIAL.finditer(line):
        # Each sentence is searched once: if no word for news follows its first denial, none follows a later one.
        if denial.end() >= searched:
            stop = _STOP.search(line, denial.end())
            searched = stop.start() if stop else len(line)
            if _NEWS_NOUN.search(line, denial.end(), searched):
                return True
    return False


def _parse_line(cited: CitedText, period: DateRange) -> Story | None:
    """Return the story of a line, or None if it cites no page that was found."""
    text = "".join(piece for piece in cited.pieces if isinstance(piece, str))
    headline, *rest = (part.strip() for part in _SEPARATOR.split(_BULLET.sub("", text.strip(" |"))))
    headline = headline.strip(_EMPHASIS)
    if not headline or not cited.sources:
        return None
    written = next(filter(None, map(_DAY.search, rest)), None)
    sentence = max((part for part in rest if not written or part is not written.string), key=len, default="")
    source, *others = sorted(cited.sources, key=lambda page: not _in_period(page, period))
    return Story(
        headline=headline[:MAX_HEADLINE],
        source=source,
        date=parse_date(source.date) or (parse_date(written[0]) if written else None),
        sentence=sentence.strip(_EMPHASIS)[:MAX_SENTENCE],
        others=tuple(others),
    )


def _page_stories(sources: Iterable[Source], period: DateRange) -> Iterator[Story]:
    """Yield a story for each page, with its own title and first sentence."""
    for source in sources:
        title = strip_site_name(source.title, source.url)
        if not is_section_page(title, source.url) and _in_period(source, period):
            sentence = _first_sentence(source)
            yield Story(headline=title[:MAX_HEADLINE], source=source, date=parse_date(source.date), sentence=sentence)


def _first_sentence(source: Source) -> str:
    return _SENTENCE_END.split(" ".join(source.snippet.split()), maxsplit=1)[0][:MAX_SENTENCE]
