"""The services whose keys the environment holds, as one provider."""

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
    world: ProcessIO,
    order: Sequence[str] = (),
    *,
    seconds: float | None = None,
    proxy: ProxyFor = proxy_for,
    on_turn: OnCandidate | None = None,
) -> AsyncIterator[Fallback]:
    """Give the chain, in this order or the usual one, and close its connections at the end.

    `seconds` is the time for any one question, None for the usual time; `proxy` returns the proxy for an address;
    `on_turn` is as for `Fallback`.
    Raises UsageError or InvalidRequest for a variable that cannot be right, and Failure if there is no service to ask.
    """
    limits, deadlines = timeouts(seconds)
    setup = replace(checked_config(world, order), timeouts=limits, proxy=proxy)
    async with open_providers(setup, order=order) as providers:
        try:
            yield Fallback(providers, timeouts=deadlines, on_candidate=on_turn)
        except AllProvidersFailed as error:
            if error.attempts:
                raise
            raise CommandFailed(_nobody(tuple(order) or tuple(PROVIDERS), setup)) from None


def timeouts(seconds: float | None) -> tuple[Timeouts, FallbackTimeouts]:
    """Return the limits of a provider and of the chain: this one for whatever is asked, or the usual ones for None."""
    if seconds is None:
        return Timeouts(), FallbackTimeouts()
    same = {"search": seconds, "answer": seconds, "reasoning": seconds, "deep": seconds}
    return Timeouts(**same), FallbackTimeouts(**same)


def checked_config(world: ProcessIO, order: Sequence[str] = ()) -> ProviderConfig:
    """Return what the providers of the order need. Raises UsageError or InvalidRequest for what cannot be right."""
    try:
        setup = config_from_env(world.environ)
    except InvalidRequest as error:
        raise UsageError(str(error)) from None
    for name in order or PROVIDERS:
        try:
            build_providers(setup, order=[name])
        except InvalidRequest as error:
            if error.field not in {"api_key", "base_url"}:
                raise
            raise UsageError(_wrong(error, name, world.environ)) from None
    return setup


def missing_key_variable(world: ProcessIO, order: Sequence[str] = ()) -> str:
    """Return the variable whose lack keeps the first choice from being asked; empty when it can be asked."""
    return missing_variable(tuple(order) or tuple(PROVIDERS), config_from_env(world.environ).keys)


def _wrong(error: InvalidRequest, name: str, environ: Mapping[str, str]) -> str:
    """Name the variable, and the value of an address but for a password in it; never a key."""
    keys, address = PROVIDERS[name].key_variables, PROVIDERS[name].base_url_variable
    if error.field == "base_url":
        return f"{address}: {strip_secrets(environ.get(address, ''))!r} is not allowed; {error.allowed}"
    key = next((key for key in keys if environ.get(key, "").strip()), error.field)
    return f"{key}: {error.message.removeprefix(f'{error.field}: ')}"


def _nobody(order: Sequence[str], setup: ProviderConfig) -> str:
    missing = [
        PROVIDERS[name].key_variables[0] for name in order if PROVIDERS[name].key_variables and name not in setup.keys
    ]
    if missing:
        return f"Nobody can be asked: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set."
    return f"Nobody can be asked: {' and '.join(order)} cannot do this; choose others with --providers."
