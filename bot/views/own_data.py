"""A person's own data, from the home tab: sent to them as a file, or erased after a confirmation."""

from __future__ import annotations

from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.blocks.home import ERASE_OWN, EXPORT_OWN
from bot.listeners.clicks import Click, Reply, button, text_reply
from bot.listeners.context import ListenerContext
from bot.views.base import Response, Submission, errors, modal, open_for_click, plain, submission
from bot.views.opening import person_of
from bot.worker.own_data import OwnData

ERASE_MODAL = "erase_modal"
UNDERSTOOD = "understood"


def register(app: AsyncApp, context: ListenerContext, *, own_data: OwnData) -> None:
    """Listen to the buttons, and to the confirmation."""
    button(app, context, EXPORT_OWN, partial(export_own, own_data=own_data))
    button(app, context, ERASE_OWN, confirm_erasure)
    submission(app, context, ERASE_MODAL, partial(erase_own, own_data=own_data), first_input=UNDERSTOOD)


async def export_own(click: Click, context: ListenerContext, *, own_data: OwnData) -> Reply:
    """Start sending a person what is kept of them."""
    team, user = person_of(click.body)
    context.start(own_data.export(team, user))
    return text_reply("I’ll send it to our messages: a file with everything that I keep about you in this workspace.")


async def confirm_erasure(click: Click, context: ListenerContext) -> Reply | None:
    """Ask whether everything is to be erased."""
    checkboxes = {
        "type": "checkboxes",
        "action_id": UNDERSTOOD,
        "options": [{"text": plain("Erase it"), "value": "yes"}],
    }
    blocks = [
        {
            "type": "input",
            "block_id": UNDERSTOOD,
            "label": plain(
                "This erases your questions with their answers, your digests, settings and ratings in this workspace "
                "for good, and stops what is being answered. Messages in Slack stay; "
                "an admin can delete those that you shared. This week’s spending still counts until Monday."
            ),
            "element": checkboxes,
        }
    ]
    view = modal(ERASE_MODAL, "Erase my data", blocks, submit="Erase", close="Keep")
    return await open_for_click(click, context, view)


async def erase_own(submitted: Submission, context: ListenerContext, *, own_data: OwnData) -> Response | None:
    """Start erasing what is kept of the person who submits."""
    if submitted.value(UNDERSTOOD) != ["yes"]:
        return errors(**{UNDERSTOOD: "Choose “Erase it” first."})
    team, user = person_of(submitted.body)
    context.start(own_data.erase(team, user))
    return None
