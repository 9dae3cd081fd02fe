"""`/pplx check`: shows each claim with a verdict, and with word-for-word quotations from pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bot.blocks import messages
from bot.blocks.elements import longest, notes_block, section, warning_blocks
from bot.blocks.escaping import escape, one_line, shorten, unescape_slack
from bot.blocks.sources import linked_title, site_and_date
from bot.commands.base import Command, CommandContext, Reply, Stats
from bot.commands.parsing import usage_errors
from bot.errors import UsageError
from bot.model.message import Audience, OutgoingMessage
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.claims.check import check_claims
from perplexity.claims.propose import propose_claims, validate_claims
from perplexity.claims.types import CheckedClaim, CheckedClaims, Verdict
from perplexity.errors import InvalidRequest, cost_with_failures, total_cost
from perplexity.filters import NO_FILTERS, Filters
from perplexity.notes import fallback_sentence

NOTHING_TO_CHECK = N_("I found no claim in this text that I could check.")

_SIGNS = {
    Verdict.SUPPORTED: (":white_check_mark:", N_("Supported")),
    Verdict.CONTRADICTED: (":x:", N_("Contradicted")),
    Verdict.DISAGREE: (":warning:", N_("The pages disagree")),
    Verdict.UNCLEAR: (":grey_question:", N_("See what the page says")),
}
_CLAIM = 500
_QUOTE = 1_200
_REASON = 300

_NUMBERED = re.compile(r"\d{1,2}\. (?=\S)")


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The `claims` to check, or, without claims, the `text` to find them in; the `filters` come from settings."""

    text: str
    claims: tuple[str, ...] = ()
    filters: Filters = NO_FILTERS


def parse(text: str) -> CheckRequest:
    """Parse the text after `/pplx check`. Raises UsageError.

    If every line begins with a number, such as "1. ", each line is a claim to check.
    """
    typed = unescape_slack(text).strip()
    if not typed:
        raise UsageError(_("Add what to check."))
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    if not all(_NUMBERED.match(line) for line in lines):
        return CheckRequest(text=typed)
    with usage_errors(N_("a claim")):
        return CheckRequest(text=typed, claims=validate_claims(_NUMBERED.sub("", line, count=1) for line in lines))


def text_of_claims(claims: Sequence[str]) -> str:
    """Return the text that `parse` reads as these claims."""
    return escape("\n".join(f"{number}. {' '.join(claim.split())}" for number, claim in enumerate(claims, 1)))


async def answer(request: CheckRequest, context: CommandContext) -> CheckedClaims:
    """Check the claims; for a text, first find its claims. Raises PerplexityError."""
    claims, cost_usd = request.claims, None
    if not claims:
        proposed = await propose_claims(
            request.text, model=context.services.model, check_cancelled=context.check_cancelled
        )
        claims, cost_usd = proposed.claims, proposed.cost_usd
    if not claims:
        raise InvalidRequest(NOTHING_TO_CHECK)
    checked = await check_claims(
        claims,
        search=context.services.provider,
        model=context.services.model,
        today=datetime.fromtimestamp(context.now(), UTC).date(),
        filters=request.filters,
        check_cancelled=context.check_cancelled,
    )
    return replace(checked, cost_usd=total_cost([cost_usd, checked.cost_usd]))


def render(checked: CheckedClaims, request: CheckRequest, audience: Audience) -> Reply:
    """Render the checked claims, with the quotations from pages, as a reply."""
    cost_usd = cost_with_failures(checked.cost_usd, checked.failed)
    stats = Stats(provider=checked.judged_by or checked.searched_by, cost_usd=cost_usd)
    return Reply(messages=claims_messages(checked), stats=stats)


def claims_messages(checked: CheckedClaims) -> tuple[OutgoingMessage, ...]:
    """Render checked claims in their order."""
    by = checked.judged_by or checked.searched_by
    checked_with = _("this was checked with {provider}").format(provider=by)
    above = warning_blocks([fallback_sentence(checked.failed, checked_with)] if by else [])
    body = [section(longest(_versions(claim))) for claim in checked.claims]
    return messages.pack([*above, *body, *notes_block(checked.notes)])


def _versions(checked: CheckedClaim) -> Iterator[str]:
    """Yield a claim's text in ever shorter versions; the last one has no link."""
    yield from ("\n".join(_lines(checked, share=share)) for share in (1, 2, 4, 8))
    yield "\n".join(_lines(checked, share=8, linked=False))


def _lines(checked: CheckedClaim, *, share: int, linked: bool = True) -> Iterator[str]:
    sign, verdict = _SIGNS[checked.verdict]
    verdict = _(verdict) if checked.passages else _("Unclear")
    claim = escape(shorten(one_line(checked.claim), _CLAIM // share))
    reason = f": {escape(shorten(one_line(checked.reason), _REASON // share))}" if checked.reason else ""
    yield f"{sign} *{claim}*  {verdict}{reason}"
    for quote, source in checked.passages:
        yield f"> {escape(shorten(one_line(quote), _QUOTE // share))}"
        yield " · ".join(filter(None, (linked_title(source) if linked else "", site_and_date(source))))


CHECK = Command[CheckRequest, CheckedClaims](
    name="check",
    summary=N_("Check claims against quotations from the web"),
    usage="TEXT",
    examples=(
        ("The Eiffel Tower is 330 m tall and was built in 1989.", N_("each claim, with what a page says of it")),
    ),
    parse=parse,
    audience=lambda request: Audience.ASKER,
    answer=answer,
    render=render,
    pending_label=N_("Checking"),
    stoppable=True,
    has_slash_command=False,
    question_text=lambda request: " · ".join(request.claims) or request.text,
    # The preferred language does not count, since pages in every language are evidence.
    prefer=lambda request, settings: replace(request, filters=settings.filters(request.filters)),
)
