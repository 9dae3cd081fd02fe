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
_SPACES = re.compile(r"\s*")
_ORDINARY = re.compile(rf"[^\s`={DOUBLE_QUOTES}{SINGLE_QUOTES}]*")


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
    """Cut a text into words; a phrase in double quotes or backticks, and a value in quotes, is in one word.

    Only the first `=` of an option opens a value. The time it takes grows with the length of the text and no faster.
    """
    phrases = _Phrases.of(text)
    words: list[Word] = []
    place = 0
    while (start := _passed(_SPACES, text, place)) < len(text):
        place = _end(phrases, start, value=bool(words) and is_long_option(words[-1].text))
        words.append(Word(text=text[start:place], start=start, end=place))
    return words


def is_long_option(word: str) -> bool:
    """Return whether a word is written as an option is, such as `--n` or `—n=5`, whatever its name."""
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


@dataclass(frozen=True, kw_only=True)
class _Phrases:
    """A text, and the last places at which a phrase can end, so that each search for an end finds one."""

    text: str
    ticks: dict[int, int]
    """The longest run of backticks from each run on, by the place of the run."""
    double: int
    single: int

    @classmethod
    def of(cls, text: str) -> _Phrases:
        """Look through a text once."""
        ticks: dict[int, int] = {}
        longest = 0
        for run in reversed([match.span() for match in _BACKTICKS.finditer(text)]):
            ticks[run[1]] = longest
            longest = max(longest, run[1] - run[0])
        return cls(text=text, ticks=ticks, double=_last(_PHRASE_END, text), single=_last(_VALUE_END, text))

    def end(self, start: int, *, single: bool) -> int | None:
        """Return the end of the phrase that opens at `start`; None if none opens there or it is never closed."""
        text, sign = self.text, self.text[start]
        if sign == "`":
            after = _passed(_BACKTICKS, text, start)
            closed = self.ticks.get(after, 0) >= after - start
            return text.find(text[start:after], after) + after - start if closed else after
        if sign in DOUBLE_QUOTES and start < self.double and not (start and text[start - 1].isalnum()):
            return _after(_PHRASE_END, text, start + 1)
        if single and sign in SINGLE_QUOTES and start < self.single:
            return _after(_VALUE_END, text, start + 1)
        return None


def _passed(run: re.Pattern[str], text: str, start: int) -> int:
    """Return the end of the run of characters that begins at `start`."""
    match = run.match(text, start)
    return match.end() if match else start


def _last(sign: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in sign.finditer(text)), default=-1)


def _after(sign: re.Pattern[str], text: str, start: int) -> int | None:
    match = sign.search(text, start)
    return match.end() if match else None


def _end(phrases: _Phrases, start: int, *, value: bool) -> int:
    """Return the end of the word that begins at `start`."""
    text = phrases.text
    unopened = _OPTION.match(text, start) is not None
    place, single = start, value
    while place < len(text) and not text[place].isspace():
        if (end := phrases.end(place, single=single)) is None:
            single = unopened and text[place] == "="
            unopened = unopened and not single
            # What is no sign and no space is passed over at once.
            end = place + 1 if single else _passed(_ORDINARY, text, place + 1)
        else:
            single = False
        place = end
    return place
