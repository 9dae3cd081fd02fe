"""An app with views behind the playground: shortcuts open a modal, buttons change it, and it has a home tab."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from fake_slack.workspace import GENERAL, USER_ID
from tests.fakes.playground_app import BOT_TOKEN, Fields
from tests.fakes.views import BUTTON, CONFIRM, DIVIDER, OPTIONS, Block, accessory, buttons, field, home, modal, plain

QUESTION = field("plain_text_input", name="question", hint=plain("What would you like to know?"))
MENU = {"type": "overflow", "action_id": "more", "options": OPTIONS}
QUOTE = {"type": "section", "text": {"type": "mrkdwn", "text": "*1*  <https://a.example/1|A page>\n> A quotation"}}
WIDE = [["Command", "Questions", "Dollars"], ["/ask", "41", "$0.31"]]
USAGE: Block = {
    "type": "table",
    "rows": [[{"type": "raw_text", "text": cell} for cell in row] for row in WIDE],
    "column_settings": [{"align": "left"}, {"align": "right"}, {"align": "right"}],
}


def question_view(*more: Block) -> dict[str, Any]:
    """Return the modal with each kind of input."""
    return modal(
        QUESTION,
        field("plain_text_input", name="comment", multiline=True, optional=True, placeholder=plain("Say why")),
        field("static_select", name="model", options=OPTIONS, initial_option=OPTIONS[0]),
        field("checkboxes", name="parts", options=OPTIONS, initial_options=OPTIONS),
        field("radio_buttons", name="effort", options=OPTIONS, optional=True),
        field("conversations_select", name="where", default_to_current_conversation=True, optional=True),
        field("datepicker", name="day", initial_date="2026-11-30", optional=True),
        field("timepicker", name="time", initial_time="09:30", timezone="Europe/Berlin", optional=True),
        field("number_input", name="number", is_decimal_allowed=False, max_value="20", optional=True),
        {"type": "alert", "text": plain("This costs about a cent."), "level": "info"},
        QUOTE,
        DIVIDER,
        buttons(BUTTON, {**BUTTON, "action_id": "next", "text": plain("Next view")}, MENU),
        *more,
        title=plain("Ask the web"),
        submit=plain("Ask"),
        close=plain("Cancel"),
        notify_on_close=True,
    )


class DialogApp:
    """The app, for the `reply` of a `PlaygroundApp` at `origin`."""

    def __init__(self, origin: str) -> None:
        self._client = AsyncWebClient(token=BOT_TOKEN, base_url=f"{origin}/playground/api/")

    async def reply(self, fields: Fields) -> web.Response:
        """Answer what a person did."""
        match fields:
            case {"type": "shortcut" | "message_action"}:
                await self._client.views_open(trigger_id=fields["trigger_id"], view=question_view())
            case {"type": "block_actions", "view": {"type": "modal"}, "actions": [action]}:
                await self._press(fields, action)
            case {"type": "block_actions", "view": view, "actions": [action]}:
                pressed = {"type": "header", "text": plain(f"You pressed {action['action_id']}")}
                await self._client.views_update(view_id=view["id"], view=_home(pressed))
            case {"type": "view_submission", "view": {"state": {"values": {"question": entered} as values}}}:
                return await self._ask(entered["question"]["value"], values)
            case {"event": {"type": "app_home_opened", "tab": "home"}}:
                await self._client.views_publish(user_id=USER_ID, view=_home())
        return web.Response()

    async def _press(self, fields: Fields, action: dict[str, Any]) -> None:
        if action["action_id"] == "next":
            above = modal(QUOTE, title=plain("Sources"), close=plain("Back"))
            del above["submit"]
            await self._client.views_push(trigger_id=fields["trigger_id"], view=above)
            return
        chosen = action.get("selected_option", {}).get("value", "nothing")
        note = {"type": "header", "text": plain(f"{action['action_id']}: {chosen}")}
        await self._client.views_update(view_id=fields["view"]["id"], view=question_view(note))

    async def _ask(self, question: str, values: dict[str, Any]) -> web.Response:
        if question == "wrong":
            errors = {"question": "Please ask something else."}
            return web.json_response({"response_action": "errors", "errors": errors})
        where = values["where"]["where"]["selected_conversation"]
        await self._client.chat_postMessage(channel=where or GENERAL.id, text=f"You asked: {question}")
        return web.Response()


def _home(*more: Block) -> dict[str, Any]:
    sure = accessory(**{**BUTTON, "action_id": "sure", "text": plain("Delete"), "confirm": CONFIRM, "style": "danger"})
    return home(
        {"type": "header", "text": plain("Ask the web, with sources")},
        buttons(BUTTON),
        {**sure, "block_id": "sure"},
        USAGE,
        *more,
    )
