"""Keys that the current task brings along: used instead of the configured ones, in its task and those it starts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class OwnKeys:
    """The keys of one `owner` by the address of their service, as it is configured, without a final slash.

    `names` are the display names of these services. What fails there is counted apart, so that one owner's bad key
    keeps no one else from a service; at the others the configured keys are used, and what fails counts for everyone.
    """

    owner: str
    names: Collection[str] = ()
    keys: Mapping[str, str] = field(repr=False)


_current: ContextVar[OwnKeys | None] = ContextVar("own_keys", default=None)


def current_own_keys() -> OwnKeys | None:
    """Return the keys that the current task brings along, None if it uses the configured ones."""
    return _current.get()


def set_own_keys(keys: OwnKeys | None) -> None:
    """Use these keys in the current task, and in the tasks that it starts from now on; None for the configured ones."""
    _current.set(keys)


@contextmanager
def using_keys(keys: OwnKeys | None) -> Iterator[None]:
    """Use these keys for everything that is sent within, also by the tasks that are started there."""
    token = _current.set(keys)
    try:
        yield
    finally:
        _current.reset(token)
