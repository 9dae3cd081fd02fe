"""OpenRouter, a company that sells answers of Perplexity's Sonar models.

Sonar always searches, so a model of another vendor answers questions for which nothing may be searched.

https://openrouter.ai/perplexity
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime

from perplexity.api import ApiClient, Runs
from perplexity.completions import Completions, answer_deadline
from perplexity.errors import (
    APIError,
    AuthenticationError,
    BillingError,
    EndpointRetired,
    InvalidRequest,
    PerplexityError,
    RateLimitError,
    RequestKind,
    ServerError,
)
from perplexity.filters import validate
from perplexity.models import SONAR, Effort, Target, Timeouts, resolve
from perplexity.providers.base import Diagnosis, Provider, ProviderConfig, ProviderSpec
from perplexity.retry import Deadline, Retrier, RetryPolicy, is_retryable_unpaid
from perplexity.scope import say
from perplexity.transport import OPEN_SECONDS, Closing, ProxyFor, Session, Transport, proxy_for
from perplexity.types import JSON, Answer, Done, Event, Query, Question, SearchResults, validate_messages
from perplexity.wire.errors import ErrorMap
from perplexity.wire.json import as_objects, as_text
from perplexity.wire.sonar import Sonar

log = logging.getLogger(__name__)


ERROR_MAP = ErrorMap(
    statuses={
        401: AuthenticationError,
        402: BillingError,
        # Moderation refused the text; this says nothing about the key.
        403: APIError,
        429: RateLimitError,
    }
)
"""The errors for OpenRouter's statuses: https://openrouter.ai/docs/api-reference/errors"""

BASE_URL = "https://openrouter.ai/api/v1"

_NO_MODEL = "is not a valid model ID"
"""The end of the message, with status 400, for an unknown model. This is not the user's fault: we choose the model."""

_UPSTREAM = "Provider returned error"
"""The start of the message, with status 400, for a failure of the service behind OpenRouter."""


class OpenRouter(Closing, Provider):
    """OpenRouter as a provider; it answers but does not search.

    `reasoning_effort`, `session`, `open_timeout`, `retry`, `proxy`, `ca_bundle` and the clocks are as for
    `PerplexityClient`, and `timeouts` are the `limits` there.
    """

    name = "OpenRouter"
    announces_requests = True
    capabilities: frozenset[RequestKind] = frozenset({"answer"})

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str = BASE_URL,
        reasoning_effort: Effort = "medium",
        session: Session | None = None,
        open_timeout: float = OPEN_SECONDS,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        proxy: ProxyFor = proxy_for,
        ca_bundle: str = "",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._transport = Transport(
            api_key, base_url=base_url, session=session, open_timeout=open_timeout, proxy=proxy, ca_bundle=ca_bundle
        )
        retries = Retrier(policy=retry or RetryPolicy(), sleep=sleep, random=random)
        self._api = ApiClient(transport=self._transport, retries=retries, now=now, error_map=ERROR_MAP)
        self._completions = Completions(
            api=self._api,
            runs=Runs(api=self._api, path="", sleep=sleep),
            wire=Sonar(provider=self.name, model=self._model, error_map=ERROR_MAP),
            clock=clock,
        )
        self._timeouts = timeouts or Timeouts()
        self._reasoning_effort = reasoning_effort
        self._clock, self._now = clock, now
        self._retired: frozenset[str] = frozenset()

    async def close(self) -> None:
        """Close the connections; `async with` does so at the end."""
        await self._completions.finish()
        await self._transport.close()

    async def check_models(self, *, seconds: float = 10.0) -> tuple[str, ...]:
        """Ask OpenRouter which models it serves, and return the names of our models that it no longer serves.

        From then on, Sonar answers in their place. Nothing answers in the place of Sonar itself, of the model that does
        not search, or of any model for a question with a JSON schema. Each missing model is logged. May raise any
        PerplexityError; nothing is changed in that case.
        """
        with _translated_errors():
            deadline = Deadline.after(seconds, self._clock)
            body = await self._api.request("GET", "/models", deadline=deadline, retryable=is_retryable_unpaid)
        gone = retired_models(body, today=datetime.fromtimestamp(self._now(), UTC).date())
        self._retired = frozenset(gone)
        for model in gone:
            log.warning("openrouter.model_retired", extra={"model": model})
        return gone

    async def search(self, query: Query) -> SearchResults:
        """Raise PerplexityError, because OpenRouter sells only answers.

        The fallback chain never calls this, because `capabilities` lacks "search".
        """
        raise PerplexityError("OpenRouter does not search", provider=self.name)

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer. Raises any PerplexityError."""
        started = self._clock()
        with _translated_errors():
            question, target, deadline = self._prepare(question)
            answer = await self._completions.answer(question, target, started=started, deadline=deadline)
        return self._with_notes(answer, question, target)

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield events while the answer is made; the last one is `Done`. Raises any PerplexityError."""
        started = self._clock()
        with _translated_errors():
            question, target, deadline = self._prepare(question)
            stream = self._completions.stream(question, target, started=started, deadline=deadline)
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, Done):
                        yield Done(answer=self._with_notes(event.answer, question, target))
                    else:
                        yield event

    def _prepare(self, question: Question) -> tuple[Question, Target, Deadline]:
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        checked = replace(
            question,
            messages=validate_messages(question.messages),
            filters=validate(question.filters),
            # The saved run belongs to another service, so OpenRouter answers the question from the start.
            run_id=None,
        )
        return checked, target, answer_deadline(question, target, self._timeouts, self._clock)

    def _model(self, question: Question, target: Target) -> str:
        wanted = choose_model(question, target)
        if wanted not in self._retired:
            return wanted
        if question.offline:
            raise EndpointRetired("the model that does not search is no longer served", provider=self.name)
        if question.schema is not None:
            raise EndpointRetired("the model that takes a JSON schema is no longer served", provider=self.name)
        return DEFAULT_MODEL

    def _with_notes(self, answer: Answer, question: Question, target: Target) -> Answer:
        notes = model_notes(question, target, used=self._model(question, target))
        return replace(answer, notes=(*answer.notes, *notes))


def build(config: ProviderConfig) -> OpenRouter | None:
    """Return the provider, or None if `config` has no key for it."""
    if "openrouter" not in config.keys:
        return None
    return OpenRouter(
        config.keys["openrouter"],
        base_url=config.address("openrouter", BASE_URL),
        reasoning_effort=config.reasoning_effort,
        session=config.session,
        open_timeout=config.open_timeout,
        retry=config.retry,
        timeouts=config.timeouts,
        proxy=config.proxy,
        ca_bundle=config.ca_bundle,
    )


def translate_error(error: PerplexityError, *, provider: str) -> PerplexityError:
    """Set the provider of an error of OpenRouter, and return this error, or a more fitting one in its place.

    Two errors with status 400 are not the user's fault: an unknown model becomes an EndpointRetired, and a failure of
    the service behind OpenRouter a ServerError.
    """
    error.provider = provider
    if isinstance(error, InvalidRequest) and error.message.endswith(_NO_MODEL):
        return EndpointRetired(
            "the model is not served any more", provider=provider, status=400, cost_usd=error.cost_usd
        )
    if isinstance(error, InvalidRequest) and error.message.startswith(_UPSTREAM):
        return ServerError(
            "the service behind OpenRouter failed", provider=provider, status=400, cost_usd=error.cost_usd
        )
    return error


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Replace a PerplexityError that the block raises by the error that `translate_error` returns for it."""
    try:
        yield
    except PerplexityError as error:
        meant = translate_error(error, provider=OpenRouter.name)
        if meant is error:
            raise
        meant.began = error.began
        raise meant from error


DEFAULT_MODEL = "perplexity/sonar"
NEWS_MODEL = "perplexity/sonar-pro"
REASONING_MODEL = "perplexity/sonar-reasoning-pro"
RESEARCH_MODEL = "perplexity/sonar-deep-research"
WRITING_MODEL = "x-ai/grok-4.3"
"""The model for answers without a search: it searches only with a tool for that. Perplexity's models always search."""

_BY_EFFORT: Mapping[Effort, str] = {
    "fast": DEFAULT_MODEL,
    "low": DEFAULT_MODEL,
    "medium": REASONING_MODEL,
    "high": RESEARCH_MODEL,
    "xhigh": RESEARCH_MODEL,
}


def choose_model(question: Question, target: Target) -> str:
    """Return the model for a question: the Sonar model that it names, or the one that suits it best.

    If the question names a model that is long gone, such as `perplexity/llama-3.1-sonar-small-128k-online`, or a model
    of another vendor, which would not search, a Sonar model is returned. If nothing may be searched
    (`question.offline`), `WRITING_MODEL` is returned.
    """
    if question.offline:
        return WRITING_MODEL
    name = target.name.removeprefix("perplexity/")
    if name == "sonar-reasoning":
        return REASONING_MODEL
    if name in SONAR:
        return f"perplexity/{name}"
    if question.news or question.schema is not None:
        return NEWS_MODEL
    return DEFAULT_MODEL if target.model else _BY_EFFORT[target.effort]


def model_notes(question: Question, target: Target, *, used: str) -> tuple[str, ...]:
    """Return a note for the user if the model `used` is not the one that the question names or that suits it best."""
    named = target.model or choose_model(question, target)
    said = say("OpenRouter answered with {used} in place of {named}.")
    return () if used == named else (said.format(used=used, named=named),)


def retired_models(body: Mapping[str, JSON], *, today: date) -> tuple[str, ...]:
    """Return the models used here that are missing from the list of models, or whose last day is over.

    An empty list proves nothing, so no model is returned for it.
    https://openrouter.ai/docs/api-reference/list-available-models
    """
    served = {as_text(model.get("id")) for model in as_objects(body.get("data")) if not _expired(model, today)} - {""}
    ours = {*_BY_EFFORT.values(), NEWS_MODEL, WRITING_MODEL}
    return tuple(sorted(ours - served)) if served else ()


def _expired(model: Mapping[str, JSON], today: date) -> bool:
    """Return whether a model expired before `today`."""
    last = as_text(model.get("expiration_date"))[:10]
    return bool(last) and last < today.isoformat()


_REPLACED = f"Nothing is to be done: {DEFAULT_MODEL} answers in its place."
_NOT_REPLACED = {
    DEFAULT_MODEL: "Nothing answers in its place there: take openrouter out of PROVIDERS, or update the app.",
    WRITING_MODEL: "OpenRouter writes no analysis of a deep dive then: another service must, or update the app.",
}
"""The advice for each retired model that has no replacement."""

_NO_POSTS = (
    "OpenRouter reads no posts and writes no analysis for deep dives then. "
    "Set XAI_API_KEY for the posts; for the analysis another service must write, or update the app."
)
"""The advice for a retired `WRITING_MODEL` that also has to read posts on X, because no key of xAI is set."""


async def check(config: ProviderConfig) -> Sequence[Diagnosis]:
    """Return a warning for each of our models that OpenRouter no longer serves, or if its list cannot be read.

    The key itself is not tried.
    """
    try:
        async with OpenRouter(
            config.keys["openrouter"],
            base_url=config.address("openrouter", BASE_URL),
            open_timeout=config.open_timeout,
            ca_bundle=config.ca_bundle,
            retry=RetryPolicy(attempts=1),
        ) as provider:
            retired = await provider.check_models(seconds=5)
    except PerplexityError as error:
        status = f"status {error.status}" if error.status else type(error).__name__
        text = f"OpenRouter’s list of models cannot be read ({status})."
        fix = "Check the network, a proxy (HTTPS_PROXY), certificates (CA_BUNDLE) and OPENROUTER_BASE_URL."
        return [Diagnosis(severity="warning", text=text, fix=fix)]
    fixes = _NOT_REPLACED if "xai" in config.keys else _NOT_REPLACED | {WRITING_MODEL: _NO_POSTS}
    return [
        *(
            Diagnosis(severity="warning", text=f"OpenRouter no longer serves {model}.", fix=fixes.get(model, _REPLACED))
            for model in retired
        ),
        Diagnosis(severity="ok", text="OpenRouter answers. Its key was not tried, since that costs."),
    ]


SPEC = ProviderSpec(
    title=OpenRouter.name,
    build=build,
    key_variables=("OPENROUTER_API_KEY",),
    base_url_variable="OPENROUTER_BASE_URL",
    base_url=BASE_URL,
    check=check,
    perplexity_models=True,
)
