"""The browser of the tests, one for each process of the suite."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webdriver import WebDriver

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
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """Where the screenshots go; the folder is not under version control."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS
