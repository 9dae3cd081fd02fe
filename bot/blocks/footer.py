"""Renders the footer of a message: question, provider, effort, duration, cost and audience."""

from __future__ import annotations

from collections.abc import Iterable

from bot.blocks.elements import context
from bot.blocks.escaping import escape, one_line, shorten
from bot.model.message import Audience, Block
from perplexity.formatting import format_dollars, format_duration

__all__ = ["footer", "format_dollars", "format_duration"]

_MAX_ITEM = 200
_MAX_QUOTE = 100


def footer(
    provider: str,
    *,
    effort: str | None = None,
    seconds: float,
    cost_usd: float | None,
    extra: Iterable[str] = (),
    audience: Audience,
    question: str = "",
) -> Block:
    """Render the known facts in one line; `extra` are further ones.

    A line that only the asker sees begins with what they `question`: several answers may come at once.
    `cost_usd` is the sum of all charges, including those of providers that failed
    (`perplexity.attempts.cost_with_failures`).
    """
    items = (provider, effort or "", format_duration(seconds), format_dollars(cost_usd), *extra, audience.value)
    shown = [escape(shorten(one_line(item), _MAX_ITEM)) for item in items if item]
    return context(shorten(" · ".join(filter(None, [quote_question(question, audience), *shown])), 2_900))


def quote_question(question: str, audience: Audience) -> str:
    """Return a question in quotation marks, shortened, as mrkdwn; empty if others see its answer too."""
    shown = escape(shorten(one_line(question), _MAX_QUOTE))
    return f"“{shown}”" if shown and audience is Audience.ASKER else ""
