"""How far a deep dive has come, stage by stage, with the button that stops it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.blocks.base import OutgoingMessage
from bot.blocks.elements import context, plain_button, section
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.grey_line import dollars, duration
from bot.blocks.news import time_of_day
from perplexity.news.deepdive_types import Stage, Update

DOES = {
    Stage.SITUATION: "researching the facts",
    Stage.PULSE: "listening to what people say",
    Stage.ANALYSIS: "writing",
}
HOLDS = "The report has three parts: the facts, what people say, and an analysis of both."
FOR_EVERYONE = "It is for everyone here."
TAKES = "This takes a few minutes and survives a restart."
_TOPIC = 150


def begun_message(topic: str, *, question: str, public: bool) -> OutgoingMessage:
    """Render that a deep dive was asked for; every word of it stays true. `question` is the id behind the button."""
    return _stoppable([_title(topic), f"{HOLDS} {FOR_EVERYONE}" if public else HOLDS], question)


def progress_message(
    topic: str, stages: Mapping[Stage, Update], *, question: str, clock: float | None = None, now: datetime
) -> OutgoingMessage:
    """Render the stages; one that is not in `stages` has not begun.

    `question` is the id behind the button. `clock` is the dive's clock now, None if the message may not be changed
    soon: then it says as of when, `now`, it is true, and of no stage that it is under way.
    """
    title = _title(topic) if clock is not None else f"{_title(topic)} · as of {time_of_day(now)}"
    lines = [f"*{stage.heading}*  {_state(stage, stages, clock)}" for stage in Stage]
    return _stoppable([title, *lines], question)


def stopped_message(asked: str, *, question: str) -> OutgoingMessage:
    """Render that the asker stopped a question; `question` is the id behind the button that asks it again."""
    what = f" “{escape(shorten(one_line(asked), _TOPIC))}”" if asked else ""
    said = f"*Stopped{what}.*  I’ve cancelled the research."
    blocks = (section(said), plain_button("Start again", action_id="retry", value=question))
    return OutgoingMessage(text=said, blocks=blocks)


def _title(topic: str) -> str:
    return f"*Deep dive*  “{escape(shorten(one_line(topic), _TOPIC))}”"


def _stoppable(lines: Sequence[str], question: str) -> OutgoingMessage:
    text = "\n".join(lines)
    blocks = (section(text), plain_button("Stop", action_id="stop", value=question), context(TAKES))
    return OutgoingMessage(text=text, blocks=blocks)


def _state(stage: Stage, stages: Mapping[Stage, Update], clock: float | None) -> str:
    update = stages.get(stage)
    if stage is Stage.ANALYSIS and update is None and not _ended(stages):
        return "waits for the two above"
    if update is None or update.finding is None:
        if clock is None:
            return "no result yet"
        return f"{DOES[stage]} …{f' · {duration(max(0.0, clock - update.started))}' if update else ''}"
    finding = update.finding
    figures = [duration(finding.seconds), dollars(finding.cost_usd)]
    return " · ".join(filter(None, ["nothing came" if finding.missing else "done", *figures]))


def _ended(stages: Mapping[Stage, Update]) -> bool:
    """Return whether the stages that the analysis needs have ended."""
    needed = (stages.get(stage) for stage in (Stage.SITUATION, Stage.PULSE))
    return all(update is not None and update.finding is not None for update in needed)
