"""Importing the app does not import what only a running process needs."""

from __future__ import annotations

import subprocess
import sys

LATER = {"markdown_it", "procrastinate", "prometheus_client", "slack_bolt.adapter.socket_mode.aiohttp"}


def test_the_app_imports_heavy_libraries_where_they_are_used() -> None:
    program = "import sys, bot.app; print(*sys.modules)"

    imported = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout

    assert "bot.app" in imported.split()
    assert LATER & set(imported.split()) == set()
