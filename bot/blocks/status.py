"""Renders `/pplx status`: problems, the state of the search services, and people's ratings of the answers."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.elements import join_lines, markdown, section
from bot.blocks.escaping import escape, one_line, shorten, unescape_slack
from bot.blocks.markdown.render import table_cell
from bot.blocks.service_limits import service_line
from bot.blocks.spoken import spoken
from bot.blocks.words import spending_sentence, warning
from bot.model.admin import LaneUse, Problem
from bot.model.message import Block, OutgoingMessage
from bot.model.provider_stats import ProviderStats
from bot.model.ratings import NO_FEEDBACK, REASONS, BadAnswer, Feedback, Rating
from bot.model.spending import Spending
from perplexity.formatting import format_date, format_duration

NO_REQUESTS = "There were no requests to search services in the last 24 hours."
MAX_PROBLEMS = 5
MAX_RATINGS = 20
"""The most rows of ratings that are shown."""


def status_message(
    stats: Sequence[ProviderStats],
    feedback: Feedback = NO_FEEDBACK,
    *,
    spending: Spending | None = None,
    problems: Sequence[Problem] = (),
    limits: Sequence[LaneUse] = (),
) -> OutgoingMessage:
    """Render the problems, the statistics of the last day, the spending, and the ratings of answers."""
    blocks = [health_block(problems)]
    blocks += [section("*Search services*  in the last 24 hours"), markdown(_table(stats))] if stats else []
    blocks += [section("\n".join(map(service_line, limits)))] if limits else []
    blocks += [] if spending is None else [section(spending_sentence(spending))]
    blocks += [] if stats else [section(NO_REQUESTS)]
    return spoken(*blocks, *_feedback_blocks(feedback))


def health_block(problems: Sequence[Problem]) -> Block:
    """Return the problems with their next steps, or a sentence that there are none."""
    lines = [warning(escape(f"{one.text} {one.fix}".rstrip())) for one in problems[:MAX_PROBLEMS]]
    return section("\n".join(["*Health*", *(lines or ["Nothing is wrong."])]))


def _feedback_blocks(feedback: Feedback) -> list[Block]:
    """Return the ratings as a table, and the questions that admins may read."""
    if not feedback.ratings:
        return []
    rows = "\n".join(_rating_row(one) for one in feedback.ratings[:MAX_RATINGS])
    table = f"| Answered by | 👍 | 👎 | Good |\n|---|---|---|---|\n{rows}"
    blocks = [section("*What people think of the answers*  in the last 30 days"), markdown(table)]
    if feedback.bad:
        blocks.append(section("*Bad answers whose askers let you read the question*"))
        blocks += map(section, join_lines([_bad_answer(one) for one in feedback.bad]))
    return blocks


def _rating_row(one: Rating) -> str:
    by = table_cell(" ".join(filter(None, (one.provider or "–", one.effort))))
    return f"| {by} | {one.up} | {one.down} | {one.share:.0%} |"


def _bad_answer(one: BadAnswer) -> str:
    reasons = ", ".join(REASONS[name] for name in one.reasons if name in REASONS)
    said = f"“{shorten(one_line(one.comment), 120)}”" if one.comment else ""
    known = " · ".join(filter(None, (format_date(one.at.date()), reasons, said, one.reference)))
    return f"• {escape(shorten(one_line(unescape_slack(one.text)), 120))}\n{escape(known)}"


def _table(stats: Sequence[ProviderStats]) -> str:
    rows = [
        f"| {table_cell(one.provider)} | {one.answered} of {one.asked} ({one.answer_rate:.0%}) | "
        f"{_seconds(one.p50)} | {_seconds(one.p95)} |"
        for one in stats
    ]
    return "\n".join(["| Service | Answered | Half within | 95 % within |", "|---|---|---|---|", *rows])


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else format_duration(seconds)
