"""Sources: the pages of an answer, which sentences cite each, and the figures that its excerpt does not contain."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.blocks.actions import SOURCES
from bot.blocks.elements import context as context_block
from bot.blocks.elements import section
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.sources import linked_title, site_and_date
from bot.listeners.answer_actions import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from bot.listeners.clicks import Click, Reply, button, clicked_question, may_see, text_reply
from bot.listeners.intake import ListenerContext
from bot.slack.views import View
from bot.views.base import modal, open_modal
from perplexity.formatting import pluralize
from perplexity.types import Answer, Source

CALLBACK_ID = "sources_modal"


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the button below an answer."""
    button(app, context, SOURCES, open_sources)


async def open_sources(click: Click, context: ListenerContext) -> Reply | None:
    """Open the sources of an answer, for everyone who sees the answer."""
    row = await clicked_question(click, context)
    kept = await context.questions.result(row.id) if row is not None else None
    if row is None or kept is None or not isinstance(kept.result, Answer):
        return text_reply(UNKNOWN_ANSWER)
    if not may_see(row, click, context.commands):
        return text_reply(NOT_YOUR_ANSWER)
    problem = await open_modal(context, click.trigger_id, sources_view(kept.result))
    return None if problem is None else text_reply(problem)


def sources_view(answer: Answer) -> View:
    """Build the view."""
    head = context_block(pluralize(len(answer.sources), "page"))
    return modal(CALLBACK_ID, "Sources", [head, *(_source(source) for source in answer.sources)])


def _source(source: Source) -> dict[str, object]:
    excerpt = escape(shorten(one_line(source.snippet), 300))
    lines = (f"*{source.number}*  {linked_title(source)}", site_and_date(source), f"> {excerpt}" if excerpt else "")
    return section("\n".join(filter(None, lines)))
