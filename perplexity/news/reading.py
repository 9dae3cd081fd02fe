"""An answer → the stories in it, each tied to the pages that it came from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from perplexity.citations import Cited, cite
from perplexity.news.stories import Story, day
from perplexity.news.words import without_site
from perplexity.types import Answer, AnswerKind, Source

LONGEST_HEADLINE = 200
LONGEST_SENTENCE = 300

_SIGN = re.compile(r"^\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
_BORDER = re.compile(r"\s*[|¦｜]\s*")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MARKS = "*_# \t"
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|(?<=[。！？])")


@dataclass(frozen=True, kw_only=True)
class Read:
    """The stories of an answer; `unsourced` counts those of no page, which are left out.

    `as_found` says that the pages themselves are the stories.
    """

    stories: tuple[Story, ...]
    unsourced: int = 0
    as_found: bool = False


def read(answer: Answer) -> Read:
    """Return the stories that a model listed; the pages themselves where no model wrote, or it kept to no form.

    No form is also a list in which no story names its page. Where the model says that there is no news, there is none.
    """
    lines = [line for line in answer.text.splitlines() if len(_BORDER.findall(line)) >= 2]
    if answer.kind is AnswerKind.PASSAGES or not (lines or _says_none(answer.text)):
        return _as_found(answer)
    told = [_of_line(cite(line, answer.sources)) for line in lines]
    stories = tuple(story for story in told if story is not None)
    return _as_found(answer) if lines and not stories else Read(stories=stories, unsourced=len(told) - len(stories))


def _as_found(answer: Answer) -> Read:
    return Read(stories=tuple(_of_pages(answer.sources)), as_found=True)


def _says_none(text: str) -> bool:
    return text.strip(_MARKS + ".").upper() == "NONE"


def _of_line(cited: Cited) -> Story | None:
    """Return the story of a line; None where no page that was found stands behind it."""
    text = "".join(piece for piece in cited.pieces if isinstance(piece, str))
    headline, *rest = _BORDER.split(_SIGN.sub("", text.strip(" |")))
    headline = headline.strip(_MARKS)
    if not headline or not cited.sources:
        return None
    written = next((part for part in rest if _DAY.search(part)), "")
    sentence = max((part for part in rest if part is not written), key=len, default="")
    source, *others = cited.sources
    return Story(
        headline=headline[:LONGEST_HEADLINE],
        source=source,
        date=day(source.date) or day(_day_in(written)),
        sentence=sentence.strip(_MARKS)[:LONGEST_SENTENCE],
        others=tuple(others),
    )


def _day_in(text: str) -> str | None:
    found = _DAY.search(text)
    return found[0] if found else None


def _of_pages(sources: Iterable[Source]) -> Iterator[Story]:
    """Yield a story for each page, in its own words."""
    for source in sources:
        headline = without_site(source.title, source.url)[:LONGEST_HEADLINE]
        yield Story(headline=headline, source=source, date=day(source.date), sentence=_first_sentence(source))


def _first_sentence(source: Source) -> str:
    snippet = " ".join(source.snippet.split())
    return _SENTENCE_END.split(snippet, maxsplit=1)[0][:LONGEST_SENTENCE] if snippet else ""
