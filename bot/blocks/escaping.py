"""Text from outside, made safe for a place in a message: by kind of text, nothing visible lost.

The rules are Slack's: https://docs.slack.dev/messaging/formatting-message-text#escaping
"""

from __future__ import annotations

import re
from typing import Any

from bot.model.message import Block, OutgoingMessage

WORD_JOINER = "\u2060"
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
    return _BROADCAST.sub(f"@{WORD_JOINER}", _TOKEN.sub(rf"\1{WORD_JOINER}", text))


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


# Our own moments; the form without a link, so that nobody else's can be more than a date.
_DATE = re.compile(r"(<!date\^\d{1,12}\^[^<>|^]*\|[^<>|]*>)")
_TYPES_WITH_MENTIONS = frozenset({"mrkdwn", "markdown"})
"""Types whose text Slack reads for mentions; plain_text and rich_text are shown as they are."""


def sanitize_message(message: OutgoingMessage) -> OutgoingMessage:
    """Return the message with every mention broken and no character that JSON or Slack refuses. Idempotent."""
    return OutgoingMessage(
        text=_break_mentions_outside_dates(message.text) or "…",
        blocks=tuple(_sanitize_block(block) for block in message.blocks),
        private=message.private,
    )


def _break_mentions_outside_dates(text: str) -> str:
    pieces = _DATE.split(clean(text))
    return "".join(piece if place % 2 else break_mentions(piece) for place, piece in enumerate(pieces))


def _sanitize_block(block: Block) -> Block:
    return {
        name: _sanitize_value(value, live=block.get("type") in _TYPES_WITH_MENTIONS) for name, value in block.items()
    }


def _sanitize_value(value: Any, *, live: bool) -> Any:
    match value:
        case str():
            return _break_mentions_outside_dates(value) if live else clean(value)
        case dict():
            return _sanitize_block(value)
        case list() | tuple():
            return [_sanitize_value(item, live=live) for item in value]
    return value


# https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages
_LINK = re.compile(r"<((?:https?|mailto|tel|ftp):[^<>|\s]+)(?:\|([^<>\n]*))?>")
_MENTION = re.compile(
    r"<(?:([@#])([A-Z][A-Z0-9]+)|!(here|channel|everyone|(?:subteam|date)\^[^<>|]*))(?:\|([^<>\n]*))?>"
)
_NO_BREAK = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f", " "))


def unescape_slack(text: str) -> str:
    """Return the text as it was typed: links, mentions and entities unwrapped once, no-break spaces made plain."""
    text = _LINK.sub(lambda m: _link_text(m[1], m[2] or ""), text)
    text = _MENTION.sub(lambda m: _mention_text(m[1] or "@", m[2] or m[3], m[4] or ""), text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").translate(_NO_BREAK)


def _link_text(address: str, label: str) -> str:
    """Return what a wrapped link stood for: clients make links of `a.com` and of `a@b.com` too."""
    if not label or label == address:
        return address
    return label if address.rstrip("/").endswith(label.rstrip("/")) else f"{label} ({address})"


def _mention_text(kind: str, id: str, label: str) -> str:
    if id.startswith("date^") or label.startswith(("@", "#")):
        return label
    return f"{kind}{label or id}"
