"""What the stages found, put together to one report. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from perplexity.news.deepdive_headings import without_headings, without_own_heading
from perplexity.news.deepdive_numbering import Numbering
from perplexity.news.deepdive_types import DeepDive, Finding, Stage


def numbered(situation: Finding, people: Finding) -> tuple[list[Finding], Numbering]:
    """Return the first two stages with their markers numbered by one list, and that list."""
    numbering, parts = Numbering(), []
    for part in (situation, people):
        text, numbering = numbering.text(part.text, part.sources)
        parts.append(replace(part, text=_plain(part.stage, text)))
    return parts, numbering


def assembled(topic: str, situation: Finding, people: Finding, analysis: Finding, *, persona: str) -> DeepDive:
    """Return the report. The analysis keeps the numbers that it was given; any other is removed."""
    parts, numbering = numbered(situation, people)
    text, numbering = numbering.text(analysis.text, numbering.sources)
    read = len(situation.sources) + len(people.sources)
    return DeepDive(
        topic=topic,
        findings=(*parts, replace(analysis, text=_plain(analysis.stage, text), sources=numbering.sources)),
        sources=numbering.sources,
        others=max(0, read - len(numbering.sources)),
        orphans=numbering.orphans,
        persona=persona,
        made_at=_moment(analysis.at),
        # The first two run side by side.
        seconds=max(situation.seconds, people.seconds) + analysis.seconds,
    )


def _plain(stage: Stage, text: str) -> str:
    """Return a section's text without headings, so that nothing which was found can pose as another section."""
    return without_own_heading(without_headings(text), stage.heading)


def _moment(at: str) -> datetime:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
