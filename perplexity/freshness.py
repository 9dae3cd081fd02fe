"""Recognizes questions that ask for something new, and answers that rest on old sources.

The words are English and German. A named period ("today", "this week") takes precedence over a word such as "latest",
which means the past week. No function here does I/O.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from perplexity import scope
from perplexity.citations import number_citations
from perplexity.filters import Recency
from perplexity.formatting import format_iso_date
from perplexity.lexicon.units import find_unit
from perplexity.scope import N_, say
from perplexity.types import Answer, AnswerKind, Question, Source
from perplexity.wire.sources import iso_date

DAYS: dict[Recency, int] = {"hour": 1, "day": 1, "week": 7, "month": 31, "year": 366}
"""The greatest age of a source in days, by recency. An hour counts as a day, since services date pages by the day."""

UNDATED = N_("Newest source: undated.")
ZONE_DAYS = 1
"""The days by which a page's date may differ from the date in UTC, since a page is dated in its own time zone."""

_LATEST_DAYS = 7
_LONGEST_QUESTION = 4_000
"""The characters of a long question that are read at each end, since the request stands at one of the ends."""

_QUOTED = re.compile(r"```.{0,2000}?```|`[^`\n]{1,200}`|[\"“”„«»][^\"“”„«»\n]{1,200}[\"“”„«»]", re.DOTALL)
_NAME_BEFORE = r"(?:(?:usa|india|psychology|physics|business|russia|europe|medicine|history|chemistry)[ ])"
_DAYS_OF = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 31, "year": 366}
_UNIT = r"(?:minute|hour|day|week|month|year)s?|(?:minute|stunde|woche)n?|tag(?:en?)?|monat(?:en?|s)?|jahr(?:e[ns]?)?"
_EDGE = r"(?<![\w:/.@#-])"
_END = r"(?![\w@/]|[:.-]\w)"

_TODAY = re.compile(
    rf"{_EDGE}(?:todays?|tonight|this (?:morning|afternoon|evening)|right now|heute|heutig(?:e|en|er|es|em))"
    rf"(?:['’]s)?{_END}"
)
_NOT_TODAY = re.compile(
    r" ?(?:show\b|(?:['’]s )?(?:world|society|age|standards|youth|teenagers)\b|journal\b|[ -]show\b)"
)
_YESTERDAY = re.compile(rf"{_EDGE}(?:yesterday|gestern)(?:['’]s)?{_END}")
_THIS = re.compile(
    rf"{_EDGE}(?:this|dies(?:e|er|en|em|es)) (?:(?:past|current|laufende[nrms]?) )?(?P<unit>week|weekend|month|year|"
    rf"woche|wochenende|monats?|jahre?s?)(?:['’]s)?{_END}"
)
_PAST = re.compile(
    rf"{_EDGE}(?P<which>past|last|letzte[nrms]?|vergangene[nrms]?)"
    rf" (?:(?P<number>\d{{1,4}}|few|couple of|paar|zwei|drei|two|three) )?(?P<unit>{_UNIT})(?:['’]s)?{_END}"
    rf"(?! (?:of|before|der|des|vor)\b)"
)
_LATEST = re.compile(
    rf"{_EDGE}(?:latest(?! common\b)|newest|most recent|up[ -]to[ -]date|currently|at the moment|as of now|"
    rf"neu(?:e)?ste[nrms]?|aktuell(?:e|en|er|es|em|ste|sten|ster|stes)?|aktuelles|derzeit(?:ig(?:e|en|er|es|em))?|"
    rf"jetzig(?:e|en|er|es|em)|zur zeit(?! (?:von|vom|de[rsn]|eines|einer|seine[rs]?|ihre[rs]?)\b)|"
    rf"jüngste[nrms]? (?:entwicklung(?:en)?|nachrichten|meldungen|ereignisse|zahlen|studien?)|"
    rf"recent(?:ly)?|breaking news|gibt(?: es|['’]s) (?:et)?was neues|gibt(?: es|['’]s) neues|schlagzeilen|"
    rf"(?<!fake )(?:latest )?news (?:about|on|from|of)|[\w-]+ (?:news|weather|prices?)(?=\W*$)|prices? of|weather in|"
    rf"is (?!it |he |she )[\w.-]+ down(?=\W*$)|"
    rf"momentan(?:e|en|er|es|em)?|zurzeit|gegenwärtig(?:e|en|er|es|em)?|in letzter zeit|tagesaktuell(?:e|en|er|es)?)"
    rf"{_END}"
)
_NOT_NEWS = re.compile(
    r"^(?:define|definition of|meaning of)\b|\b(?:sql|pandas|dataframes?|regex|javascript|typescript|powershell|"
    r"timestamps?|(?:rows?|records|commits|entries) (?:of|from|in)|history of|who wrote|(?:fox|sky|fake) news|"
    r"(?:in|with|using|mit) (?:python|java|php|ruby|rust|go|bash|excel|c#|c\+\+|swift|kotlin|r))(?!\w)"
)
"""Matches signs that a question is not about news, but about a program, a word or the past."""
_NOT_LATEST = re.compile(r"(?:\bat(?: the)?|\bno later than the|\bam) $")
_CURRENT = re.compile(rf"{_EDGE}current{_END}")
_NOT_CURRENT_BEFORE = re.compile(
    r"\b(?:electric|electrical|electronic|alternating|direct|eddy|ocean|oceanic|sea|tidal|rip|water|air|gulf|inrush|"
    r"leakage|circuit|fault|rms|ac|dc|induced|starting|constant|charging|charge|discharge|bias|base|collector|drain|"
    r"load|phase|peak|ground|measure|measures|measuring|conduct|conducts|carry|carries|surface|marine|stream|jet|"
    r"humboldt|labrador|strong|higher|lower|high|low|more|less|much|against|of|between|and|or|amps?|persian|"
    r"convection|stator|rotor|neutral|cold|warm|swift|underwater) $"
)
_CURRENT_IS_A_NOUN = re.compile(
    r" ?(?:$|[?.!,;:)]|(?:in|of|through|is|are|was|flow|flows|flowing|and|or|to|from|at|with|for|between|per|when|than|"
    r"on|can|does|do|will|would|should|has|have|into|across|as|by|the|a|an|inside|that|which|if|"
    r"density|densities|transformers?|sources?|sensors?|sensing|limiters?|limiting|dividers?|mirrors?|loops?|clamps?|"
    r"accounts?|carrying|ratings?|draw|gain|assets?|liabilit(?:y|ies)|ratio|probes?|collectors?|regulators?|"
    r"conducting|amplifiers?|meters?|measurements?|intensity|affairs program)\b)"
)


@dataclass(frozen=True, kw_only=True)
class PublicationDate:
    """A source's date, as far as it is known: the `first` and `last` day that it may mean, and its text to show."""

    first: date
    last: date
    shown: str


def max_age_days(question: str, recency: Recency | None = None) -> int | None:
    """Return the greatest age, in days, of sources for a question; None if it does not ask for anything new."""
    if recency is not None:
        return DAYS[recency]
    text = _searchable(question)
    if _NOT_NEWS.search(text):
        return None
    periods = [*_periods(text)]
    if periods:
        return min(periods)
    return _LATEST_DAYS if _asks_for_latest(text) else None


def newest_source_line(question: str, sources: Sequence[Source], *, today: date, recency: Recency | None = None) -> str:
    """Return "Newest source: 3 May 2026." if the newest source is older than the question asks for, else "".

    `sources` are the sources that the answer cites. The age of a source comes from its `date`, which is also shown with
    it. Its `last_updated`, the day on which a service last saw a change, does not count. If no source has a date, the
    line says so; without sources the string is empty.
    """
    days = max_age_days(question, recency)
    if days is None or not sources:
        return ""
    tomorrow = today + timedelta(days=ZONE_DAYS)
    # A date in the future is a mistake, so it is ignored.
    known = [dated for source in sources if (dated := _parse_date(source.date)) is not None and dated.first <= tomorrow]
    if not known:
        return say(UNDATED)
    newest = max(known, key=lambda dated: dated.last)
    oldest = today - timedelta(days=days + (ZONE_DAYS if days > 1 else 0))
    return "" if newest.last >= oldest else say("Newest source: {day}.").format(day=scope.current().day(newest.shown))


def add_newest_source_line(answer: Answer, question: Question, *, now: float) -> Answer:
    """Return the answer with the result of `newest_source_line` in `as_of`. `now` is in seconds since 1970.

    The line is about the cited sources, or about all if none is cited. An answer does not change if its question has a
    schema or asks for nothing new.
    """
    recency = question.filters.recency
    if question.schema is not None or max_age_days(question.text, recency) is None:
        return answer
    today = datetime.fromtimestamp(now, UTC).date()
    return replace(answer, as_of=newest_source_line(question.text, cited_sources(answer), today=today, recency=recency))


def cited_sources(answer: Answer) -> tuple[Source, ...]:
    """Return the sources that an answer's text refers to, or all if it refers to none."""
    if answer.kind is AnswerKind.PASSAGES and answer.passages:
        numbers = {passage.source for passage in answer.passages}
        return tuple(source for source in answer.sources if source.number in numbers) or answer.sources
    return number_citations(answer.text, answer.sources).sources or answer.sources


def _parse_date(text: str | None) -> PublicationDate | None:
    """Read a year, a month or a day: "2024", "2024-03", "2024-03-05", "5 March 2024" or "Mar 5, 2024"."""
    written = iso_date(text or "")
    if text is None or written is None or text.count("-") > written.count("-"):  # An invalid day, as in "2026-02-31".
        return None
    year, month, day = (int(part) for part in f"{written}-00-00".split("-")[:3])
    first, last_month = date(year, month or 1, day or 1), month or 12
    last = first if day else date(year, last_month, monthrange(year, last_month)[1])
    return PublicationDate(first=first, last=last, shown=format_iso_date(written))


def _searchable(question: str) -> str:
    if len(question) > 2 * _LONGEST_QUESTION:
        question = f"{question[:_LONGEST_QUESTION]} {question[-_LONGEST_QUESTION:]}"
    unquoted = _QUOTED.sub(" ", question)
    # Quoted text is left out, unless the whole question is in quotation marks.
    said = unquoted if any(character.isalnum() for character in unquoted) else question
    return " ".join(unicodedata.normalize("NFC", said).split()).casefold()


def _periods(text: str) -> Iterator[int]:
    for match in _TODAY.finditer(text):
        before, after = text[max(0, match.start() - 20) : match.start()], text[match.end() : match.end() + 20]
        if not (re.search(rf"\b{_NAME_BEFORE}$", before) or _NOT_TODAY.match(after)):
            yield 1
    for _ in _YESTERDAY.finditer(text):
        yield 2
    for match in _THIS.finditer(text):
        unit = match["unit"].removesuffix("end") if match["unit"] in ("weekend", "wochenende") else match["unit"]
        yield _days_of(unit)
    for match in _PAST.finditer(text):
        yield _of_past(match)


def _days_of(unit: str) -> int:
    name, _ = find_unit(unit) or ("day", 0)
    return _DAYS_OF[name]


def _of_past(match: re.Match[str]) -> int:
    """Return the days of "past week" (7), "last week" (14, since it precedes this week) and "last 3 weeks" (21)."""
    unit, number = match["unit"], match["number"]
    if unit.startswith("minute"):
        return 1
    days = _days_of(unit)
    if number is None:
        return max(1, days if match["which"] == "past" else 2 * days)
    count = int(number) if number.isdecimal() else {"two": 2, "zwei": 2}.get(number, 3)
    return max(1, min(36_600, days * count if days else -(-count // 24)))


def _asks_for_latest(text: str) -> bool:
    for match in _LATEST.finditer(text):
        if not _NOT_LATEST.search(text[max(0, match.start() - 20) : match.start()]):
            return True
    for match in _CURRENT.finditer(text):
        before, after = text[max(0, match.start() - 20) : match.start()], text[match.end() : match.end() + 20]
        if not (_NOT_CURRENT_BEFORE.search(before) or _CURRENT_IS_A_NOUN.match(after)):
            return True
    return False
