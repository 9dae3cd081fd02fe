"""Ask about these: a form for the next question, about the pages of a search or about any answer."""

from __future__ import annotations

from operator import attrgetter

from bot.blocks.answer import ASK_ABOUT, FOLLOW_UP, AnswerPart
from bot.feature import Core, Feature, Running
from bot.features.ask_about import form


def start(core: Core) -> Running:
    """Listen to the buttons and to the form."""
    return Running(listeners=(form.register,))


FEATURE = Feature(
    name="ask_about",
    start=start,
    answer_parts=(
        AnswerPart(
            name=FOLLOW_UP,
            label=form.FOLLOW_UP_TITLE,
            offered=attrgetter("continues_by_form"),
        ),
        AnswerPart(name=ASK_ABOUT, label=form.ABOUT_TITLE, offered=attrgetter("buttons.ask_about")),
    ),
)
