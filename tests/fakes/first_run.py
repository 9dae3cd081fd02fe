"""The app as a newcomer starts it: the playground, and no key unless a test gives one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

from bot.app import compose
from bot.settings import Settings
from tests.fakes.ports import free_port


@dataclass
class RecordedPauses:
    """Waits no time, and keeps how long it was to wait."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


@asynccontextmanager
async def started(database: str, *, pause: RecordedPauses | None = None, **settings: Any) -> AsyncIterator[str]:
    """Serve the app and yield its address, the page's if there is one; recorded examples take no time."""
    stop, ready = asyncio.Event(), asyncio.Event()
    async with AsyncExitStack() as stack:
        settings.setdefault("data_dir", stack.enter_context(TemporaryDirectory(prefix="data-")))
        chosen = Settings(port=free_port(), host="127.0.0.1", retry_base_seconds=0.01, **settings)
        recorded = pause or RecordedPauses()
        app = await stack.enter_async_context(compose(chosen, conninfo=database, http=True, pause=recorded))
        serving = asyncio.create_task(app.serve(stop, work=True, ready=ready.set))
        await ready.wait()
        try:
            page = app.playground
            yield f"http://127.0.0.1:{chosen.port}" if page is None else page.address
        finally:
            stop.set()
            await serving
