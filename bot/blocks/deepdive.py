"""Renders a deep dive: its progress, and its report with a chart, sources and a line for each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.blocks import messages
from bot.blocks.elements import (
    bar_chart,
    context,
    footer,
    header,
    quote_question,
    secondary_button,
    section,
    stop_button,
)
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.sources import link_url, source_blocks
from bot.model.message import Audience, Block, OutgoingMessage
from bot.texts import answers, deep_dives, times
from perplexity.citations import CitedText, Marker, number_citations
from perplexity.deepdive.report import render_section, report_title
from perplexity.deepdive.types import DeepDive, Stage, StageResult, StageUpdate
from perplexity.formatting import format_dollars, format_duration
from perplexity.types import Source


def deepdive_messages(
    report: DeepDive, *, audience: Audience, file_id: str | None = None
) -> tuple[OutgoingMessage, ...]:
    """Render a report as one message or several numbered ones; sources and footer are in the last.

    `file_id` is the value of the button that sends it as a file; None for no button.
    """
    blocks: list[Block | Part] = [header(one_line(report_title(report.topic)))]
    for finding in report.stages:
        text = insert_placeholders(_cited(render_section(finding), report.sources))
        blocks += split_markdown(text, [link_url(source) for source in report.sources])
        blocks += _sentiment_chart(finding)
    blocks += [*source_blocks(report.sources, ()), *_unused_sources(report)]
    blocks += [context("\n".join(_stage_lines(report))), _footer(report, audience)]
    blocks += [secondary_button(deep_dives.GET_AS_FILE, action_id="as_file", value=file_id)] if file_id else []
    count = len(report.sources)
    summary = answers.count_sources(count)
    return messages.pack(blocks, summary=summary, quote=quote_question(report.topic, audience))


def _sentiment_chart(finding: StageResult) -> Iterator[Block]:
    """Yield a chart of the posts by sentiment; the text has the same numbers, for readers without charts."""
    if finding.sentiment is not None and finding.sentiment.total:
        counts = finding.sentiment.counts()
        names, values = [mood.capitalize() for mood in counts], [float(count) for count in counts.values()]
        yield bar_chart(
            deep_dives.POSTS_BY_MOOD, categories=names, series={deep_dives.POSTS: values}, y_label=deep_dives.POSTS
        )


def _stage_lines(report: DeepDive) -> Iterator[str]:
    """Yield a line for each stage, and when the report was finished."""
    yield from (_stage_line(finding, report) for finding in report.stages)
    yield deep_dives.as_of(times.moment(report.made_at))


def _stage_line(finding: StageResult, report: DeepDive) -> str:
    voice = deep_dives.voice(report.persona) if finding.stage is Stage.ANALYSIS and not finding.failure else ""
    items = (
        finding.stage.heading,
        finding.provider,
        voice,
        format_duration(finding.seconds),
        format_dollars(finding.cost_usd),
    )
    return " · ".join(escape(item) for item in items if item)


def _cited(text: str, sources: tuple[Source, ...]) -> CitedText:
    """Return the cited text; its markers keep their numbers, which are those of the report's list."""
    cited = number_citations(clean(text), sources)
    pieces = (replace(p, number=p.source.number) if isinstance(p, Marker) else p for p in cited.pieces)
    return replace(cited, pieces=tuple(pieces))


def _unused_sources(report: DeepDive) -> Iterator[Block]:
    if report.unused_sources:
        yield context(deep_dives.more_sources_read(report.unused_sources))


def _footer(report: DeepDive, audience: Audience) -> Block:
    dangling = report.dangling
    removed = answers.references_removed(dangling) if dangling else ""
    return footer(
        deep_dives.NAME,
        seconds=report.seconds,
        cost_usd=report.cost_usd,
        extra=(removed,),
        audience=audience,
        question=report.topic,
    )


ACTIVITIES = {
    Stage.SITUATION: deep_dives.RESEARCHING,
    Stage.PULSE: deep_dives.LISTENING,
    Stage.ANALYSIS: deep_dives.WRITING,
}
_TOPIC = 150


def deepdive_started_message(topic: str, *, question_id: str, public: bool) -> OutgoingMessage:
    """Render the pending message of a deep dive, which stays true if it is not replaced."""
    return _stoppable([deep_dives.title(_shown(topic)), deep_dives.contents(public=public)], question_id)


def deepdive_progress_message(
    topic: str, stages: Mapping[Stage, StageUpdate], *, question_id: str, clock: float | None = None, now: datetime
) -> OutgoingMessage:
    """Render the progress; a stage that is not in `stages` has not started.

    `question_id` is the button's value. `clock` is the dive's clock now, None if the message may not be changed
    soon: then it says as of when, `now`, it is true, and of no stage that it is running.
    """
    shown = _shown(topic)
    title = deep_dives.title(shown) if clock is not None else deep_dives.title_as_of(shown, times.time_of_day(now))
    lines = [f"*{stage.heading}*  {_state(stage, stages, clock)}" for stage in Stage]
    return _stoppable([title, *lines], question_id)


def _shown(topic: str) -> str:
    return escape(shorten(one_line(topic), _TOPIC))


def _stoppable(lines: Sequence[str], question_id: str) -> OutgoingMessage:
    text = "\n".join(lines)
    blocks = (
        section(text),
        stop_button(question_id),
        context(deep_dives.DURATION),
    )
    return OutgoingMessage(text=text, blocks=blocks)


def _state(stage: Stage, stages: Mapping[Stage, StageUpdate], clock: float | None) -> str:
    update = stages.get(stage)
    if stage is Stage.ANALYSIS and update is None and not _inputs_ended(stages):
        return deep_dives.WAITING
    if update is None or update.result is None:
        if clock is None:
            return deep_dives.NO_RESULT_YET
        return f"{ACTIVITIES[stage]} …{f' · {format_duration(max(0.0, clock - update.started))}' if update else ''}"
    finding = update.result
    figures = [format_duration(finding.seconds), format_dollars(finding.cost_usd)]
    return " · ".join(filter(None, [deep_dives.NO_RESULT if finding.failure else deep_dives.DONE, *figures]))


def _inputs_ended(stages: Mapping[Stage, StageUpdate]) -> bool:
    """Return whether the stages that the analysis needs have ended."""
    needed = (stages.get(stage) for stage in (Stage.SITUATION, Stage.PULSE))
    return all(update is not None and update.result is not None for update in needed)
