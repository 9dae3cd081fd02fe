"""Slack on loopback: the playground's Web API, which remembers the calls and fails when a test says so."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from aiohttp import web

from bot.slack.scopes import CHANNEL_SCOPES, FILE_SCOPES, SCOPES
from fake_slack.limits import SlackError
from fake_slack.payloads import session_stopped
from fake_slack.response_urls import ClosedError, ResponseUrlToken, UseCounter
from fake_slack.streams import Stream
from fake_slack.tiers import Tiers
from fake_slack.timeline import Author, SlackMessage, Timeline
from fake_slack.views import OpenViews, View
from fake_slack.web_api import DOWNLOAD, METHODS, UPLOAD, Arguments, Method, WebApi, check
from fake_slack.workspace import Channel, Workspace
from tests.fakes.loopback import LoopbackServer
from tests.fakes.oauth import OAuthServer

BOT_TOKEN = "xoxb-fake-bot-token"
APP_TOKEN = "xapp-fake-app-token"

LONGEST_WAIT_SECONDS = 30.0
"""No client waits longer for an answer."""

MAX_MESSAGES, MAX_MEMORY = 100_000, 2**30
"""More than any test posts."""

POSTS = {"chat.postMessage", "chat.postEphemeral", "chat.update"}


@dataclass(frozen=True, kw_only=True)
class Post:
    """One message that arrived, by a method of the Web API or by "response_url".

    `at` is a time of the monotonic clock; `acknowledged` says whether its sender gets the answer.
    """

    method: str
    payload: dict[str, Any]
    at: float = 0.0
    acknowledged: bool = True
    workspace: str = ""

    @property
    def shown_text(self) -> str:
        """Everything a reader sees, as one string."""
        return json.dumps(self.payload.get("blocks") or self.payload.get("text"), ensure_ascii=False)

    @property
    def markdown(self) -> str:
        """The text of its Markdown blocks."""
        return "".join(block["text"] for block in self.payload.get("blocks") or () if block["type"] == "markdown")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What to answer instead: a status and a body after `seconds`; status 0 closes the connection."""

    status: int
    body: str = ""
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    take_message: bool = False
    """Take the message anyway, as a server does whose answer gets lost."""
    serve_first: bool = False
    """Do what the call asks for, and answer it after `seconds`; with status 0 the connection is closed instead."""

    @property
    def unacknowledged(self) -> bool:
        """Whether the message is taken and its sender never learns it."""
        return (self.serve_first or self.take_message) and (self.status == 0 or self.seconds >= LONGEST_WAIT_SECONDS)


def refusal(error: str) -> Fault:
    """Return an answer of Slack that refuses a call."""
    return Fault(status=200, body=json.dumps({"ok": False, "error": error}))


@dataclass(frozen=True, kw_only=True)
class Halt:
    """A call that gets no answer; `reached` is set when it has come, or with `served` when it was done."""

    method: str
    number: int
    served: bool
    reached: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call to the Web API. `at` is a time of Slack's clock, `error` is empty if the call succeeded.

    `retry_after` are the seconds of a 429.
    """

    method: str
    arguments: dict[str, Any]
    at: float
    error: str = ""
    retry_after: int = 0
    workspace: str = ""
    """For which workspace or organization its token is, if that was installed by OAuth."""


class FakeWorkspace(Workspace):
    """A team in which every channel and every person exists.

    `app` is what auth.test says about the app. `profiles` are fields of users.info by person, `zones` their time
    zones; `left` are the people whose accounts are closed. `members_of` are those of a channel, by default the app and
    the person who asks. `channels` are fields of conversations.info by channel, `deleted` are those that are gone.
    `scopes` are by default those of all features that read no messages.
    """

    def __init__(self) -> None:
        super().__init__()
        self.app: dict[str, Any] = {"team_id": "T1", "user_id": "U0APP", "bot_id": "B0APP"}
        self.admins: set[str] = set()
        self.left: set[str] = set()
        self.zones: dict[str, str] = {}
        self.profiles: dict[str, dict[str, Any]] = {}
        self.members_of: defaultdict[str, list[str]] = defaultdict(lambda: ["U0APP", "U1"])
        self.channels: dict[str, dict[str, Any]] = {}
        self.deleted: set[str] = set()
        self.scopes = [scope.name for scope in (*SCOPES, *FILE_SCOPES, *CHANNEL_SCOPES)]
        self.team, self.enterprise = "T1", ""

    def identity(self, *, origin: str) -> dict[str, Any]:
        return {"url": origin, "team": "Example", "user": "web_answers"} | self.app

    def channel(self, channel_or_user: str) -> Channel | None:
        channel = f"D{channel_or_user}" if channel_or_user.startswith("U") else channel_or_user
        if channel[:1] not in {"C", "G", "D"} or channel in self.deleted:
            return None
        return Channel(id=channel, name=channel.lower(), label=channel, is_im=channel.startswith("D"))

    def members(self, channel_id: str) -> list[str]:
        return self.members_of[channel_id]

    def details(self, channel: Channel) -> dict[str, Any]:
        known = super().details(channel) | {"context_team_id": "T1", "is_private": not channel.id.startswith("C")}
        by = {"user": channel.id[1:]} if channel.is_im else {"creator": "U1"}
        return known | by | self.channels.get(channel.id, {})

    def owner(self) -> dict[str, Any]:
        team = self.app.get("team_id")
        return {"team_id": team, "app_id": "A1", "app_installed_team_id": team, "bot_id": self.app.get("bot_id")}

    def user(self, user_id: str) -> dict[str, Any]:
        known = {"id": user_id, "team_id": self.team, "deleted": user_id in self.left, "is_bot": False}
        known |= {"is_admin": user_id in self.admins, "is_owner": False}
        known |= {"enterprise_user": {"enterprise_id": self.enterprise}} if self.enterprise else {}
        return known | ({"tz": self.zones[user_id]} if user_id in self.zones else {}) | self.profiles.get(user_id, {})

    def users(self) -> list[dict[str, Any]]:
        return [self.user(one) for one in sorted({"U1", *self.profiles, *self.admins, *self.left})]


class FakeSlack(LoopbackServer):
    """The playground's Web API on a port of its own, with faults.

    `origin` is its address, `api_url` the value for SLACK_API_URL; `token` is the app's bot token, `socket_url` where
    Socket Mode connects to. `posts` are the messages that it took, `calls` all calls by method, `refusals` what was
    wrong with the messages that it refused, `files` what was uploaded, `written` the fields of people's messages.
    `downloaded` are the workspaces and ids of files that were given; they come without a length if `unmeasured`.
    `lasting` are faults by method, or "*" for all, until they are removed; `odds` draws one for each other call.
    `expired` are the tokens of expired response_urls, `deleted` those whose message was deleted. `methods` are those
    that do something else than in the playground.

    `clock` returns seconds since 1970, which `advance` moves forward: it is that of streams and tiers. With `tiers`,
    too many calls get status 429. `answered` are the calls of the Web API with their times and errors.

    `oauth` are the tokens of workspaces that installed the app by OAuth. Each has a workspace of its own in
    `installed`, by default one in which everything exists.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time, tiers: bool = False) -> None:
        self._clock = clock
        self._ahead = 0.0
        self.workspace = FakeWorkspace()
        self.timeline = Timeline(clock=self.now, max_messages=MAX_MESSAGES, max_memory=MAX_MEMORY)
        self.tiers = Tiers(clock=self.now) if tiers else None
        self.answered: list[Call] = []
        self.token = BOT_TOKEN
        self.oauth = OAuthServer(now=self.now)
        self.installed: defaultdict[str, FakeWorkspace] = defaultdict(FakeWorkspace)
        self.socket_url = ""
        self.posts: list[Post] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusals: list[str] = []
        self.deleted: set[str] = set()
        self.downloads: list[str] = []
        self.downloaded: list[tuple[str, str]] = []
        self.unmeasured = False
        self.methods: dict[str, Method] = {}
        self.written: dict[tuple[str, str], dict[str, Any]] = {}
        self.lasting: dict[str, Fault] = {}
        self.odds: Callable[[str], Fault | None] | None = None
        self.expired: set[str] = set()
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._halts: list[Halt] = []
        self._unfolding: list[Arguments] = []
        self._uses = UseCounter(clock=time.time)
        self._changed = asyncio.Condition()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        assert error is not None or not self._unfolding, f"Slack would unfold links in {self._unfolding[0]}"

    def routes(self) -> Iterable[web.RouteDef]:
        return [
            web.post("/response/{token:.*}", self._response_url),
            web.post(UPLOAD + "{file}", self._upload),
            web.get(DOWNLOAD + "{file}", self._download),
            web.route("*", "/api/{method}", self._api),
        ]

    @property
    def origin(self) -> str:
        return self.base_url

    @property
    def api_url(self) -> str:
        return f"{self.origin}/api/"

    @property
    def shown(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The app's messages in channels as people see them now, by channel and `ts`."""
        messages = [change.message for change in self.timeline.since(0)]
        return {
            (message.channel, message.ts): message.as_slack(with_metadata=True) | {"channel": message.channel}
            for message in messages
            if message is not None and message.author is Author.APP and not message.private
        }

    @property
    def files(self) -> dict[str, str]:
        """The texts of the files that it took, by name."""
        return {file.name: (file.content or b"").decode() for file in self.timeline.files.completed()}

    @property
    def views(self) -> OpenViews:
        """What people see in modals and home tabs."""
        return self.timeline.views

    def modal(self, user: str = "U1") -> View:
        """Return the view that a person sees in a modal. Raises LookupError if there is none."""
        return self.views.stack(user)[-1]

    def home(self, user: str = "U1") -> View:
        """Return a person's home tab. Raises LookupError if none was published."""
        if (view := self.views.home(user)) is None:
            raise LookupError(user)
        return view

    def now(self) -> float:
        """Return the time in this Slack, in seconds since 1970."""
        return self._clock() + self._ahead

    def advance(self, seconds: float) -> None:
        """Move the clock of this Slack forward; that of the app stays."""
        self._ahead += seconds

    def streams(self, channel: str, thread_ts: str) -> list[Stream]:
        """Return the streams of a thread, in the order in which they were started."""
        messages = reversed(self.timeline.history(channel))
        return [message.stream for message in messages if message.stream and message.thread_ts == thread_ts]

    def press_stop(self, channel: str, thread_ts: str, *, user: str = "U1") -> dict[str, Any]:
        """Press Slack's own stop button in a thread; return the event that the app gets, for `Person.event`."""
        return session_stopped(
            channel=channel,
            thread_ts=thread_ts,
            user=user,
            streams=self.timeline.press_stop(channel, thread_ts),
            event_ts=self.timeline.next_ts(),
        )

    def response_url(self, token: str) -> str:
        return f"{self.origin}/response/{token}"

    def fail(self, method: str, *faults: Fault) -> None:
        """Answer the next calls of a method, or the next posts to a "response_url", with these faults, in order."""
        self._faults[method].extend(faults)

    def halt(self, method: str, number: int = 1, *, served: bool) -> Halt:
        """Never answer the call of a method with this number, counted from now; with `served`, do what it asks for."""
        number += sum(name == method for name, _ in self.calls)
        halt = Halt(method=method, number=number, served=served)
        self._halts.append(halt)
        return halt

    def write(self, user: str, text: str, *, ts: str, thread_ts: str, channel: str = "C1", **fields: Any) -> None:
        """Have a person write in a thread; `fields` are further ones of the message, as Slack returns it."""
        message = SlackMessage(channel=channel, ts=ts, thread_ts=thread_ts, author=Author.YOU, text=text)
        self.timeline.put(message)
        self.written[channel, ts] = {"user": user, "team": "T1"} | fields

    def delete_channel(self, channel: str = "C1") -> None:
        """Delete a channel: it is unknown from now on, and so are the response_urls, which lead to it."""
        self.workspace.deleted.add(channel)
        self.lasting["response_url"] = Fault(status=404, body="channel_not_found")

    async def wait_for(self, count: int, *, seconds: float = 60) -> list[Post]:
        """Wait until `count` messages were taken. Raises TimeoutError."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.posts) >= count)
        return self.posts

    async def wait_until(self, predicate: Callable[[], bool], *, seconds: float = 60) -> None:
        """Wait until a predicate is true after a call. Raises TimeoutError."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(predicate)

    async def wait_for_text(self, text: str) -> Post:
        """Wait until a message was taken that shows a text, and return the last one. Raises TimeoutError."""
        await self.wait_until(lambda: any(text in post.shown_text for post in self.posts))
        return [post for post in self.posts if text in post.shown_text][-1]

    def thread(self, channel: str, thread_ts: str) -> list[Post]:
        """Return what the app shows in a thread now, in the order in which it was posted."""
        return [
            Post(method="thread", payload=message)
            for (shown_in, _), message in sorted(self.shown.items(), key=lambda item: item[0])
            if shown_in == channel and message.get("thread_ts") == thread_ts
        ]

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        self.calls.append((method, arguments))
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        fault = None
        if token == self._token_of(method) or token in self.oauth.tokens or method == "oauth.v2.access":
            fault = self._next_fault(method) or self._lasting(method)
        if fault is not None and not fault.serve_first:
            if fault.take_message:
                await self._call(method, arguments, token=token)
            return await _fail_with(fault, request)
        number = sum(name == method for name, _ in self.calls)
        halt = next((one for one in self._halts if (one.method, one.number) == (method, number)), None)
        if halt is not None:
            if halt.served:
                await self._call(method, arguments, token=token)
            halt.reached.set()
            await asyncio.Event().wait()
        answer, seconds = await self.answer(method, arguments, token=token)
        if seconds:
            return web.json_response(answer, status=429, headers={"Retry-After": str(seconds)})
        # Slack sends the token's scopes with every answer: https://docs.slack.dev/authentication/installing-with-oauth
        headers = {"x-oauth-scopes": ",".join(self._workspace_of(token).scopes)}
        return await _late(fault, request, web.json_response(answer, headers=headers))

    async def answer(self, method: str, arguments: dict[str, Any], *, token: str) -> tuple[dict[str, Any], int]:
        """Return the answer to a call, and the seconds to wait if it is one too many."""
        if self.tiers is not None and (seconds := self.tiers.count(method, arguments)):
            refused = Call(method=method, arguments=arguments, at=self.now(), error="ratelimited", retry_after=seconds)
            self.answered.append(refused)
            return {"ok": False, "error": "ratelimited"}, seconds
        return await self._call(method, arguments, token=token), 0

    async def _call(self, method: str, arguments: dict[str, Any], *, token: str) -> dict[str, Any]:
        """Have the playground's Web API answer a call, and remember the message that it took."""
        if method == "oauth.v2.access":
            return await self._answered(method, arguments, self.oauth.access(arguments, authorization=token))
        if method == "api.test":
            return await self._answered(method, arguments, {"ok": True})
        if method == "auth.revoke":
            return await self._answered(method, arguments, self.oauth.revoke(token))
        grant = self.oauth.valid(token)
        if grant is None and token != self._token_of(method) and (token in {*self.oauth.tokens, *self.oauth.revoked}):
            return await self._answered(method, arguments, {"ok": False, "error": self.oauth.error(token)})
        if method in {"chat.postMessage", "chat.postEphemeral"}:
            self._check_unfurling(arguments)
        if thread_ts := arguments.get("ts" if method == "conversations.replies" else "thread_ts"):
            self._put_question(arguments.get("channel") or arguments["channel_id"], thread_ts)
        api = WebApi(
            timeline=self.timeline,
            workspace=self._workspace_of(token),
            bot_token=token if grant is not None else self._token_of(method),
            origin=self.origin,
            methods=METHODS | {"apps.connections.open": self._open_connection} | self.methods,
        )
        at = self.now()
        answer = await api.call(method, arguments, token=token)
        where = grant.id if grant is not None else ""
        error = answer.get("error", "")
        self.answered.append(Call(method=method, arguments=arguments, at=at, error=error, workspace=where))
        for message in answer.get("messages", ()):
            message.update(self.written.get((arguments["channel"], message["ts"]), {}))
        self.refusals += answer.get("response_metadata", {}).get("messages", [])
        taken = answer["ok"] and method in POSTS
        await self._changed_by(self._post(method, arguments | _ts_of(answer), workspace=where) if taken else None)
        return answer

    async def _answered(self, method: str, arguments: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        self.answered.append(Call(method=method, arguments={}, at=self.now(), error=answer.get("error", "")))
        await self._changed_by(None)
        return answer

    def _workspace_of(self, token: str) -> FakeWorkspace:
        grant = self.oauth.valid(token)
        if grant is None:
            return self.workspace
        workspace = self.installed[grant.id]
        workspace.app, workspace.team, workspace.enterprise = grant.as_app(), grant.id, grant.enterprise or ""
        return workspace

    def _put_question(self, channel: str, ts: str) -> None:
        """Add the message that a thread is about; the test sent it to the app without Slack."""
        if self.timeline.find(channel, ts) is None:
            self.timeline.put(SlackMessage(channel=channel, ts=ts, author=Author.YOU, text="Why?"))

    async def _open_connection(self, _api: WebApi, _arguments: Arguments) -> dict[str, Any]:
        return {"url": self.socket_url}

    async def _upload(self, request: web.Request) -> web.Response:
        taken = self.timeline.files.upload(request.match_info["file"], await request.read())
        return web.Response(status=200 if taken else 400)

    def share(self, name: str, content: bytes) -> dict[str, Any]:
        """Have a person share a file; return it as an event shows it. Its content is of any size."""
        files = self.timeline.files
        file = files.announce(name=name, length=1)
        files.put(replace(file, size=len(content), content=content, title=name))
        return file.as_slack()

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Serve a file to the app alone; anyone else is led to the page for signing in, as in Slack."""
        self.downloads.append(file_id := request.match_info["file"])
        file, token = self.timeline.files.find(file_id), request.headers.get("Authorization", "")
        word = token.removeprefix("Bearer ")
        grant = self.oauth.valid(word)
        if file is None or file.content is None or (grant is None and word != self.token):
            return web.Response(status=302, headers={"Location": f"{self.origin}/signin"})
        self.downloaded.append((grant.id if grant is not None else "", file_id))
        if (fault := self._next_fault("download")) is not None:
            return await _fail_with(fault, request)
        response = web.Response(body=file.content, content_type="application/octet-stream")
        if self.unmeasured:
            response.enable_chunked_encoding()
        return response

    async def _response_url(self, request: web.Request) -> web.StreamResponse:
        token = request.match_info["token"]
        payload = await request.json()
        self.calls.append(("response_url", payload))
        lasting = self._lasting("response_url")
        if lasting is not None and not lasting.serve_first and token not in self.expired:
            # A use of the address that was refused does not count.
            return await _fail_with(lasting, request)
        try:
            self._uses.spend(self._response_url_token(token))
        except ClosedError as closed:
            return web.Response(status=404, text=str(closed))
        if fault := self._next_fault("response_url"):
            if fault.take_message:
                await self._respond(token, payload)
            return await _fail_with(fault, request)
        return await _late(lasting, request, await self._respond(token, payload))

    async def _respond(self, token: str, payload: dict[str, Any]) -> web.Response:
        if payload.get("delete_original"):
            self.deleted.add(token)
            return web.Response(text="ok")
        self._check_unfurling(payload)
        try:
            await check(payload)
        except SlackError as error:
            self.refusals += error.details["response_metadata"]["messages"]
            return web.Response(status=400, text=str(error))
        await self._changed_by(self._post("response_url", payload | {"token": token}))
        return web.Response(text="ok")

    def _response_url_token(self, token: str) -> ResponseUrlToken:
        issued = 0.0 if token in self.expired else time.time()
        return ResponseUrlToken(channel="", original="", trigger=token, issued=issued)

    def _token_of(self, method: str) -> str:
        return APP_TOKEN if method == "apps.connections.open" else self.token

    def _next_fault(self, method: str) -> Fault | None:
        return self._faults[method].popleft() if self._faults[method] else None

    def _lasting(self, method: str) -> Fault | None:
        return self.lasting.get(method) or self.lasting.get("*") or (self.odds(method) if self.odds else None)

    def _post(self, method: str, payload: dict[str, Any], *, workspace: str = "") -> Post:
        lasting = self.lasting.get(method) or self.lasting.get("*")
        return Post(
            method=method,
            payload=payload,
            at=time.monotonic(),
            acknowledged=lasting is None or not lasting.unacknowledged,
            workspace=workspace,
        )

    def _check_unfurling(self, message: Arguments) -> None:
        if (message.get("unfurl_links"), message.get("unfurl_media")) != (False, False):
            self._unfolding.append(message)

    async def _changed_by(self, post: Post | None) -> None:
        async with self._changed:
            self.posts += [] if post is None else [post]
            self._changed.notify_all()


async def _fail_with(fault: Fault, request: web.Request) -> web.StreamResponse:
    kind = {"{": "application/json", "<": "text/html"}.get(fault.body[:1], "text/plain")
    answer = web.Response(status=fault.status or 500, text=fault.body, headers=fault.headers, content_type=kind)
    return await _late(fault, request, answer)


async def _late(fault: Fault | None, request: web.Request, answer: web.Response) -> web.Response:
    if fault is not None:
        await asyncio.sleep(fault.seconds)
        if fault.status == 0 and request.transport is not None:
            request.transport.abort()
    return answer


def _ts_of(answer: dict[str, Any]) -> dict[str, str]:
    return {"ts": answer["ts"]} if "ts" in answer else {}


async def _arguments(request: web.Request) -> dict[str, Any]:
    if request.content_type == "application/json":
        return _with_view(dict(await request.json()))
    sent = {**request.query, **(await request.post())}
    form: dict[str, Any] = {name: str(value) for name, value in sent.items()}
    for name in ("blocks", "chunks", "metadata"):
        if name in form:
            form[name] = json.loads(form[name])
    return _with_view(form) | {name: form[name] in {"true", "1"} for name in form if name.startswith("unfurl_")}


def _with_view(arguments: dict[str, Any]) -> dict[str, Any]:
    """Decode a view, which the SDK sends as JSON in a string."""
    view = arguments.get("view")
    return arguments | {"view": json.loads(view)} if isinstance(view, str) else arguments
