"""What the stages found, put together to one report. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from perplexity.news.deepdive_numbering import Numbering
from perplexity.news.deepdive_types import DeepDive, Finding, Stage


def numbered(situation: Finding, people: Finding) -> tuple[list[Finding], Numbering]:
    """Return the first two stages with their markers numbered by one list, and that list."""
    numbering, parts = Numbering(), []
    for part in (situation, people):
        text, numbering = numbering.text(part.text, part.sources)
        parts.append(replace(part, text=text))
    return parts, numbering


def assembled(topic: str, situation: Finding, people: Finding, analysis: Finding, *, persona: str) -> DeepDive:
    """Return the report. The analysis keeps the numbers that it was given; any other is removed."""
    parts, numbering = numbered(situation, people)
    text, numbering = numbering.text(_without_heading(analysis.text), numbering.sources)
    read = len(situation.sources) + len(people.sources)
    return DeepDive(
        topic=topic,
        findings=(*parts, replace(analysis, text=text, sources=numbering.sources)),
        sources=numbering.sources,
        others=max(0, read - len(numbering.sources)),
        orphans=numbering.orphans,
        persona=persona,
        made_at=_moment(analysis.at),
        # The first two run side by side.
        seconds=max(situation.seconds, people.seconds) + analysis.seconds,
    )


def _without_heading(text: str) -> str:
    """Return the text without the heading that stands above it anyway."""
    first, _, rest = text.lstrip().partition("\n")
    return rest.lstrip() if first.strip(" #*:_").upper() == Stage.ANALYSIS.heading else text


def _moment(at: str) -> datetime:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
