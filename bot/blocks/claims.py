"""Checked claims as messages: each with a quotation word for word from a page, and a verdict if its words decide."""

from __future__ import annotations

from collections.abc import Iterator

from bot.blocks import messages
from bot.blocks.elements import longest, notes_block, section, warning_blocks
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.sources import linked_title, site_and_date
from bot.model.message import OutgoingMessage
from perplexity.claims.types import CheckedClaim, CheckedClaims, Verdict
from perplexity.notes import fallback_sentence

_SIGNS = {
    Verdict.SUPPORTED: (":white_check_mark:", "Supported"),
    Verdict.CONTRADICTED: (":x:", "Contradicted"),
    Verdict.DISAGREE: (":warning:", "The pages disagree"),
    Verdict.UNCLEAR: (":grey_question:", "See what the page says"),
}
_CLAIM = 500
_QUOTE = 1_200
_REASON = 300


def claims_messages(checked: CheckedClaims) -> tuple[OutgoingMessage, ...]:
    """Render checked claims in their order."""
    by = checked.judged_by or checked.searched_by
    above = warning_blocks([fallback_sentence(checked.failed, f"this was checked with {by}")] if by else [])
    body = [section(longest(_versions(claim))) for claim in checked.claims]
    return messages.pack([*above, *body, *notes_block(checked.notes)], summary="")


def _versions(checked: CheckedClaim) -> Iterator[str]:
    """Yield a claim's text, shorter and shorter; the last one has no link."""
    yield from ("\n".join(_lines(checked, share=share)) for share in (1, 2, 4, 8))
    yield "\n".join(_lines(checked, share=8, linked=False))


def _lines(checked: CheckedClaim, *, share: int, linked: bool = True) -> Iterator[str]:
    sign, verdict = _SIGNS[checked.verdict]
    verdict = verdict if checked.passages else "Unclear"
    claim = escape(shorten(one_line(checked.claim), _CLAIM // share))
    reason = f": {escape(shorten(one_line(checked.reason), _REASON // share))}" if checked.reason else ""
    yield f"{sign} *{claim}*  {verdict}{reason}"
    for quote, source in checked.passages:
        yield f"> {escape(shorten(one_line(quote), _QUOTE // share))}"
        yield " · ".join(filter(None, (linked_title(source) if linked else "", site_and_date(source))))
