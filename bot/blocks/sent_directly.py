"""Renders an answer as a direct message, for when it cannot be posted where the question was asked."""

from __future__ import annotations

from bot.blocks.base import Audience, Block, OutgoingMessage
from bot.blocks.elements import context
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.fallback_text import MOST_BYTES

LATE_SECONDS = 120.0
"""If the question is older than this, the message says how long ago it was asked."""

_QUESTION = 150
_SEEN_BY = "sent to you directly"


def sent_directly(
    message: OutgoingMessage, *, part: int, question: str | None, public: bool, unconfirmed: bool = False, age: float
) -> OutgoingMessage:
    """Return a part of an answer as a direct message.

    The message says why it is sent directly and quotes `question`, which is not escaped yet. `age` is the question's
    age in seconds; the message gives it if the answer is late. `unconfirmed` means that the part was posted where it
    belongs, without a reply from Slack. Its footer no longer says that everyone can see it. `question` is None for a
    digest, which needs no reason.
    """
    blocks = tuple(_sent(block) for block in message.blocks)
    text = _seen_by(message.text)
    if question is None:
        return OutgoingMessage(text=text, blocks=blocks)
    quoted = escape(shorten(one_line(question), _QUESTION))
    why = _why(part=part, question=quoted, public=public, unconfirmed=unconfirmed, age=age)
    if not blocks:
        return OutgoingMessage(text=f"{why}\n\n{text}")
    return OutgoingMessage(text=_fitting(why, text), blocks=(context(why), *blocks))


def ago(seconds: float) -> str:
    """Return how long ago something was, in words such as "5 minutes ago"."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _why(*, part: int, question: str, public: bool, unconfirmed: bool, age: float) -> str:
    when = f" {ago(age)}" if age >= LATE_SECONDS else ""
    asked = f"You asked “{question}”{when}." if question else f"You asked me something{when}."
    what = "the rest of my answer" if part else "my answer"
    where, to = ("for everyone there", " to you") if public else ("there", "")
    if unconfirmed:
        return f"{asked} Slack didn’t confirm {what} {where}, so here it is again as a direct message{to}."
    return f"{asked} I couldn’t post {what} {where}, so here it is as a direct message{to}."


def _fitting(why: str, text: str) -> str:
    """Return both as the fallback text, shortened to fit; the blocks contain the whole."""
    while len(f"{why}\n{text}".encode()) > MOST_BYTES:
        text = shorten(text, len(text) * 9 // 10)
    return f"{why}\n{text}"


def _sent(block: Block) -> Block:
    """Return a block; in a footer, correct who can see the message."""
    if block.get("type") != "context":
        return block
    return block | {"elements": [_element(element) for element in block.get("elements", ())]}


def _element(element: Block) -> Block:
    text = element.get("text")
    return element | {"text": _seen_by(text)} if isinstance(text, str) else element


def _seen_by(text: str) -> str:
    before, found, after = text.rpartition(Audience.CHANNEL.value)
    return f"{before}{_SEEN_BY}{after}" if found else text
