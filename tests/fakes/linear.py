"""Hostile texts, and whether a function reads one in time that grows with its length and no faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from bot.errors import UsageError
from perplexity.errors import PerplexityError

SHORT, LONG = 4_000, 16_000
QUICK_SECONDS = 0.03
"""What takes less for `LONG` characters is well below anything that grows with the square of the length."""


@dataclass(frozen=True)
class Shape:
    """A text of any length: a beginning, something repeated, an end."""

    begun: str
    repeated: str
    ended: str = ""

    def text(self, length: int) -> str:
        """Return about so many characters of it."""
        return self.begun + (self.repeated * (length // len(self.repeated) + 1))[:length] + self.ended


def shapes(*repeated: str) -> list[Shape]:
    """Return texts of nothing but repetitions."""
    return [Shape("", one) for one in repeated]


SIGNS = shapes(
    " ", "\n", "\t", "\u00a0", "a", "1", ".", ",", "=", "-", "—", '"', "'", "`", "“", "*", "_", "$", "\\", "[", "]",
    "(", "<", ">", "|", "!", "@", "#", "&", "/", ":", "~", "{", "?", "\u2060", "é", "日",
    "='", '="', "=`", "a=", "--a", "--a ", "--a='", "--a='x ", "-r ", "—a ", "—ab ", "`` ` ", "' ", "\" ", "a, ", "1,",
    "1. ", "a.", "<@U1> ", "<http://a|", "<http://a ", "&amp;", "on ", "and ", "mon,", "9:00 ", "//", " /", "&& ",
    "[1]", "[1,", "[9] ", "[x](", "[[1]](", "](", "<a ", "< ", "http://", "www.a ", "$1 ", "$a ", "\\( ", "\\[1\\] ",
    "**a ", "**a", "> ", "- ", "# \n", "#a\n\n", "```\n", "|a", "|a\n", "|-", "a|b|[1]\n", "\n\n", "\n \n", " \n",
    "[a]:\n", "[a]: b\n```\n```\n", "is no ", "no ", "could ", "none[", ") ", ".) ", "(a", "「", "。",
    "<think>", "</think> ", "\ufdd0", "\r", "\r\n", "x" * 50 + " ",
)  # fmt: skip
"""Signs that mean something to a reader, and the beginnings of what they open and never close."""

NAMES = "".join(map(chr, range(0x4E00, 0x4E00 + 6_000)))
WRITTEN = [*SIGNS, Shape("--a", "='"),
           Shape("tech on monday ", "on ", "9:00"), Shape("", " ", "<@U1> x"), Shape("<@U1>", " ", "x"),
           Shape("9:00", "/&"), Shape("--domain ", "a.com, "), Shape("--domain a.com,", "b.com,"),
           Shape("x ", "—abcdefg "), Shape("", NAMES), Shape("--domain ", NAMES),
           Shape("<!date^1^a|", " ", ">")]  # fmt: skip
"""What people may write, with more that means something together."""


some_or_all = pytest.mark.parametrize(
    "step", [pytest.param(48, id="every forty-eighth"), pytest.param(1, id="all", marks=pytest.mark.rare)]
)
"""Has a test read every forty-eighth of its texts, and in `make rare` all.

Measuring takes long, and is better on its own.
"""


def seconds(work: Callable[[str], object], text: str) -> float:
    """Return the processor's time for one call, without garbage collection; what the function refuses, it has read."""
    gc.disable()
    started = time.process_time()
    try:
        with suppress(UsageError, PerplexityError, ValueError):
            work(text)
        return time.process_time() - started
    finally:
        gc.enable()


def assert_linear(work: Callable[[str], object], shape: Shape, *, short: int = SHORT, long: int = LONG) -> None:
    """Fail if the time grows two and a half times as fast as the text, or faster; noise is measured again."""
    quick = QUICK_SECONDS * max(long / LONG, 1) ** 2
    for _ in range(4):
        took = seconds(work, shape.text(long))
        if took < quick:
            return
        ratio = took / max(seconds(work, shape.text(short)), 0.001)
        if ratio < 2.5 * long / short:
            return
    raise AssertionError(f"{shape}: {long} characters took {took:.2f} s, {ratio:.0f} times as long as {short}")
