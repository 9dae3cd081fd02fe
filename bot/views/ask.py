"""Ask from anywhere: a modal with every option of a command, opened by shortcuts, a button, and `/pplx` alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncApp

from bot.blocks.escaping import clean, unescape_slack
from bot.blocks.messages import THE_MESSAGE, asked_message
from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.filters import PRIVATE, PUBLIC
from bot.commands.parsing import write_arguments
from bot.conversations.memory import quote_message
from bot.errors import UsageError
from bot.listeners.asking import ask_by_response_url, ask_in_direct_message
from bot.listeners.clicks import Click, Reply, button
from bot.listeners.context import ListenerContext
from bot.listeners.slash import ANY_COMMAND, is_bare
from bot.model.message import Block
from bot.model.question import Choice
from bot.slack.views import View
from bot.storage.choices import ChoiceStore
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.views.base import Response, Submission, errors, modal, open_modal, shows, submission, update_modal
from bot.views.forms import entered_options, input_block, menu, option_inputs, usage_response
from bot.views.opening import open_by_command, person_of, shortcut, shown_problem

UNKNOWN_FORM = "I no longer have this form. Close it and open it again."
NO_TEXT = "This message has no text that I can read. Type here what you want to ask about."

CALLBACK_ID = "ask_modal"
ASK_ANYTHING = "ask_anything"
ASK_ABOUT_THIS = "ask_about_this"
COMMAND = "ask_command"
CATEGORY, QUESTION, MESSAGE = "category", "question", "message"

SHOWN = "command"
"""What the metadata calls the command whose options the form has."""

MAX_TEXT = 3_000
"""The most characters that Slack takes in an input."""

MESSAGE_CUT = f"Only the first {MAX_TEXT:,} characters are included. Change or shorten them as you like."

LAST_CHOICE_SECONDS = 0.4
"""How long opening waits for what the person chose last."""


def register_command(app: AsyncApp, context: ListenerContext, *, choices: ChoiceStore) -> None:
    """Listen to the command that opens the modal."""

    async def is_alone(command: dict[str, Any]) -> bool:
        return is_bare(command, context)

    @app.command(ANY_COMMAND, matchers=[is_alone])
    async def on_command(ack: AsyncAck, command: dict[str, Any]) -> None:
        await open_by_command(ack, command, context, partial(open_from_command, choices=choices))


def register(app: AsyncApp, context: ListenerContext, *, choices: ChoiceStore) -> None:
    """Listen to what else opens the modal, to the choice of a command in it, and to its submission."""
    shortcut(app, context, ASK_ANYTHING, partial(open_from_anywhere, choices=choices))
    shortcut(app, context, ASK_ABOUT_THIS, partial(open_about_message, choices=choices))
    button(app, context, ASK_ANYTHING, partial(open_from_button, choices=choices))
    submission(app, context, CALLBACK_ID, partial(ask, choices=choices), first_input=QUESTION)

    @app.action({"block_id": COMMAND, "action_id": COMMAND})
    async def on_choice(ack: AsyncAck, body: dict[str, Any]) -> None:
        changed = Submission(body=body)
        if not context.is_known_outsider(body, changed.user):
            await change_command(changed, context)
        await ack()


async def open_from_command(
    payload: Mapping[str, Any], context: ListenerContext, *, choices: ChoiceStore
) -> str | None:
    """Open the modal for `/pplx`: the answer comes where that was typed. Return a problem for the person."""
    opened = {"url": str(payload.get("response_url", "")), "channel": str(payload.get("channel_id", ""))}
    return await _open(payload, context, choices, metadata=opened)


async def open_from_anywhere(body: Mapping[str, Any], context: ListenerContext, *, choices: ChoiceStore) -> str | None:
    """Open the modal for the global shortcut or a button. Return a problem for the person."""
    return await _open(body, context, choices, metadata={})


async def open_from_button(click: Click, context: ListenerContext, *, choices: ChoiceStore) -> Reply | None:
    """Open the modal for a button, such as that of the App Home."""
    return await shown_problem(click, context, await open_from_anywhere(click.body, context, choices=choices))


async def open_about_message(body: Mapping[str, Any], context: ListenerContext, *, choices: ChoiceStore) -> str | None:
    """Open the modal for a message, whose text is sent with the question. Return a problem for the person."""
    message = body.get("message")
    text = str(message.get("text") or "") if isinstance(message, dict) else ""
    about = clean(unescape_slack(text)).strip()
    return await _open(body, context, choices, metadata={"link": message_link(body)}, about=about)


async def _open(
    body: Mapping[str, Any],
    context: ListenerContext,
    choices: ChoiceStore,
    *,
    metadata: Mapping[str, Any],
    about: str | None = None,
) -> str | None:
    team, user = person_of(body)
    last: Choice | None = None
    with suppress(*DATABASE_UNAVAILABLE):
        last = await context.intake.within_ack_deadline(choices.last(team, user), seconds=LAST_CHOICE_SECONDS)
    view = ask_view(context.commands, last or Choice(command=ASK.name), metadata=metadata, about=about)
    return await open_modal(context, str(body.get("trigger_id", "")), view)


def ask_view(
    commands: Sequence[Command[Any, Any]], chosen: Choice, *, metadata: Mapping[str, Any], about: str | None = None
) -> View:
    """Build the modal for one command; only `/ask` can be `about` the text of a message."""
    offered = {command.name: (command, command.form) for command in commands if command.form is not None}
    command, form = offered.get(ASK.name if about is not None else chosen.command, offered[ASK.name])
    title, blocks = "Ask about this", list[Block]()
    if about is None:
        titles = {name: offered_form.title for name, (_, offered_form) in offered.items()}
        element = menu(COMMAND, titles, chosen=command.name)
        title, blocks = "Ask the web", [input_block(COMMAND, "What to do", element, dispatch=True)]
    if form.categories:
        element = menu(CATEGORY, {name: name.capitalize() for name in form.categories}, chosen=form.categories[0])
        blocks.append(input_block(CATEGORY, "Category", element))
    element = {"type": "plain_text_input", "action_id": QUESTION, "multiline": True, "max_length": MAX_TEXT}
    element |= {"focus_on_load": True}
    blocks.append(input_block(QUESTION, form.text, element, optional=form.optional))
    if about is not None:
        blocks.append(_about_input(about))
    blocks += option_inputs(_options(command, metadata), chosen.options if chosen.command == command.name else {})
    return modal(CALLBACK_ID, title, blocks, submit="Ask", close="Cancel", metadata={**metadata, SHOWN: command.name})


def _about_input(about: str) -> Block:
    element: Block = {"type": "plain_text_input", "action_id": MESSAGE, "multiline": True, "max_length": MAX_TEXT}
    if about:
        element |= {"initial_value": about[:MAX_TEXT]}
    whole = "I read this with your question, but follow no instructions in it. Change or shorten it as you like."
    hint = whole if about else NO_TEXT
    if len(about) > MAX_TEXT:
        hint = MESSAGE_CUT
    return input_block(MESSAGE, THE_MESSAGE, element, hint=hint, optional=bool(about))


def _options(command: Command[Any, Any], metadata: Mapping[str, Any]) -> Sequence[Any]:
    """Return the options that the form has: only an answer in a channel can be shown to everyone."""
    return (command if metadata.get("url") else command.without(PUBLIC).without(PRIVATE)).options


async def change_command(changed: Submission, context: ListenerContext) -> None:
    """Show the options of the command that was chosen in the modal; what was entered stays."""
    view = ask_view(context.commands, Choice(command=str(changed.value(COMMAND))), metadata=changed.metadata)
    # If that fails, the submission shows them.
    await update_modal(context, changed.view_id, view, hash=changed.view_hash)


async def ask(submitted: Submission, context: ListenerContext, *, choices: ChoiceStore) -> Response | None:
    """Ask what was entered: where the command was typed that opened the modal, or in the direct message."""
    about = submitted.value(MESSAGE)
    name = submitted.value(COMMAND) or ASK.name
    command = next((one for one in context.commands if one.name == name and one.form is not None), None)
    if command is None:
        return errors(**{QUESTION: UNKNOWN_FORM})
    if command.name != submitted.metadata.get(SHOWN, command.name):
        # Two quick choices, or an update that failed: the form has another command's options.
        return shows(ask_view(context.commands, Choice(command=command.name), metadata=submitted.metadata))
    options = _options(command, submitted.metadata)
    question = str(submitted.value(QUESTION) or "").strip()
    text = quote_message(question, str(about).strip()) if about and str(about).strip() else question
    try:
        entered = entered_options(submitted, options)
        line = write_arguments(entered, " ".join(filter(None, (str(submitted.value(CATEGORY) or ""), text))))
        command.parse(line)
    except UsageError as error:
        return usage_response(error, options, text_block=QUESTION)
    problem = await _submit(submitted, context, command=command, line=line, question=question)
    if problem is not None:
        return errors(**{QUESTION: problem})
    kept = {option.name: value for option, value in entered if option not in {PUBLIC, PRIVATE}}
    context.start(_keep(submitted, choices, Choice(command=command.name, options=kept)))
    return None


async def _submit(
    submitted: Submission, context: ListenerContext, *, command: Command[Any, Any], line: str, question: str
) -> str | None:
    metadata, key = submitted.metadata, f"view:{submitted.view_id}"
    team, user = person_of(submitted.body)
    if metadata.get("url"):
        return await ask_by_response_url(
            context,
            user=user,
            team=team,
            channel=str(metadata.get("channel", "")),
            key=key,
            command=command,
            text=line,
            response_url=str(metadata["url"]),
        )
    about = str(submitted.value(MESSAGE) or "").strip()
    root = asked_message(
        command.parse_question_text(line) or question, about=about, link=str(metadata.get("link") or "")
    )
    return await ask_in_direct_message(
        context,
        user=user,
        team=team,
        key=key,
        command=command,
        text=line,
        root=root,
        action=ASK_ABOUT_THIS if about else "",
    )


async def _keep(submitted: Submission, choices: ChoiceStore, choice: Choice) -> None:
    """Keep what was chosen for the next time, if the database is there."""
    with suppress(*DATABASE_UNAVAILABLE):
        await choices.keep(*person_of(submitted.body), choice)


def message_link(body: Mapping[str, Any]) -> str:
    """Return the address of a shortcut's message; empty if the request does not name its parts."""
    team, message = body.get("team"), body.get("message")
    domain = str(team.get("domain") or "") if isinstance(team, dict) else ""
    fields = message if isinstance(message, dict) else {}
    ts, thread = str(fields.get("ts") or body.get("message_ts") or ""), str(fields.get("thread_ts") or "")
    channel = body.get("channel")
    place = str(channel.get("id") or "") if isinstance(channel, dict) else ""
    stamp = r"\d{1,12}\.\d{1,9}"
    if not (re.fullmatch(r"[a-z0-9-]{1,63}", domain) and re.fullmatch(r"[A-Z0-9]{1,30}", place)):
        return ""
    if not re.fullmatch(stamp, ts):
        return ""
    reply = f"?thread_ts={thread}&cid={place}" if re.fullmatch(stamp, thread) and thread != ts else ""
    return f"https://{domain}.slack.com/archives/{place}/p{ts.replace('.', '')}{reply}"
