"""Logs without message texts and secrets: JSON lines for programs, and short lines for a terminal."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Collection
from typing import IO, Any

from perplexity.wire.json import decode, encode

FIELDS = frozenset({
    "question", "command", "surface", "state", "attempt", "returns", "part", "parts", "chars", "seconds", "cost_usd",
    "provider", "model", "effort", "error", "status", "method", "path", "count", "version", "route", "reference",
    "request_id", "port", "setting", "digest", "stage", "kind", "action", "view", "team", "hash",
})  # fmt: skip
"""The extra fields that an event may have. No field contains the text of a question or an answer."""


MIN_SECRET = 8
"""The fewest characters of a secret that is masked; a shorter one could be a part of any word."""


class JsonLines(logging.Formatter):
    """Formats a record as one JSON line.

    A line has the time, the level, the logger's name, the record's `FIELDS` and, for our own loggers, the event's name.
    An exception is written as its class and traceback, without its message, because libraries quote their input in
    messages. A service may echo its input, so `secrets` are masked everywhere.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        self._secrets = [secret for secret in secrets if len(secret) >= MIN_SECRET]

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; messages of other libraries are left out, since they may contain a request."""
        ours = record.name.split(".", 1)[0] in {"bot", "perplexity"}
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            # The rest of a message repeats the fields, for other formatters; here only the event's name is needed.
            "event": str(record.msg).partition(" ")[0] if ours else "library.message",
        }
        line |= {name: value for name, value in vars(record).items() if name in FIELDS}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__qualname__
            line["trace"] = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(record.exc_info[2])]
        written = encode(line, default=str)
        for secret in self._secrets:
            written = written.replace(secret, "…")
        return written


class TerminalLines(JsonLines):
    """Formats a record, which is about an answer or a problem, as one short line for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with the trace of an exception below it."""
        fields = decode(super().format(record))
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        if fields["event"] == ANSWERED:
            words = f"{fields.get('command', '')} {fields.get('state', '')}".strip()
            seconds, cost = fields.get("seconds"), fields.get("cost_usd")
            figures = (
                fields.get("provider"),
                None if seconds is None else f"{seconds:.1f} s",
                None if cost is None else f"${cost:.4f}",
                fields.get("error"),
            )
            return "  ".join([clock, words, *(str(figure) for figure in figures if figure)])
        values = [f"{name}={value}" for name, value in fields.items() if name in FIELDS]
        trace = [fields["exception"], *fields["trace"]] if "exception" in fields else []
        first = "  ".join([clock, f"{fields['level']}: {fields['event']}", *values])
        return "\n    ".join([first, *trace])


ANSWERED = "answer.kept"
"""The only event below the level WARNING that a terminal shows."""


def _is_for_people(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.msg == ANSWERED


def configure(level: str, stream: IO[str], *, secrets: Collection[str] = ()) -> None:
    """Send every logger's lines to `stream`; other libraries log from WARNING up, whatever our own level is.

    A terminal gets a few short lines, unless the level is DEBUG; anything else gets JSON. The secrets are masked.
    """
    handler = logging.StreamHandler(stream)
    if stream.isatty() and level != "DEBUG":
        handler.setFormatter(TerminalLines(secrets))
        handler.addFilter(_is_for_people)
    else:
        handler.setFormatter(JsonLines(secrets))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("bot", "perplexity"):
        logging.getLogger(name).setLevel(level)
