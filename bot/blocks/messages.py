"""Packs blocks into messages within Slack's limits; renders failures, notices about a question, and direct messages.

Each message has a text for notifications.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bot.blocks.elements import (
    REFERENCE,
    all_words,
    context,
    fallback_text,
    fit,
    link,
    markdown,
    note_lines,
    primary_button,
    question_line,
    secondary_button,
    section,
    spoken,
)
from bot.blocks.escaping import clean, code, escape, neutralize, one_line, shorten
from bot.blocks.markdown.blocks import MAX_MESSAGE, MESSAGE_BLOCKS, rendered_size
from bot.blocks.markdown.render import CODE, Part
from bot.blocks.words import age as age_in_words
from bot.blocks.words import ago
from bot.model.message import Audience, Block, OutgoingMessage
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.markdown import regions

THE_MESSAGE = N_("The message")

_TOKEN_OR_CODE = re.compile(r"(<[^<>]*>|`[^`\n]*`)")


def strip_markdown(text: str) -> str:
    """Return the text without Markdown's `*`, `#` and backticks."""
    return text.translate(dict.fromkeys(map(ord, "*`#")))


def _linked_text(block: Block) -> str:
    """Return the text of a block as mrkdwn with its links, for use outside a block."""
    match block["type"]:
        case "markdown":
            text = block["text"]
            stretches = ((region.kind in CODE, text[region.start : region.end]) for region in regions(text))
            return "".join(_code_text(one) if is_code else "".join(_prose_texts(one)) for is_code, one in stretches)
        case "section":
            return _mrkdwn_text(block["text"]["text"])
        case "context":
            return _mrkdwn_text("\n".join(element["text"] for element in block["elements"]))
        case "rich_text":
            return "\n".join("".join(_rich_text_texts(quote["elements"])) for quote in block["elements"])
    return all_words([block])


def _code_text(code: str) -> str:
    # Outside a block only backticks on both sides make code, in which Slack links nothing.
    closed = len(code) > 1 and code.startswith("`") and code.rstrip().endswith("`")
    return escape(code if closed else neutralize(code))


def _prose_texts(text: str) -> Iterator[str]:
    place = 0
    for match in REFERENCE.finditer(text):
        yield escape(text[place : match.start()])
        yield link(match[2], f"[{match[1]}]")
        place = match.end()
    yield escape(text[place:])


def _mrkdwn_text(text: str) -> str:
    """Return mrkdwn for use outside a block; addresses are broken, because Slack would make links of them there."""
    pieces = _TOKEN_OR_CODE.split(text)
    return "".join(piece if place % 2 else neutralize(piece) for place, piece in enumerate(pieces))


def _rich_text_texts(elements: list[Block]) -> Iterator[str]:
    for element in elements:
        if element["type"] == "link":
            yield link(element["url"], element["text"])
        elif element["type"] == "rich_text_section":
            yield "".join([*_rich_text_texts(element["elements"]), "\n"])
        elif element["type"] == "user":
            yield f"<@{element['user_id']}>"
        else:
            yield escape(neutralize(clean(element["text"])))


def pack(blocks: Sequence[Block | Part], *, sources: str = "", quote: str = "") -> tuple[OutgoingMessage, ...]:
    """Put blocks into messages in order.

    `sources` are the titles of the sources; the text of the last message ends with them. `quote` is the question in
    quotation marks, as at the top of the first message; every other message repeats `quote` next to its part's number.
    """
    groups: list[list[Block | Part]] = []
    size = count = 0
    for block in blocks:
        own_size, own_count = (
            (rendered_size(block.text), block.blocks) if isinstance(block, Part) else (_size(block), 1)
        )
        size, count = size + own_size, count + own_count
        if groups and size <= MAX_MESSAGE and count <= MESSAGE_BLOCKS:
            groups[-1].append(block)
        else:
            groups.append([block])
            size, count = own_size, own_count
    return tuple(_message(group, part, len(groups), sources, quote) for part, group in enumerate(groups, 1))


def _message(group: list[Block | Part], part: int, parts: int, sources: str, quote: str) -> OutgoingMessage:
    if parts == 1:
        return OutgoingMessage(text=fallback_text(group, sources=sources), blocks=_blocks(group))
    said = _("Part {part} of {parts}").format(part=part, parts=parts)
    number = context(f"{quote} · {said}" if quote and part > 1 else said)
    text = fallback_text([number, *group], sources=sources if part == parts else "")
    return OutgoingMessage(text=text, blocks=_blocks([*group, number]))


def with_line_above(messages: Sequence[OutgoingMessage], line: str) -> tuple[OutgoingMessage, ...]:
    """Return the messages of an answer with a line of untrusted text above the first one."""
    first, *others = messages
    above = [context(one) for one in note_lines([line])]
    text = fit(f"{all_words(above)}\n{first.text}")
    return (replace(first, text=text, blocks=(*above, *first.blocks)), *others)


def _blocks(group: Sequence[Block | Part]) -> tuple[Block, ...]:
    return tuple(markdown(block.text) if isinstance(block, Part) else block for block in group)


def _size(block: object) -> int:
    """Return the number of characters that Slack counts for a block."""
    if isinstance(block, dict):
        own = rendered_size(block["text"]) if isinstance(block.get("text"), str) else 0
        return own + sum([_size(value) for value in block.values() if isinstance(value, dict | list)])
    return sum(map(_size, block)) if isinstance(block, list) else 0


_MAX_STOPPED = 150
"""The most characters quoted of a stopped or late question."""


def question_stopped_message(text: str, *, question_id: str) -> OutgoingMessage:
    """Render the notice that the asker stopped a question, with a button that asks it again."""
    question = escape(shorten(one_line(text), _MAX_STOPPED))
    said = _("*Stopped “{question}”.*").format(question=question) if question else _("*Stopped.*")
    again = secondary_button(_("Start again"), action_id="retry", value=question_id)
    return spoken(section(said), again)


LATE_AFTER_SECONDS = 600.0
"""An answer mentions the age of a message that is older than this. Slack delivers events again for up to a day.

https://docs.slack.dev/apis/events-api/#errors
"""


def late_note(seconds: float) -> str:
    """Return a note for an answer to a message of this age; empty for at most `LATE_AFTER_SECONDS`."""
    said = _("You asked this {age} ago; I couldn’t answer before.").format(age=age_in_words(seconds))
    return said if seconds > LATE_AFTER_SECONDS else ""


def late_message(text: str, seconds: float, *, question_id: str) -> OutgoingMessage:
    """Render the question whether the asker still wants an answer after `seconds`, with a button that starts one."""
    asked = escape(shorten(one_line(text), _MAX_STOPPED))
    if asked:
        said = _("You asked “{question}” {age} ago, and it reached me only now. Do you still want an answer?")
    else:
        said = _("You asked this {age} ago, and it reached me only now. Do you still want an answer?")
    said = said.format(question=asked, age=age_in_words(seconds))
    return spoken(section(said), secondary_button(_("Answer it now"), action_id="retry", value=question_id))


_MAX_EXCERPT = 300
"""The most characters quoted of a message that a question is about."""


def asked_message(text: str, *, lead: str = "", about: str = "", link: str = "") -> OutgoingMessage:
    """Render the message that shows a question from a form; the answer comes in this message's thread.

    `about` is a message that the question is about; its beginning is quoted, and `link` leads to it.
    """
    said = [
        {"type": "text", "text": f"{lead or _('You asked:')} ", "style": {"bold": True}},
        {"type": "text", "text": text},
    ]
    parts: list[Block] = [{"type": "rich_text_section", "elements": said}]
    if about:
        excerpt = {"type": "text", "text": shorten(one_line(about), _MAX_EXCERPT)}
        parts.append({"type": "rich_text_quote", "elements": [excerpt]})
    if link:
        parts.append({"type": "rich_text_section", "elements": [{"type": "link", "url": link, "text": _(THE_MESSAGE)}]})
    return spoken({"type": "rich_text", "elements": parts})


def without_blocks(message: OutgoingMessage) -> OutgoingMessage:
    """Return a message with the same text and links, but without blocks.

    Slack shows a long text as several messages, up to 40,000 characters
    (https://docs.slack.dev/reference/methods/chat.postMessage); a message's blocks hold far less.
    """
    said = "\n\n".join(filter(None, map(_linked_text, message.blocks)))
    return OutgoingMessage(text=said or message.text, private=message.private)


LATE_SECONDS = 120.0
"""The direct message with an answer mentions the age of a question that is at least this old."""
_QUESTION = 150


def as_direct_message(
    message: OutgoingMessage, *, part: int, question: str | None, public: bool, unconfirmed: bool = False, age: float
) -> OutgoingMessage:
    """Return a part of an answer as a direct message.

    The message says why it is sent directly and quotes `question`, which is not escaped yet. `age` is the question's
    age in seconds, which a late answer mentions. `unconfirmed` means that the part was posted to its place without a
    reply from Slack. `question` is None for a digest, which needs no reason.
    """
    if question is None:
        return OutgoingMessage(text=message.text, blocks=message.blocks)
    asked = tuple(question_line(question, Audience.ASKER))
    blocks = message.blocks[1:] if asked and message.blocks[:1] == asked else message.blocks
    text = message.text.replace(f"{fallback_text(asked)}\n", "", 1) if blocks is not message.blocks else message.text
    quoted = escape(shorten(one_line(question), _QUESTION))
    why = _why_directly(
        quoted, ago(age) if age >= LATE_SECONDS else "", rest=part > 0, public=public, unconfirmed=unconfirmed
    )
    if not blocks:
        return OutgoingMessage(text=f"{why}\n\n{text}")
    return OutgoingMessage(text=fit(f"{why}\n{text}"), blocks=(context(why), *blocks))


def _why_directly(quoted: str, when: str, *, rest: bool, public: bool, unconfirmed: bool) -> str:
    if quoted:
        asked = _("You asked “{question}” {when}.") if when else _("You asked “{question}”.")
    else:
        asked = _("You asked me something {when}.") if when else _("You asked me something.")
    return f"{asked.format(question=quoted, when=when)} {_(_WHY_DIRECTLY[unconfirmed, public, rest])}"


_WHY_DIRECTLY = {
    (False, False, False): N_("I couldn’t post my answer there, so here it is as a direct message."),
    (False, False, True): N_("I couldn’t post the rest of my answer there, so here it is as a direct message."),
    (False, True, False): N_("I couldn’t post my answer for everyone there, so here it is as a direct message to you."),
    (False, True, True): N_(
        "I couldn’t post the rest of my answer for everyone there, so here it is as a direct message to you."
    ),
    (True, False, False): N_("Slack didn’t confirm my answer there, so here it is again as a direct message."),
    (True, False, True): N_(
        "Slack didn’t confirm the rest of my answer there, so here it is again as a direct message."
    ),
    (True, True, False): N_(
        "Slack didn’t confirm my answer for everyone there, so here it is again as a direct message to you."
    ),
    (True, True, True): N_(
        "Slack didn’t confirm the rest of my answer for everyone there, so here it is again as a direct message to you."
    ),
}
"""The sentences on why an answer comes as a direct message.

A key has three parts: whether Slack left the posted answer unconfirmed, whether the answer was for everyone, and
whether only the rest of the answer comes.
"""


FailureAction = Literal["retry", "past_week"]
"""The action of the button below a failure."""

_LABELS: Mapping[FailureAction, str] = {"retry": N_("Try again"), "past_week": N_("Past week")}


def failure_message(
    sentence: str,
    *,
    reference: str,
    question_id: str,
    action: FailureAction | None = "retry",
    private: bool = False,
    question: str = "",
) -> OutgoingMessage:
    """Render a failure; `sentence` is not escaped yet, `action` is the button, None for no button.

    `question` is quoted above the failure; it is empty if the readers see the question anyway.
    """
    shown, found_by = escape(shorten(sentence, 1_000)), _("Reference {code}").format(code=code(reference))
    asked = question_line(question, Audience.ASKER)
    buttons = [primary_button(_(_LABELS[action]), action_id=action, value=question_id)] if action else []
    return replace(spoken(*asked, section(shown), *buttons, context(found_by)), private=private)
