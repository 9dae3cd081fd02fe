"""Checked claims as messages: each with its verdict, and a quotation word for word from a page."""

from __future__ import annotations

from collections.abc import Iterator

from bot.blocks import messages
from bot.blocks.elements import context, note_lines, section, warning_blocks
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.sources import linked_title, site_and_date
from bot.model.message import Block, OutgoingMessage
from bot.texts import checking
from perplexity.attempts import cost_with_failures
from perplexity.claims.types import CheckedClaim, CheckedClaims, Verdict
from perplexity.formatting import format_dollars, format_duration
from perplexity.notes import fallback_sentence

_SIGNS = {
    Verdict.SUPPORTED: (":white_check_mark:", checking.SUPPORTED),
    Verdict.CONTRADICTED: (":x:", checking.CONTRADICTED),
    Verdict.UNCLEAR: (":grey_question:", checking.UNCLEAR),
}
_CLAIM = 500
_QUOTE = 1_200
_REASON = 300


def claims_messages(checked: CheckedClaims) -> tuple[OutgoingMessage, ...]:
    """Render checked claims in their order."""
    by = checked.judged_by or checked.searched_by
    above = warning_blocks([fallback_sentence(checked.failed, checking.checked_with(by))] if by else [])
    body = [section("\n".join(_lines(claim))) for claim in checked.claims]
    notes = [context(note) for note in note_lines(checked.notes)]
    return messages.pack([*above, *body, *notes, _footer(checked, by)], summary="")


def _lines(checked: CheckedClaim) -> Iterator[str]:
    sign, verdict = _SIGNS[checked.verdict]
    claim = escape(shorten(one_line(checked.claim), _CLAIM))
    reason = f": {escape(shorten(one_line(checked.reason), _REASON))}" if checked.reason else ""
    yield f"{sign} *{claim}*  {verdict}{reason}"
    if checked.quote:
        yield f"> {escape(shorten(one_line(checked.quote), _QUOTE))}"
    if checked.source is not None:
        yield " · ".join(filter(None, (linked_title(checked.source), site_and_date(checked.source))))


def _footer(checked: CheckedClaims, by: str) -> Block:
    cost = format_dollars(cost_with_failures(checked.cost_usd, checked.failed))
    quoted = checking.VERBATIM if any(claim.quote for claim in checked.claims) else ""
    return context(
        " · ".join(filter(None, (quoted, escape(by), format_duration(checked.seconds), cost, checking.PRIVATE)))
    )
