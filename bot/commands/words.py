"""A command's text as it was typed, and its words. What Slack and its clients do to typed text is undone here.

Slack escapes `& < >` and wraps links and mentions; clients turn `--` into a dash and straight quotes into curly ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DASHES = "-‐‑‒–—―−﹣－"
LONG_DASHES = "‒–—―"
DOUBLE_QUOTES = '"“”„‟«»＂'
SINGLE_QUOTES = "'‘’‚‛＇"

# https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages
_LINK = re.compile(r"<((?:https?|mailto|tel|ftp):[^<>|\s]+)(?:\|([^<>\n]*))?>")
_MENTION = re.compile(
    r"<(?:([@#])([A-Z][A-Z0-9]+)|!(here|channel|everyone|(?:subteam|date)\^[^<>|]*))(?:\|([^<>\n]*))?>"
)
_OPTION = re.compile(rf"(?:[{DASHES}]{{2}}|[{LONG_DASHES}])[^\W\d_]")
_NO_BREAK = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f", " "))
_PHRASE_END = re.compile(rf"[{DOUBLE_QUOTES}]")
_VALUE_END = re.compile(rf"[{SINGLE_QUOTES}](?!\S)")
_BACKTICKS = re.compile("`+")


@dataclass(frozen=True, kw_only=True)
class Word:
    """A run of characters without a space outside quotes, and where it stands in the text."""

    text: str
    start: int
    end: int


def plain(text: str) -> str:
    """Return the text as it was typed: links, mentions and entities unwrapped once, no-break spaces made plain."""
    text = _LINK.sub(lambda m: _linked(m[1], m[2] or ""), text)
    text = _MENTION.sub(lambda m: _mentioned(m[1] or "@", m[2] or m[3], m[4] or ""), text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").translate(_NO_BREAK)


def split(text: str) -> list[Word]:
    """Cut a text into words; a phrase in double quotes or backticks, and a value in quotes, is in one word."""
    words: list[Word] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        end = _end(text, place, value=bool(words) and is_long_option(words[-1].text))
        words.append(Word(text=text[place:end], start=place, end=end))
        place = end
    return words


def is_long_option(word: str) -> bool:
    """Tell whether a word is written as an option is, such as `--n` or `—n=5`, whatever its name."""
    return _OPTION.match(word) is not None


def _linked(address: str, label: str) -> str:
    """Return what a wrapped link stood for: clients make links of `a.com` and of `a@b.com` too."""
    if not label or label == address:
        return address
    return label if address.rstrip("/").endswith(label.rstrip("/")) else f"{label} ({address})"


def _mentioned(kind: str, id: str, label: str) -> str:
    if id.startswith("date^") or label.startswith(("@", "#")):
        return label
    return f"{kind}{label or id}"


def _end(text: str, start: int, *, value: bool) -> int:
    """Return where the word that begins at `start` ends."""
    place = start
    while place < len(text) and not text[place].isspace():
        single = (value and place == start) or (text[place - 1] == "=" and is_long_option(text[start:place]))
        place = _phrase_end(text, place, single=single) or place + 1
    return place


def _phrase_end(text: str, start: int, *, single: bool) -> int | None:
    """Return where the phrase that opens at `start` ends; None when none opens there or it is never closed."""
    if ticks := _BACKTICKS.match(text, start):
        closing = text.find(ticks[0], ticks.end())
        return closing + len(ticks[0]) if closing >= 0 else ticks.end()
    if text[start] in DOUBLE_QUOTES and (start == 0 or not text[start - 1].isalnum()):
        match = _PHRASE_END.search(text, start + 1)
        return match.end() if match else None
    if single and text[start] in SINGLE_QUOTES:
        match = _VALUE_END.search(text, start + 1)
        return match.end() if match else None
    return None
