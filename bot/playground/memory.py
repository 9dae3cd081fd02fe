"""The newest messages of the playground in a file, so that the page has them after a restart."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fake_slack.files import File
from fake_slack.timeline import Author, SlackMessage

log = logging.getLogger(__name__)

MAX_REMEMBERED = 200
"""The most messages that are saved."""


def load(path: Path) -> tuple[SlackMessage, ...]:
    """Return the messages in a file, oldest first; empty if there is no file, or it cannot be read."""
    try:
        return tuple(map(_message, json.loads(path.read_text(encoding="utf-8"))))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("playground.not_read", extra={"path": str(path), "error": type(error).__name__})
        return ()


def save(path: Path, messages: Sequence[SlackMessage]) -> None:
    """Write the newest messages, oldest first, to a file; a failure is logged."""
    written = json.dumps([message.as_page() for message in messages[-MAX_REMEMBERED:]])
    try:
        # A new file, readable only by this user, replaces the old one at once, so that the file is never incomplete.
        with TemporaryDirectory(dir=path.parent) as folder:
            new = Path(folder, path.name)
            new.touch(0o600)
            new.write_text(written, encoding="utf-8")
            new.replace(path)
    except OSError as error:
        log.warning("playground.not_saved", extra={"path": str(path), "error": type(error).__name__})


def _message(fields: dict[str, Any]) -> SlackMessage:
    """Return a saved message, without the contents of its files; the text of an unfinished stream stays as it was."""
    kept = {name: value for name, value in fields.items() if name != "live_until"}
    files = [File(id=one["id"], name=one["name"], size=one["size"], title=one["title"]) for one in fields["files"]]
    given = {"author": Author(fields["author"]), "blocks": tuple(fields["blocks"]), "files": tuple(files)}
    return SlackMessage(**kept | given)
