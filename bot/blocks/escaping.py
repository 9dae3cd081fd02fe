"""Makes untrusted text safe for its place in a Slack message, and reads text that Slack escaped."""

from __future__ import annotations

import html
import re
from typing import Any

from bot.model.message import Block, OutgoingMessage

WORD_JOINER = "\u2060"
"""An invisible character of no width that keeps Slack from reading the characters around it as one token."""

_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85]")
_SPACES = re.compile(r"[\x0b\x0c\x1c-\x1f]")
# Noncharacters are for internal use; this package uses some as placeholders. Characters that reorder text can make a
# name or an address look like another: https://trojansource.codes
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_TOKEN = re.compile(r"(<|&lt;|&LT;|&#0{0,5}60;|&#[xX]0{0,5}3[cC];)(?=[@!#])")
# Underscores may follow the word, because they may end an emphasis.
_BROADCAST = re.compile(r"@(?=(?:here|channel|everyone|group)(?![^\W_]))", re.IGNORECASE)


def clean(text: str) -> str:
    """Return the text with plain line ends, without control characters, noncharacters and characters that reorder text.

    Half a surrogate pair becomes U+FFFD.
    """
    text = _SPACES.sub(" ", _LINE_ENDS.sub("\n", text))
    return _SURROGATES.sub("\ufffd", _UNWANTED.sub("", text))


def break_mentions(text: str) -> str:
    """Break every mention, such as `<!here>`, `<@U1>` or a bare `@channel`; idempotent."""
    return _BROADCAST.sub(f"@{WORD_JOINER}", _TOKEN.sub(rf"\1{WORD_JOINER}", text))


def escape(text: str) -> str:
    """Return mrkdwn that shows this text, as far as mrkdwn can.

    https://docs.slack.dev/messaging/formatting-message-text#escaping
    """
    return break_mentions(clean(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def one_line(text: str) -> str:
    """Return the text on one line, with single spaces."""
    return " ".join(clean(text).split())


def shorten(text: str, limit: int) -> str:
    """Shorten a text to `limit` characters, at the end of a word if a word ends near the limit."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 2]
    space = cut.rfind(" ", len(cut) * 2 // 3)
    return f"{cut[:space] if space > 0 else cut} …"


def code(text: str) -> str:
    """Return text as inline code in mrkdwn; a backtick is replaced, since mrkdwn cannot escape it."""
    return f"`{escape(one_line(text)).replace('`', 'ˋ')}`"


_AFTER_A_SCHEME = "|".join(
    rf"(?<=(?<![^\W_]){scheme}:)"
    for scheme in ("mailto", "xmpp", "tel", "sms", "skype", "slack", "javascript", "data", "file")
)
# HTML, autolinks, Slack's own tokens.
_TAG = re.compile(r"<(?=[^\s\u2060])")
_SCHEME = re.compile(rf":(?=[^\s\u2060])(?i:{_AFTER_A_SCHEME})")
# Links, images and definitions.
_LABEL_END = re.compile(r"\](?=[(:])")
# Addresses, with or without a scheme.
_SLASH = re.compile(r"/(?<=[/:]/)")
# A dot gets a joiner on both sides: linkifiers treat a joiner before the dot as a letter, and GitHub's parser treats a
# joiner after the dot as a letter.
_HOST_DOT = re.compile(r"\.(?=[^\W\d_])(?<=\S\.)")
_ENTITY = re.compile(r"&(?=(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
# The characters of addresses and of Slack's tokens.
_OF_TOKENS = frozenset(".:/@!#")
# In CommonMark, asterisks between a letter and punctuation make no emphasis
# (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run). In text without spaces between words, as in Chinese
# and Japanese, emphasis is meant anyway.
BOLD = re.compile(r"\*\*(?<!\*\*\*)(?![*\s])([^*\n]+)(?<![*\s])\*\*(?!\*)")


def neutralize(prose: str) -> str:
    """Break every link, image, HTML tag and mention in a stretch of Markdown outside code. Idempotent.

    Anything that CommonMark, GitHub's extensions or a linkifier would turn into a link is broken with an invisible
    joiner: all of its letters stay visible, but it leads nowhere.
    """
    prose = _ENTITY.sub(_broken_entity, prose)
    prose = _TAG.sub(f"<{WORD_JOINER}", prose)
    prose = _LABEL_END.sub(f"]{WORD_JOINER}", prose)
    prose = _SLASH.sub(f"{WORD_JOINER}/", prose)
    prose = _SCHEME.sub(f":{WORD_JOINER}", prose)
    prose = _HOST_DOT.sub(_broken_dot, prose)
    prose = BOLD.sub(_freed_bold, prose)
    return break_mentions(prose)


def _broken_entity(match: re.Match[str]) -> str:
    return f"&{WORD_JOINER}" if html.unescape(f"&{match[1]};") in _OF_TOKENS else "&"


def _broken_dot(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 2) : match.start()]
    # An escaped dot gets one joiner only, unless its backslash begins the text or a word.
    escaped = len(before) == 2 and before[1] == "\\" and not before[0].isspace()
    return f".{WORD_JOINER}" if escaped else f"{WORD_JOINER}.{WORD_JOINER}"


def _freed_bold(match: re.Match[str]) -> str:
    text = match[1]
    start = WORD_JOINER if not text[0].isalnum() and _is_word(match.string, match.start() - 1) else ""
    end = WORD_JOINER if not text[-1].isalnum() and _is_word(match.string, match.end()) else ""
    return f"**{start}{text}{end}**"


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()


# Matches the dates that the app writes. They have no link, so a text that imitates them can only show a date.
_DATE = re.compile(r"(<!date\^\d{1,12}\^[^<>|^]*\|[^<>|]*>)")
_TYPES_WITH_MENTIONS = frozenset({"mrkdwn", "markdown"})
"""The types of text in which Slack finds mentions; plain_text and rich_text are shown unchanged."""


def sanitize_message(message: OutgoingMessage) -> OutgoingMessage:
    """Return the message without mentions and without characters that JSON or Slack rejects; idempotent."""
    return OutgoingMessage(
        text=_break_mentions_outside_dates(message.text) or "…",
        blocks=tuple(_sanitize_block(block) for block in message.blocks),
        private=message.private,
    )


def sanitize_view(view: Block) -> Block:
    """Return a view without mentions and without characters that JSON or Slack rejects; idempotent."""
    return _sanitize_block(view)


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
    """Return the text as the user typed it: links, mentions and entities decoded once, no-break spaces as spaces.

    A mention without a name becomes a word such as `@someone`, so that no id is sent to a search service.
    """
    text = _LINK.sub(lambda m: _link_text(m[1], m[2] or ""), text)
    text = _MENTION.sub(lambda m: _mention_text(m[1] or "@", m[2] or m[3], m[4] or ""), text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").translate(_NO_BREAK)


def _link_text(address: str, label: str) -> str:
    """Return the typed text of a link; Slack's clients make links even of a typed `a.com` or `a@b.com`."""
    if not label or label == address:
        return address
    return label if address.rstrip("/").endswith(label.rstrip("/")) else f"{label} ({address})"


def _mention_text(kind: str, id: str, label: str) -> str:
    if id.startswith("date^") or label.startswith(("@", "#")):
        return label
    if label or id in {"here", "channel", "everyone"}:
        return f"{kind}{label or id}"
    return "#channel" if kind == "#" else "@group" if id.startswith("subteam^") else "@someone"
