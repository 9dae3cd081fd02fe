"""Three small Bolt apps, written as Slack's documentation shows: one talks, one asks in a modal, one streams answers.

https://docs.slack.dev/tools/bolt-python/getting-started https://docs.slack.dev/tools/bolt-python/concepts/opening-modals
https://docs.slack.dev/tools/bolt-python/concepts/adding-agent-features
"""

from __future__ import annotations

from functools import partial
from typing import Any

from slack_bolt import App
from slack_bolt.request.payload_utils import is_message_event
from slack_sdk import WebClient

from fake_slack.stand_in import Slack

Body = dict[str, Any]


def bolt(slack: Slack, **options: Any) -> App:
    """Return an app of this Slack without listeners."""
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    return App(client=client, **{"signing_secret": slack.signing_secret} | options)


def run(slack: Slack, app: App) -> None:
    slack.start(partial(app.start, http_server_logger_enabled=False))


def plain(text: str) -> Body:
    return {"type": "plain_text", "text": text}


def section(text: str) -> Body:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def button(action_id: str) -> Body:
    return {"type": "actions", "elements": [{"type": "button", "text": plain("Click me"), "action_id": action_id}]}


def greeter(slack: Slack) -> App:
    """Greets, counts clicks by editing its message, repeats what a command says, and looks a person up."""
    app = bolt(slack)

    @app.message("hello")
    def greet(message: Body, say: Any) -> None:
        text = f"Hey there <@{message['user']}>!"
        say(text=text, blocks=[section(text), button("button_click")], thread_ts=message.get("thread_ts"))

    @app.action("button_click")
    def count(ack: Any, body: Body, client: WebClient) -> None:
        ack()
        client.chat_update(channel=body["channel"]["id"], ts=body["message"]["ts"], text="Clicked", blocks=[])

    @app.command("/echo")
    def repeat(ack: Any, respond: Any, command: Body) -> None:
        ack()
        respond(command["text"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))

    @app.command("/whoami")
    def look_up(ack: Any, say: Any, command: Body, client: WebClient) -> None:
        person = client.users_info(user=command["user_id"])["user"]
        ack()
        say(f"You are {person['real_name']}.")

    @app.event("message", matchers=[is_message_event])
    def ignore_the_rest() -> None: ...

    return app


TICKET: Body = {
    "type": "modal",
    "callback_id": "ticket",
    "title": plain("Ticket"),
    "submit": plain("Open"),
    "blocks": [
        {
            "type": "input",
            "block_id": "what",
            "label": plain("What?"),
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
        button("more"),
    ],
}


def ticketing(slack: Slack) -> App:
    """Opens a modal for a shortcut, adds to it for a button, checks what is entered, and shows a home tab."""
    app = bolt(slack)

    @app.shortcut("new_ticket")
    def open_modal(ack: Any, shortcut: Body, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=shortcut["trigger_id"], view=TICKET)

    @app.action("more")
    def add(ack: Any, body: Body, client: WebClient) -> None:
        ack()
        view = TICKET | {"blocks": [*TICKET["blocks"], section("More room")]}
        client.views_update(view_id=body["view"]["id"], hash=body["view"]["hash"], view=view)

    @app.view("ticket")
    def take(ack: Any, body: Body, view: Body, client: WebClient) -> None:
        text = view["state"]["values"]["what"]["text"]["value"]
        if len(text) < 5:
            ack(response_action="errors", errors={"what": "Say more."})
            return
        ack()
        channel = client.conversations_open(users=body["user"]["id"])["channel"]["id"]
        client.chat_postMessage(channel=channel, text="Your ticket is open.")

    @app.event("app_home_opened")
    def show_home(event: Body, client: WebClient) -> None:
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [section("No tickets yet")]})

    return app


def answering(slack: Slack) -> App:
    """Streams an answer into the thread of a mention once, however often it is reported, and stops when told."""
    app, seen = bolt(slack), set()

    @app.event("app_mention")
    def answer(event: Body, body: Body, client: WebClient, say_stream: Any, set_status: Any) -> None:
        if body["event_id"] in seen:
            return
        seen.add(body["event_id"])
        set_status("is thinking…")
        stream = say_stream(buffer_size=1)
        stream.append(markdown_text="**Yes**, ")
        stream.append(markdown_text="it does. " * 100)
        stream.stop(blocks=[button("good")])

    @app.event("message", matchers=[is_message_event])
    def ignore_the_rest() -> None: ...

    @app.event("agent_session_stopped")
    def stop(event: Body, client: WebClient) -> None:
        for ts in event["streaming_message_ts"]:
            client.chat_stopStream(channel=event["channel"], ts=ts)
        thread = {"channel": event["channel"], "thread_ts": event["thread_ts"]}
        client.api_call(
            "agents.sessions.setStatus", json={"channel_id": thread["channel"], "status": "active"} | thread
        )

    return app
