"""A deep dive as Markdown: its three sections, and the whole with its sources and figures. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perplexity.addresses import linkable
from perplexity.news.deepdive_inert import inert, inert_line
from perplexity.news.deepdive_types import DeepDive, Finding
from perplexity.prose import blocks
from perplexity.social.pulse import Moods
from perplexity.types import Source

_JOINER = "\u2060"


def titled(topic: str) -> str:
    """Return the title of a report, as text."""
    return f"Deep Dive Report: {topic}"


def heading(report: DeepDive) -> str:
    """Return the title as the heading of a document."""
    title = titled(inert_line(report.topic))
    # Number signs at the end would be taken for the end of the heading.
    return f"# {title}{_JOINER if title.endswith('#') else ''}"


def section(finding: Finding) -> str:
    """Return one section under its heading; its markers are numbers of the report's sources."""
    return "\n\n".join(_section(finding))


def sections(report: DeepDive) -> str:
    """Return the three sections under their headings; markers are numbers of the report's sources."""
    return "\n\n".join(map(section, report.findings))


def whole(report: DeepDive) -> str:
    """Return the report as a document that is complete: its title, and no links but those of its sources."""
    sources = [_listed(source) for source in report.sources]
    quiet = replace(report, findings=tuple(_quiet(finding, report) for finding in report.findings))
    more = [f"({report.others} more were read.)"] if report.others else []
    parts = [
        heading(report),
        sections(quiet),
        "\n".join(["Sources:", *sources, *more]) if sources else "",
        *figures(report),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def figures(report: DeepDive) -> list[str]:
    """Return one line of figures: seconds and dollars of each stage and of all, whose voice it is, and when."""
    each = [f"{finding.stage.heading} {_took(finding.seconds, finding.cost_usd)}" for finding in report.findings]
    total = f"in all {_took(report.seconds, report.cost_usd)}"
    return [" · ".join([*each, total, f"written as {report.persona}", f"{report.made_at:%Y-%m-%d %H:%M} UTC"])]


def counted(moods: Moods) -> str:
    """Return how many posts are of each mood, in words."""
    counts = " · ".join(f"{count} {mood}" for mood, count in moods.counts().items())
    return f"Of {moods.total} post{'' if moods.total == 1 else 's'}: {counts}"


def _quiet(finding: Finding, report: DeepDive) -> Finding:
    return replace(
        finding,
        text=inert(finding.text, report.sources),
        notes=tuple(inert_line(note) for note in finding.notes),
        stand_in=inert_line(finding.stand_in),
    )


def _listed(source: Source) -> str:
    date = f" ({inert_line(source.date)})" if source.date else ""
    address = linkable(source.url) or inert_line(source.url)
    return f"{source.number}. {inert_line(source.title) or 'Untitled'}{date}\n   {address}"


def _section(finding: Finding) -> Iterator[str]:
    yield f"## {finding.stage.heading}"
    if finding.stand_in:
        yield f"_{finding.stand_in}_"
    yield f"_{finding.missing}_" if finding.missing else _closed(finding.text.strip("\n"))
    if finding.moods is not None and finding.moods.total:
        yield counted(finding.moods)
    yield from (f"_{note}_" for note in finding.notes)


def _closed(text: str) -> str:
    """Return the text with an end to code that was left open, which would swallow the sections below it."""
    last = blocks(f"{text}\n\nbelow")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def _took(seconds: float, cost_usd: float | None) -> str:
    return f"{seconds:.0f} s" + ("" if cost_usd is None else f" (${cost_usd:.4f})")
