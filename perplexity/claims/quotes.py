"""Finds a quotation word for word in the text of a page, and returns the page's own whole sentences.

White space, soft hyphens and Markdown are ignored, and so is the style of quotation marks, dashes and characters
(NFKC). Words, figures, case and inner punctuation must match. No function here does I/O.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

MIN_WORDS, MIN_CHARACTERS = 4, 15
"""The fewest words and characters of a useful quotation. In a script without spaces, a letter counts as half a word."""
MAX_SENTENCES, MAX_TOKENS, MAX_QUOTE = 2, 400, 500
"""The most sentences and tokens of a quotation, and the most characters of it that are shown."""

MAX_SENTENCE_LENGTH = 2_000
"""The most characters that a quotation's sentences may have together; if they have more, the quotation is not found."""

_WIDE = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Letters of scripts without spaces between words. Each is a token, as in `passages`."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0963\u0966-\u0dff\u0f00-\u109f\u1780-\u17d3\u20d0-\u20ff"
)
"""Combining marks, which belong to words but are not letters, and the Indic scripts that use many."""
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef"
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)
_ATTRIBUTE = r"[\w:-]{1,40}=(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}')"
_TOKEN = re.compile(
    rf"""
    (?P<markup>
        !\[[^\[\]\n]{{0,300}}\]\([^()\s]{{0,500}}\)
      | \]\([^()\s]{{1,500}}(?:[ ]"[^"\n]{{0,200}}")?\)
      | [\[‹]\d{{1,3}}[\]›]
      | \[(?=[^\[\]\n]{{1,300}}\]\([^()\s]{{1,500}}\))
      | </?(?:a|b|br|code|div|em|h[1-6]|i|li|mark|ol|p|small|span|strong|sub|sup|t[dhr]|u|ul)
        (?:\s{{1,5}}{_ATTRIBUTE}){{0,9}}\s{{0,5}}/?>
      | \\(?=[!-/:-@\[-`{{-~])
      | ^[ \t]{{0,40}}(?:(?:\#{{1,6}}|[>*+•·▪-]|\d{{1,2}}[.)])[ \t]{{1,40}}){{1,3}}
      | (?P<emphasis>[*_`]+|~~)
    )
    | (?P<space>\s+)
    | (?P<number>\d+(?:[.,:/\u2044]\d+)*)
    | (?P<wide>[{_WIDE}])
    | (?P<word>[^\W\d_{_WIDE}](?:[^\W\d_{_WIDE}]|[{_MARKS}])*)
    | (?P<dots>\.{{2,}}|…)
    | (?P<other>.)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_FOLDED = str.maketrans(
    dict.fromkeys("\"'`´‘’‚‛“”„‟‹›«»′″「」『』〝〞＂＇", "'") | dict.fromkeys("-‐‑‒–—―−﹘﹣－", "-") | {"\u2044": "/"}
)
_AROUND = frozenset("'.,;:!?-…()[]。、")
"""Signs that are ignored at the ends of a quotation: a model may write a full stop there where the page has a comma."""
_ELISION = "…"

_BREAK = re.compile(
    r"(?<![.!?…؟।۔])[.!?…؟।۔]++[\"'”’»“)\]*_`]*+(?=\s|[\[‹]\d{1,3}[\]›])|[。！？][\"'”’」』）]*+"
    r"|\n[ \t]*\n|\n(?=[ \t]{0,40}(?:#{1,6}[ \t]|[>|]|[*+•·▪-][ \t]|\d{1,2}[.)][ \t]))|(?<=\|)[ \t]*\n"
)
_ABBREVIATION = re.compile(
    r"(?:(?<!°)\b[^\W\d_]|(?<![\d.,])\b\d{1,2}|\b(?:Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|vs|approx|ca|bzw|No|Nr|Inc|Ltd|Corp|Co|Gen|Sen"
    r"|Rep|Gov|Lt|Col|Capt|Jan|Feb|Apr|Aug|Sept?|Oct|Okt|Nov|Dec|Dez|Mio|Mrd|Abs|Art|Fig|Vol|pp|al|Mt|Ft|usw|inkl))\.$"
)


class Token(NamedTuple):
    """A word, a figure or a sign in the form that is compared, with its place.

    `glued` is True if no white space is before it.
    """

    text: str
    start: int
    end: int
    is_word: bool
    glued: bool


def prepare(text: str) -> str:
    """Return a text without invisible characters, and with its letters composed (NFC), as `PageText` needs it."""
    return unicodedata.normalize("NFC", _HIDDEN.sub("", text))


@dataclass(frozen=True)
class Quotation:
    """A quotation as the page has it.

    `quote` is the text to show: the whole sentences that it touches or, if they are too long, the quoted part. `places`
    are the numbers of these sentences, from 0.
    """

    quote: str
    places: range


_AROUND_BEFORE, _AROUND_AFTER = 400, 200
"""The characters before and after a sentence that are searched for words that withdraw it."""


@dataclass(frozen=True)
class PageText:
    """The excerpt of a page in which quotations are searched for; `text` is as `prepare` returns it."""

    text: str

    @cached_property
    def _read(self) -> tuple[list[Token], list[tuple[int, int]]]:
        tokens: list[Token] = []
        markup: list[tuple[int, int]] = []
        for match in _TOKEN.finditer(self.text):
            kind, start, end = match.lastgroup, match.start(), match.end()
            if match["markup"] is not None and not (match["emphasis"] and self._is_inside_word(start, end)):
                markup.append((start, end))
            elif kind != "space":
                glued = start > 0 and not self.text[start - 1].isspace()
                folded = _ELISION if kind == "dots" else _fold(match[0])
                if not (folded == "-" and tokens and tokens[-1].text == "-" and glued):
                    tokens.append(Token(folded, start, end, kind in {"number", "wide", "word"}, glued))
        return tokens, markup

    @property
    def tokens(self) -> list[Token]:
        """The words, figures and signs, in order."""
        return self._read[0]

    @cached_property
    def sentences(self) -> list[int]:
        """The places at which sentences begin, and finally a place behind the end of the text."""
        starts = [0]
        for end in (match.end() for match in _BREAK.finditer(self.text) if not self._is_abbreviation(match)):
            if self.text[starts[-1] : end].isspace():
                starts.pop()
            starts.append(end)
        return [*starts, len(self.text) + 1]

    def find(self, quote: str) -> tuple[Quotation, ...]:
        """Return the occurrences of a quotation in the page, at most 5; empty if the page does not have the quotation.

        A quotation is not found if it has an ellipsis, or is too short or too long. An occurrence does not count if it
        touches more than two sentences, or sentences that are too long together.
        """
        needle = _trimmed(PageText(prepare(quote)).tokens)
        if not is_long_enough(needle) or len(needle) > MAX_TOKENS or any(token.text == _ELISION for token in needle):
            return ()
        found = (self._quotation(first, first + len(needle) - 1) for first in self._positions(needle))
        return tuple(quotation for _, quotation in zip(range(5), found, strict=False) if quotation is not None)

    def sentence(self, place: int) -> str:
        """Return a sentence by its number, without Markdown."""
        return self.plain(*self.sentences[place : place + 2])

    def neighbors(self, place: int) -> tuple[str, str]:
        """Return the texts before and after a sentence that are searched for words that withdraw the sentence."""
        begin, end = self.sentences[place : place + 2]
        return self.plain(max(0, begin - _AROUND_BEFORE), begin), self.plain(end, end + _AROUND_AFTER)

    def plain(self, start: int, end: int) -> str:
        """Return a part of the text on one line, without Markdown."""
        pieces, place = [], start
        markup = self._read[1]
        for first, last in markup[bisect_left(markup, (start, 0)) : bisect_left(markup, (end, 0))]:
            pieces.append(self.text[place:first])
            place = max(place, last)
        return " ".join("".join([*pieces, self.text[place:end]]).split())

    def _positions(self, needle: Sequence[Token]) -> Iterator[int]:
        """Yield the index of the first token of each occurrence that begins and ends between words."""
        page, wanted = [token.text for token in self.tokens], [token.text for token in needle]
        for index, text in enumerate(page):
            after = index + len(wanted)
            is_found = text == wanted[0] and page[index:after] == wanted
            if is_found and not self._splits_word(index) and not self._splits_word(after):
                yield index

    def _splits_word(self, index: int) -> bool:
        """Return whether the token at an index continues the word, the figure or the compound before it."""
        if not 0 < index < len(self.tokens):
            return False
        before, after = self.tokens[index - 1], self.tokens[index]
        if not after.glued or after.start != before.end or _is_wide(before) or _is_wide(after):
            return False
        if before.is_word and after.is_word:
            return True
        joint = after if before.is_word else before
        beyond = index + 1 if before.is_word else index - 2
        if joint.text not in {"-", "'"} or self.text[joint.start] == "—" or not (before.is_word or after.is_word):
            return False
        others = self.tokens[max(0, beyond) : beyond + 1]
        return any(one.is_word and (one.start == joint.end or one.end == joint.start) for one in others)

    def _quotation(self, first: int, last: int) -> Quotation | None:
        start, end = self.tokens[first].start, self.tokens[last].end
        places = self.sentences
        begun, ended = bisect_right(places, start) - 1, bisect_right(places, end - 1) - 1
        if ended - begun >= MAX_SENTENCES or places[ended + 1] - places[begun] > MAX_SENTENCE_LENGTH:
            return None
        sentence = self.plain(places[begun], places[ended + 1])
        return Quotation(
            quote=sentence if len(sentence) <= MAX_QUOTE else self.plain(start, end), places=range(begun, ended + 1)
        )

    def _is_inside_word(self, start: int, end: int) -> bool:
        """Return whether signs of emphasis stand between two letters or digits, as in `2*3` or `snake_case`."""
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        wide = re.match(f"[{_WIDE}]", before) or re.match(f"[{_WIDE}]", after)
        return before.isalnum() and after.isalnum() and wide is None

    def _is_abbreviation(self, match: re.Match[str]) -> bool:
        """Return whether a full stop belongs to an abbreviation, initial or ordinal, or precedes a small letter."""
        if not match[0].startswith("."):
            return False
        rest = self.text[match.end() : match.end() + 12].lstrip(" \t")
        dotted = self.text[max(0, match.start() - 8) : match.start() + 1]
        return rest[:1].islower() or _ABBREVIATION.search(dotted) is not None


def is_long_enough(tokens: Sequence[Token]) -> bool:
    """Return whether tokens have enough words and characters for a quotation that says anything."""
    wide = sum(_is_wide(token) for token in tokens)
    words = sum(token.is_word for token in tokens) - wide
    characters = sum(len(token.text) + 1 for token in tokens)
    return words + wide / 2 >= MIN_WORDS and characters + wide >= MIN_CHARACTERS


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_FOLDED)).translate(_FOLDED)


def _is_wide(token: Token) -> bool:
    return token.is_word and re.match(f"[{_WIDE}]", token.text) is not None


def _trimmed(tokens: Sequence[Token]) -> Sequence[Token]:
    kept = [index for index, token in enumerate(tokens) if token.text not in _AROUND]
    return tokens[kept[0] : kept[-1] + 1] if kept else ()
