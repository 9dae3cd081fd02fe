"""Renders a failure: one sentence, a button for the next step, and the reference of its log entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from bot.blocks.elements import context, primary_button, section
from bot.blocks.escaping import code, escape, shorten
from bot.blocks.footer import format_duration
from bot.model.message import OutgoingMessage
from perplexity.attempts import Attempt

FailureAction = Literal["retry", "past_week"]
"""The action of the button below a failure."""

_LABELS: Mapping[FailureAction, str] = {"retry": "Try again", "past_week": "Past week"}


def failure_message(
    sentence: str,
    *,
    reference: str,
    question_id: str,
    attempts: Sequence[Attempt] = (),
    seconds: float | None = None,
    action: FailureAction | None = "retry",
    private: bool = False,
    quote: str = "",
) -> OutgoingMessage:
    """Render a failure; `sentence` is not escaped yet, `action` is the button, None for no button.

    `quote` is the question as the footer of a private answer quotes it, empty if others see the failure too.
    """
    shown = escape(shorten(sentence, 1_000))
    names = list(dict.fromkeys(attempt.provider for attempt in attempts))
    tries = f"tried {escape(', '.join(names))}" if names else ""
    took = f"in {_format_total(seconds)}" if names and seconds is not None else ""
    grey = " · ".join(filter(None, (quote, f"Reference {code(reference)}", f"{tries} {took}".strip())))
    buttons = [primary_button(_LABELS[action], action_id=action, value=question_id)] if action else []
    blocks = (section(shown), *buttons, context(grey))
    text = " ".join(filter(None, (shown, quote, f"Reference {code(reference)}")))
    return OutgoingMessage(text=text, blocks=blocks, private=private)


def _format_total(seconds: float) -> str:
    return format_duration(seconds) if seconds < 10 else format_duration(seconds).replace(".0 s", " s")
