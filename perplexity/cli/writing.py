"""Writes a reply where and in the format in which it is requested: to a terminal, or as JSON or text."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from perplexity.cli.base import ProcessIO
from perplexity.cli.output import Reply, as_json
from perplexity.sanitize import printable_line

if TYPE_CHECKING:
    from perplexity.cli.live import Screen


def open_screen(parsed: argparse.Namespace, process: ProcessIO, header: Sequence[str] = ()) -> Screen | None:
    """Return the terminal, with the header printed; None if stdout is no terminal, or for --json and --raw."""
    if parsed.json or parsed.raw or not process.stdout.isatty():
        return None
    from perplexity.cli.live import Screen

    screen = Screen(process.stdout, color=not parsed.no_color)
    screen.print_header(header)
    return screen


def write_reply(
    reply: Reply,
    parsed: argparse.Namespace,
    process: ProcessIO,
    *,
    plain: Callable[[], str],
    raw: str,
    notes: Sequence[str] = (),
) -> None:
    """Write a reply as JSON with --json, as the text `raw` for models with --raw, else as the text that `plain` makes.

    With --raw, the notes are written to stderr.
    """
    if parsed.json:
        process.stdout.write(as_json(reply))
    elif parsed.raw:
        if notes:
            process.write_stderr("\n".join(map(printable_line, notes)))
        process.stdout.write(raw)
    else:
        process.stdout.write(plain())
