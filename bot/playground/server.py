"""The playground's routes: the page and its event stream, the Web API and the response_urls, with their access rules.

https://owasp.org/www-community/attacks/CSRF and https://en.wikipedia.org/wiki/DNS_rebinding
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from multidict import CIMultiDictProxy

from bot.clock import wait_for_any
from bot.commands.routing import APP_NAME, SlashCommand
from bot.playground import memory
from bot.slack.scopes import CHANNEL_SCOPES, FILE_SCOPES, HISTORIES, SCOPES
from fake_slack import request_parsing
from fake_slack.conversation import Conversation
from fake_slack.dialogs import Dialogs
from fake_slack.endpoints import Endpoints, Handler
from fake_slack.inputs import find_element, report
from fake_slack.sender import AckError, Sender
from fake_slack.timeline import Author, SlackMessage, Timeline
from fake_slack.web_api import WebApi
from fake_slack.workspace import CHANNELS, USER_ID, USER_REAL_NAME, YOU, Channel, Workspace
from perplexity.urls import is_loopback

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

SAFE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


_PORTS = {"http": 80, "https": 443}


def names_loopback(host: str) -> bool:
    """Return whether a Host header has a loopback name; False for other names that DNS rebinding points to loopback."""
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def is_same_origin(headers: CIMultiDictProxy[str], *, scheme: str) -> bool:
    """Return whether a request comes from the page itself, by headers that no script can change.

    Whole origins are compared: scheme, host and port. `scheme` is the request's scheme.
    https://html.spec.whatwg.org/multipage/browsers.html#same-origin
    """
    hosts, origins = headers.getall("Host", []), headers.getall("Origin", [])
    if headers.getall("Sec-Fetch-Site", ["same-origin"]) != ["same-origin"] or (len(hosts), len(origins)) != (1, 1):
        return False
    own = _origin(f"{scheme}://{hosts[0]}")
    return own is not None and _origin(origins[0]) == own


Refuse = Callable[[web.Request], str]
"""A rule of access. It returns the reason why a request is refused, or an empty text if the request is allowed."""


def guarded(handler: Handler, *rules: Refuse) -> Handler:
    """Wrap a handler so that it answers only the requests that no rule refuses; the rules are tried in order."""

    async def answer(request: web.Request) -> web.StreamResponse:
        reason = next(filter(None, (refuse(request) for refuse in rules)), "")
        return web.Response(status=403, text=reason) if reason else await handler(request)

    return answer


def refuse_other_pages(request: web.Request) -> str:
    """Refuse requests that pages of other sites make; allow the playground's own page, typed addresses and programs."""
    may_read = request.headers.getall("Sec-Fetch-Site", ["none"]) in (["none"], ["same-origin"])
    return "" if may_read else ONLY_THE_PAGE


def _origin(text: str) -> tuple[str, str, int] | None:
    """Parse an origin; return None for `null`, and for a URL with more than scheme, host and port."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None or text != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port


def _words(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation."""
    return re.findall(r"\w+", text.casefold())


_PERMALINK = re.compile(r"p[0-9]{7,18}", re.ASCII)

STATIC = Path(__file__).parent / "static"
PREFIX = "/playground"

MAX_STREAMS = 50
"""The most pages that may be open at once."""

YEAR_SECONDS = 365 * 86_400

SAVE_SECONDS = 1.0
"""The shortest time between two writes of the file with the newest messages."""

NO_COOKIE = "Open the address that the app printed when it started: it ends in a token, which lets your browser in."

ONLY_THE_PAGE = "Only the playground's own page can do this."


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A button of the page: its label, and the line that it sends."""

    label: str
    line: str


@dataclass(kw_only=True, eq=False)
class Playground:
    """A small Slack for one person on this machine.

    `origin` is the address of the app and these routes, such as `http://127.0.0.1:3000`; the base of the Slack API is
    `<origin>/playground/api/`. `clock` returns seconds since 1970, and `prompts` are the recorded examples that the
    page offers. `shortcuts` are the shortcuts in the app's manifest, and `home_tab` is whether the manifest has a home
    tab. Unless `allow_any_host`, only loopback names are served. The `signing_secret` also signs the response_urls, and
    the page's token is derived from it; if the secret is the same after a restart, both stay valid. The newest messages
    are read from the file `saved`, and saved there.

    The page and its requests need a cookie, which the page's `address` sets.
    """

    signing_secret: str = field(repr=False)
    bot_token: str = field(repr=False)
    origin: str
    commands: Sequence[SlashCommand]
    clock: Callable[[], float] = time.time
    prompts: Sequence[Prompt] = ()
    shortcuts: Sequence[Mapping[str, Any]] = ()
    home_tab: bool = False
    allow_any_host: bool = False
    saved: Path | None = None

    def __post_init__(self) -> None:
        origin, secret, clock = self.origin, self.signing_secret, self.clock
        self._token = hmac.new(secret.encode(), b"page", hashlib.sha256).hexdigest()[:32]
        # Browsers send a cookie to every port of a host, so the cookie's name contains the port.
        self._cookie = f"playground_{urlsplit(origin).port}"
        self.address = f"{origin}{PREFIX}?token={self._token}"
        self._timeline = Timeline(clock=clock)
        for message in memory.load(self.saved) if self.saved else ():
            self._timeline.put(message)
        self._saved_revision = self._timeline.revision
        self._sender = Sender(url=f"{origin}/slack/events", signing_secret=secret, clock=clock)
        scopes = [*(scope.name for scope in (*SCOPES, *FILE_SCOPES, *CHANNEL_SCOPES)), *HISTORIES]
        self._workspace = Workspace(scopes=scopes, clock=clock)
        api = WebApi(timeline=self._timeline, workspace=self._workspace, bot_token=self.bot_token, origin=origin)
        self._conversation = Conversation(
            timeline=self._timeline,
            sender=self._sender,
            app_name=APP_NAME,
            commands=[command.name for command in self.commands],
            response_base=f"{origin}{PREFIX}/response/",
            secret=secret,
            clock=clock,
        )
        self._dialogs = Dialogs(
            timeline=self._timeline,
            workspace=self._workspace,
            sender=self._sender,
            actor=YOU,
            shortcuts=self.shortcuts,
            issue_response_url=self._conversation.issue_response_url,
        )
        self._endpoints = Endpoints(api=api, conversation=self._conversation)
        self._closing = asyncio.Event()
        self._files = {path.name: path for path in STATIC.iterdir() if path.is_file()}
        self._streams: set[asyncio.Transport] = set()

    def routes(self) -> list[web.RouteDef]:
        """Return every route; all are under /playground, except the redirect from `/`."""
        host, cookie = self._refuse_host, self._refuse_without_cookie
        reads, acts = refuse_other_pages, self._refuse_other_origins
        return [
            web.get("/", guarded(self._home, host)),
            web.get(PREFIX, guarded(self._page, host)),
            web.get(PREFIX + "/archives/{channel}/{message}", guarded(self._permalink, host, cookie)),
            web.get(PREFIX + "/static/{name}", guarded(self._static, host, cookie)),
            web.get(PREFIX + "/files/{id}", guarded(self._file, host, cookie, reads)),
            web.get(PREFIX + "/docs/{team}/{id}", guarded(self._file, host, cookie, reads)),
            web.get(PREFIX + "/events", guarded(self._events, host, cookie, reads)),
            web.post(PREFIX + "/say", guarded(_with_body(self._post), host, cookie, acts)),
            web.post(PREFIX + "/open", guarded(_with_body(self._open), host, cookie, acts)),
            web.post(PREFIX + "/stop", guarded(_with_body(self._stop), host, cookie, acts)),
            web.post(PREFIX + "/click", guarded(_with_body(self._click), host, cookie, acts)),
            web.post(PREFIX + "/shortcut", guarded(_with_body(self._use_shortcut), host, cookie, acts)),
            web.post(PREFIX + "/press", guarded(_with_body(self._press), host, cookie, acts)),
            web.post(PREFIX + "/submit", guarded(_with_body(self._submit), host, cookie, acts)),
            web.post(PREFIX + "/close", guarded(_with_body(self._close), host, cookie, acts)),
            *self._endpoints.routes(lambda handler: guarded(handler, host, self._refuse_browsers), prefix=PREFIX),
        ]

    async def keep_messages(self) -> None:
        """Save the newest messages after each change, until cancelled."""
        while True:
            await self._timeline.changed(since=self._saved_revision)
            await asyncio.sleep(SAVE_SECONDS)
            self._save()

    def _save(self) -> None:
        if self.saved is not None and self._timeline.revision > self._saved_revision:
            self._saved_revision = self._timeline.revision
            memory.save(self.saved, self._timeline.messages())

    async def close(self) -> None:
        """Close the open streams and the session, and save the newest messages."""
        self._closing.set()
        self._save()
        await self._sender.close()

    def _refuse_host(self, request: web.Request) -> str:
        served = self.allow_any_host or names_loopback(request.headers.get("Host", ""))
        return "" if served else "The playground is served on loopback names only."

    def _refuse_without_cookie(self, request: web.Request) -> str:
        given = request.cookies.get(self._cookie, "")
        return "" if hmac.compare_digest(given.encode(), self._token.encode()) else NO_COOKIE

    def _refuse_other_origins(self, request: web.Request) -> str:
        forwarded = request.headers.get("X-Forwarded-Proto") if self.allow_any_host else None
        return "" if is_same_origin(request.headers, scheme=forwarded or request.scheme) else ONLY_THE_PAGE

    def _refuse_browsers(self, request: web.Request) -> str:
        """Refuse pages of other sites; programs, which send no Origin, are served."""
        return self._refuse_other_origins(request) if request_parsing.is_from_browser(request.headers) else ""

    async def _home(self, _: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": PREFIX})

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if hmac.compare_digest(request.query.get("token", "").encode(), self._token.encode()):
            response = web.Response(status=302, headers={"Location": PREFIX, "Cache-Control": "no-store"})
            response.set_cookie(
                self._cookie, self._token, path=PREFIX, max_age=YEAR_SECONDS, httponly=True, samesite="Strict"
            )
            return response
        if self._refuse_without_cookie(request):
            headers = {**SAFE_HEADERS, "Cache-Control": "no-store"}
            return web.Response(text=NO_COOKIE, content_type="text/html", headers=headers)
        return web.FileResponse(STATIC / "index.html", headers={**SAFE_HEADERS, "Cache-Control": "no-cache"})

    async def _permalink(self, request: web.Request) -> web.StreamResponse:
        """Redirect an address of `chat.getPermalink`, such as `…/<channel>/p1700000000000100`, to the page."""
        channel, message = request.match_info["channel"], request.match_info["message"]
        if channel not in CHANNELS or not _PERMALINK.fullmatch(message):
            return web.Response(status=404)
        return web.Response(status=302, headers={"Location": f"{PREFIX}#{channel}-{message}"})

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = self._files.get(request.match_info["name"])
        if path is None:
            return web.Response(status=404)
        return web.FileResponse(path, headers={**SAFE_HEADERS, "Cache-Control": "no-cache"})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        file = self._timeline.files.find(request.match_info["id"])
        if file is None:
            return web.Response(status=404, text="This file is no longer kept. Save it again.")
        headers = {**SAFE_HEADERS, "Cache-Control": "no-store", "Content-Disposition": file.disposition}
        return web.Response(body=file.content, content_type=file.mime_type, charset="utf-8", headers=headers)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        # `is_closing` notices a closed page at once; the stream notices it only at its next write.
        if sum(not transport.is_closing() for transport in self._streams) >= MAX_STREAMS:
            return web.Response(status=429, text="Too many pages are open. Close one, then reload this one.")
        if (transport := request.transport) is None:
            return web.Response(status=400)
        self._streams.add(transport)
        try:
            return await self._stream(request)
        finally:
            self._streams.discard(transport)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        frames = event_stream(
            self._timeline,
            last_event_id=request.headers.get("Last-Event-ID", ""),
            hello=self._hello(),
            closing=self._closing,
        )
        with suppress(ConnectionError):  # The page was closed.
            await response.prepare(request)
            async with aclosing(frames):
                async for frame in frames:
                    await response.write(frame)
        return response

    def _hello(self) -> dict[str, Any]:
        return {
            "app": APP_NAME,
            "you": USER_REAL_NAME,
            "channels": [asdict(channel) for channel in CHANNELS.values()],
            "commands": [asdict(command) for command in self.commands],
            "prompts": [asdict(prompt) for prompt in self.prompts],
            "shortcuts": [dict(shortcut) for shortcut in self.shortcuts],
            "people": [{"id": USER_ID, "name": USER_REAL_NAME}],
            "home_tab": self.home_tab,
        }

    async def _post(self, body: dict[str, Any], channel: Channel) -> None:
        text, thread_ts = request_parsing.text_of(body, "text"), request_parsing.ts_of(body, "thread_ts")
        self._workspace.zone = request_parsing.zone_of(body, "zone") or self._workspace.zone
        await self._conversation.post(self._meant(text), channel=channel, thread_ts=thread_ts)

    def _meant(self, line: str) -> str:
        """Return a prompt's line if `line` is a command's name and that prompt's label; otherwise return `line`."""
        name, _, text = line.strip().partition(" ")
        known = any(command.name == name for command in self.commands)
        return next((one.line for one in self.prompts if known and _words(one.label) == _words(text)), line)

    async def _open(self, body: dict[str, Any], channel: Channel) -> None:
        tab = "home" if body.get("tab") == "home" else "messages"
        await self._dialogs.open(channel, tab=tab)

    async def _use_shortcut(self, body: dict[str, Any], channel: Channel) -> None:
        callback_id, message_ts = request_parsing.text_of(body, "callback_id"), request_parsing.ts_of(body, "ts")
        try:
            await self._dialogs.use_shortcut(callback_id, channel=channel, message_ts=message_ts)
        except AckError as error:
            raise web.HTTPBadGateway(text=f"This shortcut failed with the error “{error}”.") from None

    async def _press(self, body: dict[str, Any], _: Channel) -> None:
        await self._dialogs.press(
            request_parsing.text_of(body, "view_id"),
            block_id=request_parsing.text_of(body, "block_id"),
            action_id=request_parsing.text_of(body, "action_id"),
            raw=body.get("value"),
            values=request_parsing.object_of(body, "values"),
        )

    async def _submit(self, body: dict[str, Any], _: Channel) -> None:
        await self._dialogs.submit(request_parsing.text_of(body, "view_id"), request_parsing.object_of(body, "values"))

    async def _close(self, body: dict[str, Any], _: Channel) -> None:
        await self._dialogs.close(request_parsing.text_of(body, "view_id"), clear=body.get("clear") is True)

    async def _stop(self, body: dict[str, Any], channel: Channel) -> None:
        await self._conversation.stop(channel, thread_ts=request_parsing.ts_of(body, "thread_ts") or "0.0")

    async def _click(self, body: dict[str, Any], channel: Channel) -> None:
        shown = _message_from_page(body, channel)
        message = self._timeline.find(channel.id, shown.ts) or shown
        block_id, action_id = request_parsing.text_of(body, "block_id"), request_parsing.text_of(body, "action_id")
        element = find_element(message.blocks, block_id=block_id, action_id=action_id)
        ts = self._timeline.next_ts()
        action = None if element is None else report(element, body.get("choice"), block_id=block_id, action_ts=ts)
        if action is None:
            raise web.HTTPConflict(text="That button is gone.")
        await self._conversation.click(message, action, channel=channel)


def _with_body(act: Callable[[dict[str, Any], Channel], Awaitable[None]]) -> Handler:
    """Return the handler of an action of the page, which gets the JSON body and the channel named in the body."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            body = request_parsing.json_object(await request_parsing.read_body(request))
            channel = CHANNELS.get(request_parsing.text_of(body, "channel"))
            if channel is None:
                return web.Response(status=400, text="This channel does not exist.")
            await act(body, channel)
            return web.Response(status=204)
        except request_parsing.BadInput as bad:
            return web.Response(status=400, text=f"This was not sent. {bad}.")

    return answer


def _message_from_page(body: dict[str, Any], channel: Channel) -> SlackMessage:
    """Return a message as the page sent it: after a restart of the process, only the page still has the message."""
    return SlackMessage(
        channel=channel.id,
        ts=request_parsing.ts_of(body, "ts") or "0.0",
        author=Author.APP,
        text=request_parsing.text_of(body, "text"),
        blocks=request_parsing.blocks_of(body.get("blocks")),
        private=bool(body.get("private")),
    )


HEARTBEAT_SECONDS = 15.0

_MAX_DIGITS = 15
"""The most digits of the revision in an event id; the app has issued no id with more digits."""


async def event_stream(
    timeline: Timeline,
    *,
    last_event_id: str,
    hello: Mapping[str, Any],
    closing: asyncio.Event,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncGenerator[bytes, None]:
    """Yield frames until `closing` is set: a `hello`, the changes missed since the last event, then every change.

    A `change` frame has a message, an `around` frame what the page shows around the messages of a channel, and a
    `views` frame the modal and the home tab. An event id is `<boot>-<revision>`; an id from before a restart is
    ignored.

    https://html.spec.whatwg.org/multipage/server-sent-events.html
    """
    boot, _, number = last_event_id.partition("-")
    known = boot == timeline.boot and number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS
    seen = int(number) if known else 0
    yield _frame("hello", {**hello, "boot": timeline.boot}, f"{timeline.boot}-{seen}")
    while not closing.is_set():
        changes = [(change.revision, "change", change.as_page()) for change in timeline.since(seen)]
        around = [(at, "around", timeline.around.as_page(channel)) for at, channel in timeline.touched(seen)]
        views = [(timeline.views_revision, "views", timeline.views.as_page(USER_ID))]
        shown = views if timeline.views_revision > seen else []
        for seen, event, data in sorted([*changes, *around, *shown], key=lambda frame: frame[0]):
            yield _frame(event, data, f"{timeline.boot}-{seen}")
        if not await wait_for_any(timeline.changed(since=seen), closing.wait(), seconds=heartbeat_seconds):
            yield b": still here\n\n"


def _frame(event: str, data: Mapping[str, Any], event_id: str) -> bytes:
    return f"event: {event}\nid: {event_id}\ndata: {json.dumps(data)}\n\n".encode()
