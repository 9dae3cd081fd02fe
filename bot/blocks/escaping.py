"""Text from outside, made safe for a place in a message: by kind of text, nothing visible lost.

The rules are Slack's: https://docs.slack.dev/messaging/formatting-message-text#escaping
"""

from __future__ import annotations

import re

JOINER = "\u2060"
"""WORD JOINER: takes no room, cannot be seen, and keeps two characters from being read as one sign."""

_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85]")
_SPACES = re.compile(r"[\x0b\x0c\x1c-\x1f]")
# Noncharacters mean nothing between programs; this package marks places with some of them. What reorders the text that
# follows it can make a name or an address read as another: https://trojansource.codes
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_TOKEN = re.compile(r"(<|&lt;|&LT;|&#0{0,5}60;|&#[xX]0{0,5}3[cC];)(?=[@!#])")
_BROADCAST = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)


def clean(text: str) -> str:
    """Return the text with plain line ends and without characters that control or reorder it.

    Half a surrogate pair becomes U+FFFD.
    """
    text = _SPACES.sub(" ", _LINE_ENDS.sub("\n", text))
    return _SURROGATES.sub("\ufffd", _UNWANTED.sub("", text))


def break_mentions(text: str) -> str:
    """Break what Slack would turn into a mention, such as `<!here>`, `<@U1>` or a bare `@channel`. Idempotent."""
    return _BROADCAST.sub(f"@{JOINER}", _TOKEN.sub(rf"\1{JOINER}", text))


def escape(text: str) -> str:
    """Return text as mrkdwn that shows exactly this text, as far as mrkdwn can."""
    text = break_mentions(clean(text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def one_line(text: str) -> str:
    """Collapse all white space."""
    return " ".join(clean(text).split())


def shorten(text: str, limit: int) -> str:
    """Cut a text that is not an answer to `limit` characters, at a word where one ends near there."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 2]
    space = cut.rfind(" ", len(cut) * 2 // 3)
    return f"{cut[:space] if space > 0 else cut} …"


def code(text: str) -> str:
    """Return text as inline code of mrkdwn, which knows no way to write a backtick inside."""
    return f"`{escape(one_line(text)).replace('`', 'ˋ')}`"
