"""A modal with every option of a command, opened by shortcuts, a button, and `/pplx` without arguments.

Another modal explains the options: it shows what can be typed after each command.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import section
from bot.blocks.escaping import clean, unescape_slack
from bot.blocks.messages import THE_MESSAGE, asked_message
from bot.commands.ask import ASK, EFFORT, MODEL, REASONING
from bot.commands.base import Command, Option
from bot.commands.help import OPTIONS, options_of
from bot.commands.parsing import PRIVATE, PUBLIC, quote_message, write_arguments
from bot.errors import UsageError
from bot.listeners.clicks import Click, ClickReply, button
from bot.listeners.context import ListenerContext
from bot.listeners.slash import bare_command, is_known_admin
from bot.model.message import Block
from bot.model.question import Choice
from bot.preferences import THINK, Preferred, preferred
from bot.slack.views import View
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.preferences import ChoiceStore
from bot.translation import N_, number
from bot.translation import gettext as _
from bot.views.base import (
    Response,
    Submission,
    changes,
    errors,
    modal,
    open_modal,
    person_of,
    shortcut,
    shown_problem,
    shows,
    submission,
    update_modal,
)
from bot.views.forms import (
    MAX_TEXT,
    ask_by_form,
    entered_options,
    input_block,
    menu,
    more_button,
    option_inputs,
    radio_buttons,
    text_input,
    usage_response,
)
from perplexity.models import EFFORTS

UNKNOWN_FORM = N_("I no longer have this form. Close it and open it again.")
NO_TEXT = N_("This message has no text that I can read. Type here what you want to ask about.")

CALLBACK_ID = "ask_modal"
ASK_ANYTHING = "ask_anything"
ASK_ABOUT_THIS = "ask_about_this"
COMMAND = "ask_command"
CATEGORY, QUESTION, MESSAGE, AUDIENCE = "category", "question", "message", "audience"
MORE = "ask_more"
"""The button that shows the rest of the form."""

FEW = frozenset({PUBLIC.name, PRIVATE.name, EFFORT.name, MODEL.name, REASONING.name})
"""The options shown before More: who sees the answer, and how long to think."""

SHOWN = "command"
"""The key in the metadata for the name of the command whose options the form shows."""

MESSAGE_CUT = N_("Only the first {count} characters are included. Change or shorten them as you like.")

LAST_CHOICE_SECONDS = 0.4
"""How long opening the modal waits for the person's last choices and settings."""


def register(app: AsyncApp, context: ListenerContext, *, choices: ChoiceStore) -> None:
    """Listen to the shortcuts and the button that open the modal, to choices in it, and to its submission.

    Also listen to the button below the help that shows all options.
    """
    shortcut(app, context, ASK_ANYTHING, partial(open_form, choices=choices, metadata={}))
    shortcut(app, context, ASK_ABOUT_THIS, partial(open_about_message, choices=choices))
    button(app, context, ASK_ANYTHING, partial(open_from_button, choices=choices))
    submission(app, context, CALLBACK_ID, partial(ask, choices=choices), first_input=QUESTION)
    changes(app, context, (COMMAND, MORE), change_form)
    button(app, context, OPTIONS, show_options)


async def open_from_command(
    payload: Mapping[str, Any], context: ListenerContext, *, choices: ChoiceStore
) -> str | None:
    """Open the modal for a slash command; the answer will come where the command was typed.

    Return a problem for the person, or None.
    """
    opened = {"url": str(payload.get("response_url", "")), "channel": str(payload.get("channel_id", ""))}
    return await open_form(
        payload, context, choices=choices, metadata=opened, name=bare_command(payload, context) or ""
    )


async def open_from_button(click: Click, context: ListenerContext, *, choices: ChoiceStore) -> ClickReply | None:
    """Open the modal for a click on a button, such as the button in the App Home."""
    return await shown_problem(click, context, await open_form(click.body, context, choices=choices, metadata={}))


async def open_about_message(body: Mapping[str, Any], context: ListenerContext, *, choices: ChoiceStore) -> str | None:
    """Open the modal for a message, whose text is sent with the question. Return a problem for the person, or None."""
    message = body.get("message")
    text = str(message.get("text") or "") if isinstance(message, dict) else ""
    about = clean(unescape_slack(text)).strip()
    return await open_form(body, context, choices=choices, metadata={"link": message_link(body)}, about=about)


async def open_form(
    body: Mapping[str, Any],
    context: ListenerContext,
    *,
    choices: ChoiceStore,
    metadata: Mapping[str, Any],
    name: str = "",
    about: str | None = None,
) -> str | None:
    """Open the modal. Return a problem for the person, or None.

    `metadata` says where the answer will come, `name` is the command if it is known, and `about` is a message's text.
    """
    team, user = person_of(body)
    channel = str(metadata.get("channel", ""))
    last: Choice | None = None
    settings = Preferred()
    with suppress(*DATABASE_UNAVAILABLE):
        known = _known(team, user, channel, context, choices)
        last, settings = await context.intake.within_ack_deadline(known, seconds=LAST_CHOICE_SECONDS)
    if last is None or (name and last.command != name):
        last = Choice(command=name or ASK.name)
    # An effort that the form does not offer stays unless another is chosen.
    think = "fast" if settings.model is None else settings.model
    usual = {"public": settings.public is True, "think": think, "most": settings.max_effort}
    view = ask_view(context.commands, last, metadata={**metadata, **usual}, about=about)
    return await open_modal(context, str(body.get("trigger_id", "")), view)


def ask_view(
    commands: Sequence[Command[Any, Any]],
    chosen: Choice,
    *,
    metadata: Mapping[str, Any],
    about: str | None = None,
    typed: str = "",
) -> View:
    """Build the modal for one command; only `/ask` can be `about` the text of a message.

    At first, the modal has few fields. It has all of them if the metadata says so, or if the person used one of the
    other fields last time.
    """
    most = EFFORTS.index(str(metadata.get("most", EFFORTS[-1])))
    allowed = EFFORTS[: most + 1]
    offered = {
        command.name: (command, command.form)
        for command in commands
        if command.form is not None and (command.effort is None or command.effort in allowed)
    }
    command, form = offered.get(ASK.name if about is not None else chosen.command, offered[ASK.name])
    given = chosen.options if chosen.command == command.name else {}
    element = text_input(QUESTION, shown=typed, multiline=True, focus=True)
    blocks = [input_block(QUESTION, _(form.text), element, optional=form.optional)]
    if about is not None:
        blocks.append(_about_input(about))
    if form.categories:
        element = menu(CATEGORY, {name: _(name.capitalize()) for name in form.categories}, chosen=form.categories[0])
        blocks.append(input_block(CATEGORY, _("Category"), element))
    if metadata.get("url"):
        # Only an answer in a channel can be shown to everyone.
        sees = {PRIVATE.name: _("Only me"), PUBLIC.name: _("Everyone here")}
        element = radio_buttons(AUDIENCE, sees, chosen=PUBLIC.name if metadata.get("public") else PRIVATE.name)
        blocks.append(input_block(AUDIENCE, _("Who sees the answer"), element))
    if EFFORT in command.options:
        thinks = given.get(EFFORT.name) or str(metadata.get("think", "fast"))
        think: dict[str, str] = {effort: _(label) for effort, label in THINK.items() if effort in allowed}
        thinks = [*think][-1] if thinks in EFFORTS and thinks not in allowed else thinks
        element = radio_buttons(EFFORT.name, think, chosen=thinks)
        blocks.append(input_block(EFFORT.name, EFFORT.title, element, optional=thinks not in think))
    more = bool(metadata.get("more")) or not given.keys() <= FEW
    if not more:
        blocks.append(more_button(MORE))
    if more and about is None:
        titles = {name: _(offered_form.title) for name, (__, offered_form) in offered.items()}
        blocks.append(input_block(COMMAND, _("What to do"), menu(COMMAND, titles, chosen=command.name), dispatch=True))
    if more:
        blocks += option_inputs([option for option in command.options if option.name not in FEW], given)
    return modal(
        CALLBACK_ID,
        _(form.title) if about is None else _("Ask about this"),
        blocks,
        submit=_("Ask"),
        close=_("Cancel"),
        metadata={**metadata, SHOWN: command.name, "more": more},
    )


async def _known(
    team: str, user: str, channel: str, context: ListenerContext, choices: ChoiceStore
) -> tuple[Choice | None, Preferred]:
    last, preferences = await asyncio.gather(
        choices.last(team, user), context.preferences.get(team_id=team, user_id=user, channel_id=channel)
    )
    return last, preferred(preferences)


def _about_input(about: str) -> Block:
    element = text_input(MESSAGE, shown=about, multiline=True)
    whole = N_("I read this with your question, but follow no instructions in it. Change or shorten it as you like.")
    hint = _(whole if about else NO_TEXT)
    if len(about) > MAX_TEXT:
        hint = _(MESSAGE_CUT).format(count=number(MAX_TEXT))
    return input_block(MESSAGE, _(THE_MESSAGE), element, hint=hint, optional=bool(about))


async def change_form(changed: Submission, context: ListenerContext) -> None:
    """Show the rest of the modal, or the command chosen in it; the entered values stay."""
    # If the update fails, the submission shows the rest of the form.
    await update_modal(context, changed.view_id, _again(changed, context, more=True), hash=changed.view_hash)


def _again(changed: Submission, context: ListenerContext, *, more: bool) -> View:
    """Build the modal again with the entered values."""
    metadata = {**changed.metadata, "more": more}
    if (sees := changed.value(AUDIENCE)) is not None:
        metadata |= {"public": sees == PUBLIC.name}
    return ask_view(
        context.commands,
        Choice(command=_name(changed), options={EFFORT.name: str(changed.value(EFFORT.name) or "")}),
        metadata=metadata,
        about=str(changed.value(MESSAGE) or "") if "link" in changed.metadata else None,
        typed=str(changed.value(QUESTION) or ""),
    )


def _name(submitted: Submission) -> str:
    """Return the name of a form's command: the chosen command, or the one for which the form was opened."""
    return str(submitted.value(COMMAND) or submitted.metadata.get(SHOWN) or ASK.name)


def _entered(submitted: Submission, command: Command[Any, Any]) -> list[tuple[Option, str]]:
    """Return the options that a person set: who sees the answer, and values other than the defaults."""
    usual = submitted.metadata.get("think", "fast")
    entered = [
        (option, value)
        for option, value in entered_options(submitted, command.options)
        if (option, value) != (EFFORT, usual)
    ]
    return [*entered, *((one, "") for one in (PUBLIC, PRIVATE) if one.name == submitted.value(AUDIENCE))]


async def ask(submitted: Submission, context: ListenerContext, *, choices: ChoiceStore) -> Response | None:
    """Ask the entered question; return the modal's next step, None to close it.

    If a command opened the modal, the answer comes where that command was typed; otherwise, in the direct messages.
    """
    about = str(submitted.value(MESSAGE) or "").strip()
    name = _name(submitted)
    command = next((one for one in context.commands if one.name == name), None)
    if command is None or command.form is None:
        return errors(**{QUESTION: _(UNKNOWN_FORM)})
    if command.name != submitted.metadata.get(SHOWN, command.name):
        # After two quick choices, or a failed update, the form has another command's options.
        return shows(_again(submitted, context, more=True))
    question = str(submitted.value(QUESTION) or "").strip()
    text = quote_message(question, about) if about else question
    if not (text or command.form.optional):
        return errors(**{QUESTION: _(command.form.missing)})
    try:
        entered = _entered(submitted, command)
        line = write_arguments(entered, " ".join(filter(None, (str(submitted.value(CATEGORY) or ""), text))))
        command.parse(line)
    except UsageError as error:
        return usage_response(error, command.options, text_block=QUESTION)
    root = asked_message(
        command.parse_question_text(line) or question, about=about, link=str(submitted.metadata.get("link") or "")
    )
    problem = await ask_by_form(
        submitted,
        context,
        command=command,
        text=line,
        root=root,
        here=bool(submitted.metadata.get("url")),
        action=ASK_ABOUT_THIS if about else "",
    )
    if problem is not None:
        return errors(**{QUESTION: problem})
    kept = {option.name: value for option, value in entered if option not in {PUBLIC, PRIVATE}}
    context.start(_keep(submitted, choices, Choice(command=command.name, options=kept)))
    return None


async def _keep(submitted: Submission, choices: ChoiceStore, choice: Choice) -> None:
    """Save the choices for the next time, if the database is available."""
    with suppress(*DATABASE_UNAVAILABLE):
        await choices.keep(*person_of(submitted.body), choice)


def message_link(body: Mapping[str, Any]) -> str:
    """Return the address of a shortcut's message; empty if the request lacks a part of the address."""
    team, message = body.get("team"), body.get("message")
    domain = str(team.get("domain") or "") if isinstance(team, dict) else ""
    fields = message if isinstance(message, dict) else {}
    ts, thread = str(fields.get("ts") or body.get("message_ts") or ""), str(fields.get("thread_ts") or "")
    channel = body.get("channel")
    place = str(channel.get("id") or "") if isinstance(channel, dict) else ""
    stamp = r"\d{1,12}\.\d{1,9}"
    parts = ((r"[a-z0-9-]{1,63}", domain), (r"[A-Z0-9]{1,30}", place), (stamp, ts))
    if not all(re.fullmatch(pattern, part) for pattern, part in parts):
        return ""
    reply = f"?thread_ts={thread}&cid={place}" if re.fullmatch(stamp, thread) and thread != ts else ""
    return f"https://{domain}.slack.com/archives/{place}/p{ts.replace('.', '')}{reply}"


async def show_options(click: Click, context: ListenerContext) -> ClickReply | None:
    """Show the options of the commands that the button names."""
    texts = options_of(context.commands, click.choice, admin=await is_known_admin(click.user, context))
    view = modal("options_modal", _("All options"), [section(text) for text in texts])
    return await shown_problem(click, context, await open_modal(context, click.trigger_id, view))
