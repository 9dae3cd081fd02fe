"""Renders the providers' statistics as charts, and as a table for screen readers and older clients; and feedback."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.elements import bar_chart, context, join_lines, markdown, section
from bot.blocks.escaping import escape, one_line, shorten, unescape_slack
from bot.blocks.markdown.render import table_cell
from bot.blocks.spending import spending_sentence
from bot.blocks.words import warning
from bot.model.feedback import NO_FEEDBACK, REASONS, BadAnswer, Feedback, Rating
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.provider_stats import ProviderStats
from bot.model.spending import Spending
from perplexity.formatting import format_date, format_dollars, format_duration

NO_REQUESTS = "There were no requests to search services in the last 24 hours."
NEEDS_ADMIN = "needs an admin"

ADMIN_ISSUES = {"AuthenticationError": "does not accept the configured key", "BillingError": "is out of credit"}
"""What is wrong with a service that needs an admin, by the class of its error."""

MAX_RATINGS = 20
"""The most rows of ratings that are shown."""


def status_message(
    stats: Sequence[ProviderStats],
    feedback: Feedback = NO_FEEDBACK,
    *,
    spending: Spending | None = None,
    problem: str = "",
) -> OutgoingMessage:
    """Render the statistics of the last day, the spending, the ratings of answers, and a `problem` of the app."""
    rated = [*([section(warning(escape(problem)))] if problem else ()), *_feedback_blocks(feedback)]
    if spending is not None:
        rated = [section(spending_sentence(spending)), *rated]
    if not stats:
        return OutgoingMessage(text=NO_REQUESTS, blocks=(section(NO_REQUESTS), *rated))
    blocks = [section("*Search services*  in the last 24 hours"), *_charts(stats), markdown(_table(stats))]
    blocks += [section(f"*{escape(one.provider)}* {_admin_issue(one)}.") for one in stats if one.admin_issue]
    blocks += rated
    text = f"Search services in the last 24 hours: {'; '.join(map(_sentence, stats))}"
    return OutgoingMessage(text=text, blocks=(*blocks, context(Audience.ASKER.value)))


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


def _charts(stats: Sequence[ProviderStats]) -> list[Block]:
    """Return charts of the answer rates, and of the durations if a provider answered."""
    rates = {"answered": [100 * one.answer_rate for one in stats]}
    charts = [bar_chart("Answered", categories=[one.provider for one in stats], series=rates, y_label="Percent")]
    drawn = [one for one in stats if one.p50 is not None and one.p95 is not None]
    if drawn:
        series = {"p50": [one.p50 or 0.0 for one in drawn], "p95": [one.p95 or 0.0 for one in drawn]}
        names = [one.provider for one in drawn]
        charts.append(bar_chart("Seconds to an answer", categories=names, series=series, y_label="Seconds"))
    return charts


def _table(stats: Sequence[ProviderStats]) -> str:
    rows = [
        f"| {table_cell(one.provider)} | {one.answered} of {one.asked} ({one.answer_rate:.0%}) | "
        f"{_seconds(one.p50)} | {_seconds(one.p95)} | {_cost(one)} |"
        for one in stats
    ]
    return "\n".join(["| Service | Answered | p50 | p95 | Cost |", "|---|---|---|---|---|", *rows])


def _sentence(one: ProviderStats) -> str:
    speed = f"p50 {_seconds(one.p50)}, p95 {_seconds(one.p95)}"
    known = f"{escape(one.provider)} answered {one.answered} of {one.asked}, {speed}, {_cost(one)}"
    return f"{known}, {_admin_issue(one)}" if one.admin_issue else known


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else format_duration(seconds)


def _cost(one: ProviderStats) -> str:
    return "–" if one.cost_usd is None else format_dollars(one.cost_usd)


def _admin_issue(one: ProviderStats) -> str:
    return ADMIN_ISSUES.get(one.admin_issue or "", NEEDS_ADMIN)
