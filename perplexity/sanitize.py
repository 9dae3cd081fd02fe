"""Makes text from outside safe: it can neither close a section of a prompt or a tool result, nor control a terminal.

An escape sequence in an answer or a title could move the cursor, rewrite what was shown, set the clipboard or make a
misleading link: https://en.wikipedia.org/wiki/ANSI_escape_code
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from perplexity.markdown import CLOSE, NUMBERS, OPEN
from perplexity.types import Answer, AnswerKind, Source

_TAG = re.compile(r"<(?=\s*+(?:/\s*+)?(?:pages|result|references|message|claims?|passage|verdict)\b)", re.IGNORECASE)
_FENCE = re.compile("`{3,}|~{3,}")
_NOT_IN_AN_ADDRESS = re.compile(r"[\s<>\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile(r"\r\n?")
# C0 (except tab and line feed), DEL, C1, the characters that reorder text, and noncharacters, which other programs
# drop later.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
# C0 (except tab and line feed), DEL, C1; the marks that reorder text (https://trojansource.codes); line separators
# that some terminals obey; half surrogate pairs, which cannot be encoded.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_SPACES = re.compile(r"\s+")
_MARKER = re.compile(rf"{OPEN}({NUMBERS}){CLOSE}")


def strip_controls(text: str) -> str:
    """Return a text without characters that control a terminal or reorder other text; its lines end in a line feed.

    Half a surrogate pair, which cannot be encoded, becomes U+FFFD. https://en.wikipedia.org/wiki/ANSI_escape_code https://trojansource.codes
    """
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", _LINE_ENDS.sub("\n", text)))


def one_line(text: str) -> str:
    """Return a title, a snippet or a date as one line that cannot be taken for our tags or citation markers.

    The `<` of tags such as `<pages>`, `<result>` and `<message>` becomes ‹, and a page's own `[1]` becomes ‹1›. Code
    fences are removed, because they would turn the text after them into code, including our marker.
    """
    line = " ".join(_FENCE.sub(" ", strip_controls(" ".join(text.split()))).split())
    return _MARKER.sub(r"‹\1›", strip_tags(line))


def strip_tags(text: str) -> str:
    """Return a written answer in which our own tags, such as `<result>`, begin with ‹ instead of <.

    Control characters are removed; lines and markers do not change.
    """
    return _TAG.sub("‹", strip_controls(text))


def encode_url(url: str) -> str:
    """Return an address without spaces, line breaks and angle brackets, which are percent-encoded."""
    return _NOT_IN_AN_ADDRESS.sub(lambda match: quote(match[0]), url.strip())


def format_pages(pages: Sequence[Source], *, characters: int) -> str:
    """Return pages for a model: number, title, date, address and at most `characters` of the excerpt."""
    return "\n".join(["<pages>", *(_page(page, characters) for page in pages), "</pages>"])


def _page(page: Source, characters: int) -> str:
    head = f"[{page.number}] {one_line(page.title)} ({one_line(page.date or 'no date')}) {encode_url(page.url)}"
    return "\n".join(filter(None, (head, one_line(page.snippet)[:characters])))


def answer_text(answer: Answer) -> str:
    """Return an answer's text for a model or a program; passages become lines, each with its source's number."""
    if answer.kind is AnswerKind.PASSAGES:
        return "\n\n".join(f"{one_line(passage.text)} [{passage.source}]" for passage in answer.passages)
    return strip_tags(answer.text)


def printable(text: str) -> str:
    """Return the text with control characters made visible, and with line feeds as the only line ends."""
    return _UNSAFE.sub(lambda match: _picture(ord(match[0])), text.replace("\r\n", "\n").replace("\r", "\n"))


def printable_line(text: str) -> str:
    """Return the printable text on one line, without repeated spaces."""
    return _SPACES.sub(" ", printable(text)).strip()


def escape_json(json: str) -> str:
    """Return JSON text with its unsafe characters as JSON escapes, so that the text still decodes to the same value."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def _picture(code: int) -> str:
    """Return the control picture of a C0 character or DEL, and the replacement character for any other."""
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"
