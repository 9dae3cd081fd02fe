"""A deep dive as messages: three sections, how people feel as a chart, one list of sources, how it came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bot.blocks import assembling
from bot.blocks.base import Audience, Block, OutgoingMessage
from bot.blocks.charts import bar_chart
from bot.blocks.elements import context, markdown, plain_button
from bot.blocks.escaping import clean, escape
from bot.blocks.grey_line import dollars, duration, grey_line
from bot.blocks.marks import hold
from bot.blocks.news import moment
from bot.blocks.paging import pages
from bot.blocks.sources import address_of, source_blocks
from perplexity.citations import Cited, Marker, cite
from perplexity.news.deepdive_report import sections
from perplexity.news.deepdive_types import DeepDive, Finding, Stage
from perplexity.types import Source


def deepdive_messages(report: DeepDive, *, audience: Audience, file: str | None = None) -> tuple[OutgoingMessage, ...]:
    """Render a report as one message, or as several numbered ones; what stands below the text is in the last.

    `file` is the id behind the button that sends it as a file; None for no button.
    """
    text = hold(_cited(sections(report), report.sources))
    parts = pages(text, [address_of(source) for source in report.sources])
    blocks = [*map(markdown, parts), *_moods(report), *source_blocks(report.sources, ()), *_others(report)]
    blocks += [context("\n".join(_course(report))), _grey(report, audience)]
    blocks += [plain_button("Get as a file", action_id="as_file", value=file)] if file else []
    count = len(report.sources)
    return assembling.messages(blocks, summary=f"{count} source{'' if count == 1 else 's'}")


def _moods(report: DeepDive) -> Iterator[Block]:
    """Draw the posts by mood; the text has the same in words, for whoever does not see the chart."""
    if report.moods is not None:
        counts = report.moods.counts()
        names, values = [mood.capitalize() for mood in counts], [float(count) for count in counts.values()]
        yield bar_chart("Posts by mood", categories=names, series={"Posts": values}, y_label="Posts")


def _course(report: DeepDive) -> Iterator[str]:
    """Yield a line for each stage, and when the report was finished."""
    yield from (_stage(finding, report) for finding in report.findings)
    yield f"As of {moment(report.made_at)}"


def _stage(finding: Finding, report: DeepDive) -> str:
    voice = f"as {report.persona}" if finding.stage is Stage.ANALYSIS and not finding.missing else ""
    items = (finding.stage.heading, finding.provider, voice, duration(finding.seconds), dollars(finding.cost_usd))
    return " · ".join(escape(item) for item in items if item)


def _cited(text: str, sources: tuple[Source, ...]) -> Cited:
    """Return the text; its markers are numbers of the report's one list already and keep them."""
    cited = cite(clean(text), sources)
    pieces = (replace(p, number=p.source.number) if isinstance(p, Marker) else p for p in cited.pieces)
    return replace(cited, pieces=tuple(pieces))


def _others(report: DeepDive) -> Iterator[Block]:
    if report.others:
        yield context(f"{report.others} more source{'' if report.others == 1 else 's'} read")


def _grey(report: DeepDive, audience: Audience) -> Block:
    orphans = report.orphans
    removed = f"{orphans} reference{'' if orphans == 1 else 's'} without a source removed" if orphans else ""
    return grey_line(
        "Deep dive",
        seconds=report.seconds,
        cost_usd=report.cost_usd,
        also=(removed,),
        audience=audience,
    )
