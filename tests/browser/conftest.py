"""A playground for the browser to open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.first_run import started
from tests.fakes.playground_app import PlaygroundApp, Site, serve
from tests.fakes.scripted_search import ScriptedSearch


@contextmanager
def served(*, port: int = 0, saved: Path | None = None) -> Iterator[Site]:
    """Serve a playground from a thread of its own, since the browser's driver blocks the test's."""
    started: list[Site] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async with serve(app=PlaygroundApp(reply=ScriptedSearch().reply), port=port, saved=saved) as site:
            started.append(site)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        assert ready.wait(60)
        yield started[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """A playground with the scripted app behind it."""
    with served() as site:
        yield site


@contextmanager
def serve_app(database: str, **settings: Any) -> Iterator[str]:
    """Serve the whole app from a thread of its own, without a key unless the settings have one; yield its address."""
    started_at: list[str] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        try:
            async with started(database, **settings) as origin:
                started_at.append(origin)
                ready.set()
                await stop.wait()
        finally:
            ready.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        assert ready.wait(60)
        yield started_at[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
