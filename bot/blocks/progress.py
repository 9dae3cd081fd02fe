"""Renders an answer being made: its searches and pages, its text so far, and that it was stopped or broke off."""

from __future__ import annotations

from collections.abc import Sequence

from bot.blocks.elements import context, markdown, primary_button, secondary_button, section
from bot.blocks.escaping import clean, code, escape, one_line, shorten
from bot.blocks.markdown.render import neutralize
from bot.blocks.messages import fallback_text
from bot.blocks.sources import link_url
from bot.model.message import Block, OutgoingMessage
from bot.texts import progress, times
from perplexity.types import Source
from perplexity.urls import hostname

_QUERY = 80
_TITLE = 240
_SITES = 4


def answer_progress_message(
    queries: Sequence[str], sources: Sequence[Source], *, seconds: float, question_id: str
) -> OutgoingMessage:
    """Render the searches that the model has made, the pages that it reads, and the seconds so far, with a Stop button.

    https://docs.slack.dev/reference/block-kit/blocks/plan-block
    """
    tasks = _tasks(queries, sources, is_over=False)
    if not tasks:
        text = progress.searching_web(seconds)
        return OutgoingMessage(text=text, blocks=(section(text), _stop(question_id)))
    plan = {"type": "plan", "title": progress.answering(seconds), "tasks": tasks}
    return OutgoingMessage(text=progress_text(queries, sources, seconds=seconds), blocks=(plan, _stop(question_id)))


def writing_message(queries: Sequence[str], sources: Sequence[Source], *, question_id: str) -> OutgoingMessage:
    """Render that the searches and pages are done with and the text is being written, below this message."""
    tasks = _tasks(queries, sources, is_over=True)
    plan = {"type": "plan", "title": progress.WRITING, "tasks": tasks}
    return OutgoingMessage(
        text=progress.WRITING, blocks=(plan if tasks else section(progress.WRITING), _stop(question_id))
    )


def _tasks(queries: Sequence[str], sources: Sequence[Source], *, is_over: bool) -> list[Block]:
    """Return a card for the searches and one for the pages, as far as there are any."""
    tasks: list[Block] = []
    if queries:
        searched = is_over or bool(sources)
        tasks.append(
            {
                "type": "task_card",
                "task_id": "1",
                "title": shorten(_searched(queries, done=searched), _TITLE),
                "status": "complete" if searched else "in_progress",
            }
        )
    if sources:
        tasks.append(
            {
                "type": "task_card",
                "task_id": "2",
                "title": progress.read(len(sources)) if is_over else progress.reading(len(sources)),
                "status": "complete" if is_over else "in_progress",
                "sources": [
                    {"type": "url", "url": address, "text": shorten(site, _QUERY)} for site, address in _sites(sources)
                ],
            }
        )
    return tasks


def progress_line_message(
    queries: Sequence[str], sources: Sequence[Source], *, seconds: float, question_id: str
) -> OutgoingMessage:
    """Render the same in one line, for a message that is changed only once."""
    text = progress_text(queries, sources, seconds=seconds)
    return OutgoingMessage(text=text, blocks=(section(text), _stop(question_id)))


def progress_text(queries: Sequence[str], sources: Sequence[Source], *, seconds: float) -> str:
    """Return what is searched for and read as mrkdwn."""
    parts = [escape(_searched(queries, done=bool(sources)))] if queries else []
    if sources:
        sites = [escape(neutralize(site)) for site, _ in _sites(sources)]
        parts.append(progress.reading(len(sources), sites))
    return " · ".join([*parts, times.full_seconds(seconds)])


def _searched(queries: Sequence[str], *, done: bool) -> str:
    shown = [neutralize(clean(shorten(one_line(query), _QUERY))) for query in queries[-3:]]
    return progress.searched(shown, done=done)


def _sites(sources: Sequence[Source]) -> list[tuple[str, str]]:
    """Return the sites of the first sources, each once, with an address there."""
    sites: dict[str, str] = {}
    for source in sources:
        address = link_url(source)
        if address is not None:
            sites.setdefault(hostname(source.url).removeprefix("www."), address)
        if len(sites) == _SITES:
            break
    return list(sites.items())


def _stop(question_id: str) -> Block:
    return secondary_button(progress.STOP, action_id="stop", value=question_id)


def written_message(text: str, *, question_id: str) -> OutgoingMessage:
    """Render an answer's text so far, with a Stop button; `text` is what a `StreamedText` gave."""
    body = markdown(text)
    return OutgoingMessage(text=fallback_text([body]), blocks=(body, _stop(question_id)))


def stopped_blocks(*, seconds: float, question_id: str) -> tuple[Block, ...]:
    """Return what follows the text of an answer that was stopped after so many seconds."""
    return (
        context(progress.stopped(seconds)),
        secondary_button(progress.START_AGAIN, action_id="retry", value=question_id),
    )


def broken_off_blocks(
    *, cost_usd: float | None, reference: str, question_id: str, refusal: str = ""
) -> tuple[Block, ...]:
    """Return what follows the text of an answer that broke off after some of it was shown.

    If it was ended by a `refusal`, which is not escaped, that is said, and there is nothing to try again.
    """
    again = primary_button(progress.TRY_AGAIN, action_id="retry", value=question_id)
    return (
        section(progress.refused_midway(escape(refusal)) if refusal else progress.broken_off(cost_usd)),
        *(() if refusal else (again,)),
        context(progress.reference(code(reference))),
    )


def stopped_note(*, seconds: float, question_id: str) -> OutgoingMessage:
    """Render that an answer was stopped whose text is in the messages above."""
    below = stopped_blocks(seconds=seconds, question_id=question_id)
    return OutgoingMessage(text=fallback_text(below[:1]), blocks=below)


def stopped_message(text: str, *, seconds: float, question_id: str) -> OutgoingMessage:
    """Render the text that a stopped answer had, and that it was stopped."""
    body = markdown(text)
    below = stopped_blocks(seconds=seconds, question_id=question_id)
    return OutgoingMessage(text=fallback_text([body]), blocks=(body, *below))
