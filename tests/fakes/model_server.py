"""An endpoint that speaks OpenAI's chat completions, and Anthropic's messages, on loopback.

Its model says what is written down beforehand.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.loopback import LoopbackServer

KEY = "sk-model-test-key"
MODEL = "vendor/model-1"


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The model asks for tools: pairs of a name and arguments, which a text takes the place of to be no JSON at all."""

    wanted: tuple[tuple[str, Mapping[str, Any] | str], ...]


@dataclass(frozen=True, kw_only=True)
class Says:
    """The model answers."""

    text: str
    finish_reason: str = "stop"


@dataclass(frozen=True, kw_only=True)
class Replies:
    """The endpoint replies with this status and body instead; a text is sent as it is."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Hangs:
    """Nothing comes."""


@dataclass(frozen=True, kw_only=True)
class Resets:
    """The connection breaks."""


Turn = Calls | Says | Replies | Hangs | Resets
Script = Sequence[Turn] | Callable[[list[dict[str, Any]]], Turn]
"""One turn a request, the last one again and again; or what makes a turn of the conversation so far."""


def calls(name: str, **arguments: Any) -> Calls:
    """Ask for one tool."""
    return Calls(wanted=((name, arguments),))


class FakeModelServer(LoopbackServer):
    """The server. `base_url` is its address, `requests` the bodies that arrived; `usage` is what each call tells."""

    prefix = "/v1"

    def __init__(self, script: Script, *, usage: Mapping[str, Any] | None = None, model: str = MODEL) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._script = script
        self._usage = usage or {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        self._model = model
        self._stopping = asyncio.Event()

    def routes(self) -> Iterable[web.RouteDef]:
        return [web.post("/v1/chat/completions", self._complete), web.post("/v1/messages", self._message)]

    async def release_all(self) -> None:
        self._stopping.set()

    def results(self, request: int) -> list[str]:
        """Return what the tools' results said that arrived with that request."""
        return [message["content"] for message in self.requests[request]["messages"] if message["role"] == "tool"]

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("Authorization"))
        turn = self._turn(body["messages"])
        match turn:
            case Hangs():
                await self._stopping.wait()
                return web.Response()
            case Resets():
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case Replies():
                return _reply(turn)
            case _:
                return web.json_response(self._completion(turn))

    async def _message(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        self.keys.append(request.headers.get("X-Api-Key"))
        turn = self._turn(body["messages"])
        assert isinstance(turn, (Calls, Says))
        number = len(self.requests)
        return web.json_response(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": self._model,
                "content": _parts(turn, number),
                "stop_reason": "tool_use" if isinstance(turn, Calls) else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }
        )

    def _turn(self, messages: list[dict[str, Any]]) -> Turn:
        if callable(self._script):
            return self._script(messages)
        return self._script[min(len(self.requests), len(self._script)) - 1]

    def _completion(self, turn: Calls | Says) -> dict[str, Any]:
        number = len(self.requests)
        said = _asking(turn, number) if isinstance(turn, Calls) else {"role": "assistant", "content": turn.text}
        reason = "tool_calls" if isinstance(turn, Calls) else turn.finish_reason
        return {
            "id": f"gen-{number}",
            "object": "chat.completion",
            "created": 1_795_000_000,
            "model": self._model,
            "provider": "Somebody",  # as OpenRouter tells who served it
            "choices": [{"index": 0, "message": said, "finish_reason": reason, "native_finish_reason": reason}],
            "usage": self._usage,
        }


def _asking(turn: Calls, number: int) -> dict[str, Any]:
    asked = [
        {
            "id": f"call_{number}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for place, (name, given) in enumerate(turn.wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def _parts(turn: Calls | Says, number: int) -> list[dict[str, Any]]:
    if isinstance(turn, Says):
        return [{"type": "text", "text": turn.text}]
    return [
        {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": given}
        for place, (name, given) in enumerate(turn.wanted)
    ]


def _reply(turn: Replies) -> web.Response:
    if isinstance(turn.body, str):
        return web.Response(status=turn.status, text=turn.body, headers=turn.headers, content_type="text/html")
    return web.json_response(turn.body, status=turn.status, headers=turn.headers)
