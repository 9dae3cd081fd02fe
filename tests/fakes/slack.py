"""A Slack on loopback: it takes what the app posts, refuses what Slack would refuse, and remembers everything."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from bot.slack.scopes import SCOPES
from tests.fakes.slack_limits import MOST_TEXT_BYTES_BESIDE_BLOCKS, check_message

BOT_TOKEN = "xoxb-fake-bot-token"
APP_TOKEN = "xapp-fake-app-token"
LARGEST_PAGE = 999
LONGEST_WAIT_SECONDS = 30.0
"""No client waits longer for an answer."""


@dataclass(frozen=True, kw_only=True)
class Post:
    """One message that arrived: by which way, in which order, with what.

    `at` is when, on the clock that only goes forward; `heard` says whether its sender is told that it was taken.
    """

    way: str
    payload: dict[str, Any]
    at: float = 0.0
    heard: bool = True

    @property
    def words(self) -> str:
        """Everything a reader sees, as one string."""
        return json.dumps(self.payload.get("blocks") or self.payload.get("text"), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What to answer instead: a status and a body after `seconds`; status 0 closes the connection."""

    status: int
    body: str = ""
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    accept: bool = False
    """Take the message anyway, as a server does whose answer gets lost."""
    served: bool = False
    """Do all that was asked, and answer it after `seconds`; with status 0 the connection is closed instead."""

    @property
    def unheard(self) -> bool:
        """Whether the message is taken and its sender never learns it."""
        return (self.served or self.accept) and (self.status == 0 or self.seconds >= LONGEST_WAIT_SECONDS)


class FakeSlack:
    """The server. `origin` is its address, `api_url` what SLACK_API_URL is set to; `posts` is what it took.

    `identity` is what auth.test says of the app, `token` its bot token; `profiles` is what users.info says of people,
    besides the rest. `zones` are people's time zones, `left` the people whose accounts are closed, `members` who is in
    a channel: where a test does not say, the app and the person who asks.
    `shown` holds what people see now in channels, by channel and `ts`. `scopes` are those of the bot token, by default
    the manifest's; `socket_url` is where Socket Mode connects to.
    """

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.shown: dict[tuple[str, str], dict[str, Any]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusals: list[str] = []
        self.admins: set[str] = set()
        self.files: dict[str, str] = {}
        self.zones: dict[str, str] = {}
        self.profiles: dict[str, dict[str, Any]] = {}
        self.identity: dict[str, Any] = {"team_id": "T1", "user_id": "U0APP", "bot_id": "B0APP"}
        self.token = BOT_TOKEN
        self.left: set[str] = set()
        self.members: defaultdict[str, list[str]] = defaultdict(lambda: ["U0APP", "U1"])
        self.lasting: dict[str, Fault] = {}
        self.expired: set[str] = set()
        self.closing = False
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._uses: defaultdict[str, int] = defaultdict(int)
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self._last_ts = 0.0
        self.origin = ""
        self.scopes = [scope.name for scope in SCOPES]
        self.socket_url = ""

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=10_000_000)
        application.on_response_prepare.append(self._prepare)
        application.router.add_post("/response/{token:.*}", self._response_url)
        application.router.add_post("/upload/{file}", self._upload)
        application.router.add_route("*", "/api/{method}", self._api)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def api_url(self) -> str:
        return f"{self.origin}/api/"

    def response_url(self, token: str) -> str:
        return f"{self.origin}/response/{token}"

    def fail(self, way: str, *faults: Fault) -> None:
        """Answer the next calls of a way ("response_url" or a method's name) with these faults, in order."""
        self._faults[way].extend(faults)

    async def wait_for(self, count: int, *, seconds: float = 20) -> list[Post]:
        """Wait until `count` messages were taken; fails the test when they do not come."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: len(self.posts) >= count)
        return self.posts

    async def wait_until(self, holds: Callable[[], bool], *, seconds: float = 20) -> None:
        """Wait until something holds after a message was taken; fails the test when it never does."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(holds)

    def thread(self, channel: str, thread_ts: str) -> list[Post]:
        """Return what the app shows in a thread now, in the order in which it was posted."""
        shown = sorted(self.shown.items())
        return [
            Post(way="thread", payload=message)
            for (where, _), message in shown
            if where == channel and message.get("thread_ts") == thread_ts
        ]

    async def _response_url(self, request: web.Request) -> web.StreamResponse:
        token = request.match_info["token"]
        payload = await request.json()
        self.calls.append(("response_url", payload))
        if token in self.expired:
            return web.Response(status=404, text="expired_url")
        lasting = self._lasting("response_url")
        if lasting is not None and not lasting.served:
            # What is turned away is no use of the address.
            return await self._fail_with(lasting, request, "response_url", payload)
        self._uses[token] += 1
        if self._uses[token] > 5:
            return web.Response(status=404, text="used_url")
        if fault := self._next_fault("response_url"):
            return await self._fail_with(fault, request, "response_url", payload)
        return await self._late(request, lasting, await self._by_response_url(token, payload))

    async def _by_response_url(self, token: str, payload: dict[str, Any]) -> web.Response:
        if payload.get("delete_original"):
            return web.Response(text="ok")
        if error := await self._refusal(payload):
            return web.Response(status=400, text=error)
        await self._take("response_url", payload | {"token": token})
        return web.Response(text="ok")

    async def _api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        payload = await _arguments(request)
        self.calls.append((method, payload))
        token = APP_TOKEN if method == "apps.connections.open" else self.token
        if request.headers.get("Authorization") != f"Bearer {token}":
            return web.json_response({"ok": False, "error": "invalid_auth"})
        if fault := self._next_fault(method):
            return await self._fail_with(fault, request, method, payload)
        lasting = self._lasting(method)
        if lasting is not None and not lasting.served:
            return await self._fail_with(lasting, request, method, payload)
        answer = self._about_the_app(method) or await self._file(method, payload)
        answer = answer or await self._methods(method, payload)
        # Slack tells the token's scopes with every answer: https://docs.slack.dev/authentication/installing-with-oauth
        headers = {"x-oauth-scopes": ",".join(self.scopes)}
        reply = web.json_response({"ok": "error" not in answer} | answer, headers=headers)
        return await self._late(request, lasting, reply)

    def _about_the_app(self, method: str) -> dict[str, Any]:
        if method == "auth.test":
            return {"team": "Example", "user": "web_answers"} | self.identity
        return {"url": self.socket_url} if method == "apps.connections.open" else {}

    async def _methods(self, method: str, payload: dict[str, Any]) -> dict[str, Any]:
        if method == "conversations.open":
            return {"channel": {"id": f"D{payload['users']}"}}
        if method in {"conversations.history", "conversations.replies", "conversations.members"}:
            return self._read(method, payload)
        if method == "chat.postMessage":
            return await self._posted(method, payload)
        if method == "users.info":
            return {"user": self._person(payload["user"])}
        if method in {"chat.update", "chat.delete", "chat.postEphemeral"}:
            return await self._change(method, payload)
        return {"error": "unknown_method"}

    async def _posted(self, method: str, payload: dict[str, Any]) -> dict[str, Any]:
        if error := await self._refusal(payload):
            return {"error": error}
        return {"ts": await self._take(method, payload), "channel": payload["channel"]}

    async def _file(self, method: str, payload: dict[str, Any]) -> dict[str, Any]:
        if not method.startswith("files."):
            return {}
        if "files:write" not in self.scopes:
            return {"error": "missing_scope", "needed": "files:write", "provided": ",".join(self.scopes)}
        if method == "files.getUploadURLExternal":
            return {"file_id": "F1", "upload_url": f"{self.origin}/upload/{payload['filename']}"}
        async with self._changed:
            self._changed.notify_all()
        return {"files": [{"id": "F1"}]}

    async def _upload(self, request: web.Request) -> web.Response:
        self.files[request.match_info["file"]] = (await request.read()).decode()
        return web.Response(text="OK")

    def _person(self, user: str) -> dict[str, Any]:
        known = {"id": user, "team_id": "T1", "deleted": user in self.left, "is_bot": False}
        known |= {"is_admin": user in self.admins, "is_owner": False}
        return known | ({"tz": self.zones[user]} if user in self.zones else {}) | self.profiles.get(user, {})

    def _read(self, method: str, payload: dict[str, Any]) -> dict[str, Any]:
        # Each kind of conversation has scopes of its own: https://docs.slack.dev/reference/methods/conversations.replies
        kind = {"C": "channels", "G": "groups", "D": "im"}[payload["channel"][0]]
        needed = f"{kind}:read" if method == "conversations.members" else f"{kind}:history"
        if needed not in self.scopes:
            return {"error": "missing_scope", "needed": needed, "provided": ",".join(self.scopes)}
        if method == "conversations.history":
            found = [post.payload for post in self.posts if post.payload.get("channel") == payload["channel"]]
            return {"messages": found[::-1]}
        if method == "conversations.members":
            return _page("members", self.members[payload["channel"]], payload)
        return _page("messages", [post.payload for post in self.thread(payload["channel"], payload["ts"])], payload)

    async def _change(self, method: str, payload: dict[str, Any]) -> dict[str, Any]:
        if method == "chat.postEphemeral":
            return await self._tell(payload)
        place = (payload["channel"], payload["ts"])
        if place not in self.shown:
            return {"error": "message_not_found"}
        if method == "chat.delete":
            del self.shown[place]
            return {}
        # Slack measures the text of an update in bytes: https://docs.slack.dev/reference/methods/chat.update
        if len(payload["text"].encode()) > MOST_TEXT_BYTES_BESIDE_BLOCKS:
            return {"error": "msg_too_long"}
        if error := await self._refusal(payload | {"unfurl_links": False, "unfurl_media": False}):
            return {"error": error}
        async with self._changed:
            self.shown[place] |= {"text": payload["text"], "blocks": payload.get("blocks") or []}
            self.posts.append(self._post(method, payload))
            self._changed.notify_all()
        return {"ts": payload["ts"]}

    def _next_fault(self, way: str) -> Fault | None:
        return self._faults[way].popleft() if self._faults[way] else None

    def _lasting(self, way: str) -> Fault | None:
        return self.lasting.get(way) or self.lasting.get("*")

    def _post(self, way: str, payload: dict[str, Any]) -> Post:
        lasting = self._lasting(way)
        return Post(way=way, payload=payload, at=time.monotonic(), heard=lasting is None or not lasting.unheard)

    async def _late(self, request: web.Request, fault: Fault | None, reply: web.Response) -> web.Response:
        if fault is not None:
            await asyncio.sleep(fault.seconds)
            if fault.status == 0 and request.transport is not None:
                request.transport.abort()
        return reply

    async def _prepare(self, request: web.Request, response: web.StreamResponse) -> None:
        if self.closing:
            response.headers["Connection"] = "close"
            response.force_close()

    async def _fail_with(
        self, fault: Fault, request: web.Request, way: str, payload: dict[str, Any]
    ) -> web.StreamResponse:
        if fault.accept:
            await (self._change if way == "chat.update" else self._take)(way, payload)
        await asyncio.sleep(fault.seconds)
        if fault.status == 0 and request.transport is not None:
            request.transport.abort()
        kind = {"{": "application/json", "<": "text/html"}.get(fault.body[:1], "text/plain")
        return web.Response(status=fault.status or 500, text=fault.body, headers=fault.headers, content_type=kind)

    async def _refusal(self, payload: dict[str, Any]) -> str | None:
        message = {"text": payload.get("text", ""), "blocks": payload.get("blocks") or []}
        # It renders the message, which the app in the same process shall not have to wait for.
        faults = await asyncio.to_thread(check_message, message)
        assert payload["unfurl_links"] is False
        assert payload["unfurl_media"] is False
        self.refusals.extend(faults)
        return "invalid_blocks" if faults else None

    async def _tell(self, payload: dict[str, Any]) -> dict[str, Any]:
        if error := await self._refusal(payload):
            return {"error": error}
        async with self._changed:
            self.posts.append(Post(way="chat.postEphemeral", payload=payload))
            self._changed.notify_all()
        return {"message_ts": "1.1"}

    async def _take(self, way: str, payload: dict[str, Any]) -> str:
        self._last_ts = max(time.time(), self._last_ts + 0.00001)
        ts = f"{self._last_ts:.6f}"
        async with self._changed:
            self.posts.append(self._post(way, payload | {"ts": ts}))
            if "channel" in payload:
                self.shown[payload["channel"], ts] = payload | {"ts": ts}
            self._changed.notify_all()
        return ts


def _page(name: str, found: Sequence[Any], payload: dict[str, Any]) -> dict[str, Any]:
    # https://docs.slack.dev/apis/web-api/pagination
    start, limit = int(payload.get("cursor") or 0), int(payload["limit"])
    if limit > LARGEST_PAGE:
        return {"error": "invalid_limit"}
    cursor = str(start + limit) if start + limit < len(found) else ""
    return {name: found[start : start + limit], "response_metadata": {"next_cursor": cursor}}


async def _arguments(request: web.Request) -> dict[str, Any]:
    if request.content_type == "application/json":
        return dict(await request.json())
    sent = {**request.query, **(await request.post())}
    form: dict[str, Any] = {name: str(value) for name, value in sent.items()}
    for name in ("blocks", "metadata"):
        if name in form:
            form[name] = json.loads(form[name])
    return form | {name: form[name] in {"true", "1"} for name in form if name.startswith("unfurl_")}
