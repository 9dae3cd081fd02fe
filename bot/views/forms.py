"""Forms for the options of a command: the inputs, the options that a person entered, and asking the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.blocks.elements import plain, secondary_button
from bot.blocks.escaping import shorten
from bot.blocks.words import NO_LIMIT
from bot.commands.base import Command, Option, ValueKind
from bot.errors import UsageError
from bot.listeners.asking import ask_in_direct_message, problem_of
from bot.listeners.context import ListenerContext
from bot.model.message import Block, OutgoingMessage
from bot.model.question import NewQuestion
from bot.model.schedule import ZONES
from bot.translation import gettext as _
from bot.views.base import Response, Submission, errors

FLAGS = "flags"
"""The id of the block with all options that take no value."""

MAX_TEXT = 3_000
"""The most characters of a text field.

https://docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element
"""

MAX_OPTION, MAX_VALUE, MAX_PLACEHOLDER, MAX_HINT, MAX_ERROR = 75, 1_000, 150, 2_000, 500

_CODE = re.compile(r"`([^`]*)`")


def input_block(
    block_id: str, label: str, element: Block, *, hint: str = "", optional: bool = False, dispatch: bool = False
) -> Block:
    """Return an input; with `dispatch`, Slack reports each change of it to the app."""
    block: Block = {"type": "input", "block_id": block_id, "label": plain(label), "element": element}
    block |= {"hint": plain(shorten(hint, MAX_HINT))} if hint else {}
    return block | ({"optional": True} if optional else {}) | ({"dispatch_action": True} if dispatch else {})


def text_input(
    action_id: str,
    *,
    shown: str = "",
    max_length: int = MAX_TEXT,
    multiline: bool = False,
    placeholder: str = "",
    focus: bool = False,
) -> Block:
    """Return a field for text of at most `max_length` characters; at first it contains `shown`, cut to that length."""
    element: Block = {"type": "plain_text_input", "action_id": action_id, "max_length": max_length}
    element |= {"multiline": True} if multiline else {}
    element |= {"focus_on_load": True} if focus else {}
    element |= {"placeholder": plain(shorten(placeholder, MAX_PLACEHOLDER))} if placeholder else {}
    return element | ({"initial_value": shown[:max_length]} if shown else {})


def limit_input(name: str, label: str, shown: str) -> Block:
    """Return an input for a limit; if a person leaves it empty, there is no limit."""
    element = text_input(name, shown=shown, max_length=20, placeholder="" if shown else _(NO_LIMIT))
    return input_block(name, label, element, optional=True)


def menu(action_id: str, labels: Mapping[str, str], *, chosen: str = "") -> Block:
    """Return a menu; `labels` are the texts of at most 100 options, by their values."""
    options = [choice(value, label) for value, label in labels.items()]
    initial = [option for option in options if option["value"] == chosen]
    element: Block = {"type": "static_select", "action_id": action_id, "options": options}
    return element | ({"initial_option": initial[0]} if initial else {})


def checkboxes(action_id: str, options: Sequence[Block], *, chosen: Iterable[str] = ()) -> Block:
    """Return checkboxes, at most ten."""
    values = set(chosen)
    initial = [option for option in options if option["value"] in values]
    element: Block = {"type": "checkboxes", "action_id": action_id, "options": list(options)}
    return element | ({"initial_options": initial} if initial else {})


def radio_buttons(action_id: str, labels: Mapping[str, str], *, chosen: str = "") -> Block:
    """Return radio buttons; `labels` are their texts, by their values."""
    return menu(action_id, labels, chosen=chosen) | {"type": "radio_buttons"}


def more_button(action_id: str) -> Block:
    """Return the row with the button that shows the rest of a form."""
    return secondary_button(_("More"), action_id=action_id, value="more") | {"block_id": action_id}


def choice(value: str, label: str, *, description: str = "") -> Block:
    """Return an option of a menu or of checkboxes."""
    option: Block = {"text": plain(shorten(label, MAX_OPTION)), "value": value}
    return option | ({"description": plain(shorten(description, MAX_OPTION))} if description else {})


def zone_menu(action_id: str, *, chosen: str) -> Block:
    """Return a menu of time zones, with the chosen one among them."""
    zones = [chosen, *(zone for zone in ZONES if zone != chosen)] if chosen else ZONES
    return menu(action_id, {zone: zone.replace("_", " ") for zone in zones}, chosen=chosen)


def option_inputs(options: Sequence[Option], given: Mapping[str, str]) -> list[Block]:
    """Return an input for all flags, and one for each other option; `given` are values by the option's name."""
    valued = [_input(option, given.get(option.name, ""), options) for option in options if option.value]
    flags = [
        choice(option.name, option.title, description=in_words(_(option.help), options))
        for option in options
        if not option.value
    ]
    if not flags:
        return valued
    return [input_block(FLAGS, _("Options"), checkboxes(FLAGS, flags, chosen=given), optional=True), *valued]


def _input(option: Option, value: str, options: Sequence[Option]) -> Block:
    match option.kind:
        case ValueKind.CHOICE:
            element = menu(option.name, {name: _(name) for name in option.choices}, chosen=value)
        case ValueKind.DATE:
            element = {"type": "datepicker", "action_id": option.name}
            element |= {"initial_date": value} if re.fullmatch(r"(?a:\d{4}-\d\d-\d\d)", value) else {}
        case ValueKind.ZONE:
            element = zone_menu(option.name, chosen=value)
        case ValueKind.TEXT:
            element = text_input(option.name, shown=value, max_length=MAX_VALUE, placeholder=option.value)
    return input_block(option.name, option.title, element, hint=in_words(_(option.help), options), optional=True)


def entered_options(submitted: Submission, options: Sequence[Option]) -> list[tuple[Option, str]]:
    """Return the options that a person set, with their values."""
    flags = submitted.value(FLAGS) or ()
    entered = []
    for option in options:
        value = submitted.value(option.name) if option.value else None
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value or "").strip()
        if text or (not option.value and option.name in flags):
            entered.append((option, text))
    return entered


def usage_response(error: UsageError, options: Sequence[Option], *, text_block: str) -> Response:
    """Return the response that shows a usage error below the input of the wrong option, or else below the text."""
    option = next((option for option in options if option.name == error.option), None)
    block_id = text_block if option is None else option.name if option.value else FLAGS
    return errors(**{block_id: shorten(in_words(error.problem, options), MAX_ERROR)})


def in_words(text: str, options: Sequence[Option]) -> str:
    """Return a sentence about options as plain text, with each option called by its title in the form."""
    titles = {option.name: option.title for option in options}
    return _CODE.sub(lambda code: _("“{name}”").format(name=titles.get(code[1], code[1])), text)


async def ask_by_form(
    submitted: Submission,
    context: ListenerContext,
    *,
    command: Command[Any, Any],
    text: str,
    root: OutgoingMessage,
    here: bool,
    action: str = "",
) -> str | None:
    """Ask the question of a submitted form; return a problem for the person, or None.

    If `here`, the answer comes where the command that opened the form was typed; otherwise, in direct messages below
    `root`. The other arguments are as in `ask_in_direct_message`.
    """
    metadata, key = submitted.metadata, f"view:{submitted.view_id}"
    user, team = submitted.user, submitted.team
    if here:
        channel, url = (str(metadata.get(name, "")) for name in ("channel", "url"))
        question = NewQuestion(
            delivery_key=f"{team}:{channel}:{key}",
            # As after a click, there is no acknowledgement that could announce the search.
            surface="click",
            command=command.name,
            text=text,
            team_id=team,
            channel_id=channel,
            user_id=user,
            response_url=url,
            resubmittable=True,
        )
        return await problem_of((await context.intake.submit(question)).received, question, context)
    begun = await ask_in_direct_message(
        context, user=user, team=team, key=key, command=command, text=text, root=root, action=action
    )
    return begun if isinstance(begun, str) else None
