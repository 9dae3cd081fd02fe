"""Reports of what each provider did: for a hook that is handed in, or as a line of the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from perplexity.errors import AllProvidersFailed, PerplexityError
from perplexity.types import Answer, Attempt, Kind, SearchResults

log: logging.Logger = logging.getLogger(__name__)

OnAttempt = Callable[[Attempt], None]
Reply = TypeVar("Reply", SearchResults, Answer)


def log_attempt(attempt: Attempt) -> None:
    """Write one line about the attempt: the hook of whoever hands in none."""
    error, cost = attempt.error_class or "none", "unknown" if attempt.cost_usd is None else f"{attempt.cost_usd:g}"
    log.info(
        "provider.attempted provider=%s kind=%s seconds=%.3f error=%s cost_usd=%s",
        *(attempt.provider, attempt.kind, attempt.seconds, error, cost),
        extra={
            "provider": attempt.provider,
            "kind": attempt.kind,
            "seconds": attempt.seconds,
            "error": attempt.error_class,
            "cost_usd": attempt.cost_usd,
        },
    )


@dataclass(kw_only=True)
class Taken:
    """What is known of a reply: who gave it, who failed before, and its price; nothing until `took` is called."""

    provider: str
    failed: tuple[Attempt, ...] = ()
    cost_usd: float | None = None

    def took(self, reply: Reply) -> Reply:
        """Take the reply down, and return it."""
        self.provider, self.failed = reply.provider, reply.failed
        self.cost_usd = reply.usage.cost_usd if isinstance(reply, Answer) else reply.cost_usd
        return reply


@contextmanager
def attempted(provider: str, kind: Kind, *, on_attempt: OnAttempt, clock: Callable[[], float]) -> Iterator[Taken]:
    """Report how the block ended: each attempt before, if there were any, and the last one.

    A block that is cancelled reports nothing.
    """
    started, taken = clock(), Taken(provider=provider)
    try:
        yield taken
    except AllProvidersFailed as error:
        for attempt in error.attempts:
            on_attempt(attempt)
        raise
    except Exception as error:
        ours = error if isinstance(error, PerplexityError) else None
        on_attempt(
            Attempt(
                provider=provider,
                kind=kind,
                seconds=clock() - started,
                error_class=type(error).__name__,
                summary=(ours or PerplexityError).summary,
                cost_usd=taken.cost_usd if ours is None or ours.cost_usd is None else ours.cost_usd,
            )
        )
        raise
    last = Attempt(provider=taken.provider, kind=kind, seconds=clock() - started, cost_usd=taken.cost_usd)
    for attempt in (*taken.failed, last):
        on_attempt(attempt)
