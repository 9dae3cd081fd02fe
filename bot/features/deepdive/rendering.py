"""Renders a deep dive: its progress, and its report with a chart, sources and a line for each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.blocks import messages
from bot.blocks.elements import bar_chart, context, header, quote_question, secondary_button, section, stop_button
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.sources import link_url, source_line
from bot.blocks.words import time_of_day
from bot.model.message import Audience, Block, OutgoingMessage
from perplexity.citations import CitedText, Marker, number_citations
from perplexity.deepdive.report import render_text
from perplexity.deepdive.types import DeepDive, Stage, StageResult, StageUpdate
from perplexity.formatting import format_dollars, format_duration, pluralize
from perplexity.types import Source


def deepdive_messages(
    report: DeepDive, *, audience: Audience, file_id: str | None = None
) -> tuple[OutgoingMessage, ...]:
    """Render a report as one message or several numbered ones; sources and footer are in the last.

    `file_id` is the value of the button that sends the report as a file; None for no button.
    """
    blocks: list[Block | Part] = [header(one_line(report.topic))]
    for finding in report.stages:
        text = insert_placeholders(_cited(render_text(finding), report.sources))
        blocks.append(header(finding.stage.heading.capitalize()) | {"level": 4})
        blocks += split_markdown(text, [link_url(source) for source in report.sources])
        blocks += _sentiment_chart(finding)
    blocks += [*source_line(report.sources), context(" · ".join(_parts(report)))]
    blocks += [secondary_button("Get as a file", action_id="as_file", value=file_id)] if file_id else []
    summary = pluralize(len(report.sources), "source")
    return messages.pack(blocks, summary=summary, quote=quote_question(report.topic, audience))


def _sentiment_chart(finding: StageResult) -> Iterator[Block]:
    """Yield a chart of the posts by sentiment; the text has the same numbers, for readers without charts."""
    if finding.sentiment is not None and finding.sentiment.total:
        counts = finding.sentiment.counts()
        names, values = [mood.capitalize() for mood in counts], [float(count) for count in counts.values()]
        yield bar_chart("Posts by mood", categories=names, series={"Posts": values}, y_label="Posts")


def _parts(report: DeepDive) -> Iterator[str]:
    """Yield the cost of each part."""
    for finding in report.stages:
        yield " ".join(filter(None, (finding.stage.heading.capitalize(), format_dollars(finding.cost_usd))))


def _cited(text: str, sources: tuple[Source, ...]) -> CitedText:
    """Return the cited text; its markers keep their numbers, which are those of the report's list."""
    cited = number_citations(clean(text), sources)
    pieces = (replace(p, number=p.source.number) if isinstance(p, Marker) else p for p in cited.pieces)
    return replace(cited, pieces=tuple(pieces))


ACTIVITIES = {
    Stage.SITUATION: "researching the facts",
    Stage.PULSE: "listening to what people say",
    Stage.ANALYSIS: "writing",
}
_TOPIC = 150


def deepdive_started_message(topic: str, *, question_id: str, public: bool) -> OutgoingMessage:
    """Render the pending message of a deep dive, which stays true if it is not replaced."""
    parts = "The report has three parts: the facts, what people say, and an analysis of both."
    contents = f"{parts} It is for everyone here." if public else parts
    return _stoppable([_title(topic), contents], question_id)


def deepdive_progress_message(
    topic: str, stages: Mapping[Stage, StageUpdate], *, question_id: str, clock: float | None = None, now: datetime
) -> OutgoingMessage:
    """Render the progress; a stage that is not in `stages` has not started.

    `question_id` is the button's value. `clock` is the dive's current time, None if the message may not be changed
    again soon: it then states its time, `now`, and calls no stage running.
    """
    title = _title(topic) if clock is not None else f"{_title(topic)} · as of {time_of_day(now)}"
    lines = [f"*{stage.heading.capitalize()}*  {_state(stage, stages, clock)}" for stage in Stage]
    return _stoppable([title, *lines], question_id)


def _title(topic: str) -> str:
    return f"*Deep dive*  “{escape(shorten(one_line(topic), _TOPIC))}”"


def _stoppable(lines: Sequence[str], question_id: str) -> OutgoingMessage:
    text = "\n".join(lines)
    below = context("This takes a few minutes and survives a restart.")
    return OutgoingMessage(text=text, blocks=(section(text), stop_button(question_id), below))


def _state(stage: Stage, stages: Mapping[Stage, StageUpdate], clock: float | None) -> str:
    update = stages.get(stage)
    if stage is Stage.ANALYSIS and update is None and not _inputs_ended(stages):
        return "waiting for the first two"
    if update is None or update.result is None:
        if clock is None:
            return "no result yet"
        return f"{ACTIVITIES[stage]} …{f' · {format_duration(max(0.0, clock - update.started))}' if update else ''}"
    finding = update.result
    figures = [format_duration(finding.seconds), format_dollars(finding.cost_usd)]
    return " · ".join(filter(None, ["no result" if finding.failure else "done", *figures]))


def _inputs_ended(stages: Mapping[Stage, StageUpdate]) -> bool:
    """Return whether the stages that the analysis needs have ended."""
    needed = (stages.get(stage) for stage in (Stage.SITUATION, Stage.PULSE))
    return all(update is not None and update.result is not None for update in needed)
