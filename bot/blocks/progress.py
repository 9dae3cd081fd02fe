"""How far a deep dive has come, stage by stage, with the button that stops it."""

from __future__ import annotations

from collections.abc import Mapping

from bot.blocks.base import OutgoingMessage
from bot.blocks.elements import context, plain_button, section
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.grey_line import dollars, duration
from perplexity.news.deepdive_types import Stage, Update

DOES = {
    Stage.SITUATION: "researching the facts",
    Stage.PULSE: "listening to what people say",
    Stage.ANALYSIS: "writing",
}
STOPPED = "*Stopped.*  Nothing more is searched for, and what was under way at the services was told to end."
TAKES = "This takes a few minutes, also across a restart of the app."
_TOPIC = 150


def progress_message(
    topic: str, stages: Mapping[Stage, Update], *, question: str, clock: float | None = None
) -> OutgoingMessage:
    """Render the stages; one that is not in `stages` waits.

    `question` is the id behind the button. `clock` is the dive's clock now, None where the message will not be changed
    soon: then nobody counts seconds.
    """
    title = f"*Deep dive*  “{escape(shorten(one_line(topic), _TOPIC))}”"
    lines = [f"*{stage.heading}*  {_state(stage, stages.get(stage), clock)}" for stage in Stage]
    blocks = (
        section("\n".join([title, *lines])),
        plain_button("Stop", action_id="stop", value=question),
        context(TAKES),
    )
    return OutgoingMessage(text="\n".join([title, *lines]), blocks=blocks)


def stopped_message() -> OutgoingMessage:
    """Say that a question was stopped by its asker."""
    return OutgoingMessage(text=STOPPED, blocks=(section(STOPPED),))


def _state(stage: Stage, update: Update | None, clock: float | None) -> str:
    if update is None and stage is Stage.ANALYSIS:
        return "waits for the two above"
    if update is None or update.finding is None:
        passed = f" · {duration(max(0.0, clock - update.started))}" if update and clock is not None else ""
        return f"{DOES[stage]} …{passed}"
    finding = update.finding
    figures = [duration(finding.seconds), dollars(finding.cost_usd)]
    return " · ".join(filter(None, ["nothing came" if finding.missing else "done", *figures]))
