"""What holds for everything that the current task sends, and for the tasks that it starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from perplexity.key_overrides import OwnKeys
from perplexity.request_log import RequestLog


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The `keys` to use instead of the configured ones, and the `log` of what is sent; None for none.

    An application may put a subclass into the same place, with what its own code reads.
    """

    keys: OwnKeys | None = field(default=None, repr=False)
    log: RequestLog | None = None


_OUTERMOST = Scope()
_current: ContextVar[Scope] = ContextVar("scope", default=_OUTERMOST)


def current() -> Scope:
    """Return the scope of the current task."""
    return _current.get()


def enter(scope: Scope) -> None:
    """Have the current task, and the tasks that it starts from now on, work within a scope."""
    _current.set(scope)


@contextmanager
def within(scope: Scope) -> Iterator[None]:
    """Work within a scope until the end of the block."""
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


def using_keys(keys: OwnKeys | None) -> AbstractContextManager[None]:
    """Use these keys for everything that is sent within the block; None for the configured ones."""
    return within(replace(current(), keys=keys))


def logged_requests(log: RequestLog) -> AbstractContextManager[None]:
    """Note every request that is sent within the block."""
    return within(replace(current(), log=log))
