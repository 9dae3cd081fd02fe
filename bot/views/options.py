"""The modal with all options: the text that is possible after each command."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bot.blocks.elements import section
from bot.commands.help import OPTIONS, options_of
from bot.listeners.clicks import Click, ClickReply, button
from bot.listeners.context import ListenerContext
from bot.listeners.slash import is_known_admin
from bot.translation import gettext as _
from bot.views.base import modal, open_modal, shown_problem


def register(app: AsyncApp, context: ListenerContext) -> None:
    """Listen to the button below the help."""
    button(app, context, OPTIONS, show_options)


async def show_options(click: Click, context: ListenerContext) -> ClickReply | None:
    """Show the options of the commands that the button names."""
    texts = options_of(context.commands, click.choice, admin=await is_known_admin(click.user, context))
    view = modal("options_modal", _("All options"), [section(text) for text in texts])
    return await shown_problem(click, context, await open_modal(context, click.trigger_id, view))
