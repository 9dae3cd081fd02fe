"""The modal that shows an asker the texts that were sent to services for an answer, and what was left out of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl

from slack_bolt.async_app import AsyncApp

from bot.blocks.answer import MORE, SENT
from bot.blocks.elements import context as small_text
from bot.blocks.elements import divider, section
from bot.blocks.escaping import code, escape, shorten
from bot.blocks.words import utc_second
from bot.listeners.clicks import Click, ClickReply, command_of, menu, own_question, text_reply
from bot.listeners.context import ListenerContext
from bot.model.message import Block
from bot.privacy.sent_requests import SentRequests, left_out_text
from bot.translation import N_, ngettext
from bot.translation import gettext as _
from bot.views.base import modal, open_for_click
from perplexity.scope import SentRequest
from perplexity.threads import run_in_thread

CALLBACK_ID = "sent_modal"

NOTHING_SENT = N_("This is a recorded example: I sent nothing to a search service.")


MAX_BLOCKS = 95
MAX_TEXT = 2_900
MAX_CHARS = 60_000
"""The most characters shown in all: Slack accepts views of at most 250 KB."""

SHORT = 100
"""The most characters of a value that shares a block with other values."""

_INTRO = N_("I sent this for your answer, word for word. Your name, your e-mail address and your id were not sent.")


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the choice that opens the modal; it is in the menu below an answer."""
    menu(app, context, MORE, SENT, open_sent)


async def open_sent(click: Click, context: ListenerContext) -> ClickReply | None:
    """Show the sent requests of an answer to the person who asked."""
    row = await own_question(click, context)
    if isinstance(row, ClickReply):
        return row
    sent = await context.questions.sent(row.id)
    kept = await context.questions.result(row.id) if sent is None else None
    if kept is not None and kept.is_recorded:
        return text_reply(_(NOTHING_SENT))
    if sent is None:
        return text_reply(_("I sent nothing to a search service for this answer, or I no longer know what I sent."))
    command = command_of(row, context.commands)
    question = "" if command is None else command.parse_question_text(row.text)
    blocks = await run_in_thread(lambda: sent_blocks(sent, question=question, interrupted=row.redeliveries))
    return await open_for_click(click, context, modal(CALLBACK_ID, _("What was sent"), blocks))


def sent_blocks(sent: SentRequests, *, question: str = "", interrupted: int = 0) -> list[Block]:
    """Return the blocks of a modal with a question's requests; if not all blocks fit, a note replaces the last ones.

    The question comes first, unless something was left out of the requests. `interrupted` is how often the work on the
    question was interrupted; after an interruption, requests may appear twice.
    """
    count = len(sent.requests) + sum(sent.not_kept.values())
    facts = [ngettext("{count} request", "{count} requests", count), left_out_text(sent.left_out)]
    left = MAX_CHARS
    blocks = [section(_(_INTRO)), small_text(" · ".join(filter(None, facts)))]
    if question and not facts[1]:
        blocks = [section(_("*You asked*")), _plain(shorten(question, MAX_TEXT)), *blocks]
    if interrupted:
        blocks.append(small_text(interrupted_note(interrupted)))
    before = 0
    for place, request in enumerate(sent.requests, 1):
        blocks += [divider(), section(_title(place + before, request))]
        for text in _texts(request):
            shown = text[: max(0, left)]
            blocks += [_plain(shown[start : start + MAX_TEXT]) for start in range(0, len(shown), MAX_TEXT)]
            left -= len(text)
        if not_kept := sent.not_kept.get(place, 0):
            blocks.append(small_text(not_kept_note(not_kept)))
            before += not_kept
    hidden = max(0, -left)
    if len(blocks) > MAX_BLOCKS or hidden:
        return [
            *blocks[: MAX_BLOCKS - 1],
            small_text(_("The rest is too long for this window. Your admin can export all of it.")),
        ]
    return blocks


def _title(number: int, request: SentRequest) -> str:
    moment = utc_second(datetime.fromtimestamp(request.at, UTC))
    address = code(request.path.partition("?")[0])
    return f"*{number}. {escape(request.service)}*  {address}\n{moment}"


def interrupted_note(times: int) -> str:
    """Return a sentence on why requests may appear twice; `times` is how often the work was interrupted."""
    return ngettext(
        "I was interrupted {count} time while I worked on this, and began again. "
        "What I had sent before is listed, too.",
        "I was interrupted {count} times while I worked on this, and began again. "
        "What I had sent before is listed, too.",
        times,
    )


def not_kept_note(count: int) -> str:
    """Return a sentence that says that `count` more requests were sent, whose texts were not saved."""
    return ngettext(
        "{count} more request were sent here. Their text was too long to keep.",
        "{count} more requests were sent here. Their text was too long to keep.",
        count,
    )


def _plain(text: str) -> Block:
    # Plain text: nothing in it is a link, a mention or a sign of emphasis.
    return {"type": "section", "text": {"type": "plain_text", "text": text or "–", "emoji": False}}


def _texts(request: SentRequest) -> Iterator[str]:
    """Yield the values of a request as texts, each value after its name; neighbouring short values share a text."""
    for short, values in groupby(_values(request), key=lambda one: len(one[1]) <= SHORT and "\n" not in one[1]):
        if short:
            yield "\n".join(f"{name}: {value}" for name, value in values)
        else:
            yield from (f"{name}:\n{value}" for name, value in values)


def _values(request: SentRequest) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of everything that was sent, in order."""
    yield from parse_qsl(request.path.partition("?")[2], keep_blank_values=True)
    if request.body:
        yield from _leaves("", json.loads(request.body))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), one)
    elif isinstance(value, list) and value:
        for place, one in enumerate(value, 1):
            yield from _leaves(f"{name}[{place}]", one)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value)
