"""Packs blocks into messages within Slack's limits, each with a text for notifications; renders failures."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bot.blocks.elements import (
    context,
    markdown,
    note_lines,
    primary_button,
    question_line,
    quote_question,
    secondary_button,
    section,
)
from bot.blocks.escaping import WORD_JOINER, clean, code, escape, one_line, shorten
from bot.blocks.markdown.render import CODE, Part, neutralize, runs_right_to_left
from bot.blocks.markdown.split import MAX_MESSAGE, MESSAGE_BLOCKS, rendered_size
from bot.blocks.words import age as age_in_words
from bot.blocks.words import ago
from bot.model.message import Audience, Block, OutgoingMessage
from perplexity.markdown import regions

THE_MESSAGE = "The message"

_FENCE = re.compile(r"[ \t>]*`{3,}[\w+#.-]*")
# Asterisks and hashes in code: noncharacters replace them until those of Markdown are removed.
_HIDDEN = {"*": "\ufde0", "#": "\ufde1"}
_OF_BORDERS = " -:|"
"""The signs in a table's lines without words."""
_LABELED = re.compile(r"<[^<|>]+\|([^<>]*)>")
_LINK = re.compile(r"\[\[(\d+)\]\]\(([^()\s]+)\)")


def strip_markdown(text: str) -> str:
    """Return the text without Markdown's `*`, `#` and backticks; those inside code stay."""
    for sign in "*`#":
        text = text.replace(sign, "")
    for sign, held in _HIDDEN.items():
        text = text.replace(held, sign)
    return text


def block_text(block: Block, *, links: bool) -> str:
    """Return the text of a block as mrkdwn; without `links`, each link is replaced by its number or title."""
    match block["type"]:
        case "markdown":
            return _markdown_text(block["text"], links=links)
        case "header":
            return _shown_text(block["text"]["text"], links=links)
        case "section":
            return _mrkdwn_text(block["text"]["text"], links=links)
        case "context":
            return _mrkdwn_text("\n".join(element["text"] for element in block["elements"]), links=links)
        case "rich_text":
            return "\n".join(_quote_text(quote, links=links) for quote in block["elements"])
    return ""


def words_of(part: Part) -> str:
    """Return the words of a part of an answer without links, not escaped."""
    return "".join(
        _hide_signs(_bare(stretch)) if is_code else _LINK.sub(r"[\1]", stretch) for is_code, stretch in part.stretches
    )


def _markdown_text(text: str, *, links: bool) -> str:
    stretches = ((region.kind in CODE, text[region.start : region.end]) for region in regions(text))
    return "".join(
        _code_text(stretch, links=links) if code else "".join(_prose_texts(stretch, links=links))
        for code, stretch in stretches
    )


def _code_text(code: str, *, links: bool) -> str:
    if not links:
        return _hide_signs(escape(_bare(code)))
    # Outside a block only backticks on both sides make code, in which Slack links nothing.
    closed = len(code) > 1 and code.startswith("`") and code.rstrip().endswith("`")
    return escape(code if closed else neutralize(code))


def _bare(code: str) -> str:
    """Return code without the signs around it."""
    fence = _FENCE.match(code)
    return code[fence.end() if fence else 0 :].replace("`", "")


def _hide_signs(code: str) -> str:
    for sign, held in _HIDDEN.items():
        code = code.replace(sign, held)
    return code


def _prose_texts(text: str, *, links: bool) -> Iterator[str]:
    place = 0
    for match in _LINK.finditer(text):
        yield escape(text[place : match.start()])
        yield _link_text(match[2], f"[{match[1]}]", links=links)
        place = match.end()
    yield escape(text[place:])


_TOKEN_OR_CODE = re.compile(r"(<[^<>]*>|`[^`\n]*`)")


def _mrkdwn_text(text: str, *, links: bool) -> str:
    """Return mrkdwn for use outside a block, where Slack would make a link of every address."""
    if not links:
        return _LABELED.sub(r"\1", text)
    pieces = _TOKEN_OR_CODE.split(text)
    return "".join(piece if place % 2 else neutralize(piece) for place, piece in enumerate(pieces))


def _shown_text(text: str, *, links: bool) -> str:
    return escape(neutralize(clean(text)) if links else text)


def _quote_text(quote: Block, *, links: bool) -> str:
    return "".join(_rich_text_texts(quote["elements"], links=links))


def _rich_text_texts(elements: list[Block], *, links: bool) -> Iterator[str]:
    for element in elements:
        if element["type"] == "link":
            yield _link_text(element["url"], element["text"], links=links)
        elif element["type"] == "rich_text_section":
            yield "".join([*_rich_text_texts(element["elements"], links=links), "\n"])
        elif element["type"] == "user":
            yield f"<@{element['user_id']}>"
        else:
            yield _shown_text(element["text"], links=links)


def _link_text(address: str, label: str, *, links: bool) -> str:
    return f"<{escape(address)}|{escape(label)}>" if links else escape(label)


MAX_CHARACTERS = 3_900
MAX_BYTES = 3_990
"""`chat.update` counts bytes and accepts 4,000; one limit serves all methods."""


def fallback_text(blocks: Sequence[Block | Part], *, beginning: str = "", ending: str = "") -> str:
    """Return the text of blocks as mrkdwn without links, shortened to Slack's limit; never empty."""
    plain = "\n".join(filter(None, (_shown_lines(_words(block)) for block in blocks)))
    # On separate lines, our text and right-to-left text do not reorder each other.
    apart = runs_right_to_left(plain)
    first = f"{beginning.rstrip()}\n" if apart and beginning else beginning
    last = f"{chr(10) if apart else ' '}({ending})" if ending else ""
    frame = f"{first}{{}}{last}"
    return frame.format(_shorten_escaped(plain, room=MAX_CHARACTERS - len(frame))) or "…"


def _words(block: Block | Part) -> str:
    return words_of(block) if isinstance(block, Part) else html.unescape(block_text(block, links=False))


def _shown_lines(said: str) -> str:
    """Return the lines without signs of Markdown; of a table, only the lines with words."""
    lines = said.replace(WORD_JOINER, "").split("\n")
    shown = [strip_markdown(line).strip() for line in lines]
    return "\n".join(
        [
            line
            for line, written in zip(shown, lines, strict=True)
            if line and (line[0] not in _OF_BORDERS or written.strip(_OF_BORDERS))
        ]
    )


def _shorten_escaped(text: str, *, room: int) -> str:
    most_bytes = MAX_BYTES - (MAX_CHARACTERS - room)
    limit = room
    while True:
        fitting = escape(neutralize(shorten(text, limit)))
        if len(fitting) <= room and len(fitting.encode()) <= most_bytes:
            return fitting
        limit = limit * 4 // 5


def pack(blocks: Sequence[Block | Part], *, summary: str, quote: str = "") -> tuple[OutgoingMessage, ...]:
    """Put blocks into messages in order; `summary`, such as "3 sources", ends the last one's text.

    `quote` is the quoted question above the first message; every other message quotes it with its number.
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
    return tuple(_message(group, part, len(groups), summary, quote) for part, group in enumerate(groups, 1))


def _message(group: list[Block | Part], part: int, parts: int, summary: str, quote: str) -> OutgoingMessage:
    if parts == 1:
        return OutgoingMessage(text=fallback_text(group, ending=summary), blocks=_blocks(group))
    number = f"Part {part} of {parts}"
    numbered = [*group, context(" · ".join(filter(None, [quote if part > 1 else "", number])))]
    text = fallback_text(group, beginning=f"{number}: ", ending=summary if part == parts else "")
    return OutgoingMessage(text=text, blocks=_blocks(numbered))


def with_line_above(messages: Sequence[OutgoingMessage], line: str) -> tuple[OutgoingMessage, ...]:
    """Return the messages of an answer with a line of untrusted text above the first one."""
    first, *others = messages
    words = html.unescape(first.text).replace(WORD_JOINER, "")
    text = _shorten_escaped(f"{line}\n{words}", room=MAX_CHARACTERS)
    return (replace(first, text=text, blocks=(*map(context, note_lines([line])), *first.blocks)), *others)


def _blocks(group: Sequence[Block | Part]) -> tuple[Block, ...]:
    return tuple(markdown(block.text) if isinstance(block, Part) else block for block in group)


def _size(block: object) -> int:
    """Return the number of characters that Slack counts for a block."""
    if isinstance(block, dict):
        own = rendered_size(block["text"]) if isinstance(block.get("text"), str) else 0
        return own + sum([_size(value) for value in block.values() if isinstance(value, dict | list)])
    return sum(map(_size, block)) if isinstance(block, list) else 0


def texts_in(block: object) -> list[str]:
    """Return every text in a block, in order."""
    if isinstance(block, dict):
        own = [block["text"]] if isinstance(block.get("text"), str) else []
        return [*own, *(text for value in block.values() for text in texts_in(value))]
    if isinstance(block, list):
        return [text for item in block for text in texts_in(item)]
    return []


_MAX_STOPPED = 150
"""The most characters quoted of a stopped question."""


def question_stopped_message(text: str, *, question_id: str) -> OutgoingMessage:
    """Render the notice that the asker stopped a question, with a button that asks it again."""
    question = escape(shorten(one_line(text), _MAX_STOPPED))
    said = f"*Stopped{f' “{question}”' if question else ''}.*"
    again = secondary_button("Start again", action_id="retry", value=question_id)
    return OutgoingMessage(text=said, blocks=(section(said), again))


LATE_AFTER_SECONDS = 600.0
"""An answer to an older message mentions its age. Slack delivers events again for up to a day.

https://docs.slack.dev/apis/events-api/#errors
"""


def late_note(seconds: float) -> str:
    """Return a note for an answer to a message of this age in seconds; empty for a usual age."""
    said = f"You asked this {age_in_words(seconds)} ago; I couldn’t answer before."
    return said if seconds > LATE_AFTER_SECONDS else ""


def late_message(text: str, seconds: float, *, question_id: str) -> OutgoingMessage:
    """Ask whether a question of this age in seconds still matters, with a button that asks it."""
    asked = escape(shorten(one_line(text), _MAX_STOPPED))
    what = f" “{asked}”" if asked else " this"
    said = f"You asked{what} {age_in_words(seconds)} ago, and it reached me only now. Do you still want an answer?"
    blocks = (section(said), secondary_button("Answer it now", action_id="retry", value=question_id))
    return OutgoingMessage(text=said, blocks=blocks)


_MAX_EXCERPT = 300
"""The most characters quoted of a message that a question is about."""


def asked_message(text: str, *, lead: str = "You asked:", about: str = "", link: str = "") -> OutgoingMessage:
    """Render a question from a form: the message in whose thread the answer comes.

    `about` is a message that the question is about; its beginning is quoted, and `link` leads to it.
    """
    said = [{"type": "text", "text": f"{lead} ", "style": {"bold": True}}, {"type": "text", "text": text}]
    parts: list[Block] = [{"type": "rich_text_section", "elements": said}]
    if about:
        excerpt = {"type": "text", "text": shorten(one_line(about), _MAX_EXCERPT)}
        parts.append({"type": "rich_text_quote", "elements": [excerpt]})
    if link:
        parts.append({"type": "rich_text_section", "elements": [{"type": "link", "url": link, "text": THE_MESSAGE}]})
    fallback = f"*{lead}* {escape(shorten(one_line(text), 500))}"
    return OutgoingMessage(text=fallback, blocks=({"type": "rich_text", "elements": parts},))


def without_blocks(message: OutgoingMessage) -> OutgoingMessage:
    """Return the same text and links without blocks.

    Slack shows a long text as several messages, up to 40,000 characters
    (https://docs.slack.dev/reference/methods/chat.postMessage); a message's blocks hold far less.
    """
    said = "\n\n".join(filter(None, (block_text(block, links=True) for block in message.blocks)))
    return OutgoingMessage(text=said or message.text, private=message.private)


LATE_SECONDS = 120.0
"""If the question is older than this, the message mentions its age."""
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
    text = message.text.removeprefix(f"{quote_question(question, Audience.ASKER)}\n")
    quoted = escape(shorten(one_line(question), _QUESTION))
    when = f" {ago(age)}" if age >= LATE_SECONDS else ""
    why = _why_directly(quoted, when, rest=part > 0, public=public, unconfirmed=unconfirmed)
    if not blocks:
        return OutgoingMessage(text=f"{why}\n\n{text}")
    return OutgoingMessage(text=_joined_fallback_text(why, text), blocks=(context(why), *blocks))


def _why_directly(quoted: str, when: str, *, rest: bool, public: bool, unconfirmed: bool) -> str:
    asked = f"You asked “{quoted}”{when}." if quoted else f"You asked me something{when}."
    what = "the rest of my answer" if rest else "my answer"
    there, to = ("for everyone there", " to you") if public else ("there", "")
    if unconfirmed:
        return f"{asked} Slack didn’t confirm {what} {there}, so here it is again as a direct message{to}."
    return f"{asked} I couldn’t post {what} {there}, so here it is as a direct message{to}."


def _joined_fallback_text(why: str, text: str) -> str:
    """Return both texts as the fallback text, shortened to fit; the blocks contain the whole."""
    while len(f"{why}\n{text}".encode()) > MAX_BYTES:
        text = shorten(text, len(text) * 9 // 10)
    return f"{why}\n{text}"


FailureAction = Literal["retry", "past_week"]
"""The action of the button below a failure."""

_LABELS: Mapping[FailureAction, str] = {"retry": "Try again", "past_week": "Past week"}


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

    `question` is quoted above it, empty if its readers see it anyway.
    """
    shown, found_by = escape(shorten(sentence, 1_000)), f"Reference {code(reference)}"
    asked = question_line(question, Audience.ASKER)
    buttons = [primary_button(_LABELS[action], action_id=action, value=question_id)] if action else []
    text = " ".join(filter(None, (quote_question(question, Audience.ASKER), shown, found_by)))
    return OutgoingMessage(text=text, blocks=(*asked, section(shown), *buttons, context(found_by)), private=private)
