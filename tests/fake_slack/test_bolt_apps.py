"""Bolt apps that keep Slack's rules raise no alarm; each typical mistake is found, and named."""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from fake_slack.stand_in import ELSEWHERE, Slack
from fake_slack.web_api import Arguments, WebApi
from fake_slack.workspace import USER_ID
from tests.fake_slack.bolt_apps import TICKET, Body, answering, bolt, greeter, run, section, ticketing

SHORT = 0.3
"""Seconds in which these apps must acknowledge; Slack gives them three."""


def test_a_greeter_makes_no_mistake(slack: Slack) -> None:
    run(slack, greeter(slack))
    slack.say("hello https://example.com")
    slack.wait_for("Hey there")
    slack.click("button_click")
    slack.wait_for("Clicked")
    slack.command("/echo <!channel> & co")
    slack.wait_for("&lt;!channel&gt;")
    slack.command("/whoami")
    slack.wait_for("You are You.")
    assert slack.mistakes() == []


def test_a_ticketing_app_makes_no_mistake(slack: Slack) -> None:
    run(slack, ticketing(slack))
    slack.shortcut("new_ticket")
    slack.submit({"what": "no"})
    assert slack.modal().errors == {"what": "Say more."}  # type: ignore[union-attr]
    slack.click("more")
    slack.wait_for("More room")
    slack.submit({"what": "It is broken"})
    assert slack.modal() is None
    slack.wait_for("Your ticket is open.")
    slack.open_home()
    assert slack.mistakes() == []


def test_an_answering_app_makes_no_mistake(slack: Slack) -> None:
    run(slack, answering(slack))
    slack.mention("does it work?")
    slack.send_again()
    ts = slack.wait_for("it does.")["thread_ts"]
    slack.wait_for("Click me")
    slack.stop(ts)
    assert len([one for one in slack.messages() if "bot_id" in one]) == 1
    assert slack.mistakes() == []


def test_a_method_that_it_does_not_know_can_be_answered(slack: Slack) -> None:
    client = WebClient(slack.bot_token, base_url=slack.api_url)

    async def added(_: WebApi, arguments: Arguments) -> dict[str, Any]:
        return {"added": arguments["name"]}

    with pytest.raises(SlackApiError, match="unknown_method"):
        client.reactions_add(channel="C1", timestamp="1.1", name="eyes")
    assert slack.mistakes() == ["reactions.add: unknown_method"]
    slack.methods["reactions.add"] = added
    assert client.reactions_add(channel="C1", timestamp="1.1", name="eyes")["added"] == "eyes"


Wrong = Callable[[Slack], App]
MISTAKES: dict[str, tuple[Wrong, Callable[[Slack], None], str]] = {}


def mistake(expected: str, *use: Callable[[Slack], None]) -> Callable[[Callable[[App, Slack], None]], None]:
    """Register a listener that makes a mistake, how it is used, and what is to be said of it."""

    def register(listen: Callable[[App, Slack], None]) -> None:
        def build(slack: Slack) -> App:
            app = bolt(slack)
            listen(app, slack)
            return app

        MISTAKES[listen.__name__] = (build, use[0] if use else mention, expected)

    return register


def mention(slack: Slack) -> None:
    slack.mention("go")


def command(slack: Slack) -> None:
    slack.command("/go")


def in_a_hurry(slack: Slack) -> None:
    slack.sender.ack_seconds = SHORT
    slack.command("/go")


def on_mention(app: App) -> Callable[..., Any]:
    """Listen to mentions, and to nothing else."""
    app.event("message")(lambda: None)
    return app.event("app_mention")


@mistake("/go: operation_timeout, not acknowledged within 0.3 s", in_a_hurry)
def acknowledges_too_late(app: App, _: Slack) -> None:
    @app.command("/go")
    def work(ack: Any) -> None:
        time.sleep(2 * SHORT)
        ack()


@mistake("/go: operation_timeout", in_a_hurry)
def forgets_to_acknowledge(app: App, _: Slack) -> None:
    app.command("/go")(lambda say: say("Done"))


@mistake("/go: dispatch_failed, the app answered with status 404", command)
def listens_to_another_command(app: App, _: Slack) -> None:
    app.command("/come")(lambda ack: ack())


@mistake("chat.postMessage: text: it must be text of at most 40000 characters")
def posts_a_long_text(app: App, _: Slack) -> None:
    on_mention(app)(lambda say: say("x" * 40_001))


@mistake("chat.postMessage: msg_too_long: the top-level text of a message with blocks has more than 4,000 bytes")
def posts_a_long_text_beside_blocks(app: App, _: Slack) -> None:
    on_mention(app)(lambda say: say(text="é" * 2_001, blocks=[section("Short")]))


@mistake("chat.update: msg_too_long")
def edits_to_a_long_text(app: App, _: Slack) -> None:
    @on_mention(app)
    def edit(say: Any, client: WebClient) -> None:
        posted = say("Wait")
        client.chat_update(channel=posted["channel"], ts=posted["ts"], text="é" * 2_001)


@mistake("chat.postMessage: msg_blocks_too_long: more than 50 blocks")
def posts_51_blocks(app: App, _: Slack) -> None:
    on_mention(app)(lambda say: say(text="Long", blocks=[section("One")] * 51))


@mistake("chat.postMessage: msg_blocks_too_long: more than 50 blocks after rendering")
def posts_markdown_that_becomes_51_blocks(app: App, _: Slack) -> None:
    on_mention(app)(lambda say: say(text="Long", blocks=[{"type": "markdown", "text": "# A\n\n" * 51}]))


@mistake("chat.postMessage: msg_too_long")
def posts_long_markdown(app: App, _: Slack) -> None:
    on_mention(app)(lambda say: say(markdown_text="x" * 12_001))


@mistake("views.open: expired_trigger_id", lambda slack: slack.shortcut("go"))
def opens_a_modal_after_work(app: App, slack: Slack) -> None:
    @app.shortcut("go")
    def work(ack: Any, shortcut: Body, client: WebClient) -> None:
        ack()
        slack.advance(4)
        client.views_open(trigger_id=shortcut["trigger_id"], view=TICKET)


def press_twice(slack: Slack) -> None:
    slack.shortcut("go")
    slack.click("more")


@mistake("views.update: hash_conflict", press_twice)
def updates_a_modal_that_has_changed(app: App, _: Slack) -> None:
    @app.shortcut("go")
    def work(ack: Any, shortcut: Body, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=shortcut["trigger_id"], view=TICKET)

    @app.action("more")
    def update(ack: Any, body: Body, client: WebClient) -> None:
        ack()
        for _ in range(2):
            client.views_update(view_id=body["view"]["id"], hash=body["view"]["hash"], view=TICKET)


def submit(slack: Slack) -> None:
    slack.shortcut("go")
    slack.submit({"what": "It is broken"})


@mistake("was not answered as Slack accepts", submit)
def answers_a_submission_with_the_name_of_no_block(app: App, _: Slack) -> None:
    app.shortcut("go")(lambda ack, shortcut, client: (ack(), client.views_open(view=TICKET, **of(shortcut))))
    app.view("ticket")(lambda ack: ack(response_action="errors", errors={"text": "Say more."}))


def of(shortcut: Body) -> Body:
    return {"trigger_id": shortcut["trigger_id"]}


@mistake("event app_mention: dispatch_failed, the app answered with status 401")
def has_another_signing_secret(app: App, slack: Slack) -> None:
    slack.sender.signing_secret = "of another app"


@mistake("chat.postMessage: not_in_channel")
def posts_where_it_is_not(app: App, _: Slack) -> None:
    on_mention(app)(lambda client: client.chat_postMessage(channel=ELSEWHERE.id, text="Hello"))


@mistake("users.info: missing_scope (users:read)")
def lacks_a_scope(app: App, slack: Slack) -> None:
    slack.scopes.remove("users:read")
    on_mention(app)(lambda client: client.users_info(user=USER_ID))


def mention_twice(slack: Slack) -> None:
    slack.mention("go")
    slack.send_again()


@mistake("'Done' was posted again", mention_twice)
def handles_an_event_that_comes_again(app: App, _: Slack) -> None:
    on_mention(app)(lambda say: say("Done"))


@mistake("'Done' was posted again")
def answers_a_mention_as_a_message_too(app: App, slack: Slack) -> None:
    slack.events.add("message.channels")
    for event in ("app_mention", "message"):
        app.event(event)(lambda say: say("Done"))


@mistake("'Done' was posted again", lambda slack: slack.say("see https://example.com"))
def takes_a_link_s_preview_for_a_message(app: App, _: Slack) -> None:
    app.event("message")(lambda say: say("Done"))


@mistake("chat.update: ratelimited, too many calls for its tier")
def edits_at_every_word(app: App, _: Slack) -> None:
    @on_mention(app)
    def write(say: Any, client: WebClient) -> None:
        posted = say("…")
        for number in range(51):
            client.chat_update(channel=posted["channel"], ts=posted["ts"], text="word " * (number + 1))


def thread(event: Body) -> Body:
    return {"channel": event["channel"], "thread_ts": event["ts"]}


def to_asker(event: Body) -> Body:
    return thread(event) | {"recipient_user_id": event["user"], "recipient_team_id": event["team"]}


@mistake("chat.startStream: missing_recipient_user_id")
def streams_to_nobody(app: App, _: Slack) -> None:
    on_mention(app)(lambda client, event: client.chat_startStream(**thread(event), markdown_text="Yes"))


@mistake("was never stopped")
def never_stops_its_stream(app: App, _: Slack) -> None:
    on_mention(app)(lambda client, event: client.chat_startStream(**to_asker(event), markdown_text="Yes"))


@mistake("chat.appendStream: message_not_in_streaming_state")
def streams_for_more_than_five_minutes(app: App, slack: Slack) -> None:
    @on_mention(app)
    def write(client: WebClient, event: Body) -> None:
        ts = client.chat_startStream(**to_asker(event), markdown_text="Yes")["ts"]
        slack.advance(310)
        client.chat_appendStream(channel=event["channel"], ts=ts, markdown_text="and no")


@mistake("still shows that the app is working")
def leaves_its_status(app: App, _: Slack) -> None:
    on_mention(app)(lambda set_status: set_status("is thinking…"))


@mistake("response_url: used_url", command)
def responds_six_times(app: App, _: Slack) -> None:
    app.command("/go")(lambda ack, respond: (ack(), [respond("Still at it") for _ in range(6)]))


@mistake("alerts <!channel>: escape text from outside", lambda slack: slack.mention("repeat <!channel>"))
def repeats_text_with_its_mentions(app: App, _: Slack) -> None:
    on_mention(app)(lambda say, event: say(html.unescape(event["text"].partition("repeat ")[2])))


@mistake("alerts <@U0SOMEONE>: escape text from outside", lambda slack: slack.mention("repeat <@U0SOMEONE>"))
def repeats_a_mention_in_markdown(app: App, _: Slack) -> None:
    on_mention(app)(lambda say, event: say(markdown_text=html.unescape(event["text"].partition("repeat ")[2])))


@pytest.mark.parametrize(("build", "use", "expected"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_mistake_is_found(slack: Slack, build: Wrong, use: Callable[[Slack], None], expected: str) -> None:
    run(slack, build(slack))
    use(slack)
    end = time.monotonic() + 10
    while not any(expected in one for one in slack.mistakes()) and time.monotonic() < end:
        time.sleep(0.02)
    assert any(expected in one for one in slack.mistakes()), slack.mistakes()
