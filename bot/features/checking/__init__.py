"""Check: compares claims, typed or found in a message, with word-for-word quotations from web pages.

`/pplx check` takes the claims. **Check this** finds the claims of a message with a model, and the person edits them
before they are checked.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg import Error
from slack_bolt.async_app import AsyncApp

from bot.blocks import messages
from bot.blocks.elements import context as small_text
from bot.blocks.elements import link, longest, notes_block, section, spoken, warning_blocks
from bot.blocks.escaping import clean, escape, one_line, shorten, unescape_slack
from bot.blocks.sources import linked_title, site_and_date
from bot.blocks.words import moment_or_day
from bot.budgets import too_fast_sentence
from bot.chain import BUDGET_UNKNOWN
from bot.commands.base import Command, CommandContext, Reply, Stats
from bot.commands.parsing import usage_errors
from bot.errors import BudgetUnknown, UsageError
from bot.feature import Core, Feature, Running
from bot.listeners.asking import NOT_SAVED, ask_in_direct_message, link_to_messages
from bot.listeners.context import ListenerContext
from bot.model.membership import Asker, working_for
from bot.model.message import Audience, Block, OutgoingMessage
from bot.privacy.sent_requests import SentLog
from bot.slack.messages import seconds_of
from bot.slack.users import Profiles
from bot.slack.views import NotOpened, View
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import Pool, storable
from bot.translation import N_, money
from bot.translation import gettext as _
from bot.views.base import Response, Submission, errors, modal, person_of, shortcut, show_modal, shows, submission
from bot.views.forms import input_block, text_input
from perplexity.claims.check import check_claims
from perplexity.claims.propose import MAX_CLAIM, MAX_CLAIMS, MAX_MESSAGE, propose_claims, validate_claims
from perplexity.claims.types import CheckedClaim, CheckedClaims, ProposedClaims, Verdict
from perplexity.errors import InvalidRequest, cost_with_failures, total_cost
from perplexity.filters import NO_FILTERS, Filters
from perplexity.formatting import format_dollars
from perplexity.notes import fallback_sentence
from perplexity.providers.base import Provider
from perplexity.scope import SentRequest, logged_requests
from perplexity.urls import safe_url

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


log = logging.getLogger(__name__)

CHECK_THIS = "check_this"
TITLE = N_("Check this")
NO_TEXT = N_("This message has no text that I can check.")
MAY_BE_MORE = N_("I read at most 12,000 characters and eight claims of a message: this one may have more.")
OWN_SENTENCES = N_("These are sentences of the message, because no model could read it.")

_CHECKED = {
    (True, True): N_("*Checked:* {message} of {author} in #{channel}"),
    (True, False): N_("*Checked:* {message} of {author}"),
    (False, True): N_("*Checked:* {message} in #{channel}"),
    (False, False): N_("*Checked:* {message}"),
}
"""The text above the result, by whether the message's author and channel have names."""

CALLBACK_ID = "check_modal"

PROPOSE_SECONDS = 20.0
"""How long the model may take to find the claims; after that, sentences of the message are used as claims."""

CLOSED = "not_found"
"""Slack's error for a view that was closed."""

MAX_PAUSE_SECONDS = 10.0

_EXCERPT = 300


@dataclass(frozen=True, kw_only=True)
class ClaimFinder:
    """Finds the claims of messages with a model.

    `reading` contains the workspace and the id of each person for whom a message is being read.
    """

    model: Provider
    proposals: ProposalStore
    profiles: Profiles
    reading: set[tuple[str, str]] = field(default_factory=set)

    def register(self, app: AsyncApp, context: ListenerContext) -> None:
        """Listen to the message shortcut, and to the modal that it opens."""
        shortcut(app, context, CHECK_THIS, self.open)
        submission(app, context, CALLBACK_ID, self.submit, first_input=block_id(1))

    async def open(self, body: Mapping[str, Any], context: ListenerContext) -> str | None:
        """Open the modal at once, and start looking for the message's claims; return a problem, if any."""
        message = _Message.read(body)
        if not message.text:
            return _(NO_TEXT)
        opened = await show_modal(context, str(body.get("trigger_id", "")), reading_view(message))
        if isinstance(opened, str):
            return opened
        team, user = person_of(body)
        asker = Asker(team_id=team, user_id=user, channel_id=message.channel)
        context.start(self._read(message, opened.id, context, asker))
        return None

    async def _read(self, message: _Message, view_id: str, context: ListenerContext, asker: Asker) -> None:
        """In the open modal, show the claims of the message, or the reason why the message was not read.

        Only one message at a time is read for a person, since the model costs money.
        """
        person = asker.team_id, asker.user_id
        if person in self.reading:
            said: str | None = _("I’m still reading another message for you. Try again in a few seconds.")
        else:
            self.reading.add(person)
            try:
                said = await _refusal(context, asker)
                if said is None:
                    await self._propose(message, view_id, context, asker)
            finally:
                self.reading.discard(person)
        if said is not None:
            await _show(modal(CALLBACK_ID, _(TITLE), [section(escape(said))]), view_id, context)

    async def _propose(self, message: _Message, view_id: str, context: ListenerContext, asker: Asker) -> None:
        proposal, sent_log = uuid4(), SentLog()

        async def keep(request: SentRequest) -> None:
            if (sent := sent_log.take()) is not None:
                try:
                    await self.proposals.record(proposal, asker.team_id, asker.user_id, sent)
                except (*DATABASE_UNAVAILABLE, Error):
                    raise BudgetUnknown(BUDGET_UNKNOWN) from None

        sent_log.before_sending = keep
        with working_for(asker), logged_requests(sent_log):
            proposed, link, author = await asyncio.gather(
                propose_claims(message.text, model=self.model, seconds=PROPOSE_SECONDS),
                context.chat.permalink(message.channel, message.ts),
                self.profiles.name_of(message.author),
            )
        message = replace(message, link=link or "", author=author, proposal=str(proposal))
        await _show(claims_view(message, proposed), view_id, context)

    async def submit(self, submitted: Submission, context: ListenerContext) -> Response | None:
        """Start checking the claims; the result arrives as a direct message."""
        entered = [str(submitted.value(block_id(number)) or "").strip() for number in range(1, MAX_CLAIMS + 1)]
        text = text_of_claims([claim for claim in entered if claim])
        try:
            CHECK.parse(text)
        except UsageError as error:
            return errors(**{block_id(1): error.problem})

        async def count_proposal(question_id: UUID) -> None:
            """Let **What was sent** also show the requests that found the claims."""
            with suppress(ValueError):
                proposal = UUID(str(submitted.metadata.get("proposal") or ""))
                try:
                    await self.proposals.move(proposal, submitted.team, submitted.user, question_id)
                except (*DATABASE_UNAVAILABLE, Error) as error:
                    log.warning("sent.not_saved", extra={"error": type(error).__name__})

        begun = await ask_in_direct_message(
            context,
            user=submitted.user,
            team=submitted.team,
            key=f"view:{submitted.view_id}",
            command=CHECK,
            text=text,
            root=checked_message(submitted.metadata),
            asked=count_proposal,
        )
        if isinstance(begun, str):
            return errors(**{block_id(1): begun})
        said = await link_to_messages(context, begun)
        return shows(modal(CALLBACK_ID, _(TITLE), list(said.blocks)))


async def _refusal(context: ListenerContext, asker: Asker) -> str | None:
    """Return why a person may not have a message read; None if the person may.

    A message that may be read counts towards the person's rate limit.
    """
    if (said := await context.admission.asker_refusal(asker.user_id)) is not None:
        return said
    try:
        if await context.questions.take_turn(asker):
            return None
        return too_fast_sentence(await context.questions.rate_wait(asker))
    except DATABASE_UNAVAILABLE:
        return _(NOT_SAVED)


def block_id(number: int) -> str:
    """Return the id of the input of a claim, counted from 1."""
    return f"claim_{number}"


async def _show(view: View, view_id: str, context: ListenerContext) -> None:
    """Change the open modal; if Slack refuses this, try a second time, unless the modal was closed."""
    result = await context.views.update(view_id, view)
    if isinstance(result, NotOpened) and result.error != CLOSED:
        await asyncio.sleep(min(result.seconds or 1.0, MAX_PAUSE_SECONDS))
        result = await context.views.update(view_id, view)
    if isinstance(result, NotOpened):  # Most often the person has closed the view.
        log.info("view.not_updated", extra={"error": result.error, "view": CALLBACK_ID})


@dataclass(frozen=True, kw_only=True)
class _Message:
    """The message to check. `author` is its author's id, and later the name, once the app has looked it up.

    `proposal` identifies the requests sent to find its claims.
    """

    text: str
    author: str
    channel: str
    channel_name: str
    ts: str
    link: str = ""
    proposal: str = ""

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> _Message:
        message = body.get("message")
        fields: Mapping[str, Any] = message if isinstance(message, dict) else {}
        text = clean(unescape_slack(text_of(fields))).strip()
        place = body.get("channel")
        channel: Mapping[str, Any] = place if isinstance(place, dict) else {}
        name = str(channel.get("name") or "")
        return cls(
            text=text[: MAX_MESSAGE + 1],
            author=str(fields.get("user") or ""),
            channel=str(channel.get("id", "")),
            # Slack sends these names for places that have no public name, such as direct messages.
            channel_name="" if name in {"directmessage", "privategroup"} else name,
            ts=str(fields.get("ts") or ""),
        )

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata of the modal."""
        return {name: value for name, value in vars(self).items() if name not in {"text", "channel"}}


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message with the text of the messages shared in it.

    If a message of an app has blocks, only these are read, because its `text`, for notifications and screen readers,
    may say more than the message shows.
    """
    own, shown = str(message.get("text") or ""), "\n".join(_texts(message.get("blocks")))
    own = shown if shown and message.get("bot_id") else max(own, shown, key=len)
    attachments = message.get("attachments")
    shared = [each for each in attachments if isinstance(each, dict)] if isinstance(attachments, list) else []
    texts = ("\n".join(filter(None, (str(each.get("title") or ""), text_of(each)))) for each in shared)
    return "\n\n".join(filter(None, (own, *texts)))


def _texts(block: object) -> Iterator[str]:
    """Yield the paragraphs of the blocks with the message's own text; skip footers, buttons, inputs and pictures."""
    if isinstance(block, list):
        yield from (text for each in block for text in _texts(each))
    elif isinstance(block, dict) and block.get("type") not in {"context", "actions", "image", "input"}:
        parts = [block.get(name) for name in ("text", "fields", "elements", "rows")]
        if str(block.get("type", "")) in {"rich_text_section", "rich_text_preformatted", "rich_text_quote"}:
            yield "".join(text for part in parts for text in _texts(part))
        else:
            yield from ([parts[0]] if isinstance(parts[0], str) else (text for part in parts for text in _texts(part)))


def reading_view(message: _Message) -> View:
    """Build the modal shown while the claims are being found."""
    said = section(_("I’m reading the message. Its claims appear here in a few seconds."))
    return modal(CALLBACK_ID, _(TITLE), [said, _excerpt(message)], metadata=message.metadata)


def claims_view(message: _Message, proposed: ProposedClaims) -> View:
    """Build the modal with the claims, each in an input of its own."""
    if not proposed.claims:
        nothing = [section(_(NOTHING_TO_CHECK)), _excerpt(message)]
        return modal(CALLBACK_ID, _(TITLE), nothing, metadata=message.metadata)
    inputs = [_input(number, claim) for number, claim in enumerate(proposed.claims[:MAX_CLAIMS], 1)]
    if len(inputs) < MAX_CLAIMS:
        inputs.append(_input(len(inputs) + 1, ""))
    cost = money(format_dollars(proposed.cost_usd))
    how = "" if proposed.from_model else _(OWN_SENTENCES)
    more = _(MAY_BE_MORE) if proposed.may_be_more else ""
    spent = _("Finding the claims cost {cost}.").format(cost=cost) if cost else ""
    note = " ".join(filter(None, (how, more, spent)))
    lead = section(
        _("I’ll look for pages that support or contradict each claim. You can change or clear any of them first.")
    )
    blocks = [lead, *inputs, *([small_text(escape(note))] if note else [])]
    return modal(CALLBACK_ID, _(TITLE), blocks, submit=_("Check"), close=_("Cancel"), metadata=message.metadata)


def _input(number: int, claim: str) -> Block:
    element = text_input("claim", shown=claim, multiline=True, max_length=MAX_CLAIM)
    return input_block(block_id(number), _("Claim {number}").format(number=number), element, optional=True)


def _excerpt(message: _Message) -> Block:
    return small_text(f"> {escape(shorten(one_line(message.text), _EXCERPT))}")


def checked_message(metadata: Mapping[str, Any]) -> OutgoingMessage:
    """Render the message above the result: it links to the checked message, and names its author and channel."""
    author, channel, address = (str(metadata.get(name) or "") for name in ("author", "channel_name", "link"))
    what = link(address, _("a message")) if safe_url(address) else _("a message")
    whose, place = (escape(shorten(one_line(one), 80)) for one in (author, channel))
    checked = _(_CHECKED[bool(author.strip()), bool(channel.strip())])
    said = checked.format(message=what, author=whose, channel=place)
    return spoken(section(", ".join(filter(None, (said, slack_date(metadata.get("ts")))))))


def slack_date(ts: object) -> str:
    """Return a message's time for Slack to show in the reader's time zone; empty if `ts` is not a time."""
    seconds = int(seconds_of(ts))
    return moment_or_day(datetime.fromtimestamp(seconds, UTC)) if seconds > 0 else ""


_RECORD = """
    INSERT INTO proposals (id, team_id, user_id, sent) SELECT %(id)s, %(team_id)s, %(user_id)s, %(sent)s
    WHERE NOT erased_just_now_v1(%(team_id)s, %(user_id)s)
    ON CONFLICT (id) DO UPDATE SET sent = proposals.sent || excluded.sent
"""
_MOVE = """
    WITH moved AS (
        DELETE FROM proposals WHERE id = %(id)s AND team_id = %(team_id)s AND user_id = %(user_id)s RETURNING sent)
    UPDATE questions q SET sent = concat(moved.sent, q.sent) FROM moved
    WHERE q.id = %(question_id)s AND q.team_id = %(team_id)s AND q.user_id = %(user_id)s AND q.text_deleted_at IS NULL
"""


class ProposalStore:
    """Stores the requests that were sent to find claims. Each method raises database errors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def record(self, id: UUID, team_id: str, user_id: str, sent: str) -> None:
        """Add requests to a proposal, before they are sent; `sent` is their text as `SentLog.take` returns it."""
        values = {"id": id, "team_id": team_id, "user_id": user_id, "sent": storable(sent)}
        await self._pool.execute(_RECORD, values)

    async def move(self, id: UUID, team_id: str, user_id: str, question_id: UUID) -> None:
        """Move the requests of a person's proposal to the question that followed from this proposal."""
        values = {"id": id, "question_id": question_id, "team_id": team_id, "user_id": user_id}
        await self._pool.execute(_MOVE, values)


def start(core: Core) -> Running:
    """Listen to the shortcut and to the form."""
    finder = ClaimFinder(
        model=core.chain.within().model, proposals=ProposalStore(core.acks), profiles=core.users.profiles
    )
    return Running(listeners=(finder.register,))


FEATURE = Feature(
    name="checking",
    start=start,
    commands=(CHECK,),
    shortcuts=(("message", TITLE, CHECK_THIS, "Check the claims of this message"),),
)
