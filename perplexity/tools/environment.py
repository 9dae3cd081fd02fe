"""The services whose keys the environment holds; one whose variable is malformed is left out, and named."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from perplexity.attempts import Attempt, RequestKind
from perplexity.client import Access, api_of, first, open_timeout_of
from perplexity.errors import AllProvidersFailed, InvalidRequest, PerplexityError
from perplexity.fallback import Fallback
from perplexity.notes import attempt_reasons
from perplexity.providers import PROVIDERS, build_providers
from perplexity.providers.base import OnAttempt, Provider, ProviderConfig, log_attempt, report_attempts
from perplexity.tools.base import Failure, Tool
from perplexity.transport import OPEN_SECONDS, checked_base_url, new_session
from perplexity.types import JSON, Answer, Done, Event, Query, Question, SearchResults

log = logging.getLogger(__name__)


def config_from_env(environ: Mapping[str, str]) -> ProviderConfig:
    """Return what the providers need whose keys the environment holds.

    Raises InvalidRequest for a PERPLEXITY_API or an OPEN_TIMEOUT whose value is not allowed.
    """
    return replace(_setup(environ), api=api_of(environ), open_timeout=open_timeout_of(environ))


@dataclass(frozen=True, kw_only=True)
class UsableConfig:
    """The setup without the providers whose variables are malformed; `notes` are sentences that name these."""

    config: ProviderConfig
    notes: tuple[str, ...] = ()


def usable_config(environ: Mapping[str, str]) -> UsableConfig:
    """Return what is right in the environment, each malformed variable left out, named in a note and in the log."""
    usable = UsableConfig(config=_setup(environ))
    try:
        usable = replace(usable, config=replace(usable.config, open_timeout=open_timeout_of(environ)))
    except InvalidRequest as error:
        usable = _noted(f"{error}; {OPEN_SECONDS:g} seconds were taken.", usable)
    for name, spec in PROVIDERS.items():
        if name not in usable.config.keys:
            continue
        try:
            if name == "perplexity":
                usable = replace(usable, config=replace(usable.config, api=api_of(environ)))
            build_providers(usable.config, order=[name])
        except InvalidRequest as error:
            usable = exclude_provider(
                name, variable_error(error, environ, keys=spec.key_variables, address=spec.base_url_variable), usable
            )
    return usable


def exclude_provider(name: str, why: str, usable: UsableConfig) -> UsableConfig:
    """Return the setup without the service of that name; `why` names the variable that is malformed."""
    keys = {other: key for other, key in usable.config.keys.items() if other != name}
    return _noted(f"{why}; {name} was left out.", replace(usable, config=replace(usable.config, keys=keys)))


def _noted(note: str, usable: UsableConfig) -> UsableConfig:
    log.warning("environment.malformed", extra={"setting": note.partition(":")[0]})
    return replace(usable, notes=(*usable.notes, note))


def variable_error(error: InvalidRequest, environ: Mapping[str, str], *, keys: tuple[str, ...], address: str) -> str:
    """Return what is wrong with a key or an address, by its variable, and what is allowed; never a value."""
    if error.field == "base_url":
        return f"{address}: its value is not allowed; {error.allowed}"
    if error.field == "api_key":
        key = next((key for key in keys if environ.get(key, "").strip()), keys[0])
        return f"{key}: {error.message.removeprefix('api_key: ')}"
    return str(error)


def _setup(environ: Mapping[str, str]) -> ProviderConfig:
    return ProviderConfig(
        keys={name: key for name, spec in PROVIDERS.items() if (key := first(environ, *spec.key_variables))},
        base_urls={name: url for name, spec in PROVIDERS.items() if (url := first(environ, spec.base_url_variable))},
    )


_ADVICE: Mapping[str, str] = {
    "AuthenticationError": "Check {key}.",
    "BillingError": "Add credit to the account of {key}.",
    "RateLimitError": "Wait a moment, then try again.",
    "ConnectionFailed": "Check the network, and HTTPS_PROXY where there is a proxy.",
    "TimedOut": "Try again, or ask for less.",
    "MissingExtra": "Install it, or set PERPLEXITY_API_KEY.",
    "NothingFound": "Ask in other words, or with fewer filters.",
}
_ELSE = "Try again in a minute."
_NOBODY = "Nobody can be asked: no service is configured that could answer this. Set PERPLEXITY_API_KEY."


def explain_error(error: PerplexityError) -> str:
    """Return what happened, by provider, and what to do about the first of the failures."""
    if isinstance(error, AllProvidersFailed):
        return _of_all(error.attempts) if error.attempts else _NOBODY
    name = error.provider or "Perplexity"
    return f"{name} {error.summary}. {_what_to_do(name, type(error).__name__)}"


def _of_all(attempts: Sequence[Attempt]) -> str:
    first, why = attempts[0], "; ".join(attempt_reasons(attempts))
    return f"Nobody could answer: {why}. {_what_to_do(first.provider, first.error_class or '')}"


def _what_to_do(provider: str, error_class: str) -> str:
    spec = PROVIDERS.get(provider.split(maxsplit=1)[0].lower())
    keys = (spec.key_variables if spec is not None else ()) or ("its key",)
    return _ADVICE.get(error_class, _ELSE).format(key=keys[0])


def lazy_tool(
    create: Callable[..., Tool],
    *,
    on_error: Callable[[PerplexityError, Mapping[str, JSON]], Failure],
    environ: Mapping[str, str] = os.environ,
) -> Callable[..., Awaitable[str]]:
    """Return the handler of the tool that `create` makes of a session and the environment.

    Each call reads the environment and has connections of its own, which are closed at its end. `on_error` tells the
    model that called with these arguments of a missing key, or of one that cannot be right.
    """

    async def handler(**arguments: JSON) -> str:
        try:
            base_url = checked_base_url(Access.found(environ).base_url)
            async with new_session(base_url) as session:
                return await create(session, environ=environ).handler(**arguments)
        except PerplexityError as error:
            return on_error(error, arguments)

    return handler


def with_reporting(provider: Provider, on_attempt: OnAttempt | None) -> Provider:
    """Return the provider, which reports its attempts to the hook.

    Without a hook each is a line of the log, which a `Fallback` writes itself unless it has a hook of its own.
    """
    if on_attempt is None and isinstance(provider, Fallback):
        return provider
    return ReportingProvider(provider=provider, on_attempt=on_attempt or log_attempt)


@dataclass(frozen=True, kw_only=True)
class ReportingProvider:
    """Asks `provider`, in its name; `on_attempt` hears of every attempt. `clock` only goes forward."""

    provider: Provider
    on_attempt: OnAttempt
    clock: Callable[[], float] = time.monotonic

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name

    @property
    def capabilities(self) -> frozenset[RequestKind]:
        """What the provider offers."""
        return self.provider.capabilities

    async def search(self, query: Query) -> SearchResults:
        """Return what the provider finds. Raises what it raises."""
        with report_attempts(self.name, "search", on_attempt=self.on_attempt, clock=self.clock) as attempt:
            return attempt.record(await self.provider.search(query))

    async def answer(self, question: Question) -> Answer:
        """Return what the provider answers. Raises what it raises."""
        with report_attempts(self.name, "answer", on_attempt=self.on_attempt, clock=self.clock) as attempt:
            return attempt.record(await self.provider.answer(question))

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield what the provider yields. Raises what it raises."""
        with report_attempts(self.name, "answer", on_attempt=self.on_attempt, clock=self.clock) as attempt:
            async for event in self.provider.stream(question):
                if isinstance(event, Done):
                    attempt.record(event.answer)
                yield event
