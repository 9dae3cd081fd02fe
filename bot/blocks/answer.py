"""Renders an answer as messages, while it is made and when it is complete or cut short, and the buttons below it.

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

from bot.blocks.elements import (
    MAX_TEXT,
    all_words,
    button,
    context,
    fit,
    markdown,
    notes_block,
    plain,
    question_line,
    quote_question,
    section,
    spoken,
    stop_button,
    warning_blocks,
)
from bot.blocks.escaping import clean, code, escape, neutralize, one_line, shorten
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import Part, split_markdown
from bot.blocks.messages import pack
from bot.blocks.sources import link_url, source_line, source_titles
from bot.blocks.words import STILL_WRITING, STOPPED, full_seconds, warning
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import AnswerButtons
from bot.translation import N_, ngettext
from bot.translation import gettext as _
from perplexity.citations import CitedText, number_citations
from perplexity.notes import fallback_notice
from perplexity.types import Answer, AnswerKind, Passage, Source, shorten_answer, shorten_text
from perplexity.urls import hostname

EMPTY = N_("The answer came back empty.")


def answer_messages(answer: Answer, *, audience: Audience, question: str = "") -> tuple[OutgoingMessage, ...]:
    """Render an answer as one message, or as several numbered ones; the last has the sources.

    `question` is quoted above the answer if the answer's readers do not see the question otherwise.
    """
    blocks, titles = render_answer(shorten_answer(answer), original=answer)
    asked, quote = question_line(question, audience), quote_question(question, audience)
    return pack([*asked, *blocks], sources=titles, quote=quote)


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


def _notes(answer: Answer) -> Iterator[Block]:
    """Yield the notes that affect how to read an answer. The other notes are in the modal with the sources."""
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


_QUERY = 80
_TITLE = 240
_SITES = 4


def answer_progress_message(
    queries: Sequence[str], sources: Sequence[Source], *, seconds: float, question_id: str
) -> OutgoingMessage:
    """Render the model's searches, the pages that it reads, and the seconds so far, with a Stop button.

    https://docs.slack.dev/reference/block-kit/blocks/plan-block
    """
    tasks = _tasks(queries, sources, is_over=False)
    if not tasks:
        text = f"{_('Searching the web')} · {full_seconds(seconds)}"
        return spoken(section(text), stop_button(question_id))
    plan = {"type": "plan", "title": f"{_('Working')} · {full_seconds(seconds)}", "tasks": tasks}
    return spoken(plan, stop_button(question_id))


def writing_message(queries: Sequence[str], sources: Sequence[Source], *, question_id: str) -> OutgoingMessage:
    """Render the searches and pages as finished; the text is being written below this message."""
    tasks = _tasks(queries, sources, is_over=True)
    title = _("Writing the answer")
    plan = {"type": "plan", "title": title, "tasks": tasks}
    return spoken(plan if tasks else section(title), stop_button(question_id))


def _tasks(queries: Sequence[str], sources: Sequence[Source], *, is_over: bool) -> list[Block]:
    """Return a card for the searches if there are any, and a card for the pages if there are any."""
    tasks: list[Block] = []
    if queries:
        searched = is_over or bool(sources)
        tasks.append(_task("1", shorten(_searched(queries, done=searched), _TITLE), done=searched))
    if sources:
        title = _read(len(sources)) if is_over else _reading(len(sources))
        sites = [{"type": "url", "url": address, "text": shorten(site, _QUERY)} for site, address in _sites(sources)]
        tasks.append(_task("2", title, done=is_over) | {"sources": sites})
    return tasks


def _task(task_id: str, title: str, *, done: bool) -> Block:
    status = "complete" if done else "in_progress"
    return {"type": "task_card", "task_id": task_id, "title": title, "status": status}


def progress_line_message(queries: Sequence[str], sources: Sequence[Source], *, question_id: str) -> OutgoingMessage:
    """Render the searches and pages in one line without the seconds, for a message that is not updated."""
    parts = [escape(_searched(queries, done=bool(sources)))] if queries else []
    if sources:
        sites = ", ".join(escape(neutralize(site)) for site, _ in _sites(sources))
        parts.append(": ".join(filter(None, (_reading(len(sources)), sites))))
    return spoken(section(" · ".join(parts)), stop_button(question_id))


def _read(pages: int) -> str:
    return ngettext("Read {count} page", "Read {count} pages", pages)


def _reading(pages: int) -> str:
    return ngettext("Reading {count} page", "Reading {count} pages", pages)


def _searched(queries: Sequence[str], *, done: bool) -> str:
    shown = [neutralize(clean(shorten(one_line(query), _QUERY))) for query in queries[-3:]]
    quoted = ", ".join(_("“{text}”").format(text=query) for query in shown)
    return (_("Searched {queries}") if done else _("Searching {queries}")).format(queries=quoted)


def _sites(sources: Sequence[Source]) -> list[tuple[str, str]]:
    """Return the sites of the first sources, each once, with the address of one of its pages."""
    sites: dict[str, str] = {}
    for source in sources:
        address = link_url(source)
        if address is not None:
            sites.setdefault(hostname(source.url).removeprefix("www."), address)
        if len(sites) == _SITES:
            break
    return list(sites.items())


def written_message(text: str, *, question_id: str) -> OutgoingMessage:
    """Render an answer's text so far, with a Stop button; `text` comes from a `StreamedText`."""
    return spoken(markdown(text), stop_button(question_id))


def growing_message(text: str, *, question: str, question_id: str) -> OutgoingMessage:
    """Render the first sentences of a private answer; they also read well if the whole answer follows below them."""
    above = question_line(question, Audience.ASKER)
    return spoken(*above, markdown(text), context(_(STILL_WRITING)), stop_button(question_id))


def stopped_blocks(answer: Answer, *, question_id: str) -> tuple[Block, ...]:
    """Return the blocks after the text of a stopped answer; `answer` is its written part."""
    cited = number_citations(clean(answer.text), answer.sources)
    below = cut_short_actions(_("Start again"), question_id=question_id, sources=bool(answer.sources))
    return (*source_line(cited.sources, cited.others), context(_(STOPPED)), below)


def broken_off_blocks(
    answer: Answer, *, reference: str, question_id: str, refusal: str = "", limit: float | None = None
) -> tuple[Block, ...]:
    """Return the blocks below the sources of an answer that broke off: a note, and a row of buttons.

    `refusal` is the reason why the question cannot be tried again, not escaped yet. If `refusal` is empty, a button
    tries again. `limit` is the number of seconds after which the app ended the answer, None if the answer broke off by
    itself.
    """
    if refusal:
        said = _("This is only a part. {refusal} Reference {code}")
    elif limit is None:
        said = _("This is only a part: the answer broke off. Reference {code}")
    else:
        said = _("This is only a part: I stopped after {seconds}. Reference {code}")
    note = warning(said.format(refusal=escape(refusal), seconds=full_seconds(limit or 0.0), code=code(reference)))
    again = "" if refusal else _("Try again")
    return (context(note), cut_short_actions(again, question_id=question_id, sources=bool(answer.sources)))


def stopped_note(answer: Answer, *, question_id: str) -> OutgoingMessage:
    """Render the note that an answer was stopped; the messages above have the answer's text."""
    return spoken(*stopped_blocks(answer, question_id=question_id), sources=titles_of(answer))


def stopped_message(text: str, answer: Answer, *, question_id: str, above: Sequence[Block] = ()) -> OutgoingMessage:
    """Render the text of a stopped answer, with a note that it was stopped."""
    blocks = stopped_blocks(answer, question_id=question_id)
    return spoken(*above, markdown(text), *blocks, sources=titles_of(answer))


_ROW = re.compile(r"answer|feedback|next-\d|undo")
"""Matches the name before the colon in a row's `block_id`. The question's id follows the colon.

Menus and thumbs cannot carry this id as a value, so the `block_id` contains it.
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
    whether answers can be saved as files.
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
        """Whether the answer needs a button that opens a form for the next question.

        It needs none if the question can be typed below the answer, or if another button opens such a form.
        """
        return not (self.in_thread or self.buttons.ask_about)


@dataclass(frozen=True, kw_only=True)
class AnswerPart:
    """A button, a choice of the menu, or a row of its own below answers; `name` is its `action_id` or its value.

    `offered` returns whether an answer has the part; if it is None, all answers have the part. `row` renders a part
    that is a row, such as the row with the thumbs.
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
    """Return the row below a reply that has no buttons, such as news: a menu whose choice shows the sent requests."""
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
    """Return the question's id in the `block_id` of a row below an answer; empty for any other block."""
    row, _, question_id = block_id.partition(":")
    return question_id if _ROW.fullmatch(row) else ""


def undo_button(question_id: UUID, channel_id: str, stamps: Sequence[str]) -> Block:
    """Return the row with the button that deletes a shared answer: the channel's messages whose `ts` are `stamps`."""
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
