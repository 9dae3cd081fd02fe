"""Requests that no client would send, at every door: none is a failure of ours, none is read before it is signed."""

from __future__ import annotations

import ast
import asyncio
import importlib
import logging
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from time import monotonic

import pytest

import bot
from tests.driver import Driver
from tests.fakes.attacks import ATTACKS
from tests.fakes.half_sent import peers
from tests.fakes.odd_requests import OddRequest, answer_to, drawn, harms_of_answer, statuses
from tests.fakes.workspaces import Installations, many_workspaces
from tests.rare import one_in

DOORS = (
    b"/slack/events", b"/slack/install", b"/slack/oauth_redirect", b"/healthz", b"/readyz", b"/metrics",
    b"/.well-known/security.txt", b"/",
)  # fmt: skip
BOT = Path(bot.__file__).parent
VERBS = ("get", "post", "put", "patch", "delete", "head", "options", "view", "route")
IDLE = 1_000


@pytest.fixture
async def app(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(database, work=False, security_contact="mailto:security@example.com") as running:
        yield running


def traces(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


async def check(port: int, path: bytes, request: OddRequest) -> None:
    answer = await answer_to(port, request.written(path))

    # No one works on questions in this process, so it is not ready.
    assert harms_of_answer(answer) == [] or (path == b"/readyz" and statuses(answer) == [503]), answer[:200]


def routes(path: Path) -> Iterator[str]:
    """Yield the paths that a module gives to aiohttp's `web.get`, `web.post` and the like."""
    module = importlib.import_module(".".join(path.relative_to(BOT.parent).with_suffix("").parts))
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {f"web.{verb}" for verb in VERBS}:
            place = call.args[ast.unparse(call.func) == "web.route"]
            yield str(place.value) if isinstance(place, ast.Constant) else getattr(module, ast.unparse(place))


def test_every_route_is_a_door() -> None:
    # Those of the playground: tests/bot/playground/test_odd_requests.py.
    modules = [path for path in BOT.rglob("*.py") if "playground" not in path.parts and "web." in path.read_text()]
    found = {route for path in modules for route in routes(path)}

    assert found - {"/{path:.*}"} == {door.decode() for door in DOORS} - {"/"}


@pytest.mark.parametrize("path", one_in(3, DOORS))
async def test_no_request_is_a_failure(app: Installations, caplog: pytest.LogCaptureFixture, path: bytes) -> None:
    requests = drawn(80)
    with caplog.at_level(logging.WARNING):
        for start in range(0, len(requests), 8):
            await asyncio.gather(*(check(app.settings.port, path, one) for one in requests[start : start + 8]))

    assert traces(caplog) == []
    assert await app.rows("SELECT count(*) FROM questions") == [(0,)]
    assert await app.rows("SELECT count(*) FROM installations") == [(0,)]


async def test_the_pages_of_an_installation_repeat_nothing_of_the_request(app: Installations) -> None:
    shown = set()
    for text in list(ATTACKS.values())[::4]:
        asked = {name: text[:500].encode("utf-8", "replace").decode() for name in ("error", "state", "code")}
        for path in ("/slack/oauth_redirect", "/slack/oauth_redirect?code=x&state=y", "/slack/install"):
            async with app.session.get(f"{app.url}{path}", params=asked, allow_redirects=False) as response:
                shown.add(re.sub("state=[^&]*", "", await response.text()))

    assert len(shown) <= 4, shown


async def test_a_thousand_idle_connections_leave_acknowledgements_under_a_second(harness: Driver) -> None:
    port = int(harness.url.rpartition(":")[2])
    harness.perplexity.hold()
    async with peers(port, IDLE):
        taken = []
        for number in range(4):
            began = monotonic()
            shown = await harness.ask(f"/ask question {number}", trigger=f"idle{number}")
            taken.append(monotonic() - began)
            assert "Searching" in shown["text"]
    harness.perplexity.release()

    assert min(taken) < 1.0
