"""Log lines: JSON, our fields, and nothing that anybody wrote or keeps secret."""

from __future__ import annotations

import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot import logs


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.configure("DEBUG", stream)
    yield stream
    root.handlers[:], root.level = before, level


def _read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_with_its_fields(lines: io.StringIO) -> None:
    logging.getLogger("bot.x").info("part.posted", extra={"question": "q1", "part": 2, "text": "hunter2"})

    (line,) = _read(lines)

    assert {k: line[k] for k in ("event", "question", "part", "level")} == {
        "event": "part.posted",
        "question": "q1",
        "part": 2,
        "level": "info",
    }
    assert "text" not in line


def test_an_exception_is_its_class_and_its_way_not_its_words(lines: io.StringIO) -> None:
    try:
        raise ValueError("hunter2")
    except ValueError:
        logging.getLogger("bot.x").exception("question.broke")

    (line,) = _read(lines)

    assert line["exception"] == "ValueError"
    assert "hunter2" not in lines.getvalue()
    assert "test_logs.py" in line["trace"][0]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal() -> Iterator[_Terminal]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = _Terminal()
    logs.configure("INFO", stream, secrets=["hunter2-hunter2"])
    yield stream
    root.handlers[:], root.level = before, level


def test_a_terminal_shows_a_short_line_for_an_answer_and_what_is_wrong(terminal: _Terminal) -> None:
    log = logging.getLogger("bot.x")
    log.info("question.claimed", extra={"question": "q1", "attempt": 1})
    figures = {"provider": "Perplexity", "seconds": 6.14, "cost_usd": 0.0053}
    log.info("answer.kept", extra={"question": "q1", "command": "ask", "state": "answered", **figures})
    log.info("answer.kept", extra={"question": "q2", "command": "ask", "state": "failed", "error": "TimedOut"})
    log.warning("token.not_refreshed", extra={"team": "hunter2-hunter2"})
    try:
        raise ValueError("hunter2")
    except ValueError:
        log.exception("question.broke")

    lines = [line.partition("  ")[2] for line in terminal.getvalue().splitlines()]
    assert lines[:4] == [
        "ask answered  Perplexity  6.1 s  $0.0053",
        "ask failed  TimedOut",
        "warning: token.not_refreshed  team=…",
        "error: question.broke",
    ]
    assert "ValueError" in terminal.getvalue()
    assert "hunter2" not in terminal.getvalue()


def test_a_secret_is_masked_wherever_a_service_echoes_it() -> None:
    root, stream = logging.getLogger(), io.StringIO()
    before, level = root.handlers[:], root.level
    logs.configure("DEBUG", stream, secrets=["hunter2-hunter2", "a"])
    logging.getLogger("bot.x").info("answer.kept", extra={"model": "m/hunter2-hunter2", "count": 1})
    root.handlers[:], root.level = before, level

    (line,) = _read(stream)

    assert (line["model"], line["event"]) == ("m/…", "answer.kept")


def test_a_library_s_words_are_left_out(lines: io.StringIO) -> None:
    logging.getLogger("slack_sdk.web").error("sending %s", "hunter2")
    logging.getLogger("slack_sdk.web").info("hunter2")

    (line,) = _read(lines)

    assert (line["event"], line["logger"]) == ("library.message", "slack_sdk.web")
    assert "hunter2" not in lines.getvalue()


def test_every_field_that_the_code_gives_to_an_event_is_one_that_is_written() -> None:
    root = Path(logs.__file__).parents[1]
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for name in ("bot", "perplexity")
        for path in (root / name).rglob("*.py")
    ]

    given = {name for tree in trees for name in _given(tree)}

    assert given - logs.FIELDS == set()
    assert {"stage", "question", "error"} <= given


def _given(tree: ast.AST) -> Iterator[str]:
    """Yield the keys of the dictionaries in each `extra=` of a call."""
    extras = (
        keyword.value for keyword in ast.walk(tree) if isinstance(keyword, ast.keyword) and keyword.arg == "extra"
    )
    for table in (node for extra in extras for node in ast.walk(extra) if isinstance(node, ast.Dict)):
        yield from (str(key.value) for key in table.keys if isinstance(key, ast.Constant))
