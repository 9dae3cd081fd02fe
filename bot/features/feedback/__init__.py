"""Feedback: thumbs below answers, and a form in which a person says what was wrong with an answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from uuid import UUID

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import FEEDBACK, AnswerPart, Below
from bot.blocks.elements import plain
from bot.feature import Core, Feature, Running
from bot.listeners.clicks import UNKNOWN_ANSWER, Click, ClickReply, button, find_question, may_see, text_reply
from bot.listeners.context import ListenerContext
from bot.model.admin import MAX_COMMENT, REASONS
from bot.model.message import Block
from bot.slack.views import View
from bot.storage.questions import Pool, storable
from bot.translation import N_
from bot.translation import gettext as _
from bot.views.base import Response, Submission, errors, modal, open_modal, submission
from bot.views.forms import checkboxes, choice, input_block, text_input

log = logging.getLogger(__name__)

UNKNOWN_RATING = N_("I no longer have this answer, so there is nothing to add. Close this window.")

CALLBACK_ID = "feedback_modal"
REASONS_INPUT, COMMENT_INPUT, CONSENT_INPUT = "reasons", "comment", "consent"
AGREED = "agreed"


def thumbs(below: Below) -> Block:
    """Return the row with the thumbs."""
    up, down = (
        {"text": plain(label), "accessibility_label": spoken, "value": value}
        for value, label, spoken in (("up", _("Good"), _("Good answer")), ("down", _("Bad"), _("Bad answer")))
    )
    buttons = {"type": "feedback_buttons", "action_id": FEEDBACK, "positive_button": up, "negative_button": down}
    return {"type": "context_actions", "block_id": f"feedback:{below.question_id}", "elements": [buttons]}


def register(app: AsyncApp, context: ListenerContext, *, ratings: FeedbackStore) -> None:
    """Listen to the thumbs below an answer, and to the form."""
    button(app, context, FEEDBACK, partial(rate_answer, ratings=ratings))
    submission(app, context, CALLBACK_ID, partial(explain_rating, ratings=ratings), first_input=REASONS_INPUT)


async def rate_answer(click: Click, context: ListenerContext, *, ratings: FeedbackStore) -> ClickReply | None:
    """Record the thumb of a person who sees the answer; for a bad answer, open the form."""
    row = await find_question(click.id, context, needs_text=False)
    if row is None or click.choice not in {"up", "down"}:
        return text_reply(_(UNKNOWN_ANSWER))
    if not may_see(row, click, context.commands):
        return text_reply(_("Only people who see this answer can rate it."))
    up = click.choice == "up"
    await ratings.rate(row.id, click.user, up=up)
    log.info("answer.rated", extra=row.ids | {"action": click.choice})
    if up:
        return text_reply(_("Thanks, I noted that this answer is good."))
    view = feedback_view(row.id, by_asker=click.is_by_asker(row))
    if await open_modal(context, click.trigger_id, view) is None:
        return None
    return text_reply(
        _(
            "Thanks, I noted that this answer is bad, but Slack didn’t open the form for the reason. "
            "Click again to add it."
        )
    )


def feedback_view(question_id: UUID, *, by_asker: bool) -> View:
    """Build the form; only the asker can allow admins to read the question."""
    reasons = checkboxes(REASONS_INPUT, [choice(value, _(label)) for value, label in REASONS.items()])
    comment = text_input(COMMENT_INPUT, multiline=True, max_length=MAX_COMMENT)
    blocks = [
        input_block(REASONS_INPUT, _("What was wrong?"), reasons, optional=True),
        input_block(COMMENT_INPUT, _("In your own words"), comment, optional=True),
    ]
    if by_asker:
        consent = checkboxes(CONSENT_INPUT, [choice(AGREED, _("The admins of this app may read my question"))])
        blocks.append(input_block(CONSENT_INPUT, _("May others read it?"), consent, optional=True))
    return modal(
        CALLBACK_ID,
        _("A bad answer"),
        blocks,
        submit=_("Send"),
        close=_("Skip"),
        metadata={"question": str(question_id)},
    )


async def explain_rating(submitted: Submission, __: ListenerContext, *, ratings: FeedbackStore) -> Response | None:
    """Record the reasons for the person's own thumb."""
    try:
        question_id = UUID(str(submitted.metadata.get("question")))
    except ValueError:
        return errors(**{REASONS_INPUT: _(UNKNOWN_RATING)})
    explained = await ratings.explain(
        question_id,
        submitted.user,
        reasons=[reason for reason in submitted.value(REASONS_INPUT) or () if reason in REASONS],
        comment=str(submitted.value(COMMENT_INPUT) or ""),
        agreed=AGREED in (submitted.value(CONSENT_INPUT) or ()),
    )
    return None if explained else errors(**{REASONS_INPUT: _(UNKNOWN_RATING)})


_RATE = """
    INSERT INTO feedback (question_id, user_id, up)
    SELECT id, %(user_id)s, %(up)s FROM questions WHERE id = %(id)s
    ON CONFLICT (question_id, user_id) DO UPDATE
    SET up = excluded.up, at = now(), reasons = '{}', comment = '', agreed = false
    WHERE feedback.up <> excluded.up
"""
"""Record a thumb. The opposite thumb replaces an earlier one and its reasons; the same thumb changes nothing."""

_EXPLAIN = """
    UPDATE feedback f
    SET up = false, reasons = %(reasons)s, comment = %(comment)s, at = now(),
        agreed = %(agreed)s AND q.user_id = f.user_id
    FROM questions q
    WHERE f.question_id = %(id)s AND f.user_id = %(user_id)s AND q.id = f.question_id
    RETURNING f.question_id
"""
"""Make a person's own thumb a thumb down with reasons; only the asker can allow admins to read the question."""


class FeedbackStore:
    """The operations on the table of ratings."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def rate(self, question_id: UUID, user_id: str, *, up: bool) -> None:
        """Record a person's thumb in place of an earlier one; do nothing if the question was deleted."""
        await self._pool.execute(_RATE, {"id": question_id, "user_id": user_id, "up": up})

    async def explain(
        self, question_id: UUID, user_id: str, *, reasons: Sequence[str], comment: str, agreed: bool
    ) -> bool:
        """Record why a person found an answer bad; return False if the person has not rated the answer.

        `agreed` counts only if the person asked the question.
        """
        values = {
            "id": question_id,
            "user_id": user_id,
            "reasons": list(reasons),
            "comment": storable(comment)[:MAX_COMMENT],
            "agreed": agreed,
        }
        return await self._pool.fetch_one(_EXPLAIN, values) is not None


def start(core: Core) -> Running:
    """Listen to the thumbs and to the form."""
    return Running(listeners=(partial(register, ratings=FeedbackStore(core.acks)),))


FEATURE = Feature(
    name="feedback",
    start=start,
    # Slack shows no thumbs below a message that only its asker sees.
    answer_parts=(AnswerPart(name=FEEDBACK, place="row", offered=attrgetter("public"), row=thumbs),),
)
