"""What is asked: the words on the command line, or what comes through a pipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from perplexity.cli.base import UsageError

STDIN = "-"

_HALVES = re.compile("[\ud800-\udfff]")
"""What Python makes of bytes in an argument that are not UTF-8: https://peps.python.org/pep-0383/."""


def read_text(words: Sequence[str], stdin: TextIO, *, wanted: str) -> str:
    """Return the words with a space between, or all of stdin for a `-`, or for no words where stdin is no terminal.

    `wanted` names the text. Raises UsageError where there is none.
    """
    text = _HALVES.sub("\ufffd", " ".join(words))
    if text == STDIN or (not text and not stdin.isatty()):
        text = _all_of(stdin)
    if not text.strip():
        raise UsageError(f"there is no {wanted}; write it behind the options, or pipe it in")
    return text


def _all_of(stdin: TextIO) -> str:
    try:
        return stdin.buffer.read().decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"stdin cannot be read ({error.strerror})") from None
