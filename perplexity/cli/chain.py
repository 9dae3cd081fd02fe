"""The services whose keys the environment holds, as one provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from perplexity.cli.base import World
from perplexity.cli.lines import unset_variable
from perplexity.fallback import Fallback
from perplexity.providers import PROVIDERS, opened
from perplexity.tools.access import setup_from


@asynccontextmanager
async def chain(world: World, order: Sequence[str] = ()) -> AsyncIterator[Fallback]:
    """Give the chain, in this order or the usual one, and close its connections at the end. Raises InvalidRequest."""
    async with opened(setup_from(world.environ), order=order) as providers:
        yield Fallback(providers)


def unset(world: World, order: Sequence[str] = ()) -> str:
    """Return the variable whose lack keeps the first choice from being asked; empty when it can be asked."""
    return unset_variable(tuple(order) or tuple(PROVIDERS), setup_from(world.environ).keys)
