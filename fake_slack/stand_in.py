"""A Slack on loopback for one app: a person who types and clicks, and the Web API that the app calls.

It runs in a thread of its own, so an app, a test and the command line may wait for it without blocking it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from threading import Thread
from typing import Any, Self, TypeVar

from aiohttp import web

from fake_slack import mistakes
from fake_slack.conversation import Conversation
from fake_slack.dialogs import Dialogs
from fake_slack.endpoints import Endpoints, Handler
from fake_slack.inputs import find_element, report
from fake_slack.request_parsing import BadInput, arguments_of, is_from_browser, object_of, text_of
from fake_slack.sender import RETRIES, AckError, Sender, ignore
from fake_slack.tiers import Tiers
from fake_slack.timeline import SlackMessage, Timeline
from fake_slack.views import View
from fake_slack.web_api import KINDS, METHODS, SCOPES, WebApi
from fake_slack.workspace import DIRECT, GENERAL, USER_ID, YOU, Channel, Workspace

T = TypeVar("T")

BOT_TOKEN, SIGNING_SECRET = "xoxb-fake-slack", "fake-slack-signing-secret"
EVENTS = "/slack/events"
EVERY_SCOPE = {scope for scope in SCOPES.values() if scope} | {
    f"{kind}:{what}" for kind in KINDS.values() for what in ("history", "read")
}

ELSEWHERE = Channel(id="C0ELSEWHERE", name="elsewhere", label="elsewhere", is_member=False)
"""A channel that the app is not in."""

ACTIONS = ("say", "mention", "command", "click", "submit", "shortcut", "stop", "open_home", "send_again")
"""The actions of the person: each is a method of `Slack` and an address such as `POST /say`."""

LOOPBACK = {"127.0.0.1", "localhost"}
WAIT_SECONDS = 5.0
SETTLE_SECONDS = 1.0
"""How long `Slack.mistakes` waits for the app to end its streams and statuses; those left after that are mistakes."""


class Slack:
    """The stand-in, inside a `with` statement: #general, a direct message with the app, #elsewhere, and one person.

    `app_url` is where the app takes requests, such as http://127.0.0.1:3000/slack/events. `tell` is called with each
    mistake of the app when it is found.

    `events` are the events to which the app has subscribed: mentions and direct messages, until a test changes them.
    `scopes` are the scopes of the bot token: all, until a test changes them. `methods` are the methods of the Web API,
    by name; a test can add further methods that its app calls. `timeline` has everything that is shown.
    """

    bot_token, signing_secret = BOT_TOKEN, SIGNING_SECRET

    def __init__(self, *, app_url: str = "", port: int = 0, tell: Callable[[str], None] = ignore) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.api_url = f"{self.origin}/api/"
        self._ahead, self._began, self._typed = 0.0, 0.0, ""
        self._tell = tell
        self._found: dict[str, None] = {}
        self.were_read = False
        self.methods, self.events = dict(METHODS), {"app_mention", "message.im"}
        self.timeline = Timeline(clock=self.now)
        # The app compares the time of a signature with its own clock, so `advance` does not move the sender's clock.
        self.sender = Sender(url=app_url, signing_secret=SIGNING_SECRET, retries=RETRIES, on_mistake=self._find)
        workspace = Workspace(scopes=sorted(EVERY_SCOPE), clock=self.now)
        self.scopes, self._places = workspace.scopes, workspace.conversations
        self._places[ELSEWHERE.id] = ELSEWHERE
        self._conversation = Conversation(
            timeline=self.timeline,
            sender=self.sender,
            app_name="app",
            commands=(),
            response_base=f"{self.origin}/response/",
            secret=SIGNING_SECRET,
            clock=self.now,
            events=self.events,
        )
        self._dialogs = Dialogs(
            timeline=self.timeline,
            workspace=workspace,
            sender=self.sender,
            actor=YOU,
            shortcuts=None,
            issue_response_url=self._conversation.issue_response_url,
        )
        api = WebApi(
            timeline=self.timeline,
            workspace=workspace,
            bot_token=BOT_TOKEN,
            origin=self.origin,
            methods=self.methods,
        )
        self._endpoints = Endpoints(
            api=api, conversation=self._conversation, tiers=Tiers(clock=self.now), on_mistake=self._find
        )

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._serve())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        await self.sender.close()
        await self._runner.cleanup()
        # If a connection is just being accepted or closed, its socket is closed only in the next turn of the loop.
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await asyncio.sleep(0)

    async def _serve(self) -> None:
        application = web.Application(middlewares=[_programs_only])
        application.add_routes(self._endpoints.routes(lambda handler: handler))
        application.add_routes([web.post("/{action}", self._act), web.get("/", self._show)])
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    def start(self, serve: Callable[..., object]) -> None:
        """Run `serve(port=…)`, such as the `start` of a Bolt app, in a thread, and send requests to it from now on.

        Raises TimeoutError if the app does not listen after five seconds.
        """
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.sender.url = f"http://127.0.0.1:{port}{EVENTS}"
        Thread(target=serve, kwargs={"port": port}, daemon=True).start()
        end = time.monotonic() + WAIT_SECONDS
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"nothing listens on port {port} after {WAIT_SECONDS:g} s")
            time.sleep(0.01)

    def now(self) -> float:
        """Return the time of this Slack in seconds since 1970; triggers, streams and limits on calls depend on it."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Move the clock of this Slack forward, but not that of the app."""
        self._ahead += seconds

    def say(self, text: str, *, thread_ts: str = "", channel: str = DIRECT.id) -> None:
        """Post a message, by default in the direct message with the app."""
        self._do(self._conversation.say(text, channel=self._place(channel), thread_ts=thread_ts or None), text)

    def mention(self, text: str, *, thread_ts: str = "") -> None:
        """Mention the app in #general."""
        self.say(f"@app {text}", thread_ts=thread_ts, channel=GENERAL.id)

    def command(self, line: str) -> None:
        """Type a slash command in #general, such as `/ask why`."""
        name, _, text = line.partition(" ")
        self._do(self._conversation.command(name, text, channel=GENERAL), text)

    def click(self, action_id: str, value: object = None) -> None:
        """Use the newest element with this id in the modal, the home tab or a message; `value` is an option's value."""
        self._do(self._click(action_id, value))

    def submit(self, values: Mapping[str, Any] | None = None) -> None:
        """Enter values in the modal and submit it; `values` maps the id of an input's block to a value."""
        self._do(self._submit(values or {}), json.dumps(values))

    def shortcut(self, callback_id: str, *, message_ts: str = "") -> None:
        """Use a global shortcut, or with `message_ts` a shortcut of a message in #general."""
        self._do(self._dialogs.use_shortcut(callback_id, channel=GENERAL, message_ts=message_ts or None))

    def stop(self, thread_ts: str, *, channel: str = GENERAL.id) -> None:
        """Press Slack's own stop button in a thread."""
        self._do(self._conversation.stop(self._place(channel), thread_ts=thread_ts))

    def open_home(self) -> None:
        """Open the home tab of the app."""
        self._do(self._dialogs.open(DIRECT, tab="home"))

    def send_again(self) -> None:
        """Send the last event once more, as Slack does when the acknowledgement was lost."""
        if self.sender.last is None:
            raise BadInput("send_again: no event was sent")
        with suppress(AckError):
            self._run(self.sender.send_event(self.sender.last, retry=1))

    def modal(self) -> View | None:
        """Return the topmost view of the person's modal; None if no modal is open."""
        return next(reversed(self.timeline.views.stack(USER_ID)), None)

    def messages(self) -> list[dict[str, Any]]:
        """Return the messages that are shown, oldest first, as the Web API returns them."""
        return self._run(self._messages())

    def wait_for(self, text: str) -> dict[str, Any]:
        """Wait until the modal or a message of the app shows `text`, and return the modal or the newest such message.

        Raises AssertionError after five seconds.
        """

        async def showing() -> dict[str, Any]:
            modal = self.modal()
            shown = [*([dict(modal.content)] if modal else ()), *reversed(await self._messages())]
            of_app = (one for one in shown if one.get("user") != USER_ID)
            return next((one for one in of_app if text in json.dumps(one, ensure_ascii=False)), {})

        if found := self._run(self._until(showing)):
            return found
        texts = [message["text"] for message in self.messages()]
        raise AssertionError(f"{text!r} is not shown, but {texts}; mistakes: {self.mistakes()}")

    def mistakes(self) -> list[str]:
        """Return the app's mistakes so far, after giving the app up to one second to finish its work.

        After this call, the fixture `slack` does not fail the test because of mistakes.
        """

        async def settled() -> bool:
            return not [*mistakes.left_open(self.timeline)]

        self.were_read = True
        self._run(self._until(settled, seconds=SETTLE_SECONDS))
        return self._run(self._judge())

    def _place(self, channel: str) -> Channel:
        if channel not in self._places:
            raise BadInput(f"channel: {channel!r} must be one of {', '.join(self._places)}")
        return self._places[channel]

    def _do(self, work: Coroutine[Any, Any, None], typed: str = "") -> None:
        """Do something as the person; a late or missing answer of the app is a mistake, and raises no error."""
        self._run(self._judge())
        self._typed += typed
        self._began, self.sender.deliveries = self.now(), 0
        with suppress(AckError):
            self._run(work)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _find(self, mistake: str) -> None:
        if mistake not in self._found:
            self._found[mistake] = None
            self._tell(mistake)

    async def _judge(self) -> list[str]:
        repeated = mistakes.posted_twice(self.timeline, since=self._began) if self.sender.deliveries > 1 else ()
        for mistake in (*mistakes.alerts(self.timeline, typed=self._typed), *repeated):
            self._find(mistake)
        return [*self._found, *mistakes.left_open(self.timeline)]

    async def _messages(self) -> list[dict[str, Any]]:
        return [one.as_slack() | {"channel": one.channel, "private": one.private} for one in self.timeline.messages()]

    async def _until(self, look: Callable[[], Awaitable[T]], *, seconds: float = WAIT_SECONDS) -> T:
        """Call `look` after each change until it finds something or the time is over; return its last result."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                revision = self.timeline.revision
                while not (found := await look()):
                    await self.timeline.changed(since=revision)
                    revision = self.timeline.revision
                return found
        return await look()

    async def _click(self, action_id: str, value: object) -> None:
        async def found() -> tuple[View | SlackMessage, str, dict[str, Any]] | None:
            views = [view for view in (self.modal(), self.timeline.views.home(USER_ID)) if view]
            everything: list[View | SlackMessage] = [*views, *reversed(self.timeline.messages())]
            for shown in everything:
                for block in shown.blocks:
                    if element := find_element([block], block_id=block["block_id"], action_id=action_id):
                        return shown, block["block_id"], element
            return None

        place = await self._until(found)
        if place is None:
            raise BadInput(f"action_id: {action_id!r} must be that of an element that is shown")
        shown, block_id, element = place
        if isinstance(shown, View):
            await self._dialogs.press(shown.id, block_id=block_id, action_id=action_id, raw=value, values={})
            return
        action = report(element, value, block_id=block_id, action_ts=self.timeline.next_ts())
        if action is None:
            raise BadInput(f"value: {value!r} must be that of an option of {action_id!r}")
        await self._conversation.click(shown, action, channel=self._place(shown.channel))

    async def _submit(self, values: Mapping[str, Any]) -> None:
        async def opened() -> View | None:
            return self.modal()

        if (view := await self._until(opened)) is None:
            raise BadInput("values: no modal is open")
        inputs = {block["block_id"]: block["element"]["action_id"] for block in view.blocks if block["type"] == "input"}
        if unknown := sorted(set(values) - set(inputs)):
            raise BadInput(f"values: {unknown[0]!r} must be the block of an input: {', '.join(inputs)}")
        entered = {block: {inputs[block]: value} for block, value in values.items()}
        await self._dialogs.submit(view.id, entered)

    async def _act(self, request: web.Request) -> web.StreamResponse:
        """Do the action in the address, such as `POST /say`; the fields of the body are the method's arguments."""
        name = request.match_info["action"]
        try:
            if name not in ACTIONS:
                raise BadInput(f"/{name}: it must be one of /{', /'.join(ACTIONS)}")
            action, fields = getattr(self, name), await arguments_of(request)
            for field in fields:
                (object_of if field == "values" else text_of)(fields, field)
            try:
                inspect.signature(action).bind(**fields)
            except TypeError as error:
                raise BadInput(
                    f"/{name}: {error}; it takes {', '.join(inspect.signature(action).parameters)}"
                ) from None
            await asyncio.to_thread(action, **fields)
        except BadInput as bad:
            return web.Response(status=400, text=f"{bad}\n")
        return await self._show(request)

    async def _show(self, _: web.Request) -> web.StreamResponse:
        modal = self.modal()
        shown = {
            "messages": await self._messages(),
            "modal": modal and modal.as_page(),
            "mistakes": await self._judge(),
        }
        return web.json_response(shown)


@web.middleware
async def _programs_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests from pages in a browser, and requests to the name of another machine."""
    if is_from_browser(request.headers) or request.url.host not in LOOPBACK:
        return web.Response(status=403, text="The stand-in answers programs on this machine only.\n")
    return await handler(request)
