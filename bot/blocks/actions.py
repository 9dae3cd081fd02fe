"""The rows of buttons below an answer.

https://docs.slack.dev/reference/block-kit/blocks/context-actions-block
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from bot.blocks.elements import button, plain
from bot.model.message import Block, OutgoingMessage
from bot.model.question import AnswerButtons

_ROW = re.compile(r"answer|feedback|next-\d|undo")
"""What the `block_id` of a row begins with; the id of the question follows, since menus and thumbs have no value."""

SHARE = "share"
GO_DEEPER = "go_deeper"
ASK_ABOUT = "ask_about"
MORE_RESULTS = "more_results"
SOURCES = "sources"
MORE = "more"
FEEDBACK = "feedback"
FOLLOW_UP = "follow_up"
DIGEST = "digest_modal"
"""The ids of the actions."""

RECHECK = "recheck"
REGENERATE = "regenerate"
SAVE = "save"
SENT = "sent"
"""The choices of the menu `MORE`."""

_MENU = {GO_DEEPER: "Think longer", REGENERATE: "Regenerate", SAVE: "Save as Markdown", SENT: "What was sent"}


def answer_actions(
    buttons: AnswerButtons,
    *,
    question_id: UUID,
    private: bool,
    in_thread: bool = False,
    thumbs: bool,
    save: bool = True,
) -> tuple[Block, ...]:
    """Return the rows below an answer: at most three buttons with a menu, then the thumbs.

    A `private` answer, which only the asker sees, can be shared. Slack shows no `thumbs` below such a message. Where
    the next question cannot be typed below it, one `in_thread` can, a button asks for it. `save` is whether files can
    be sent.
    """
    shown = [_button("Share", SHARE, question_id, style="primary")] if private else []
    if not (in_thread or buttons.ask_about):
        shown.insert(0, _button("Ask a follow-up", FOLLOW_UP, question_id))
    if buttons.ask_about:
        shown.append(_button("Ask about these", ASK_ABOUT, question_id))
    if buttons.more:
        shown.append(_button("More results", MORE_RESULTS, question_id))
    if buttons.scheduled:
        shown.append(_button("Every weekday morning", DIGEST, question_id))
    if buttons.sources:
        shown.append(_button("Sources", SOURCES, question_id))
    suggested = [
        {"type": "actions", "block_id": f"next-{number}:{question_id}", "elements": [_next(text)]}
        for number, text in enumerate(buttons.next_questions, 1)
    ]
    menu = _menu(*([GO_DEEPER] if buttons.deeper else []), REGENERATE, *([SAVE] if save else []), SENT)
    row = {"type": "actions", "block_id": f"answer:{question_id}", "elements": [*shown, menu]}
    return (*suggested, row, _thumbs(question_id)) if thumbs else (*suggested, row)


def cut_short_actions(again: str, *, question_id: str, sources: bool) -> Block:
    """Return the row below an answer that was stopped or broke off; `again` labels what asks it again, if anything."""
    asked = UUID(question_id)
    shown = [_button(again, "retry", asked)] if again else []
    shown += [_button("Sources", SOURCES, asked)] if sources else []
    return {"type": "actions", "block_id": f"answer:{question_id}", "elements": [*shown, _menu(SENT)]}


def sent_actions(question_id: UUID) -> tuple[Block, ...]:
    """Return the row below what has no other buttons, such as news: a menu that shows what was sent."""
    return ({"type": "actions", "block_id": f"answer:{question_id}", "elements": [_menu(SENT)]},)


def with_actions(messages: Sequence[OutgoingMessage], actions: tuple[Block, ...]) -> tuple[OutgoingMessage, ...]:
    """Return the messages of an answer with the rows below the last one."""
    if not actions:
        return tuple(messages)
    *others, last = messages
    return (*others, replace(last, blocks=(*last.blocks, *actions)))


def _button(label: str, action_id: str, question_id: UUID, **style: str) -> Block:
    return button(label, action_id, str(question_id)) | style


def question_of_block(block_id: str) -> str:
    """Return the id of the question of a row below an answer; empty for another block."""
    row, _, question_id = block_id.partition(":")
    return question_id if _ROW.fullmatch(row) else ""


def undo_button(question_id: UUID, channel_id: str, stamps: Sequence[str]) -> Block:
    """Return the row with the button that deletes a shared answer: the messages with these `ts` in a channel."""
    undo = button("Undo", SHARE, ":".join([channel_id, *stamps]))
    return {"type": "actions", "block_id": f"undo:{question_id}", "elements": [undo]}


def is_undo(action: Mapping[str, Any]) -> bool:
    """Return whether a click is on the button that undoes a share."""
    return str(action.get("block_id", "")).startswith("undo:")


def is_suggestion(action: Mapping[str, Any]) -> bool:
    """Return whether a click is on a suggested question, and not on the button that asks for one."""
    return str(action.get("block_id", "")).startswith("next-")


def _next(question: str) -> Block:
    return button(question, FOLLOW_UP, question) | {"text": plain(question) | {"emoji": False}}


def _menu(*choices: str) -> Block:
    options = [{"text": plain(_MENU[choice]), "value": choice} for choice in choices]
    return {"type": "overflow", "action_id": MORE, "options": options}


def _thumbs(question_id: UUID) -> Block:
    up, down = (
        {"text": plain(label), "accessibility_label": f"{label} answer", "value": value}
        for value, label in (("up", "Good"), ("down", "Bad"))
    )
    buttons = {"type": "feedback_buttons", "action_id": FEEDBACK, "positive_button": up, "negative_button": down}
    return {"type": "context_actions", "block_id": f"feedback:{question_id}", "elements": [buttons]}
