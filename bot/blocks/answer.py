"""Renders an answer as messages, and the rows of buttons below it.

The messages have the question, notes that affect how to read the text, the text, and the sources.
https://docs.slack.dev/reference/block-kit/blocks/context-actions-block
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal
from uuid import UUID

from bot.blocks import messages
from bot.blocks.elements import (
    MAX_TEXT,
    all_words,
    button,
    context,
    fit,
    notes_block,
    plain,
    question_line,
    quote_question,
    section,
    warning_blocks,
)
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.sources import link_url, source_line, source_titles
from bot.blocks.words import warning
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import AnswerButtons
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.citations import CitedText, number_citations
from perplexity.notes import fallback_notice
from perplexity.types import Answer, AnswerKind, Passage, Source, shorten_answer, shorten_text

EMPTY = N_("The answer came back empty.")


def _used_sources(passages: Sequence[Passage], sources: Sequence[Source]) -> list[Source]:
    by_number = {source.number: source for source in reversed(sources)}
    first_use = dict.fromkeys(passage.source for passage in passages)
    return [by_number[number] for number in first_use if number in by_number]


def _quotes(passages: Sequence[Passage], used: Sequence[Source]) -> Iterator[Block]:
    """Yield the passages as quotations, each with the number of its source in the order of first use."""
    numbered = {source.number: (number, source) for number, source in enumerate(used, 1)}
    for passage in passages:
        text = clean(passage.text)
        for start in range(0, len(text), MAX_TEXT):
            yield _quote(text[start : start + MAX_TEXT], numbered.get(passage.source))


def _quote(text: str, numbered: tuple[int, Source] | None) -> Block:
    elements: list[Block] = [{"type": "text", "text": f"{text} "}]
    if numbered is not None:
        number, source = numbered
        address = link_url(source)
        reference = {"type": "link", "url": address} if address else {"type": "text"}
        elements.append(reference | {"text": f"[{number}]"})
    return {"type": "rich_text", "elements": [{"type": "rich_text_quote", "elements": elements}]}


def answer_messages(answer: Answer, *, audience: Audience, question: str = "") -> tuple[OutgoingMessage, ...]:
    """Render an answer as one message, or as several numbered ones; the last has the sources.

    `question` is quoted above the answer if the answer's readers do not see the question otherwise.
    """
    blocks, titles = render_answer(shorten_answer(answer), original=answer)
    asked, quote = question_line(question, audience), quote_question(question, audience)
    return messages.pack([*asked, *blocks], sources=titles, quote=quote)


def titles_of(answer: Answer) -> str:
    """Return the titles of an answer's sources for the text of its last message."""
    return render_answer(answer)[1]


def render_answer(answer: Answer, *, original: Answer | None = None) -> tuple[list[Block | Part], str]:
    """Return the blocks of the notes, the text and the sources, and the sources' titles for the last message's text.

    If `answer` is only a part of an answer, `original` is the whole one, whose notes are rendered.
    """
    body: Iterable[Block | Part]
    used: Sequence[Source]
    others: Sequence[Source]
    if answer.kind is AnswerKind.PASSAGES and answer.passages:
        used = _used_sources(answer.passages, answer.sources)
        numbers = {source.number for source in used}
        others = [source for source in answer.sources if source.number not in numbers]
        body = _quotes(answer.passages, used)
    else:
        cited = number_citations(clean(answer.text), answer.sources)
        used, others = cited.sources, cited.others
        body = split_markdown(insert_placeholders(cited), [link_url(source) for source in used])
        body = body or [section(_(EMPTY))]
    return [*_notes(original or answer), *body, *source_line(used, others)], source_titles(used, others)


def answer_ending(answer: Answer, cited: CitedText) -> tuple[Block, ...]:
    """Return the blocks that follow the text of an answer if the text is already shown: the notes and the sources."""
    return (*_notes(answer), *source_line(cited.sources, cited.others))


def _notes(answer: Answer) -> Iterator[Block]:
    """Yield the notes that affect how to read an answer. The modal with its sources shows the other notes."""
    notice = fallback_notice(answer)
    if not notice and answer.kind is AnswerKind.PASSAGES and answer.passages:
        notice = _("No answer model is configured, so these are the passages that fit best, word for word.")
    yield from warning_blocks([notice, answer.as_of, *shorten_text(answer.text)[1]])
    if answer.incomplete is not None:
        reason = escape(shorten(one_line(answer.incomplete), 200))
        named = _("This answer is incomplete: the model stopped early ({reason}).").format(reason=reason)
        yield context(warning(named if reason else _("This answer is incomplete: the model stopped early.")))
    if answer.notes and (notice or not number_citations(clean(answer.text), answer.sources).sources):
        yield from notes_block(answer.notes)
    if not answer.sources and answer.text.strip():
        yield context(_("This answer has no sources, so nothing in it can be checked here."))


_ROW = re.compile(r"answer|feedback|next-\d|undo")
"""Matches the beginning of a row's `block_id`, which is followed by the question's id.

The `block_id` contains this id because menus and thumbs cannot carry it as a value.
"""

SHARE = "share"
GO_DEEPER = "go_deeper"
ASK_ABOUT = "ask_about"
MORE_RESULTS = "more_results"
SOURCES = "sources"
MORE = "more"
FEEDBACK = "feedback"
FOLLOW_UP = "follow_up"
DIGEST = "digest_modal"
"""The ids of the actions."""

RECHECK = "recheck"
REGENERATE = "regenerate"
SAVE = "save"
CANVAS = "canvas"
SENT = "sent"
"""The choices of the menu `MORE`."""

BUTTONS = (FOLLOW_UP, SHARE, ASK_ABOUT, MORE_RESULTS, DIGEST, SOURCES)
CHOICES = (GO_DEEPER, REGENERATE, SAVE, CANVAS, SENT)
"""The order of the buttons and of the menu's choices; those that are not listed follow."""


@dataclass(frozen=True, kw_only=True)
class Below:
    """The facts about an answer that decide which rows are below it.

    Only the asker sees a `private` answer. The next question can be typed below an answer `in_thread`. `saves_files` is
    whether files can be sent.
    """

    question_id: UUID
    buttons: AnswerButtons
    private: bool
    in_thread: bool = False
    saves_files: bool = True

    @property
    def public(self) -> bool:
        """Whether everyone in the channel sees the answer."""
        return not self.private

    @property
    def continues_by_form(self) -> bool:
        """Whether the next question needs a form: it cannot be typed below the answer, and no other button has one."""
        return not (self.in_thread or self.buttons.ask_about)


@dataclass(frozen=True, kw_only=True)
class AnswerPart:
    """A button, a choice of the menu, or a row of its own below answers; `name` is its `action_id` or its value.

    `offered` returns whether an answer has the part; if it is None, all answers have the part. `row` renders a row,
    such as thumbs, which Slack shows only where everyone sees the answer.
    """

    name: str
    place: Literal["button", "choice", "row"] = "button"
    label: str = ""
    primary: bool = False
    offered: Callable[[Below], object] | None = None
    row: Callable[[Below], Block] | None = None


_OWN_PARTS = (
    AnswerPart(name=MORE_RESULTS, label=N_("More results"), offered=attrgetter("buttons.more")),
    AnswerPart(name=SOURCES, label=N_("Sources"), offered=attrgetter("buttons.sources")),
    AnswerPart(name=GO_DEEPER, place="choice", label=N_("Think longer"), offered=attrgetter("buttons.deeper")),
    AnswerPart(name=REGENERATE, place="choice", label=N_("Regenerate")),
    AnswerPart(name=SENT, place="choice", label=N_("What was sent")),
)


def answer_actions(below: Below, parts: Sequence[AnswerPart] = ()) -> tuple[Block, ...]:
    """Return the rows below an answer: suggested questions, buttons with a menu, and the rows of `parts`."""
    offered = [part for part in (*_OWN_PARTS, *parts) if part.offered is None or part.offered(below)]
    suggested = [
        {"type": "actions", "block_id": f"next-{number}:{below.question_id}", "elements": [_next(text)]}
        for number, text in enumerate(below.buttons.next_questions, 1)
    ]
    shown = [
        button(_(part.label), part.name, str(below.question_id)) | ({"style": "primary"} if part.primary else {})
        for part in _in_order(offered, "button", BUTTONS)
    ]
    menu = _menu(_in_order(offered, "choice", CHOICES))
    row = {"type": "actions", "block_id": f"answer:{below.question_id}", "elements": [*shown, menu]}
    return (*suggested, row, *(part.row(below) for part in offered if part.row is not None))


def _in_order(parts: Iterable[AnswerPart], place: str, order: Sequence[str]) -> list[AnswerPart]:
    known = {name: number for number, name in enumerate(order)}
    return sorted((one for one in parts if one.place == place), key=lambda one: known.get(one.name, len(order)))


_SENT_ONLY = [part for part in _OWN_PARTS if part.name == SENT]


def cut_short_actions(again: str, *, question_id: str, sources: bool) -> Block:
    """Return the row below an answer that was stopped or broke off.

    `again` is the label of the button that asks the question again. If `again` is empty, there is no such button.
    """
    shown = [button(again, "retry", question_id)] if again else []
    shown += [button(_("Sources"), SOURCES, question_id)] if sources else []
    return {"type": "actions", "block_id": f"answer:{question_id}", "elements": [*shown, _menu(_SENT_ONLY)]}


def sent_actions(question_id: UUID) -> tuple[Block, ...]:
    """Return the row below a reply without other buttons, such as news: a menu that shows its sent requests."""
    return ({"type": "actions", "block_id": f"answer:{question_id}", "elements": [_menu(_SENT_ONLY)]},)


def with_actions(messages: Sequence[OutgoingMessage], actions: tuple[Block, ...]) -> tuple[OutgoingMessage, ...]:
    """Return the messages of an answer with the rows below the last one."""
    if not actions:
        return tuple(messages)
    *others, last = messages
    said = all_words(actions)
    text = fit(f"{said}\n{last.text}") if said else last.text
    return (*others, replace(last, text=text, blocks=(*last.blocks, *actions)))


def question_of_block(block_id: str) -> str:
    """Return the id of the question of a row below an answer; empty for another block."""
    row, _, question_id = block_id.partition(":")
    return question_id if _ROW.fullmatch(row) else ""


def undo_button(question_id: UUID, channel_id: str, stamps: Sequence[str]) -> Block:
    """Return the row with the button that deletes a shared answer: the messages with these `ts` in a channel."""
    undo = button(_("Undo"), SHARE, ":".join([channel_id, *stamps]))
    return {"type": "actions", "block_id": f"undo:{question_id}", "elements": [undo]}


def is_undo(action: Mapping[str, Any]) -> bool:
    """Return whether a click is on the button that undoes a share."""
    return str(action.get("block_id", "")).startswith("undo:")


def is_suggestion(action: Mapping[str, Any]) -> bool:
    """Return whether a click chose a suggested question, and not the button that opens a form for a question."""
    return str(action.get("block_id", "")).startswith("next-")


def _next(question: str) -> Block:
    return button(question, FOLLOW_UP, question) | {"text": plain(question) | {"emoji": False}}


def _menu(choices: Iterable[AnswerPart]) -> Block:
    options = [{"text": plain(_(one.label)), "value": one.name} for one in choices]
    return {"type": "overflow", "action_id": MORE, "options": options}
