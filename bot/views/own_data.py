"""A person's own data, from the home tab: sent to them as a file, or erased after a confirmation."""

from __future__ import annotations

from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.blocks.home import ERASE_OWN, EXPORT_OWN
from bot.listeners.clicks import Click, Reply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.views.opening import person_of
from bot.worker.own_data import OwnData


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
