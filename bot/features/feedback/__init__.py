"""Thumbs below answers, and a form about the faults of a bad one."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from bot.blocks.answer import FEEDBACK, AnswerPart
from bot.feature import Core, Feature, Running
from bot.features.feedback import form
from bot.features.feedback.form import FeedbackStore


def start(core: Core) -> Running:
    """Listen to the thumbs and to the form."""
    return Running(listeners=(partial(form.register, ratings=FeedbackStore(core.acks)),))


FEATURE = Feature(
    name="feedback",
    start=start,
    # Slack shows no thumbs below a message that only its asker sees.
    answer_parts=(AnswerPart(name=FEEDBACK, place="row", offered=attrgetter("public"), row=form.thumbs),),
)
