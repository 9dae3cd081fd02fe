"""The server's log on stderr: a line an event, from the level on that is set. No text of a call, no secret."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Lines(logging.Formatter):
    """Formats a record as its time, its level, the event and its fields: `2026-11-22T08:00:00Z INFO call.ended {…}`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line. Of an exception it has the class alone: messages quote what was handed in."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        fields = {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = record.exc_info[0].__qualname__
        level = "WARN" if record.levelno == logging.WARNING else record.levelname
        return " ".join(
            filter(None, (moment, level, str(record.msg), json.dumps(fields, default=str) if fields else ""))
        )


@contextmanager
def logged(stream: TextIO, *, level: int) -> Iterator[None]:
    """Write what this package logs to the stream, from this level on."""
    logger, handler = logging.getLogger("perplexity"), logging.StreamHandler(stream)
    handler.setFormatter(Lines())
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
