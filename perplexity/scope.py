"""Values that apply to the current task and the tasks that it starts: keys, a log, the language of texts for people."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True)
class OwnKeys:
    """The keys of one `owner`, by the configured address of their service without a final slash.

    `names` are the display names of these services. Failures at these services are counted separately, so that one
    owner's bad key does not block a service for anyone else. At other services, the configured keys are used, and
    failures count for everyone.
    """

    owner: str
    names: Collection[str] = ()
    keys: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """One request as it was sent: the `service`'s host, the `path`, and the `body`.

    The body is JSON, in which only the type and size of files are written; a request without a body has its query in
    the path. `at` is in seconds since 1970. No header is kept, and so no key.
    """

    service: str
    path: str
    body: str
    at: float


BeforeSending = Callable[[SentRequest], Awaitable[None]]
"""A function that is awaited with a request that is about to be sent; if it raises, nothing is sent."""


@dataclass(kw_only=True)
class RequestLog:
    """The requests in the order in which they were sent; `now` returns seconds since 1970.

    `before_sending` is awaited after a request is recorded and before it is sent; if it raises, nothing is sent.
    """

    requests: list[SentRequest] = field(default_factory=list)
    now: Callable[[], float] = time.time
    before_sending: BeforeSending | None = None

    async def record(
        self, service: str, path: str, body: str, *, before_sending: BeforeSending | None = None
    ) -> SentRequest:
        """Record a request that is about to be sent, await both `before_sending` functions, and return the request.

        If one of the functions raises, the request is removed, and the error is raised.
        """
        sent = self.add(service, path, body)
        try:
            for before in (before_sending, self.before_sending):
                if before is not None:
                    await before(sent)
        except BaseException:
            self.remove(sent)
            raise
        return sent

    def add(self, service: str, path: str, body: str) -> SentRequest:
        """Record a request that is sent now, and return it."""
        sent = SentRequest(service=service, path=path, body=body, at=self.now())
        self.requests.append(sent)
        return sent

    def remove(self, request: SentRequest) -> None:
        """Remove a request that was not sent after all."""
        self.requests = [one for one in self.requests if one is not request]


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The `keys` to use instead of the configured ones, and the `log` of sent requests; either may be None.

    `say` translates a text for people, and `day` translates a date such as "7 Oct 2025"; by default both leave them in
    English. An application may use a subclass with further values for its own code.
    """

    keys: OwnKeys | None = field(default=None, repr=False)
    log: RequestLog | None = None
    say: Callable[[str], str] = str
    day: Callable[[str], str] = str


_OUTERMOST = Scope()
_current: ContextVar[Scope] = ContextVar("scope", default=_OUTERMOST)


current = _current.get
"""Returns the scope of the current task."""

enter = _current.set
"""Sets the scope of the current task, and of the tasks that it starts from now on."""


def say(text: str) -> str:
    """Return a text for people, translated as the scope says; names in braces stay for `format`."""
    return current().say(text)


def N_(text: str) -> str:  # noqa: N802  # gettext's own name, by which tools find texts
    """Return a text as it is; `say` translates it where it is shown."""
    return text


@contextmanager
def within(scope: Scope) -> Iterator[None]:
    """Set the scope until the end of the block."""
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


def using_keys(keys: OwnKeys | None) -> AbstractContextManager[None]:
    """Use these keys for everything that is sent within the block; None means the configured ones."""
    return within(replace(current(), keys=keys))


def logged_requests(log: RequestLog) -> AbstractContextManager[None]:
    """Record every request that is sent within the block."""
    return within(replace(current(), log=log))
