"""Turns a report into text: harmless sections whose markers refer to one list of sources, and the whole document.

No text from a model or a page can add a heading, HTML, a link to an unknown source or a marker without a source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from perplexity.citations import Marker, drop_unknown_links, number_citations
from perplexity.deepdive.types import DeepDive, Stage, StageResult
from perplexity.formatting import format_dollars, format_duration
from perplexity.formulas import readable
from perplexity.markdown import BlockKind, RegionKind, parse, read_blocks, regions
from perplexity.sanitize import one_line, strip_controls
from perplexity.scope import N_, say
from perplexity.types import Answer, AnswerKind, Source
from perplexity.urls import safe_url
from perplexity.x_posts.types import Sentiment


@dataclass(frozen=True, kw_only=True)
class SourceList:
    """The sources of the texts that were renumbered so far, and their `addresses`; a source's number is its position.

    Positions count from 1. `dangling` counts the markers that were removed because they had no source.
    """

    sources: tuple[Source, ...] = ()
    addresses: tuple[str, ...] = ()
    dangling: int = 0

    def renumber(self, text: str, sources: Sequence[Source]) -> tuple[str, SourceList]:
        """Return a text with its markers renumbered, and the list extended by its new sources.

        All sources of a text without markers are added. Markers without a source are removed.
        """
        cited = number_citations(text, sources)
        listed = dict(zip(self.addresses, self.sources, strict=True))
        # The cited sources are in the order of their first markers, so a marker's number is its source's position.
        numbers = [_number_for(source, listed) for source in cited.sources or cited.others]
        pieces = (f"[{numbers[piece.number - 1]}]" if isinstance(piece, Marker) else piece for piece in cited.pieces)
        grown = SourceList(
            sources=tuple(listed.values()), addresses=tuple(listed), dangling=self.dangling + cited.dangling
        )
        return "".join(pieces), grown


def _number_for(source: Source, listed: dict[str, Source]) -> int:
    """Return the number of a source in `listed`, which has the sources by address; add the source if it is new."""
    address = safe_url(source.url) or source.url
    if address not in listed:
        listed[address] = replace(source, number=len(listed) + 1, aliases=())
    return listed[address].number


def renumber(situation: StageResult, pulse: StageResult) -> tuple[list[StageResult], SourceList]:
    """Return the first two stages with their markers renumbered to one list, and that list."""
    source_list, parts = SourceList(), []
    for part in (situation, pulse):
        text, source_list = source_list.renumber(part.text, part.sources)
        parts.append(replace(part, text=_without_headings(part.stage, text)))
    return parts, source_list


def assemble(
    topic: str, situation: StageResult, pulse: StageResult, analysis: StageResult, *, persona: str
) -> DeepDive:
    """Return the report. The analysis keeps the numbers that it was given; other markers are removed."""
    parts, source_list = renumber(situation, pulse)
    text, source_list = source_list.renumber(analysis.text, source_list.sources)
    read = len(situation.sources) + len(pulse.sources)
    return DeepDive(
        topic=topic,
        stages=(*parts, replace(analysis, text=_without_headings(analysis.stage, text), sources=source_list.sources)),
        sources=source_list.sources,
        unused_sources=max(0, read - len(source_list.sources)),
        dangling=source_list.dangling,
        persona=persona,
        made_at=_parse_time(analysis.at),
        # The first two stages run at the same time, so only the longer one counts.
        seconds=max(situation.seconds, pulse.seconds) + analysis.seconds,
    )


def _without_headings(stage: Stage, text: str) -> str:
    """Return a section's text without headings, so that it cannot imitate another section."""
    return strip_own_heading(headings_to_bold(text), stage.heading)


def _parse_time(at: str) -> datetime:
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


_WORD_JOINER = "\u2060"


def report_title(topic: str) -> str:
    """Return the title of a report as plain text."""
    return say("Deep Dive Report: {topic}").format(topic=topic)


def render_title(report: DeepDive) -> str:
    """Render the title as the heading of a document."""
    title = report_title(neutralize_line(report.topic))
    # Number signs at the end would be parsed as the end of the heading.
    return f"# {title}{_WORD_JOINER if title.endswith('#') else ''}"


def render_text(result: StageResult) -> str:
    """Render one section without its heading."""
    return "\n\n".join(_section_parts(result))


def render_sections(report: DeepDive) -> str:
    """Render the three sections with their headings; markers are numbers of the report's sources."""
    return "\n\n".join(f"## {say(result.stage.heading)}\n\n{render_text(result)}" for result in report.stages)


def as_document(report: DeepDive) -> str:
    """Render the report as a complete document with its title, in which only its sources are links."""
    sources = [source_line(source) for source in report.sources]
    neutral = replace(report, stages=tuple(_neutralized(result, report) for result in report.stages))
    more = [say("({count} more were read.)").format(count=report.unused_sources)] if report.unused_sources else []
    parts = [
        render_title(report),
        render_sections(neutral),
        "\n".join([say("Sources:"), *sources, *more]) if sources else "",
        stats_line(report),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def stats_line(report: DeepDive) -> str:
    """Return one line with the time and cost of each stage and in all, the persona, and the time of the report."""
    each = [
        f"{say(result.stage.heading)} {_time_and_cost(result.seconds, result.cost_usd)}" for result in report.stages
    ]
    total = say("in all {figures}").format(figures=_time_and_cost(report.seconds, report.cost_usd))
    by = say("written as {persona}").format(persona=report.persona)
    return " · ".join([*each, total, by, f"{report.made_at:%Y-%m-%d %H:%M} UTC"])


MOODS = (N_("positive"), N_("neutral"), N_("negative"), N_("mixed"))
"""The names of the sentiments, which are translated where they are shown."""


def sentiment_line(sentiment: Sentiment) -> str:
    """Return how many posts express each sentiment, in words."""
    counts = " · ".join(f"{count} {say(mood)}" for mood, count in sentiment.counts().items())
    of_all = N_("Of {count} post: {counts}") if sentiment.total == 1 else N_("Of {count} posts: {counts}")
    return say(of_all).format(count=sentiment.total, counts=counts)


def _neutralized(result: StageResult, report: DeepDive) -> StageResult:
    return replace(
        result,
        text=neutralize(result.text, report.sources),
        notes=tuple(neutralize_line(note) for note in result.notes),
        stand_in=neutralize_line(result.stand_in),
        failure=result.failure and neutralize_line(result.failure),
    )


def source_line(source: Source) -> str:
    """Return a source with its number, title, date and address, as an item of a list."""
    date = f" ({neutralize_line(source.date)})" if source.date else ""
    address = safe_url(source.url) or neutralize_line(source.url)
    return f"{source.number}. {neutralize_line(source.title) or say('Untitled')}{date}\n   {address}"


def _section_parts(result: StageResult) -> Iterator[str]:
    if result.stand_in:
        yield f"_{result.stand_in}_"
    yield f"_{result.failure}_" if result.failure else close_code(result.text.strip("\n"))
    if result.sentiment is not None and result.sentiment.total:
        yield sentiment_line(result.sentiment)
    yield from (f"_{note}_" for note in result.notes)


def close_code(text: str) -> str:
    """Return the text with its last code block closed, which would otherwise include the sections below."""
    last = read_blocks(f"{text}\n\nbelow")[-1]
    return f"{text}\n{last.markup}" if last.kind is BlockKind.FENCE and last.depth == 0 else text


def _time_and_cost(seconds: float, cost_usd: float | None) -> str:
    cost = format_dollars(cost_usd)
    return f"{format_duration(seconds)} ({cost})" if cost else format_duration(seconds)


# A renderer may drop control characters, and may break lines at every Unicode line separator.
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BOLD = re.compile(r"\*{2,}|_{2,}")
_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_HEADING_MARKS = " #*:_"


def headings_to_bold(text: str) -> str:
    """Return a Markdown text with its headings, in lists and quotations too, as bold lines; code is unchanged.

    Control characters are removed, and every line ends in a line feed.
    """
    lines = _LINE_END.split(_CONTROL_CHARACTERS.sub("", text))
    found = [block for block in read_blocks("\n".join(lines)) if block.kind is BlockKind.HEADING]
    kept: list[str] = []
    place = 0
    for heading in found:
        first, words = lines[heading.start], heading.content
        # Without the empty lines, the bold line would join the paragraphs around it.
        kept += [*lines[place : heading.start], "", _container_prefix(first, heading.markup, words) + _bold(words), ""]
        place = heading.end
    return "\n".join([*kept, *lines[place:]])


def strip_own_heading(text: str, heading: str) -> str:
    """Return a section's text without a first line that repeats its heading."""
    first, _, rest = text.lstrip().partition("\n")
    return _EMPTY_LINES.sub("", rest) if first.strip(_HEADING_MARKS).upper() == heading else text


def _container_prefix(line: str, markup: str, words: str) -> str:
    """Return the marks of the lists and quotations that contain a heading."""
    place = line.find(markup) if markup.startswith("#") else line.rfind(words.partition("\n")[0])
    return line[: max(0, place)]


def _bold(words: str) -> str:
    plain = " ".join(_BOLD.sub("", words).split())
    return f"**{plain}**" if plain else ""


_TEXT_KINDS = {RegionKind.PROSE, RegionKind.MATH}
_BLOCK_CODE = {RegionKind.FENCE, RegionKind.INDENTED}
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|\](?=\()|(?<![^\W_])(?:mailto|xmpp):(?=\S)", re.IGNORECASE)
_UNDERLINE = re.compile("=+|-+")
"""A line that makes a heading of the lines above it. https://spec.commonmark.org/0.31.2/#setext-headings"""
# A link definition such as `[1]: address` makes a link of each marker with its number:
# https://spec.commonmark.org/0.31.2/#link-reference-definitions
_DEFINITION = re.compile(r"^([ \t>*+\-0-9.)]*\[(?:\\.|[^\[\]\\]){1,999}\]):", re.MULTILINE | re.DOTALL)


def neutralize(text: str, sources: Sequence[Source]) -> str:
    """Return a section's text without headings, HTML and links to unknown sources, with readable LaTeX.

    Code is unchanged.
    """
    text, _ = drop_unknown_links(readable(parse(strip_controls(text))).text, sources)
    return headings_to_bold(_break_definitions(_break_markup(text)))


def neutralize_line(text: str) -> str:
    """Return a title, a date or a note on one line that is no heading, list, quotation or definition of a link."""
    words, _ = drop_unknown_links(one_line(text), ())
    line = _break_definitions(_MARKUP.sub(r"\g<0> ", words).strip())
    plain = not line or (not _UNDERLINE.fullmatch(line) and read_blocks(line)[0].kind is BlockKind.PARAGRAPH)
    return line if plain else f"{_WORD_JOINER}{line}"


def _break_markup(text: str) -> str:
    """Return the text with a space in each tag and link, which makes plain text of them and does not change LaTeX."""
    pieces = ((region.kind, text[region.start : region.end]) for region in regions(text))
    return "".join(_MARKUP.sub(r"\g<0> ", piece) if kind in _TEXT_KINDS else piece for kind, piece in pieces)


def _break_definitions(text: str) -> str:
    code = [(region.start, region.end) for region in regions(text) if region.kind in _BLOCK_CODE]
    starts = [start for start, _ in code]

    def broken(match: re.Match[str]) -> str:
        before = bisect_right(starts, match.start())
        inside = before > 0 and match.start() < code[before - 1][1]
        return match[0] if inside else f"{match[1]} :"

    return _DEFINITION.sub(broken, text)


_EMPHASIS = re.compile(r"[*_~]{2,}")


def quote_passages(answer: Answer) -> Answer:
    """Return passages as block quotes, each on one line with its source's number; a written answer is unchanged.

    A page's own `[2]` becomes ‹2›, its links become their text, and it cannot make a heading, list, table or bold
    line, so that no page can imitate a source or another section.
    """
    if answer.kind is not AnswerKind.PASSAGES:
        return answer
    lines = [(_passage_text(passage.text), passage.source) for passage in answer.passages]
    return replace(answer, text="\n\n".join(f"> {words} [{source}]" for words, source in lines if words))


def _passage_text(text: str) -> str:
    # The removal of a link may have joined the text around it, so that it looks like a marker.
    return one_line(neutralize_line(_EMPHASIS.sub("", text)))
