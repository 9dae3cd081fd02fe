"""Each rule on docs/fake-slack.md, tried on the stand-in: the page and this module name the same rules."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from fake_slack.stand_in import ELSEWHERE, Slack
from fake_slack.views import FAILURE
from fake_slack.workspace import DIRECT, GENERAL, TEAM_ID, USER_ID
from tests.fake_slack.bolt_apps import TICKET, Body, section

PAGE = Path(__file__).parents[2] / "docs" / "fake-slack.md"
LISTED = re.compile(r"^- \*\*(.+?)\*\*:(?:(?!^- ).)*?\[Slack\]\((\S+)\)$", re.MULTILINE | re.DOTALL)
SLACKS_OWN = ("https://docs.slack.dev/", "https://github.com/slackapi/")

TO_YOU = {"recipient_user_id": USER_ID, "recipient_team_id": TEAM_ID}
THREAD = "1795255200.000100"


class App:
    """An app that keeps what it is sent, and answers each request with the status, headers and body that are next."""

    def __init__(self, slack: Slack) -> None:
        self.slack, self.client = slack, WebClient(slack.bot_token, base_url=slack.api_url)
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, Body, str]] = []
        app = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                app.taken.append((headers, self.rfile.read(int(headers["content-length"]))))
                status, more, body = app.answers.pop(0) if app.answers else (200, {}, "")
                self.send_response(status)
                for name, value in {**more, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        slack.sender.url = f"http://127.0.0.1:{self.server.server_port}/slack/events"

    def events(self) -> list[Body]:
        """Return the events that it was sent."""
        return [json.loads(body)["event"] for headers, body in self.taken if headers["content-type"].endswith("json")]

    def form(self) -> Body:
        """Return the last form that it was sent."""
        fields = dict(parse_qsl(self.taken[-1][1].decode()))
        return json.loads(fields["payload"]) if "payload" in fields else fields

    def call(self, method: str, **arguments: Any) -> Body:
        return self.client.api_call(method, json=arguments).data  # type: ignore[return-value]

    def refused(self, method: str, **arguments: Any) -> str:
        """Return Slack's error for a call."""
        with pytest.raises(SlackApiError) as refusal:
            self.call(method, **arguments)
        return str(refusal.value.response["error"])

    def post(self, **message: Any) -> Body:
        return self.call("chat.postMessage", channel=GENERAL.id, **message)

    def start(self, **more: Any) -> Body:
        """Start a stream; return where it is."""
        call = {"channel": GENERAL.id, "thread_ts": THREAD, "markdown_text": "Yes.", **TO_YOU, **more}
        started = self.call("chat.startStream", **call)
        return {"channel": started["channel"], "ts": started["ts"]}

    def opened(self) -> Body:
        """Open a modal; return it."""
        self.slack.shortcut("new")
        return self.call("views.open", trigger_id=self.form()["trigger_id"], view=TICKET)["view"]  # type: ignore[no-any-return]


@pytest.fixture
def app(slack: Slack) -> Iterator[App]:
    app = App(slack)
    serving = Thread(target=app.server.serve_forever, args=[0.01])
    serving.start()
    yield app
    app.server.shutdown()
    serving.join()
    app.server.server_close()
    slack.mistakes()


Rule = Callable[[App, Slack], None]
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Register the test of the rule with this name on the page."""

    def register(test: Rule) -> Rule:
        RULES[name] = test
        return test

    return register


@pytest.mark.parametrize("name", RULES_OF_PAGE := dict(LISTED.findall(PAGE.read_text(encoding="utf-8"))))
def test_a_rule(app: App, slack: Slack, name: str) -> None:
    RULES[name](app, slack)


def test_the_page_lists_each_rule_with_an_address_of_slacks() -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^- \*\*(.+?)\*\*", page.partition("\n## Rules\n")[2], re.MULTILINE)

    assert sorted(listed) == sorted(RULES_OF_PAGE) == sorted(RULES)
    assert [address for address in RULES_OF_PAGE.values() if not address.startswith(SLACKS_OWN)] == []


@rule("Acknowledgements")
def acknowledgements(app: App, slack: Slack) -> None:
    assert slack.sender.ack_seconds == 3
    app.answers = [(204, {}, ""), (204, {}, "")]
    slack.say("hello")
    assert slack.mistakes() == []
    slack.command("/ask why")
    assert slack.mistakes() == ["/ask: dispatch_failed, the app answered with status 204"]
    assert "/ask failed with the error “dispatch_failed”" in slack.messages()[-1]["text"]


@rule("Retries")
def retries(app: App, slack: Slack) -> None:
    app.answers = [(500, {}, "")] * 5
    slack.say("hello")
    sent = [(one.get("x-slack-retry-num"), one.get("x-slack-retry-reason")) for one, _ in app.taken]
    assert sent == [(None, None), ("1", "http_error"), ("2", "http_error"), ("3", "http_error")]
    assert len({body for _, body in app.taken}) == 1
    app.answers = [(500, {"X-Slack-No-Retry": "1"}, "")]
    slack.say("hello")
    assert len(app.taken) == 5


@rule("Handled twice")
def handled_twice(app: App, slack: Slack) -> None:
    slack.mention("hello")
    app.post(text="Hi")
    app.post(text="Hi")
    assert slack.mistakes() == []
    slack.mention("hello")
    app.post(text="Hi")
    slack.mention("hello")
    app.post(text="Hi")
    assert slack.mistakes() == []
    slack.send_again()
    assert slack.mistakes() == []
    app.post(text="Hi")
    assert slack.mistakes() == ["'Hi' was posted again for a message that was reported again"]


@rule("Signatures")
def signatures(app: App, slack: Slack) -> None:
    slack.say("hello")
    headers, body = app.taken[0]
    signed = b"v0:" + headers["x-slack-request-timestamp"].encode() + b":" + body
    digest = hmac.new(slack.signing_secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["x-slack-signature"] == f"v0={digest}"
    slack.sender.signing_secret = "of someone else"
    slack.say("hello")
    assert app.taken[1][0]["x-slack-signature"] != f"v0={digest}"


@rule("Mentions as messages")
def mentions_as_messages(app: App, slack: Slack) -> None:
    slack.mention("hello")
    slack.events.add("message.channels")
    slack.mention("hello")
    slack.say("@app hello")
    kinds = [(event["type"], event.get("channel_type")) for event in app.events()]
    assert kinds == [("app_mention", None), ("app_mention", None), ("message", "channel"), ("message", "im")]
    assert app.events()[1]["ts"] == app.events()[2]["ts"]


@rule("Link previews")
def link_previews(app: App, slack: Slack) -> None:
    slack.say("see https://example.com")
    message, preview = app.events()
    assert (preview["subtype"], preview["message"]["ts"]) == ("message_changed", message["ts"])
    assert preview["message"]["text"] == preview["previous_message"]["text"] == message["text"]


@rule("Early stop")
def early_stop(app: App, slack: Slack) -> None:
    slack.stop(THREAD)
    place = app.start()
    slack.stop(THREAD)
    assert [event["streaming_message_ts"] for event in app.events()] == [[], [place["ts"]]]
    assert app.refused("chat.appendStream", **place, markdown_text="And") == "stopped_by_user"
    app.call("chat.stopStream", **place)
    assert slack.mistakes() == []


@rule("Trigger ids")
def trigger_ids(app: App, slack: Slack) -> None:
    app.opened()
    used = app.form()["trigger_id"]
    assert app.refused("views.open", trigger_id=used, view=TICKET) == "exchanged_trigger_id"
    slack.shortcut("new")
    slack.advance(3.1)
    assert app.refused("views.open", trigger_id=app.form()["trigger_id"], view=TICKET) == "expired_trigger_id"


@rule("Response URLs")
def response_urls(app: App, slack: Slack) -> None:
    slack.command("/ask why")
    hook = WebhookClient(app.form()["response_url"])
    assert [hook.send(text="So").body for _ in range(6)] == ["ok"] * 5 + ["used_url"]
    slack.command("/ask why")
    slack.advance(30 * 60 + 1)
    assert WebhookClient(app.form()["response_url"]).send(text="So").body == "expired_url"


@rule("Length of a text")
def length_of_a_text(app: App, slack: Slack) -> None:
    app.post(text="x" * 40_000)
    assert app.refused("chat.postMessage", channel=GENERAL.id, text="x" * 40_001) == "invalid_arguments"
    assert app.refused("chat.postMessage", channel=GENERAL.id, text="") == "no_text"
    assert app.refused("chat.postMessage", channel=GENERAL.id, blocks=[section("x")]) == "no_text"


@rule("Length of an edit")
def length_of_an_edit(app: App, slack: Slack) -> None:
    posted = app.post(text="x", blocks=[section("x")])
    place = {"channel": posted["channel"], "ts": posted["ts"]}
    app.call("chat.update", **place, text="é" * 2_000)
    assert app.refused("chat.update", **place, text="é" * 2_001) == "msg_too_long"
    assert (
        app.refused("chat.postMessage", channel=GENERAL.id, text="é" * 2_001, blocks=[section("x")]) == "msg_too_long"
    )


@rule("Blocks")
def blocks(app: App, slack: Slack) -> None:
    app.post(text="x", blocks=[section("x")] * 50)
    over = {"text": "x", "channel": GENERAL.id}
    assert app.refused("chat.postMessage", **over, blocks=[section("x")] * 51) == "msg_blocks_too_long"
    assert app.refused("chat.postMessage", **over, blocks=[section("x" * 3_001)]) == "invalid_blocks"
    assert app.refused("chat.postMessage", **over, blocks=[{"type": "sectoin"}]) == "invalid_blocks"


@rule("Expanded blocks")
def expanded_blocks(app: App, slack: Slack) -> None:
    app.post(markdown_text="# A\n\n" * 50)
    too_many = {"channel": GENERAL.id, "markdown_text": "# A\n\n" * 51}
    assert app.refused("chat.postMessage", **too_many) == "msg_blocks_too_long"


@rule("Length of Markdown")
def length_of_markdown(app: App, slack: Slack) -> None:
    app.post(markdown_text="x" * 12_000)
    over = {"channel": GENERAL.id, "markdown_text": "x" * 12_001}
    assert app.refused("chat.postMessage", **over) == "msg_too_long"
    assert app.refused("chat.postMessage", channel=GENERAL.id, markdown_text="x", text="x") == "markdown_text_conflict"


@rule("Length of all blocks")
def length_of_all_blocks(app: App, slack: Slack) -> None:
    app.post(text="x", blocks=[section("x" * 3_000)] * 4)
    long = {"channel": GENERAL.id, "text": "x", "blocks": [section("x" * 3_000)] * 5}
    assert app.refused("chat.postMessage", **long) == "msg_blocks_too_long"
    app.post(markdown_text="&" * 2_640)
    assert app.refused("chat.postMessage", channel=GENERAL.id, markdown_text="&" * 2_641) == "msg_blocks_too_long"


@rule("Tables")
def tables(app: App, slack: Slack) -> None:
    row = [{"type": "raw_text", "text": "x" * 1_000}] * 10
    app.post(text="x", blocks=[{"type": "table", "rows": [row]}])
    over = {"channel": GENERAL.id, "text": "x", "blocks": [{"type": "table", "rows": [row, row[:1]]}]}
    assert app.refused("chat.postMessage", **over) == "invalid_blocks"


@rule("Live mentions")
def live_mentions(app: App, slack: Slack) -> None:
    slack.say("tell <@U0ELSE> and <!here>")
    app.post(text=f"<@{USER_ID}>, see &lt;!here&gt;, <@U0OTHER> and <https://example.com|here>")
    assert slack.mistakes() == []
    posted = [app.post(text="Hi <!here>"), app.post(markdown_text="**Hi** <@U0ELSE>")]
    assert slack.mistakes() == [
        f"the message {one['ts']} alerts {token}: escape text from outside"
        for one, token in zip(posted, ("<!here>", "<@U0ELSE>"), strict=True)
    ]


@rule("Membership")
def membership(app: App, slack: Slack) -> None:
    assert app.refused("chat.postMessage", channel=ELSEWHERE.id, text="x") == "not_in_channel"
    assert app.refused("conversations.history", channel=ELSEWHERE.id) == "not_in_channel"
    assert app.refused("chat.startStream", channel=ELSEWHERE.id, thread_ts=THREAD, **TO_YOU) == "not_in_channel"
    assert app.refused("chat.postMessage", channel="C0NOWHERE", text="x") == "channel_not_found"


@rule("Recipient")
def recipient(app: App, slack: Slack) -> None:
    nobody = {"channel": GENERAL.id, "thread_ts": THREAD}
    assert app.refused("chat.startStream", **nobody) == "missing_recipient_user_id"
    assert app.refused("chat.startStream", **nobody, recipient_user_id=USER_ID) == "missing_recipient_team_id"
    place = app.start()
    app.call("chat.appendStream", **place, markdown_text=" More.")
    assert [slack.timeline.seen_by(user, GENERAL.id)[-1].text for user in (USER_ID, "U0ELSE")] == ["Yes. More.", "Yes."]
    app.call("chat.stopStream", **place)
    assert slack.timeline.seen_by("U0ELSE", GENERAL.id)[-1].text == "Yes. More."
    app.start(channel=DIRECT.id, recipient_user_id="")


@rule("Five minutes")
def five_minutes(app: App, slack: Slack) -> None:
    place = app.start()
    slack.advance(300)
    app.call("chat.appendStream", **place, markdown_text="More.")
    slack.advance(7)
    assert app.refused("chat.appendStream", **place, markdown_text="More.") == "message_not_in_streaming_state"


@rule("Threads")
def threads(app: App, slack: Slack) -> None:
    assert app.refused("chat.startStream", channel=GENERAL.id, **TO_YOU) == "invalid_thread_ts"


@rule("One mode")
def one_mode(app: App, slack: Slack) -> None:
    chunk = {"type": "markdown_text", "text": "x"}
    assert app.refused("chat.appendStream", **app.start(), chunks=[chunk]) == "streaming_mode_mismatch"


@rule("Live messages")
def live_messages(app: App, slack: Slack) -> None:
    place = app.start()
    assert app.refused("chat.update", **place, text="x") == "streaming_state_conflict"
    app.call("chat.stopStream", **place)
    app.call("chat.update", **place, text="x")


@rule("Stuck statuses")
def stuck_statuses(app: App, slack: Slack) -> None:
    place = {"channel_id": GENERAL.id, "thread_ts": THREAD}
    stuck = f"the thread {THREAD} still shows that the app is working"
    app.call("assistant.threads.setStatus", **place, status="is thinking…")
    assert slack.mistakes() == [stuck]
    app.post(text="Done", thread_ts=THREAD)
    assert slack.mistakes() == []
    app.call("assistant.threads.setStatus", **place, status="is thinking…")
    slack.advance(121)
    assert slack.mistakes() == []
    app.call("agents.sessions.setStatus", **place, status="processing")
    slack.advance(3_590)
    assert slack.mistakes() == [stuck]
    slack.advance(11)
    assert slack.mistakes() == []


@rule("Size of a view")
def size_of_a_view(app: App, slack: Slack) -> None:
    slack.shortcut("new")
    for view, error in (
        (TICKET | {"blocks": [section("x")] * 101}, "invalid_arguments"),
        (TICKET | {"private_metadata": "x" * 250_000}, "view_too_large"),
    ):
        assert app.refused("views.open", trigger_id=app.form()["trigger_id"], view=view) == error


@rule("Hashes")
def hashes(app: App, slack: Slack) -> None:
    view = app.opened()
    place = {"view_id": view["id"], "view": TICKET}
    app.call("views.update", **place, hash=view["hash"])
    assert app.refused("views.update", **place, hash=view["hash"]) == "hash_conflict"
    app.call("views.update", **place)


@rule("Stack")
def stack(app: App, slack: Slack) -> None:
    app.opened()
    for error in ("", "", "push_limit_reached"):
        slack.click("more")
        push = {"trigger_id": app.form()["trigger_id"], "view": TICKET}
        if error:
            assert app.refused("views.push", **push) == error
        else:
            app.call("views.push", **push)


@rule("Submissions")
def submissions(app: App, slack: Slack) -> None:
    def answer(body: Body | None) -> None:
        app.answers = [(200, {"Content-Type": "application/json"}, json.dumps(body) if body else "")]
        slack.submit({"what": "A ticket"})

    app.opened()
    answer({"response_action": "errors", "errors": {"text": "Say more."}})
    view = slack.modal()
    assert view is not None
    assert (view.failure, len(slack.mistakes())) == (FAILURE, 1)
    answer({"response_action": "errors", "errors": {"what": "Say more."}})
    view = slack.modal()
    assert view is not None
    assert (view.errors, view.failure) == ({"what": "Say more."}, "")
    answer(None)
    assert slack.modal() is None


@rule("Rates")
def rates(app: App, slack: Slack) -> None:
    place = {"channel": GENERAL.id, "ts": app.post(text="x")["ts"]}
    for _ in range(50):
        app.call("chat.update", **place, text="x")
    with pytest.raises(SlackApiError) as refusal:
        app.call("chat.update", **place, text="x")
    assert (refusal.value.response.status_code, refusal.value.response["error"]) == (429, "ratelimited")
    slack.advance(int(refusal.value.response.headers["Retry-After"]))
    app.call("chat.update", **place, text="x")
    assert "ratelimited" in [
        *(app.post(text="x") for _ in range(5)),
        app.refused("chat.postMessage", **place, text="x"),
    ]


@rule("Canvases")
def canvases(app: App, slack: Slack) -> None:
    for markdown in ("> - one", "> > 1. one"):
        content = {"type": "markdown", "markdown": markdown}
        assert app.refused("canvases.create", document_content=content) == "canvas_creation_failed"
    content = {"type": "markdown", "markdown": "> one\n\n```\n> - code\n```\n\n- two"}
    canvas = app.client.canvases_create(title="Notes", document_content=content)["canvas_id"]
    share = {"canvas_id": canvas, "access_level": "read", "user_ids": USER_ID}
    assert app.refused("canvases.access.set", **share | {"channel_ids": GENERAL.id}) == "invalid_parameters"
    assert app.refused("canvases.access.set", **share | {"canvas_id": "F1"}) == "canvas_not_found"
    assert app.refused("canvases.access.set", **share) == "failed_to_update_user_ids"
    app.client.chat_postMessage(channel=DIRECT.id, text=f"https://playground.slack.com/docs/{TEAM_ID}/{canvas}")
    assert app.client.canvases_access_set(**share)["ok"]


@rule("Scopes")
def scopes(app: App, slack: Slack) -> None:
    slack.scopes.remove("users:read")
    assert app.refused("users.info", user=USER_ID) == "missing_scope"
    assert slack.mistakes() == ["users.info: missing_scope (users:read)"]
    app.client = WebClient("xoxb-of-another", base_url=slack.api_url)
    assert app.refused("auth.test") == "invalid_auth"
