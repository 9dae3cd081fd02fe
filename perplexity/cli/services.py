"""The services that a command asks: their configuration from the environment, and their fallback chains."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypedDict, Unpack

from perplexity.cli.base import CommandFailed, ProcessIO, UsageError
from perplexity.errors import AllProvidersFailed, InvalidRequest
from perplexity.fallback import Fallback, OnCandidate
from perplexity.limiter import MemoryLimiter
from perplexity.models import FallbackTimeouts, Timeouts
from perplexity.providers import PROVIDERS, build_providers, open_providers, text_generators
from perplexity.providers.base import ProviderConfig
from perplexity.tools.environment import config_from_env, variable_error
from perplexity.transport import ProxyFor, proxy_for


class ChainOptions(TypedDict, total=False):
    """The options of a chain.

    `seconds` is the time limit of every request; if it is missing or None, the usual limits apply. `proxy` returns the
    proxy for an address. `on_candidate` is passed on to Fallback.
    """

    seconds: float | None
    proxy: ProxyFor
    on_candidate: OnCandidate


@asynccontextmanager
async def open_chain(
    process: ProcessIO, order: Sequence[str] = (), **options: Unpack[ChainOptions]
) -> AsyncIterator[Fallback]:
    """Open the chain of the providers in `order`, by default all, and close its connections at the end.

    Raises UsageError or InvalidRequest for an invalid variable, and CommandFailed if no configured service can do what
    is requested.
    """
    async with open_chains(process, order, **options) as (everyone, _):
        yield everyone


@asynccontextmanager
async def open_chains(
    process: ProcessIO, order: Sequence[str] = (), **options: Unpack[ChainOptions]
) -> AsyncIterator[tuple[Fallback, Fallback]]:
    """Open two chains: one of the providers in `order`, and one of only those that can write from a given text.

    Raises the errors of `open_chain`.
    """
    provider_timeouts, chain_timeouts = timeouts(options.get("seconds"))
    limiter, proxy = MemoryLimiter(), options.get("proxy", proxy_for)
    config = replace(checked_config(process, order), timeouts=provider_timeouts, proxy=proxy, limiter=limiter)
    async with open_providers(config, order=order) as providers:
        on_candidate = options.get("on_candidate")
        everyone = Fallback(providers, timeouts=chain_timeouts, on_candidate=on_candidate, limiter=limiter)
        try:
            yield everyone, Fallback(text_generators(providers), timeouts=chain_timeouts, limiter=limiter)
        except AllProvidersFailed as error:
            if error.attempts:
                raise
            raise CommandFailed(_no_service(tuple(order) or tuple(PROVIDERS), config)) from None


def timeouts(seconds: float | None) -> tuple[Timeouts, FallbackTimeouts]:
    """Return the time limits of a provider and of the chain: `seconds` for all calls, or the defaults if it is None."""
    if seconds is None:
        return Timeouts(), FallbackTimeouts()
    same = {"search": seconds, "answer": seconds, "reasoning": seconds, "deep": seconds, "total": seconds}
    return Timeouts(**same), FallbackTimeouts(**same)


def checked_config(process: ProcessIO, order: Sequence[str] = ()) -> ProviderConfig:
    """Return the configuration of the providers. Raises UsageError or InvalidRequest if it is invalid."""
    try:
        config = config_from_env(process.environ)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None
    for name in order or PROVIDERS:
        try:
            build_providers(config, order=[name])
        except InvalidRequest as error:
            if error.field not in {"api_key", "base_url"}:
                raise
            spec = PROVIDERS[name]
            keys, address = spec.key_variables, spec.base_url_variable
            message = variable_error(error, process.environ, keys=keys, address=address, quoted=True)
            raise UsageError(message) from None
    return config


def missing_key_variable(process: ProcessIO, order: Sequence[str] = ()) -> str:
    """Return the variable for the key of the first provider in `order`; empty if the key is set, or none is needed."""
    first = (*order, *PROVIDERS)[0]
    return "" if first in config_from_env(process.environ).keys else next(iter(PROVIDERS[first].key_variables), "")


def _no_service(order: Sequence[str], config: ProviderConfig) -> str:
    unusable = [PROVIDERS[name].key_variables for name in order if name not in config.keys]
    if missing := [variables[0] for variables in unusable if variables]:
        unset = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
        return f"No service is configured: {unset}, in the environment or in .env in this folder."
    return f"{' and '.join(order)} cannot do this; choose others with --providers."
