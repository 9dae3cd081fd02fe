"""Opens the terminal for a reply, or writes the reply as JSON or text, as the options request it."""

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
    """Print the header on the terminal, and return the terminal.

    Return None if stdout is not a terminal, and for --json and --raw; nothing is printed then.
    """
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
    """Write a reply to stdout: as JSON with --json, as `raw` with --raw, otherwise as the text that `plain` returns.

    `raw` is the text for models. With --raw, the notes are written to stderr.
    """
    if parsed.json:
        process.stdout.write(as_json(reply))
    elif parsed.raw:
        if notes:
            process.write_stderr("\n".join(map(printable_line, notes)))
        process.stdout.write(raw)
    else:
        process.stdout.write(plain())
