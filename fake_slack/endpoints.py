"""The addresses that an app calls: the Web API's methods, uploads and response_urls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from fake_slack.conversation import Conversation
from fake_slack.files import MAX_FILE_BYTES
from fake_slack.limits import SlackError
from fake_slack.request_parsing import BadInput, arguments_of, json_object, read_body
from fake_slack.response_urls import ClosedError
from fake_slack.sender import ignore
from fake_slack.tiers import Tiers
from fake_slack.web_api import UPLOAD, WebApi

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, kw_only=True)
class Endpoints:
    """Handlers of an app's requests.

    `tiers` limits the number of calls; without it there is no limit. `on_mistake` is called with a sentence on each
    refusal.
    """

    api: WebApi
    conversation: Conversation
    tiers: Tiers | None = None
    on_mistake: Callable[[str], None] = ignore

    def routes(self, guarded: Callable[[Handler], Handler], *, prefix: str = "") -> list[web.RouteDef]:
        """Return the routes; `guarded` wraps each handler."""
        return [
            web.get(prefix + "/api/{method}", guarded(self.call)),
            web.post(prefix + "/api/{method}", guarded(self.call)),
            web.post(UPLOAD + "{id}", guarded(self.upload)),
            web.post(prefix + "/response/{token}", guarded(self.respond)),
        ]

    async def call(self, request: web.Request) -> web.StreamResponse:
        """Answer a call of a method of the Web API."""
        method = request.match_info["method"]
        try:
            arguments = {**request.query, **await arguments_of(request)}
        except BadInput:
            return web.json_response({"ok": False, "error": "invalid_json"}, status=400)
        if self.tiers is not None and (seconds := self.tiers.count(method, arguments)):
            self.on_mistake(f"{method}: ratelimited, too many calls for its tier; retry after {seconds} s")
            headers = {"Retry-After": str(seconds)}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or str(arguments.get("token", ""))
        answer = await self.api.call(method, arguments, token=token)
        if answer.get("error", NO_MISTAKE) != NO_MISTAKE:
            reasons = answer.get("response_metadata", {}).get("messages") or [answer["error"]]
            needed = f" ({answer['needed']})" if "needed" in answer else ""
            self.on_mistake(f"{method}: {'; '.join(reasons)}{needed}")
        return web.json_response(answer, headers={"x-oauth-scopes": ",".join(self.api.workspace.scopes)})

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Store the content of a file that the app has announced."""
        try:
            content = await read_body(request, max_bytes=MAX_FILE_BYTES)
        except BadInput as bad:
            return web.Response(status=400, text=str(bad))
        if not self.api.timeline.files.upload(request.match_info["id"], content):
            return web.Response(status=400, text="no file of this length is awaited here")
        return web.Response(text=f"OK - {len(content)}")

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Handle a message that the app posts to a response_url."""
        try:
            payload = json_object(await read_body(request))
            if not any(payload.get(field) for field in ("text", "blocks", "delete_original")):
                return self._refused(400, "no_text")
            await self.conversation.respond(request.match_info["token"], payload)
        except BadInput:
            return self._refused(400, "invalid_payload")
        except ClosedError as closed:
            return self._refused(404, str(closed))
        except SlackError as error:
            return self._refused(400, str(error))
        return web.Response(text="ok")

    def _refused(self, status: int, error: str) -> web.Response:
        self.on_mistake(f"response_url: {error}")
        return web.Response(status=status, text=error)


NO_MISTAKE = "stopped_by_user"
"""The error that an app gets if a person stops its answer; no app can avoid this, so the error is no mistake."""
