"""The steps around every call of a service, in their fixed order, the outermost first.

1. The rules of the workspace and the channel: sites, models, effort, instructions.
2. Sharing: a question that the app itself offers may get an answer that was given before. This step comes after the
   rules, because an answer depends on the rules.
3. Redaction. It is the last step to change a text, and no command can leave it out.

All three steps surround the fallback chain that answers questions. The agent and the providers of deep dives have no
sharing. The source of posts, and the model that only reads a given text, have redaction alone.

The fourth step is further inside:

4. The budget. This step surrounds each paid provider of the chain, so that every attempt counts. It also surrounds the
   source of posts and the agent's model. It reserves each paid call in the ledger before the call is sent, and settles
   it with the reported cost. Every repeated request within a call is reserved, too. A call that the ledger refuses is
   not made. A question's request is saved before it is sent: together with the reservation if the provider announces
   its requests, otherwise separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

from bot.budgets import CEILINGS, FAST, MAX_DOLLARS, MICROS, POSTS, REASONING, SEARCH, cheaper, over_budget_sentence
from bot.commands.base import SearchingAgent, Services
from bot.errors import BudgetUnknown, BudgetUsedUp, QuestionErased, SpendingPaused
from bot.model.membership import current_scope
from bot.model.question import NO_PREFERENCES, Rules
from bot.model.spending import (
    CallState,
    Ended,
    Erased,
    Granted,
    OverBudget,
    Paused,
    RequestText,
    Reservation,
    TakenOver,
    Verdict,
)
from bot.preferences import Restricting, excludes_posts
from bot.privacy.redaction import NO_REDACTION, Redactor
from bot.privacy.sent_requests import Redacting, current_sent_log
from bot.storage.ledger import Ledger, LedgerAway
from bot.storage.questions import DatabaseRetry
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.errors import (
    APIError,
    ConnectionFailed,
    InvalidRequest,
    MissingExtra,
    NothingFound,
    NotPermitted,
    PerplexityError,
    RequestCancelled,
)
from perplexity.models import Effort, resolve
from perplexity.providers import PROVIDERS
from perplexity.providers.base import Provider
from perplexity.scope import SentRequest
from perplexity.steps import Call, Replies, Reply, Request, Step, SteppedPosts, SteppedProvider, ask
from perplexity.types import Answer, Query, Question, SearchResults
from perplexity.x_posts.types import PostSource

OnReply = Callable[[Query | Question, Reply], None]
"""A function that is called for each reply of a paid service, with the request as it was sent, and the reply."""

SPENDING_PAUSED = N_("An admin has paused all paid searches, so I can’t answer now. Ask again when they are resumed.")
BUDGET_UNKNOWN = N_("I can’t reach my database, so I can’t check the budget. Ask again in a minute.")
THOUGHT_QUICKLY = N_("I thought quickly instead of longer: the rest of the budget wouldn’t cover it.")

AWAY_SECONDS = 5.0
"""How long a call waits for the database.

This is shorter than the time limits of the services, so that no service counts as slow because of the database.
"""


class Chain:
    """The only access to the services; `within` puts the rules, sharing and redaction around them."""

    def __init__(
        self, services: Services, *, redactor: Redactor = NO_REDACTION, reasoning_effort: Effort = "medium"
    ) -> None:
        self._services = services
        self._redacting = [Redacting(redactor=redactor)] if redactor.is_set else []
        self._reasoning_effort = reasoning_effort

    def within(self, rules: Sequence[Rules] = NO_PREFERENCES.rules, *, sharing: Sequence[Step] = ()) -> Services:
        """Return the services for a question under these rules.

        `sharing` has the question's own steps, which share an answer or add the question's files to its requests.
        The rules do not apply to `Services.model`: it only reads a given text, which was found within the rules.
        """
        restricting: list[Step] = []
        tools: list[Step] = []
        if rules != NO_PREFERENCES.rules:
            restricting = [Restricting(rules=rules, reasoning_effort=self._reasoning_effort)]
            tools = [Restricting(rules=rules, tool_effort=self._reasoning_effort)]
        inner, dives = self._services, self._services.deepdives
        return Services(
            provider=_with(inner.provider, [*restricting, *sharing, *self._redacting]),
            model=_with(inner.model, self._redacting),
            agent=SteppedAgent(agent=inner.agent, steps=[*tools, *self._redacting]),
            deepdives=replace(
                dives,
                facts=_with(dives.facts, [*restricting, *self._redacting]),
                synthesis=_with(dives.synthesis, [*restricting, *self._redacting]),
                posts=None if excludes_posts(rules) else _posts_with(dives.posts, self._redacting),
            ),
        )


def _with(provider: Provider, steps: Sequence[Step]) -> Provider:
    return SteppedProvider(provider=provider, steps=steps) if steps else provider


def _posts_with(posts: PostSource | None, steps: Sequence[Step]) -> PostSource | None:
    return SteppedPosts(source=posts, steps=steps) if posts is not None and steps else posts


@dataclass(frozen=True, kw_only=True)
class SteppedAgent:
    """An agent with steps around each question, the first one outermost."""

    agent: SearchingAgent
    steps: Sequence[Step]

    async def answer(self, question: Question) -> Answer:
        """Return the agent's answer, with the steps around the agent's call. Raises PerplexityError."""
        return await ask(self.steps, question, self.agent.answer)


def within_budget(provider: Provider, meter: Meter | None, *, reasoning_effort: Effort) -> Provider:
    """Wrap a provider so that the ledger records its calls; return it unchanged without a meter, or if it is free."""
    spec = next((one for one in PROVIDERS.values() if one.title == provider.name), None)
    if meter is None or (spec is not None and not spec.key_variables):
        return provider
    metering = Metering(
        meter=meter,
        name=provider.name,
        effort=SEARCH if provider.search_only else "",
        announced=provider.announces_requests,
        resumes=provider.resumes,
        reasoning_effort=reasoning_effort,
    )
    return SteppedProvider(provider=provider, steps=[metering])


def posts_within_budget(posts: PostSource | None, meter: Meter | None) -> PostSource | None:
    """Wrap the source of posts so that the ledger records its calls; return it unchanged without a meter."""
    if posts is None or meter is None:
        return posts
    return SteppedPosts(source=posts, steps=[Metering(meter=meter, name=posts.name, effort=POSTS)])


@dataclass(frozen=True, kw_only=True)
class Metering:
    """The step that reserves and settles the calls of the service `name` in the ledger.

    If a budget does not cover a question with an effort of `REASONING`, `FAST` is its effort instead. `effort` is the
    effort of all calls, empty if each call has its own. If `announced` is set, a call is reserved when its request is
    about to be sent, otherwise when the call begins. `resumes` is whether the service can resume a background run.
    """

    meter: Meter
    name: str
    effort: str = ""
    announced: bool = False
    resumes: bool = False
    reasoning_effort: Effort = "medium"

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Reserve the call, make it, and settle it. Raises SpendingRefused if the ledger refuses it."""
        effort = self._effort(request)
        paid = self._paid(request, effort)
        try:
            async with aclosing(self._booked(paid, request, call)) as replies:
                async for reply in replies:
                    yield reply
            return
        except BudgetUsedUp:
            if effort not in REASONING or _resumed(request) or paid.was_granted:
                raise
        asked = request if isinstance(request, Query) else replace(request, reasoning=False, model=FAST)
        async with aclosing(self._booked(self._paid(asked, FAST), asked, call)) as replies:
            async for reply in replies:
                yield replace(reply, stand_in=_(THOUGHT_QUICKLY)) if isinstance(reply, Answer) else reply

    async def _booked(self, paid: PaidCall, request: Request, call: Call[Request]) -> Replies:
        asked = replace(request, before_retry=paid.before_retry, before_sending=paid.before_sending)
        async with paid, aclosing(call(asked)) as replies:
            async for reply in replies:
                if isinstance(reply, Reply):
                    paid.succeeded(reply.cost_usd)
                    for listen in self.meter.listeners:
                        listen(asked, reply)
                # The shape is only for the listeners; it is removed here, so that it is not stored with the answer.
                yield replace(reply, shape=None) if isinstance(reply, Answer | SearchResults) else reply

    def _paid(self, request: Query | Question, effort: str) -> PaidCall:
        return PaidCall(
            meter=self.meter,
            provider=self.name,
            effort=effort,
            announced=self.announced,
            resumes=self.resumes and _resumed(request),
        )

    def _effort(self, request: Query | Question) -> str:
        if self.effort or isinstance(request, Query):
            return self.effort or SEARCH
        try:
            return resolve(request.model, reasoning=request.reasoning, reasoning_effort=self.reasoning_effort).effort
        except InvalidRequest:
            return FAST  # The provider refuses such a request before sending anything.


def _resumed(request: Query | Question) -> bool:
    return isinstance(request, Question) and request.run_id is not None


@dataclass(frozen=True, kw_only=True)
class Meter:
    """Reserves calls in the ledger for the current task's person.

    If the database is briefly unavailable, a call waits instead of being refused. A refusal would end the work on the
    question, and the next try would pay for the earlier calls again.
    """

    ledger: Ledger
    database_retry: DatabaseRetry = field(default_factory=lambda: DatabaseRetry(seconds=AWAY_SECONDS))
    listeners: list[OnReply] = field(default_factory=list)

    async def reserve(
        self, provider: str, effort: str, *, resumes: bool = False, request: SentRequest | None = None
    ) -> UUID:
        """Reserve a call, save the `request` that is about to be sent for it, and return the reservation's id.

        Raises SpendingRefused, and RequestCancelled if this worker has lost its claim on the question.
        """
        asker, unsaved = current_scope().asker, _unsaved(request)

        async def book() -> Verdict:
            # Each attempt has a new id: the ledger may have recorded an earlier attempt whose reply was lost.
            named = replace(wanted, id=uuid4())
            return await self.ledger.reserve(named, _leaving(unsaved, named.id, with_call=True))

        wanted = Reservation(
            id=uuid4(),
            team_id=asker.team_id if asker else "",
            channel_id=asker.channel_id if asker else "",
            user_id=asker.user_id if asker else "",
            question_id=asker.question_id if asker else None,
            provider=provider,
            effort=effort,
            ceiling=CEILINGS[effort],
            resumes=resumes,
            claim=asker.claim if asker else None,
        )
        began = self.database_retry.clock()
        try:
            verdict = await self.database_retry(book)
            if isinstance(verdict, Granted) and not resumes and self.database_retry.clock() - began > AWAY_SECONDS:
                # If this process was suspended in the meantime, another process may have claimed the question after the
                # grant.
                self.ledger.end(Ended(id=verdict.id, state="released"))
                verdict = await self.database_retry(book)
        except LedgerAway:
            raise BudgetUnknown(_(BUDGET_UNKNOWN)) from None
        match verdict:
            case Granted():
                return verdict.id
            case Paused():
                raise SpendingPaused(_(SPENDING_PAUSED))
            case Erased():
                raise QuestionErased(_("This question was erased."))
            case TakenOver():
                raise RequestCancelled("another worker has claimed the question, or it was stopped")
            case OverBudget():
                raise BudgetUsedUp(over_budget_sentence(verdict, effort=effort, fits=await self._fits(wanted)))

    async def _fits(self, wanted: Reservation) -> str:
        """Return the highest of the cheaper efforts that the budget still covers; empty if none is known."""
        cheap = cheaper(wanted.effort)
        with suppress(LedgerAway):
            fitting = await self.ledger.fitting(wanted, cheap) if cheap else ()
            return next((one for one in reversed(cheap) if one in fitting), "")
        return ""

    async def keep(self, request: SentRequest) -> None:
        """Save a request before it is sent, unless a reservation has saved it. Raises BudgetUnknown."""
        unsaved = _unsaved(request)

        async def keep() -> None:
            if (leaving := _leaving(unsaved, uuid4())) is not None:
                await self.ledger.keep(leaving)

        try:
            await self.database_retry(keep)
        except LedgerAway:
            raise BudgetUnknown(_(BUDGET_UNKNOWN)) from None


def _unsaved(request: SentRequest | None) -> SentRequest | None:
    """Return the request; None if it was already saved, or if the current task saves no requests."""
    sent_log = current_sent_log()
    return None if request is None or sent_log is None or sent_log.is_kept(request) else request


def _leaving(request: SentRequest | None, id: UUID, *, with_call: bool = False) -> RequestText | None:
    """Mark a request as saved, and return the `RequestText` to save; None without a request or a question."""
    asker, sent_log = current_scope().asker, current_sent_log()
    if request is None or asker is None or asker.question_id is None or sent_log is None:
        return None
    sent_log.kept.append((request, id))
    return RequestText(id=id, question_id=asker.question_id, text=sent_log.line(request), with_call=with_call)


@dataclass(kw_only=True)
class PaidCall:
    """One paid call, made in an `async with` block; each repeated request is reserved and settled by itself.

    An `announced` call is reserved when its request is about to be sent, any other call when the block begins. A call
    that `resumes` a run is reserved at once, too: the run was started earlier, so no request announces it. A
    PerplexityError in the block settles the call as failed. A call that is not settled at the end of the block counts
    as cut off, at an unknown cost.

    `id` is the id of the open reservation in the ledger, None if there is none. `was_granted` is whether any
    reservation was granted. `known` is the service's charge for the earlier requests, in micro-dollars.
    """

    meter: Meter
    provider: str
    effort: str
    announced: bool = False
    resumes: bool = False
    id: UUID | None = None
    was_granted: bool = False
    known: int = 0

    async def __aenter__(self) -> Self:
        if self.resumes or not self.announced:
            await self._reserve(resumes=self.resumes)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, PerplexityError):
            self.failed(error)
        self._end("cut")

    async def before_sending(self, request: SentRequest) -> None:
        """Reserve the call and save its request, unless the call is already reserved. Raises SpendingRefused."""
        if self.id is None:
            await self._reserve(request)

    async def before_retry(self, error: PerplexityError) -> None:
        """Settle the request that failed, and reserve the next one unless it is announced. Raises SpendingRefused."""
        self.failed(error)
        if not self.announced:
            await self._reserve()

    async def _reserve(self, request: SentRequest | None = None, *, resumes: bool = False) -> None:
        self.id = await self.meter.reserve(self.provider, self.effort, resumes=resumes, request=request)
        self.was_granted = True

    def succeeded(self, cost_usd: float | None) -> None:
        """Settle the call at the service's total charge; treat it as cut off if the charge is unknown or impossible."""
        cost = None if cost_usd is None else micros(cost_usd)
        if cost is None:
            self._end("cut")
        else:
            self._end("settled", max(0, cost - self.known))

    def failed(self, error: PerplexityError) -> None:
        """Settle the call at the failure's cost; without a cost, release it if it is free, else treat it as cut off."""
        cost = 0 if error.cost_usd is None else micros(error.cost_usd)
        if cost is None:
            self._end("cut")
        elif (charged := cost - self.known) > 0:
            self.known += charged
            self._end("settled", charged)
        else:
            self._end("released" if is_free(error) else "cut")

    def _end(self, state: CallState, cost: int | None = None) -> None:
        if self.id is not None:
            self.meter.ledger.end(Ended(id=self.id, state=state, cost=cost))
            self.id = None


def is_free(error: PerplexityError) -> bool:
    """Return whether a failed call surely cost nothing: it was not sent, or refused before the service began."""
    if error.began:
        return False
    if isinstance(error, ConnectionFailed):
        return not error.sent
    return isinstance(error, (APIError, InvalidRequest, MissingExtra, NothingFound, NotPermitted))


_NOISE = Decimal("1e-10")
"""The smallest unit of a price, in dollars, which xAI uses. Smaller amounts result only from adding floats."""


def micros(dollars: float) -> int | None:
    """Return a service's charge in micro-dollars, rounded up; None if it cannot be the price of a call.

    A charge cannot be a price if it is negative, above `MAX_DOLLARS`, or not a number.
    """
    if not 0 <= dollars <= MAX_DOLLARS:
        return None
    exact = Decimal(repr(float(dollars))).quantize(_NOISE, rounding=ROUND_HALF_EVEN)
    return int((exact * MICROS).to_integral_value(rounding=ROUND_CEILING))
