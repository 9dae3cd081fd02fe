"""The files that a question passes: `python -m tests.house.trace` asks the whole app, and prints what ran."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

from aiohttp import ClientSession

from bot.storage.embedded import embedded_server
from bot.storage.migrate import migrate
from tests.driver import Driver, serving, settings_of
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import Person
from tests.fakes.slack import FakeSlack

ROOT = Path(__file__).parents[2]
PRODUCT = tuple(f"{ROOT / name}/" for name in ("bot", "perplexity"))
STAND_IN = f"{ROOT / 'bot/playground'}/"
"""What answers as Slack here, and is no part of the app."""

FIRST = "Connections.middleware"
"""Runs first in a request: from here on, its task and the tasks that it starts belong to the request."""

ROUNDS = "keep_running"
"""Runs the app's periodic work, which is no part of a question."""


@dataclass(kw_only=True)
class Passed:
    """The functions that ran, by their files: `acknowledging` in the request itself, until it was acknowledged."""

    acknowledging: dict[str, list[str]] = field(default_factory=dict)
    answering: dict[str, list[str]] = field(default_factory=dict)
    acknowledged: bool = False


@contextmanager
def recorded() -> Iterator[Passed]:
    """Record the functions that run from the next request on; what runs while a module is imported is none of them."""
    passed, began = Passed(), False
    part_of: ContextVar[str] = ContextVar("part_of", default="")
    seen: set[tuple[CodeType, bool]] = set()

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal began
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PRODUCT) or code.co_filename.startswith(STAND_IN):
            return
        if code.co_qualname in {FIRST, ROUNDS}:
            part_of.set(code.co_qualname)
            began = began or code.co_qualname == FIRST
        before_ack = part_of.get() == FIRST and not passed.acknowledged
        if not began or part_of.get() == ROUNDS or (code, before_ack) in seen or _imports(frame):
            return
        seen.add((code, before_ack))
        for files in (passed.answering, passed.acknowledging)[: 1 + before_ack]:
            functions = files.setdefault(code.co_filename.removeprefix(f"{ROOT}/"), [])
            if code.co_qualname not in functions:
                functions.append(code.co_qualname)

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield passed
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _imports(frame: FrameType | None) -> bool:
    """Return whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PRODUCT):
            return True
        frame = frame.f_back
    return False


async def trace(app: Driver) -> Passed:
    """Ask one question, and return what it passed until its answer was posted."""
    posts = len(app.slack.posts)
    with recorded() as passed:
        await app.ask("/ask do heat pumps pay off?")
        passed.acknowledged = True
        async with asyncio.timeout(60):
            while len(app.slack.posts) == posts:  # noqa: ASYNC110 - Slack's stand-in tells no one
                await asyncio.sleep(0.01)
    await app.settle()
    return passed


def report(title: str, files: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the files with their functions, a line each."""
    yield f"{title}: {len(files)} files, {sum(map(len, files.values()))} functions"
    for name, functions in sorted(files.items()):
        yield f"  {name}: {', '.join(functions)}"


async def main() -> None:
    """Compose the app on a database of its own, ask it, and print what ran."""
    with TemporaryDirectory() as folder, embedded_server(Path(folder)) as database:
        await migrate(database)
        async with FakeSlack() as slack, FakePerplexity() as perplexity, ClientSession() as session:
            settings = settings_of(slack, perplexity)
            url = f"http://127.0.0.1:{settings.port}"
            async with serving(settings, database):
                person = Person(session=session, app_url=url, response_url=slack.response_url, slack=slack)
                app = Driver(
                    person=person, slack=slack, perplexity=perplexity, url=url, session=session, database=database
                )
                passed = await trace(app)
    for title, files in (("To the ack", passed.acknowledging), ("To the answer", passed.answering)):
        sys.stdout.write("".join(f"{line}\n" for line in report(title, files)))


if __name__ == "__main__":
    asyncio.run(main())
