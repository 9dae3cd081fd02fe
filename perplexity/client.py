"""The client for Perplexity's searches and answers: `async with PerplexityClient(key) as client`."""

from __future__ import annotations

import asyncio
import logging
import os
import random as randomness
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypedDict, Unpack, get_args

from perplexity.api import ApiClient, OnLimit, Runs
from perplexity.completions import Completions, answer_deadline
from perplexity.domains import filter_results
from perplexity.errors import EndpointRetired, InvalidRequest, MissingKey, named_errors
from perplexity.filters import Filters, validate
from perplexity.models import Effort, Target, Timeouts, check_schema, resolve
from perplexity.retry import Deadline, Retrier, RetryPolicy, is_retryable_unpaid
from perplexity.transport import (
    OPEN_SECONDS,
    Closing,
    ProxyFor,
    Session,
    Transport,
    checked_open_timeout,
    proxy_for,
    tls_context,
)
from perplexity.types import (
    API,
    JSON,
    Answer,
    Event,
    Message,
    Query,
    Question,
    Restarted,
    SearchResults,
    validate_messages,
    validate_query,
)
from perplexity.wire import search
from perplexity.wire.agent import Agent
from perplexity.wire.base import Wire
from perplexity.wire.json import as_objects, as_texts
from perplexity.wire.sonar import Sonar

log = logging.getLogger(__name__)


KEYS = ("PERPLEXITY_API_KEY", "PPLX_API_KEY")
BASE_URL = "PERPLEXITY_BASE_URL"
API_VARIABLE = "PERPLEXITY_API"
OPEN_TIMEOUT = "OPEN_TIMEOUT"
CA_BUNDLE = "CA_BUNDLE"

DEFAULT_BASE_URL = "https://api.perplexity.ai"


@dataclass(frozen=True, kw_only=True)
class Access:
    """A key, the address of its service, the API that answers, and the seconds for connecting."""

    api_key: str = field(repr=False)
    base_url: str
    api: API
    open_timeout: float

    @classmethod
    def from_environment(
        cls,
        environ: Mapping[str, str],
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        api: API | None = None,
        open_timeout: float | None = None,
    ) -> Access:
        """Return the given values, completed from the environment and then by defaults.

        Raises MissingKey without a key, InvalidRequest for a variable with an invalid value.
        """
        key = first_variable(environ, *KEYS) if api_key is None else api_key.strip()
        if not key:
            raise MissingKey(f"api_key: there is none; set {KEYS[0]} (or {KEYS[1]}), or hand one in", field="api_key")
        return cls(
            api_key=key,
            base_url=base_url or first_variable(environ, BASE_URL) or DEFAULT_BASE_URL,
            api=api or api_of(environ),
            open_timeout=open_timeout_of(environ) if open_timeout is None else open_timeout,
        )


def api_of(environ: Mapping[str, str]) -> API:
    """Return the API named by PERPLEXITY_API; `agent` if it is not set. Raises InvalidRequest."""
    named = first_variable(environ, API_VARIABLE) or "agent"
    for api in get_args(API):
        if api == named:
            return api  # type: ignore[no-any-return]
    raise InvalidRequest.for_field(API_VARIABLE, named, "it takes agent or sonar")


def ca_bundle_of(environ: Mapping[str, str]) -> str:
    """Return the path in CA_BUNDLE; empty if it is not set. Raises InvalidRequest for a file that cannot be used."""
    path = first_variable(environ, CA_BUNDLE)
    tls_context(path, field=CA_BUNDLE)
    return path


def open_timeout_of(environ: Mapping[str, str]) -> float:
    """Return the seconds in OPEN_TIMEOUT; the default if it is not set. Raises InvalidRequest."""
    named = first_variable(environ, OPEN_TIMEOUT)
    if not named:
        return OPEN_SECONDS
    try:
        return checked_open_timeout(float(named))
    except (ValueError, InvalidRequest):
        raise InvalidRequest.for_field(
            OPEN_TIMEOUT, named, "it takes a number of seconds above 0, at most 3600"
        ) from None


def first_variable(environ: Mapping[str, str], *names: str) -> str:
    """Return the value of the first variable that is set; an empty or blank one counts as not set."""
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


Prompt = str | Sequence[Message] | Question
"""A prompt: a text, a conversation that ends with the user's turn, or a whole question."""


class AskOptions(TypedDict, total=False):
    """Options in addition to the prompt; each is a field of `Question` and described there."""

    reasoning: bool
    model: str | None
    filters: Filters | None
    schema: Mapping[str, JSON] | None
    tools: tuple[Mapping[str, JSON], ...]
    seconds: float | None
    run_id: str | None
    on_run: Callable[[str], Awaitable[None]] | None


def build_question(prompt: Prompt, options: AskOptions) -> Question:
    """Return the question for a prompt.

    If the prompt is a whole question, the options replace its values; an option that is None changes nothing.
    """
    if isinstance(prompt, Question):
        question = prompt
    else:
        messages = (Message(role="user", content=prompt),) if isinstance(prompt, str) else tuple(prompt)
        question = Question(messages=messages)
    said: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return replace(question, **said) if said else question


_CANCEL_SECONDS = 10.0
_MODELS_SECONDS = 10.0


class PerplexityClient(Closing):
    """A client of Perplexity's API that searches and answers questions.

    `base_url` must be https, except on loopback. A `session` that is passed in is used and not closed. `open_timeout`
    is the seconds for opening a connection. `limits` are the time limits of calls in seconds, by kind of request;
    `retry` applies to every call, within its time limit. `reasoning_effort` is the effort that `reasoning=True` stands
    for. `proxy` returns the proxy for an address, by default the proxy in the environment; a `session` that is passed
    in uses its own proxies. `ca_bundle` is the path of a PEM file whose authorities are trusted in addition to the
    system's. With `api="sonar"`, answers come from Sonar until the service reports that it is retired for this key;
    from then on, and always for background runs, they come from the Agent API. `on_limit` is awaited with the limits
    that replies name. `clock` is monotonic, `now` returns seconds since 1970. Raises InvalidRequest for an invalid key,
    address, `api`, `open_timeout` or `ca_bundle`.
    """

    def __init__(
        self,
        api_key: str,
        *,
        api: API = "agent",
        base_url: str = DEFAULT_BASE_URL,
        session: Session | None = None,
        open_timeout: float = OPEN_SECONDS,
        retry: RetryPolicy | None = None,
        limits: Timeouts | None = None,
        reasoning_effort: Effort = "medium",
        proxy: ProxyFor = proxy_for,
        ca_bundle: str = "",
        on_limit: OnLimit | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._transport = Transport(
            api_key, base_url=base_url, session=session, open_timeout=open_timeout, proxy=proxy, ca_bundle=ca_bundle
        )
        self._limits = limits or Timeouts()
        self._reasoning_effort = reasoning_effort
        self._clock = clock
        retries = Retrier(policy=retry or RetryPolicy(), sleep=sleep, random=random)
        self._api = ApiClient(transport=self._transport, retries=retries, now=now, on_limit=on_limit)
        self._runs = Runs(api=self._api, path=Agent.path, sleep=sleep)
        self._endpoints = [Completions(api=self._api, runs=self._runs, wire=wire, clock=clock) for wire in _wires(api)]
        """The endpoints for answers, each the successor of the one before it. The last one can resume runs."""

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        api_key: str | None = None,
        api: API | None = None,
        base_url: str | None = None,
        open_timeout: float | None = None,
        **options: Any,
    ) -> Self:
        """Return the client that the environment describes; arguments take precedence over its variables.

        `PERPLEXITY_API_KEY` (or `PPLX_API_KEY`), `PERPLEXITY_API`, `PERPLEXITY_BASE_URL`, `OPEN_TIMEOUT` and
        `CA_BUNDLE` are read from `environ`, by default the environment of the process. The other options are those of
        the class.
        Raises MissingKey without a key, InvalidRequest for an invalid value.
        """
        environ = os.environ if environ is None else environ
        access = Access.from_environment(
            environ, api_key=api_key, api=api, base_url=base_url, open_timeout=open_timeout
        )
        options = {"ca_bundle": ca_bundle_of(environ), **options}
        return cls(
            access.api_key, api=access.api, base_url=access.base_url, open_timeout=access.open_timeout, **options
        )

    def __repr__(self) -> str:
        return f"PerplexityClient(base_url={self._transport.base_url!r})"

    async def close(self) -> None:
        """Close the connections; `async with` does so at the end."""
        try:
            for endpoint in self._endpoints:
                await endpoint.finish()
        finally:
            await self._transport.close()

    async def search(self, query: str | Query, filters: Filters | None = None) -> SearchResults:
        """Return ranked pages. A search costs half a cent, or a tenth of a cent if the query is `fast`.

        `filters` replace those of the query. Pages outside the domains of the filters are left out, and a note counts
        them.

        Raises InvalidRequest before anything is sent, or any PerplexityError.
        """
        wanted = query if isinstance(query, Query) else Query(text=query)
        started = self._clock()
        with named_errors(search.PROVIDER):
            wanted = validate_query(wanted if filters is None else replace(wanted, filters=filters))
            limit = self._limits.search
            deadline = Deadline.after(limit if wanted.seconds is None else min(wanted.seconds, limit), self._clock)
            body, retryable = search.build(wanted), is_retryable_unpaid
            reply = await self._api.request(
                "POST", search.PATH, body, deadline=deadline, retryable=retryable, asked=wanted
            )
            found = search.parse_results(reply, fast=wanted.fast, seconds=self._clock() - started)
            found = filter_results(found, wanted.filters.enforced)
            return replace(found, results=found.results[: wanted.max_results])

    async def answer(self, prompt: Prompt, **options: Unpack[AskOptions]) -> Answer:
        """Return one sourced answer.

        If the prompt is a whole question, the options replace its values; an option that is None changes nothing.
        Sources outside the domains of the question's filters are left out, with their markers and links, and a note
        counts them.

        Raises InvalidRequest before anything is sent, or any PerplexityError.
        """
        question = build_question(prompt, options)
        started = self._clock()
        with named_errors(Agent.provider):
            question, target = self._validated(question)
            deadline = answer_deadline(question, target, self._limits, self._clock)
            while True:
                endpoint = self._endpoint(question)
                try:
                    return await endpoint.answer(question, target, started=started, deadline=deadline)
                except EndpointRetired as error:
                    if question.text_shown():
                        raise
                    self._retire(endpoint, error)
                    if error.began and question.on_event is not None:
                        question.on_event(Restarted())

    async def stream(self, prompt: Prompt, **options: Unpack[AskOptions]) -> AsyncGenerator[Event, None]:
        """Yield events while the answer is made; the last one is `Done`. Accepts and raises the same as `answer`.

        If the caller leaves the stream early, the run is also cancelled at the service, provided that the run's
        id has arrived. A background run of a `resumable` question continues instead. For the cancelling, the caller
        must wrap the stream in `contextlib.aclosing`.
        """
        question = build_question(prompt, options)
        started = self._clock()
        with named_errors(Agent.provider):
            question, target = self._validated(question)
            deadline = answer_deadline(question, target, self._limits, self._clock)
            yielded = False
            while True:
                endpoint = self._endpoint(question)
                try:
                    stream = endpoint.stream(question, target, started=started, deadline=deadline)
                    async with aclosing(stream) as events:
                        async for event in events:
                            yielded = True
                            yield event
                    return
                except EndpointRetired as error:
                    if yielded:
                        raise
                    self._retire(endpoint, error)

    async def cancel(self, run_id: str) -> None:
        """Stop a run by the id in `RunStarted`. A run that has already ended is no error. Raises PerplexityError."""
        with named_errors(Agent.provider):
            await self._runs.cancel(run_id, deadline=Deadline.after(_CANCEL_SECONDS, self._clock))

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models that the key may use. The call is free of charge, so it can test a key.

        Raises PerplexityError.
        """
        with named_errors(Agent.provider):
            deadline = Deadline.after(_MODELS_SECONDS, self._clock)
            body = await self._api.request("GET", "/v1/models", deadline=deadline, retryable=is_retryable_unpaid)
            return as_texts([model.get("id") for model in as_objects(body.get("data"))])

    def _endpoint(self, question: Question) -> Completions:
        """Return the endpoint that a question is sent to."""
        return self._endpoints[-1 if question.run_id is not None else 0]

    def _retire(self, endpoint: Completions, error: EndpointRetired) -> None:
        """Switch to the successor of an endpoint, permanently. Raises the error if the endpoint has no successor.

        The first of several simultaneous questions logs the switch; the others only use the successor.
        """
        if endpoint is self._endpoints[-1]:
            raise error
        if endpoint is self._endpoints[0]:
            del self._endpoints[0]
            log.warning("answers.endpoint_retired", extra={"path": endpoint.wire.path})

    def _validated(self, question: Question) -> tuple[Question, Target]:
        """Return the question as it is sent, and its model or effort. Raises InvalidRequest."""
        target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=self._reasoning_effort)
        if question.schema is not None:
            check_schema(target)
        messages, filters = validate_messages(question.messages), validate(question.filters)
        return replace(question, messages=messages, filters=filters), target


def _wires(api: str) -> list[Wire]:
    """Return the wires to use for `api`, each followed by its successor. Raises InvalidRequest."""
    if api not in get_args(API):
        raise InvalidRequest.for_field("api", api, "it takes agent or sonar")
    return [Agent()] if api == "agent" else [Sonar(), Agent()]
