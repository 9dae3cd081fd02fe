"""Renders an answer in progress: its searches and pages, its text so far, and a note if it stopped or broke off."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.answer import cut_short_actions, titles_of
from bot.blocks.elements import context, markdown, question_line, section, spoken, stop_button
from bot.blocks.escaping import clean, code, escape, neutralize, one_line, shorten
from bot.blocks.sources import link_url, source_line
from bot.blocks.words import STILL_WRITING, STOPPED, full_seconds, warning
from bot.model.message import Audience, Block, OutgoingMessage
from bot.translation import gettext as _
from bot.translation import ngettext
from perplexity.citations import number_citations
from perplexity.types import Answer, Source
from perplexity.urls import hostname

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
    """Return a card for the searches and a card for the pages, each only if there are any."""
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
    """Return the blocks after the sources of an answer that broke off after some text was shown.

    `refusal` is the reason, not escaped yet, why the question cannot be tried again; it replaces the button for this.
    `limit` is the seconds after which the app ended the answer, None if the answer broke off by itself.
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
