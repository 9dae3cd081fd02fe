"""The process connects to Slack and to the configured search services, and to nothing else.

DuckDuckGo is asked by a library with a connection of its own (`ddgs`), which this guard does not see; Postgres is
connected to by libpq.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from bot.settings import Settings
from tests.docs.pages import is_here
from tests.driver import Driver, actions
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.slack import FakeSlack

pytestmark = pytest.mark.trust(17)


class Blocked(OSError):
    """A connection to an address that is not allowed."""


@dataclass
class Guard:
    """Records the addresses that Python code connects to and looks up, and blocks all but the `allowed` ports.

    A hook stays for as long as the process lives, so this one is switched off instead.
    """

    allowed: set[int] = field(default_factory=set)
    connected: set[tuple[str, int]] = field(default_factory=set)
    resolved: set[str] = field(default_factory=set)
    active: bool = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            host, port = arguments[1][:2]
            if host == "127.0.0.1" and port in self.allowed:
                self.connected.add((host, port))
                return
            raise Blocked(f"{host}:{port} is not allowed")
        if event == "socket.getaddrinfo" and arguments[0] not in {"127.0.0.1", b"127.0.0.1", None}:
            self.resolved.add(str(arguments[0]))
            raise Blocked(f"{arguments[0]} is not looked up")


GUARD = Guard()
sys.addaudithook(GUARD)


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


@pytest.fixture
def guard(slack: FakeSlack, perplexity: FakePerplexity, settings: Settings) -> Iterator[Guard]:
    """Yield the guard, which lets the process connect to itself, to Slack and to the search service."""
    GUARD.allowed = {settings.port, port_of(slack.origin), port_of(perplexity.base_url)}
    GUARD.active = True
    yield GUARD
    GUARD.active, GUARD.allowed = False, set()
    GUARD.connected.clear()
    GUARD.resolved.clear()


def test_what_is_not_allowed_is_blocked(guard: Guard) -> None:
    with pytest.raises(Blocked), socket.socket() as one:
        one.connect(("127.0.0.1", 9))
    with pytest.raises(Blocked):
        socket.create_connection(("example.com", 443), timeout=1)

    assert guard.resolved == {"example.com"}
    assert guard.connected == set()


LINES = (
    "/ask why",
    "/ask --effort high why",
    "/ask --model sonar-pro why",
    "/news tech",
    "/deepdive heat pumps",
    "/pplx watch tech daily 9:00",
    "/pplx settings channel",
    "/pplx status",
)


async def test_all_commands_connect_to_slack_and_the_search_service_alone(guard: Guard, harness: Driver) -> None:
    harness.script_pages(3)
    await harness.answered("/search python")
    for line in filter(is_here, LINES):
        await harness.answered(line)
    answer = await harness.answered("/ask which?")
    await harness.click(answer, "sources")
    if "share" in actions(answer):
        await harness.click(answer, "share")
        await harness.submit()
    await harness.answered_mention("why")
    await harness.send_direct_message("why", ts="1795255200.000300")
    await harness.settle()

    # The calls came through: a guard that blocked them would have left no answer.
    assert len(harness.perplexity.requests) >= 7
    assert {port for _, port in guard.connected} == guard.allowed
    assert guard.resolved == set()
