"""A real browser, and a playground for it to open."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webdriver import WebDriver

from tests.fakes.first_run import started
from tests.fakes.playground_app import PlaygroundApp, Site, serve
from tests.fakes.scripted_search import ScriptedSearch

ARTIFACTS = Path(__file__).parents[2] / ".artifacts"

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,900",
    "--lang=en-US",
)


def missing_browser() -> str | None:
    """Name what is missing for the browser tests, if anything is."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} on this machine" if missing else None


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """A headless Chromium; skips with the reason where there is none, fails in CI."""
    reason = missing_browser()
    if reason is not None and os.environ.get("CI"):
        pytest.fail(f"CI runs the browser tests, but there is {reason}")
    if reason is not None:
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """Where the screenshots go; the folder is not under version control."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS


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
