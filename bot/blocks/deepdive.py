"""A deep dive as messages: a title, three sections with a chart in the second, one list of sources, how it was made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bot.blocks import assembling
from bot.blocks.base import Audience, Block, OutgoingMessage
from bot.blocks.charts import bar_chart
from bot.blocks.elements import context, header, markdown, plain_button
from bot.blocks.escaping import clean, escape, one_line
from bot.blocks.grey_line import dollars, duration, grey_line, quote
from bot.blocks.marks import hold
from bot.blocks.news import moment
from bot.blocks.paging import pages
from bot.blocks.sources import address_of, source_blocks
from perplexity.citations import Cited, Marker, cite
from perplexity.news.deepdive_report import section, titled
from perplexity.news.deepdive_types import DeepDive, Finding, Stage
from perplexity.types import Source


def deepdive_messages(report: DeepDive, *, audience: Audience, file: str | None = None) -> tuple[OutgoingMessage, ...]:
    """Render a report as one message, or as several numbered ones; the last has what follows the text.

    `file` is the id behind the button that sends it as a file; None for no button.
    """
    blocks = [header(one_line(titled(report.topic)))]
    for finding in report.findings:
        text = hold(_cited(section(finding), report.sources))
        blocks += map(markdown, pages(text, [address_of(source) for source in report.sources]))
        blocks += _moods(finding)
    blocks += [*source_blocks(report.sources, ()), *_others(report)]
    blocks += [context("\n".join(_course(report))), _grey(report, audience)]
    blocks += [plain_button("Get as a file", action_id="as_file", value=file)] if file else []
    count = len(report.sources)
    summary = f"{count} source{'' if count == 1 else 's'}"
    return assembling.messages(blocks, summary=summary, quote=quote(report.topic, audience))


def _moods(finding: Finding) -> Iterator[Block]:
    """Draw the posts by mood; the text has the same in words, for people who do not see the chart."""
    if finding.moods is not None and finding.moods.total:
        counts = finding.moods.counts()
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
        asked=report.topic,
    )
