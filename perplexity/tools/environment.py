"""The services of the tools: configuration from the environment, handlers, advice on errors, reports of attempts."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from perplexity.client import Access, api_of, ca_bundle_of, first_variable, open_timeout_of
from perplexity.errors import AllProvidersFailed, Attempt, InvalidRequest, PerplexityError, attempt_reasons
from perplexity.fallback import Fallback
from perplexity.models import FallbackTimeouts
from perplexity.providers import PROVIDERS, build_providers, open_providers
from perplexity.providers.base import OnAttempt, Provider, ProviderConfig, log_attempt
from perplexity.steps import Reporting, SteppedProvider
from perplexity.tools.base import Failure, Tool, failure_text
from perplexity.transport import OPEN_SECONDS, checked_base_url, new_session, tls_context
from perplexity.types import JSON
from perplexity.urls import strip_secrets

log = logging.getLogger(__name__)


def config_from_env(environ: Mapping[str, str]) -> ProviderConfig:
    """Return the configuration of the providers whose keys are set.

    Raises InvalidRequest for an invalid PERPLEXITY_API, OPEN_TIMEOUT or CA_BUNDLE.
    """
    config = _read_environ(environ)
    return replace(config, api=api_of(environ), open_timeout=open_timeout_of(environ), ca_bundle=ca_bundle_of(environ))


@dataclass(frozen=True, kw_only=True)
class UsableConfig:
    """The valid part of a configuration, without providers whose variables are malformed.

    `notes` has a sentence on each malformed variable.
    """

    config: ProviderConfig
    notes: tuple[str, ...] = ()


def usable_config(environ: Mapping[str, str]) -> UsableConfig:
    """Return the valid part of the configuration; each malformed variable is named in a note and logged."""
    usable = UsableConfig(config=_read_environ(environ))
    try:
        usable = replace(usable, config=replace(usable.config, open_timeout=open_timeout_of(environ)))
    except InvalidRequest as error:
        usable = _with_note(f"{error}; {OPEN_SECONDS:g} seconds are used.", usable)
    try:
        usable = replace(usable, config=replace(usable.config, ca_bundle=ca_bundle_of(environ)))
    except InvalidRequest as error:
        usable = _with_note(f"{error}; the system's certificates alone are trusted.", usable)
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
    """Return the configuration without this provider, and with a note that begins with the reason `why`."""
    keys = {other: key for other, key in usable.config.keys.items() if other != name}
    return _with_note(f"{why}; {name} is not used.", replace(usable, config=replace(usable.config, keys=keys)))


def _with_note(note: str, usable: UsableConfig) -> UsableConfig:
    log.warning("environment.malformed", extra={"setting": note.partition(":")[0]})
    return replace(usable, notes=(*usable.notes, note))


def variable_error(
    error: InvalidRequest, environ: Mapping[str, str], *, keys: tuple[str, ...], address: str, quoted: bool = False
) -> str:
    """Return a text that names the variable of an invalid key or address, and says what is allowed.

    `keys` are the variables for the key, `address` is the variable for the address. If `quoted` is True, the text
    quotes an invalid address without its password. A key is never quoted.
    """
    if error.field == "base_url":
        value = repr(strip_secrets(environ.get(address, ""))) if quoted else "its value"
        return f"{address}: {value} is not allowed; {error.allowed}"
    if error.field == "api_key":
        key = next((key for key in keys if environ.get(key, "").strip()), keys[0])
        return f"{key}: {error.message.removeprefix('api_key: ')}"
    return str(error)


def _read_environ(environ: Mapping[str, str]) -> ProviderConfig:
    return ProviderConfig(
        keys={name: key for name, spec in PROVIDERS.items() if (key := first_variable(environ, *spec.key_variables))},
        base_urls={
            name: url for name, spec in PROVIDERS.items() if (url := first_variable(environ, spec.base_url_variable))
        },
    )


_NEXT_STEPS: Mapping[str, str] = {
    "AuthenticationError": "Check {key}.",
    "BillingError": "Add credit to the account of {key}.",
    "RateLimitError": "Wait a moment, then try again.",
    "ConnectionFailed": "Check the network; HTTPS_PROXY names a proxy, CA_BUNDLE a company's own certificates.",
    "TimedOut": "Try again, or ask for less.",
    "MissingExtra": "Install it, or set PERPLEXITY_API_KEY.",
    "NothingFound": "Ask in other words, or with fewer filters.",
}
_OTHERWISE = "Try again in a minute."
_NO_SERVICE = "No service is configured that could answer this. Set PERPLEXITY_API_KEY."


def explain_error(error: PerplexityError) -> str:
    """Return what failed, by provider, and what to do about the first failure."""
    if isinstance(error, AllProvidersFailed):
        return _explain_all(error.attempts) if error.attempts else _NO_SERVICE
    name = error.provider or "Perplexity"
    return f"{name} {error.summary}. {_next_step(name, type(error).__name__)}"


def _explain_all(attempts: Sequence[Attempt]) -> str:
    first, why = attempts[0], "; ".join(attempt_reasons(attempts))
    return f"No service could answer: {why}. {_next_step(first.provider, first.error_class or '')}"


def _next_step(provider: str, error_class: str) -> str:
    spec = PROVIDERS.get(provider.split(maxsplit=1)[0].lower())
    keys = (spec.key_variables if spec is not None else ()) or ("its key",)
    return _NEXT_STEPS.get(error_class, _OTHERWISE).format(key=keys[0])


def lazy_tool(
    create: Callable[..., Tool],
    *,
    on_error: Callable[[PerplexityError, Mapping[str, JSON]], Failure],
) -> Callable[..., Awaitable[str]]:
    """Return a handler that creates the tool anew for each call, with a new session and the current environment.

    Connections are closed at the end of the call. `on_error` returns the text for the model if the key is missing, or
    if a variable is invalid.
    """

    async def handler(**arguments: JSON) -> str:
        try:
            base_url = checked_base_url(Access.from_environment(os.environ).base_url)
            async with new_session(base_url, tls=tls_context(ca_bundle_of(os.environ))) as session:
                return await create(session).handler(**arguments)
        except PerplexityError as error:
            return on_error(error, arguments)

    return handler


def chain_handler(create: Callable[..., Tool], *, name: str, seconds: float) -> Callable[..., Awaitable[str]]:
    """Return a handler that creates the named tool anew for each call, with a chain of the services that have a key.

    `create` takes the chain and the notes on malformed variables. Connections are closed at the end of the call.
    """

    async def handler(**arguments: JSON) -> str:
        try:
            usable = usable_config(os.environ)
            async with open_providers(usable.config) as providers:
                tool = create(build_chain(providers, seconds=seconds), notes=usable.notes)
                return await tool.handler(**arguments)
        except PerplexityError as error:
            return failure_text(name, error, seconds=seconds)

    return handler


def build_chain(providers: Sequence[Provider], *, seconds: float) -> Fallback:
    """Return the fallback chain over the providers, with this time limit for an answer."""
    return Fallback(providers, timeouts=FallbackTimeouts(answer=seconds))


def with_reporting(provider: Provider, on_attempt: OnAttempt | None) -> Provider:
    """Return a provider that asks `provider` and reports the attempts to `on_attempt`.

    If `on_attempt` is None, attempts are logged. A `Fallback` is then returned unchanged, since it logs its attempts
    itself or calls a hook of its own.
    """
    if on_attempt is None and isinstance(provider, Fallback):
        return provider
    reporting = Reporting(name=provider.name, on_attempt=on_attempt or log_attempt)
    return SteppedProvider(provider=provider, steps=[reporting])
