"""One list of sources for several texts, each with numbers of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from perplexity.citations import Marker, cite
from perplexity.deepdive.markdown import headings_to_bold, neutralize, neutralize_line, strip_own_heading
from perplexity.deepdive.types import DeepDive, Stage, StageResult
from perplexity.markdown import blocks
from perplexity.types import Source
from perplexity.urls import safe_url
from perplexity.x_posts.types import Sentiment


@dataclass(frozen=True, kw_only=True)
class SourceList:
    """The sources that the texts so far refer to: a source's number is its place, and that of its address.

    `dangling` were removed so far.
    """

    sources: tuple[Source, ...] = ()
    addresses: tuple[str, ...] = ()
    dangling: int = 0

    def renumber(self, text: str, sources: Sequence[Source]) -> tuple[str, SourceList]:
        """Return a text with its markers numbered by the one list, and the list grown by what is new in it.

        A text without any marker has all of its sources put on the list. Markers of no source are removed.
        """
        cited = cite(text, sources)
        listed = dict(zip(self.addresses, self.sources, strict=True))
        # The cited sources are in the order of their first markers, and a marker's number is its source's place there.
        numbers = [_number_of(source, listed) for source in cited.sources or cited.others]
        pieces = (f"[{numbers[piece.number - 1]}]" if isinstance(piece, Marker) else piece for piece in cited.pieces)
        grown = SourceList(
            sources=tuple(listed.values()), addresses=tuple(listed), dangling=self.dangling + cited.orphans
        )
        return "".join(pieces), grown


def _number_of(source: Source, listed: dict[str, Source]) -> int:
    """Return a source's number in a list by address, which grows by a source that is not in it."""
    address = safe_url(source.url) or source.url
    if address not in listed:
        listed[address] = replace(source, number=len(listed) + 1, aliases=())
    return listed[address].number


def renumber(situation: StageResult, people: StageResult) -> tuple[list[StageResult], SourceList]:
    """Return the first two stages with their markers numbered by one list, and that list."""
    numbering, parts = SourceList(), []
    for part in (situation, people):
        text, numbering = numbering.renumber(part.text, part.sources)
        parts.append(replace(part, text=_plain(part.stage, text)))
    return parts, numbering


def assemble(
    topic: str, situation: StageResult, people: StageResult, analysis: StageResult, *, persona: str
) -> DeepDive:
    """Return the report. The analysis keeps the numbers that it was given; any other is removed."""
    parts, numbering = renumber(situation, people)
    text, numbering = numbering.renumber(analysis.text, numbering.sources)
    read = len(situation.sources) + len(people.sources)
    return DeepDive(
        topic=topic,
        stages=(*parts, replace(analysis, text=_plain(analysis.stage, text), sources=numbering.sources)),
        sources=numbering.sources,
        unused_sources=max(0, read - len(numbering.sources)),
        dangling=numbering.dangling,
        persona=persona,
        made_at=_moment(analysis.at),
        # The first two run side by side.
        seconds=max(situation.seconds, people.seconds) + analysis.seconds,
    )


def _plain(stage: Stage, text: str) -> str:
    """Return a section's text without headings, so that nothing which was found can pose as another section."""
    return strip_own_heading(headings_to_bold(text), stage.heading)


def _moment(at: str) -> datetime:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


_JOINER = "\u2060"


def report_title(topic: str) -> str:
    """Return the title of a report, as text."""
    return f"Deep Dive Report: {topic}"


def render_title(report: DeepDive) -> str:
    """Return the title as the heading of a document."""
    title = report_title(neutralize_line(report.topic))
    # Number signs at the end would be taken for the end of the heading.
    return f"# {title}{_JOINER if title.endswith('#') else ''}"


def render_section(finding: StageResult) -> str:
    """Return one section under its heading; its markers are numbers of the report's sources."""
    return "\n\n".join(_section(finding))


def render_sections(report: DeepDive) -> str:
    """Return the three sections under their headings; markers are numbers of the report's sources."""
    return "\n\n".join(map(render_section, report.stages))


def as_document(report: DeepDive) -> str:
    """Return the report as a document that is complete: its title, and no links but those of its sources."""
    sources = [_source_line(source) for source in report.sources]
    quiet = replace(report, stages=tuple(_quiet(finding, report) for finding in report.stages))
    more = [f"({report.unused_sources} more were read.)"] if report.unused_sources else []
    parts = [
        render_title(report),
        render_sections(quiet),
        "\n".join(["Sources:", *sources, *more]) if sources else "",
        *stats_line(report),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def stats_line(report: DeepDive) -> list[str]:
    """Return one line of figures: seconds and dollars of each stage and of all, whose voice it is, and when."""
    each = [f"{finding.stage.heading} {_took(finding.seconds, finding.cost_usd)}" for finding in report.stages]
    total = f"in all {_took(report.seconds, report.cost_usd)}"
    return [" · ".join([*each, total, f"written as {report.persona}", f"{report.made_at:%Y-%m-%d %H:%M} UTC"])]


def sentiment_line(moods: Sentiment) -> str:
    """Return how many posts are of each mood, in words."""
    counts = " · ".join(f"{count} {mood}" for mood, count in moods.counts().items())
    return f"Of {moods.total} post{'' if moods.total == 1 else 's'}: {counts}"


def _quiet(finding: StageResult, report: DeepDive) -> StageResult:
    return replace(
        finding,
        text=neutralize(finding.text, report.sources),
        notes=tuple(neutralize_line(note) for note in finding.notes),
        stand_in=neutralize_line(finding.stand_in),
    )


def _source_line(source: Source) -> str:
    date = f" ({neutralize_line(source.date)})" if source.date else ""
    address = safe_url(source.url) or neutralize_line(source.url)
    return f"{source.number}. {neutralize_line(source.title) or 'Untitled'}{date}\n   {address}"


def _section(finding: StageResult) -> Iterator[str]:
    yield f"## {finding.stage.heading}"
    if finding.stand_in:
        yield f"_{finding.stand_in}_"
    yield f"_{finding.failure}_" if finding.failure else _closed(finding.text.strip("\n"))
    if finding.sentiment is not None and finding.sentiment.total:
        yield sentiment_line(finding.sentiment)
    yield from (f"_{note}_" for note in finding.notes)


def _closed(text: str) -> str:
    """Return the text with an end to code that was left open, which would swallow the sections below it."""
    last = blocks(f"{text}\n\nbelow")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def _took(seconds: float, cost_usd: float | None) -> str:
    return f"{seconds:.0f} s" + ("" if cost_usd is None else f" (${cost_usd:.4f})")
