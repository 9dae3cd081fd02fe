"""The fallback chain of a command, from the environment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from perplexity.cli.base import CommandFailed, ProcessIO, UsageError
from perplexity.cli.output import missing_variable
from perplexity.errors import AllProvidersFailed, InvalidRequest
from perplexity.fallback import Fallback, OnCandidate
from perplexity.models import FallbackTimeouts, Timeouts
from perplexity.providers import PROVIDERS, build_providers, open_providers
from perplexity.providers.base import ProviderConfig
from perplexity.tools.environment import config_from_env
from perplexity.transport import ProxyFor, proxy_for
from perplexity.urls import strip_secrets


@asynccontextmanager
async def open_chain(
    process: ProcessIO,
    order: Sequence[str] = (),
    *,
    seconds: float | None = None,
    proxy: ProxyFor = proxy_for,
    on_turn: OnCandidate | None = None,
) -> AsyncIterator[Fallback]:
    """Open the chain in this order or the default one, and close its connections at the end.

    `seconds` is the time limit of every request, None for the defaults; `proxy` returns the proxy for an address;
    `on_turn` is as for `Fallback`.
    Raises UsageError or InvalidRequest for an invalid variable, and CommandFailed if no service is configured.
    """
    provider_timeouts, chain_timeouts = timeouts(seconds)
    config = replace(checked_config(process, order), timeouts=provider_timeouts, proxy=proxy)
    async with open_providers(config, order=order) as providers:
        try:
            yield Fallback(providers, timeouts=chain_timeouts, on_candidate=on_turn)
        except AllProvidersFailed as error:
            if error.attempts:
                raise
            raise CommandFailed(_no_service(tuple(order) or tuple(PROVIDERS), config)) from None


def timeouts(seconds: float | None) -> tuple[Timeouts, FallbackTimeouts]:
    """Return the time limits of a provider and of the chain: this one for everything, or the defaults for None."""
    if seconds is None:
        return Timeouts(), FallbackTimeouts()
    same = {"search": seconds, "answer": seconds, "reasoning": seconds, "deep": seconds}
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
            raise UsageError(_variable_error(error, name, process.environ)) from None
    return config


def missing_key_variable(process: ProcessIO, order: Sequence[str] = ()) -> str:
    """Return the missing variable of the first choice; empty if it can be asked."""
    return missing_variable(tuple(order) or tuple(PROVIDERS), config_from_env(process.environ).keys)


def _variable_error(error: InvalidRequest, name: str, environ: Mapping[str, str]) -> str:
    """Return the variable and what is wrong; an address is shown without its password, a key never."""
    keys, address = PROVIDERS[name].key_variables, PROVIDERS[name].base_url_variable
    if error.field == "base_url":
        return f"{address}: {strip_secrets(environ.get(address, ''))!r} is not allowed; {error.allowed}"
    key = next((key for key in keys if environ.get(key, "").strip()), error.field)
    return f"{key}: {error.message.removeprefix(f'{error.field}: ')}"


def _no_service(order: Sequence[str], config: ProviderConfig) -> str:
    missing = [
        PROVIDERS[name].key_variables[0] for name in order if PROVIDERS[name].key_variables and name not in config.keys
    ]
    if missing:
        return f"No service is configured: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set."
    return f"{' and '.join(order)} cannot do this; choose others with --providers."
