"""A failure as the asker reads it: one sentence, a way on, a reference that is in the log."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.base import OutgoingMessage
from bot.blocks.elements import button, context, section
from bot.blocks.escaping import code, escape, shorten
from bot.blocks.grey_line import duration
from perplexity.types import Attempt


def failure_message(
    sentence: str,
    *,
    reference: str,
    question_id: str,
    tried: Sequence[Attempt] = (),
    seconds: float | None = None,
) -> OutgoingMessage:
    """Render a failure with a working "Try again". `sentence` is mrkdwn that is not escaped yet."""
    shown = escape(shorten(sentence, 1_000))
    names = list(dict.fromkeys(attempt.provider for attempt in tried))
    tries = f"tried {escape(', '.join(names))}" if names else ""
    took = f"in {_whole(seconds)}" if names and seconds is not None else ""
    grey = " · ".join(filter(None, (f"Reference {code(reference)}", f"{tries} {took}".strip())))
    blocks = (section(shown), button("Try again", action_id="retry", value=question_id), context(grey))
    return OutgoingMessage(text=f"{shown} Reference {code(reference)}", blocks=blocks)


def _whole(seconds: float) -> str:
    return duration(seconds) if seconds < 10 else duration(seconds).replace(".0 s", " s")
