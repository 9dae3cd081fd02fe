"""Which days pages may be of, to be news of the time that was asked for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import zip_longest

from perplexity.citations import Cited, cite, cite_each
from perplexity.filters import Filters, Recency
from perplexity.news.headlines import strip_site_name
from perplexity.news.pages import is_section_page
from perplexity.news.stories import Story, parse_date
from perplexity.types import Answer, AnswerKind, Source

_LONG: dict[Recency, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=31),
    "year": timedelta(days=366),
}
_WESTERNMOST = timedelta(hours=12)
"""A page is dated by its own zone, and there it may still be the day before."""


@dataclass(frozen=True, kw_only=True)
class DateRange:
    """The days from `first` to `last`, both included; None leaves an end open."""

    first: date | None = None
    last: date | None = None

    def __contains__(self, day: date) -> bool:
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


ANY_TIME = DateRange()


def search_after(moment: datetime) -> date:
    """Return the day `after` which to search, for what is news since a moment (in UTC).

    It is the day before: whether the named day counts, services do not say, and a page is dated by its own zone.
    """
    return moment.date() - timedelta(days=1)


def date_range(filters: Filters, *, now: datetime) -> DateRange:
    """Return the days that the filters allow at this moment (in UTC)."""
    if filters.recency:
        return DateRange(first=(now - _LONG[filters.recency] - _WESTERNMOST).date())
    return DateRange(first=filters.after, last=filters.before)


MAX_HEADLINE = 200
MAX_SENTENCE = 300

_SIGN = re.compile(r"^\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
_BORDER = re.compile("[|¦｜]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MARKS = "*_# \t"
_RULER = re.compile(r"[\s|¦｜:]*-[\s|¦｜:-]*")
_NONE = re.compile(r"[\W_]*none\b(?!.*[|¦｜])", re.IGNORECASE)
_ONLY_NONE = re.compile(r"[\W_]*none\b(?:\[[^][]*\]|[^\w[]|_)*", re.IGNORECASE)
_NO = re.compile(
    r"^\W*no\b|\b(?:found|find|see|is|are|was|were|has|have|with|contains?|returned)\s+no\b", re.IGNORECASE
)
_NEWS = re.compile(r"\b(?:news|stor(?:y|ies)|results?|reports?|articles?|pages?|updates?)\b", re.IGNORECASE)
"""What there is not, behind `_NO` in the same sentence."""
_STOP = re.compile("[.!?]")
_NOTHING = re.compile(
    r"^\W*nothing\b"
    r"|\b(?:could|did|can|was|were)\s*(?:not|n['’]t)\s+(?:able\s+to\s+)?(?:find|found|locate)\b"
    r"|\bunable\s+to\s+find\b",
    re.IGNORECASE,
)
"""How models say that there is no news if they do not write the word NONE that the prompt asks for."""
MAX_LISTED = 100
"""The most stories that are read from one answer, since each is compared with each; no caller asks for so many."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|(?<=[。！？])")


@dataclass(frozen=True, kw_only=True)
class ParsedStories:
    """The stories of an answer.

    `unsourced` counts the stories left out because they name no page, `out_of_range` those dated outside the period,
    `unread` those after the first hundred. `from_pages` says that the pages themselves are the stories.
    """

    stories: tuple[Story, ...]
    unsourced: int = 0
    out_of_range: int = 0
    from_pages: bool = False
    unread: int = 0


def parse_stories(answer: Answer, *, period: DateRange = ANY_TIME) -> ParsedStories:
    """Return the stories that a model listed; the pages themselves if no model wrote, or its reply was no list.

    A list in which no story names its page is none. Where the model says that there is no news, there is none,
    unless it goes on with stories that do. Fronts tell no story by themselves, and pages that are all dated outside the
    `period` none that was asked for.
    """
    if answer.kind is AnswerKind.PASSAGES:
        return _as_found(answer.sources, period)
    listed = list(_listed(answer.text.splitlines()))
    told = cite_each(listed[:MAX_LISTED], answer.sources)
    found = [story for cited in told if (story := _of_line(cited, period)) is not None]
    if not found:
        return (
            ParsedStories(stories=())
            if _tells_nothing(answer, listed=bool(told))
            else _as_found(answer.sources, period)
        )
    stories = tuple(story for story in found if _of_time(story.source, period))
    return ParsedStories(
        stories=stories,
        unsourced=len(told) - len(found),
        out_of_range=len(found) - len(stories),
        unread=len(listed) - len(told),
    )


def _listed(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines in the form of a story, without a table's ruler and its head; none behind a mere NONE."""
    if _ONLY_NONE.fullmatch(next(filter(str.strip, lines), "")):
        return
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        if len(_BORDER.findall(line)) >= 2 and not _RULER.fullmatch(line) and not _RULER.fullmatch(below):
            yield line


def _as_found(sources: Iterable[Source], span: DateRange) -> ParsedStories:
    stories = tuple(_of_pages(sources, span))
    return ParsedStories(stories=stories[:MAX_LISTED], from_pages=True, unread=max(0, len(stories) - MAX_LISTED))


def _of_time(source: Source, span: DateRange) -> bool:
    """Tell whether a page may be of the time: it is dated so, or not at all."""
    dated = parse_date(source.date)
    return dated is None or dated in span


def _tells_nothing(answer: Answer, *, listed: bool) -> bool:
    """Tell whether a text in which no story names its page says that there is none, or is too little to be more.

    Where stories are `listed`, only the word that the model was asked for says so: else it may stand in a headline.
    """
    first, *more = [line for line in answer.text.splitlines() if line.strip()] or [""]
    if listed or _NONE.match(first):
        return bool(_NONE.match(first))
    return _says_none(first) or not (more or cite(first, answer.sources).sources)


def _says_none(line: str) -> bool:
    """Return whether a line says that there is no news: nothing, or no stories, results and the like."""
    if _NOTHING.search(line):
        return True
    searched = 0
    for denial in _NO.finditer(line):
        # If the sentence of one denial has no match, neither has a later denial in the same sentence.
        if denial.end() >= searched:
            stop = _STOP.search(line, denial.end())
            searched = stop.start() if stop else len(line)
            if _NEWS.search(line, denial.end(), searched):
                return True
    return False


def _of_line(cited: Cited, span: DateRange) -> Story | None:
    """Return the story of a line; None where no page that was found stands behind it."""
    text = "".join(piece for piece in cited.pieces if isinstance(piece, str))
    headline, *rest = (part.strip() for part in _BORDER.split(_SIGN.sub("", text.strip(" |"))))
    headline = headline.strip(_MARKS)
    if not headline or not cited.sources:
        return None
    written = next((part for part in rest if _DAY.search(part)), "")
    sentence = max((part for part in rest if part is not written), key=len, default="")
    source, *others = sorted(cited.sources, key=lambda page: not _of_time(page, span))
    return Story(
        headline=headline[:MAX_HEADLINE],
        source=source,
        date=parse_date(source.date) or parse_date(_day_in(written)),
        sentence=sentence.strip(_MARKS)[:MAX_SENTENCE],
        others=tuple(others),
    )


def _day_in(text: str) -> str | None:
    found = _DAY.search(text)
    return found[0] if found else None


def _of_pages(sources: Iterable[Source], span: DateRange) -> Iterator[Story]:
    """Yield a story for each page, in its own words."""
    for source in sources:
        title = strip_site_name(source.title, source.url)
        if not is_section_page(title, source.url) and _of_time(source, span):
            sentence = _first_sentence(source)
            yield Story(headline=title[:MAX_HEADLINE], source=source, date=parse_date(source.date), sentence=sentence)


def _first_sentence(source: Source) -> str:
    snippet = " ".join(source.snippet.split())
    return _SENTENCE_END.split(snippet, maxsplit=1)[0][:MAX_SENTENCE] if snippet else ""
