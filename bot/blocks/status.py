"""Renders `/pplx status`: problems, search services and their limits, spending, and people's ratings of answers."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.elements import join_lines, markdown, section, spoken
from bot.blocks.escaping import escape, one_line, shorten, unescape_slack
from bot.blocks.markdown.render import table_cell
from bot.blocks.words import spending_sentence, warning
from bot.model.admin import NO_FEEDBACK, REASONS, BadAnswer, Feedback, LaneUse, Problem, ProviderStats, Rating
from bot.model.message import Block, OutgoingMessage
from bot.model.spending import Spending
from bot.translation import N_, day, figures, money, number, percent
from bot.translation import gettext as _
from perplexity.formatting import format_date, format_duration
from perplexity.limiter import TIERS

NO_REQUESTS = N_("There were no requests to search services in the last 24 hours.")
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
    """Render the problems, the statistics of the last day, the limits, the spending, and the ratings of answers."""
    blocks = [health_block(problems)]
    blocks += [section(_("*Search services*  in the last 24 hours")), markdown(_table(stats))] if stats else []
    blocks += [section("\n".join(map(service_line, limits)))] if limits else []
    blocks += [] if spending is None else [section(spending_sentence(spending))]
    blocks += [] if stats else [section(NO_REQUESTS)]
    return spoken(*blocks, *_feedback_blocks(feedback))


def health_block(problems: Sequence[Problem]) -> Block:
    """Return the problems with their next steps, or a sentence that nothing is wrong."""
    lines = [warning(escape(f"{one.text} {one.fix}".rstrip())) for one in problems[:MAX_PROBLEMS]]
    return section("\n".join([_("*Health*"), *(lines or [_("Nothing is wrong.")])]))


def _feedback_blocks(feedback: Feedback) -> list[Block]:
    """Return the ratings as a table, and the questions that admins may read."""
    if not feedback.ratings:
        return []
    rows = "\n".join(_rating_row(one) for one in feedback.ratings[:MAX_RATINGS])
    table = f"| {_('Answered by')} | 👍 | 👎 | {_('Good')} |\n|---|---|---|---|\n{rows}"
    blocks = [section(_("*What people think of the answers*  in the last 30 days")), markdown(table)]
    if feedback.bad:
        blocks.append(section(_("*Bad answers whose askers let you read the question*")))
        blocks += map(section, join_lines([_bad_answer(one) for one in feedback.bad]))
    return blocks


def _rating_row(one: Rating) -> str:
    by = table_cell(" ".join(filter(None, (one.provider or "–", one.effort))))
    return f"| {by} | {one.up} | {one.down} | {percent(one.share)} |"


def _bad_answer(one: BadAnswer) -> str:
    reasons = ", ".join(_(REASONS[name]) for name in one.reasons if name in REASONS)
    said = _("“{text}”").format(text=shorten(one_line(one.comment), 120)) if one.comment else ""
    known = " · ".join(filter(None, (day(format_date(one.at.date())), reasons, said, one.reference)))
    return f"• {escape(shorten(one_line(unescape_slack(one.text)), 120))}\n{escape(known)}"


def _table(stats: Sequence[ProviderStats]) -> str:
    rows = [
        f"| {table_cell(one.provider)} | {_answered(one)} | {_seconds(one.p50)} | {_seconds(one.p95)} |"
        for one in stats
    ]
    titles = (_("Service"), _("Answered"), _("Half within"), _("95 % within"))
    return "\n".join([f"| {' | '.join(titles)} |", "|---|---|---|---|", *rows])


def _answered(one: ProviderStats) -> str:
    rate = percent(one.answer_rate)
    return _("{answered} of {asked} ({rate})").format(answered=one.answered, asked=one.asked, rate=rate)


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else figures(format_duration(seconds))


PEOPLE_PER_QUESTION = 20
"""The number of people for whom one question per minute is enough.

In the busiest hour, a person asks three questions, which is one every 20 minutes.
"""

_SOURCES = {
    "tier": N_("what a new key has, until a reply says more"),
    "reply": N_("as it says"),
    "set": N_("your PROVIDER_LIMITS"),
}
_LINES = {
    "answer": N_("{provider} answers: {limit} a minute ({source}). Busiest minute of the last hour: {full} % full."),
    "background": N_(
        "{provider} deep answers: {limit} a minute ({source}). Busiest minute of the last hour: {full} % full."
    ),
    "search": N_("{provider} searches: {limit} a minute ({source}). Busiest minute of the last hour: {full} % full."),
}


def service_line(use: LaneUse) -> str:
    """Return a line on one of a service's limits, and on the share of it used in the last hour's busiest minute.

    For answers, the line also says for how many people the limit is enough. For answers of Perplexity, it also says
    after what spending the limit rises, unless the settings set the limit, or it is the highest.
    """
    provider, kind = use.lane.partition(":")[0].split(".")
    full = min(100, round(100 * use.fullest / use.per_minute))
    line = _(_LINES[kind]).format(
        provider=provider.capitalize(), limit=number(use.per_minute), source=_(_SOURCES[use.source]), full=full
    )
    if kind != "answer":
        return line
    people = _("Enough for about {people} people.").format(people=number(use.per_minute * PEOPLE_PER_QUESTION))
    line = f"{line} {people}"
    if provider != "perplexity" or use.source == "set":
        return line
    more = next(((dollars, calls) for dollars, calls in TIERS if calls > use.per_minute), None)
    if more is None:
        return line
    dollars, calls = more
    raised = _("Once you have spent {amount} there: {limit} a minute, for {people}.").format(
        amount=money(f"${dollars:,}"), limit=number(calls), people=number(calls * PEOPLE_PER_QUESTION)
    )
    return f"{line} {raised}"


def full_text(use: LaneUse) -> str:
    """Return a text for admins on a service's limit that was nearly used up for ten minutes."""
    said = _("For ten minutes people have waited for their turn, since this limit is full.")
    return f"{said} {service_line(use)}"
