"""A person's own data, from the home tab: sent to them as a file, or erased after a confirmation."""

from __future__ import annotations

from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import button as button_block
from bot.blocks.elements import confirmation
from bot.listeners.clicks import Click, Reply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.model.message import Block
from bot.views.opening import person_of
from bot.worker.own_data import OwnData

EXPORT_OWN, ERASE_OWN = "export_own_data", "erase_own_data"


def home_buttons() -> tuple[Block, Block]:
    """Return the buttons for all that is kept of a person."""
    confirm = confirmation(
        "Erase my data?",
        "This erases your questions with their answers, your digests, settings and ratings in this workspace for good, "
        "and stops what is being answered. Messages in Slack stay; an admin can delete those that you shared. "
        "This week’s spending still counts until Monday.",
        "Erase",
    )
    erase = button_block("Erase my data", ERASE_OWN, "home") | {"style": "danger", "confirm": confirm}
    return button_block("Send me my data", EXPORT_OWN, "home"), erase


def register(app: AsyncApp, context: ListenerContext, *, own_data: OwnData) -> None:
    """Listen to the buttons."""
    button(app, context, EXPORT_OWN, partial(export_own, own_data=own_data))
    button(app, context, ERASE_OWN, partial(erase_own, own_data=own_data))


async def export_own(click: Click, context: ListenerContext, *, own_data: OwnData) -> Reply:
    """Start sending a person what is kept of them."""
    team, user = person_of(click.body)
    context.start(own_data.export(team, user))
    return text_reply("I’ll send it to our messages: a file with everything that I keep about you in this workspace.")


async def erase_own(click: Click, context: ListenerContext, *, own_data: OwnData) -> None:
    """Start erasing what is kept of a person, who has confirmed it."""
    context.start(own_data.erase(*person_of(click.body)))
