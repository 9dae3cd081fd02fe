"""Suggested prompts: the questions that a person can choose from when the messages tab is opened."""

from __future__ import annotations

from collections.abc import Sequence

from bot.model.message import SuggestedPrompt
from bot.translation import N_
from bot.translation import gettext as _

MAX_PROMPTS = 4
"""The most prompts that Slack shows. https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts"""

MIN_QUESTIONS = 10
"""A person who has asked fewer questions than this gets the examples; others get their own questions."""

MAX_TITLE = 60
MAX_MESSAGE = 1_000
"""A longer question is not suggested."""


EXAMPLES = (
    SuggestedPrompt(N_("What changed this week?"), N_("What changed this week in open source databases?")),
    SuggestedPrompt(N_("Compare two things"), N_("Compare PostgreSQL and MySQL for full-text search.")),
    SuggestedPrompt(N_("Read the news"), "news technology"),
)


def choose_prompts(asked: Sequence[str], examples: Sequence[SuggestedPrompt] = EXAMPLES) -> tuple[SuggestedPrompt, ...]:
    """Return a person's newest different questions as suggestions, or the examples if there are too few.

    `asked` are the person's questions, the newest first. Questions that differ only in case or spaces count as one.
    """
    offered = tuple(SuggestedPrompt(_(one.title), _(one.message)) for one in examples)
    if len(asked) < MIN_QUESTIONS:
        return offered
    distinct: dict[str, str] = {}
    for message in asked:
        distinct.setdefault(" ".join(message.split()).casefold(), message.strip())
    fitting = [message for message in distinct.values() if 0 < len(message) <= MAX_MESSAGE]
    return tuple(SuggestedPrompt(_title(message), message) for message in fitting[:MAX_PROMPTS]) or offered


def _title(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1].rstrip()}…"
