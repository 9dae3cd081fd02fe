"""The embedded Postgres: whether it could be started. It is not, since that takes its time and leaves its files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bot.doctor.report import Finding, fault, well
from bot.settings import Settings
from bot.storage.embedded import NoEmbeddedServer, require

ABOUT = "Database"


def embedded_findings(settings: Settings) -> Sequence[Finding]:
    """Look at the server's package and its folder."""
    try:
        require(dyno=settings.dyno)
    except NoEmbeddedServer as error:
        text, _, fix = str(error).partition(". ")
        return [fault(ABOUT, f"{text}.", fix=fix)]
    folder = Path(settings.data_dir).absolute()
    if not _writable(folder):
        text = f"DATA_DIR is {settings.data_dir}, which cannot be written to."
        return [fault(ABOUT, text, fix="Set DATA_DIR to a folder that can, or DATABASE_URL to a Postgres server.")]
    return [well(ABOUT, f"An embedded Postgres in {settings.data_dir}; it starts with the app.")]


def _writable(folder: Path) -> bool:
    """Tell whether the folder, or the nearest one above it that is there, is one and takes files."""
    while not folder.exists():
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
