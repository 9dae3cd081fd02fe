"""`fake-slack`: what it prints, how it is driven, how it ends, and what it says of bad input."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession

from fake_slack.stand_in import ACTIONS, BOT_TOKEN, ELSEWHERE, SIGNING_SECRET
from fake_slack.workspace import CHANNELS
from tests.fakes.ports import free_port

APP = "http://127.0.0.1:9/slack/events"
PLACES = [*CHANNELS, ELSEWHERE.id]


async def started(*arguments: str) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "fake_slack", *arguments)
    return await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


@asynccontextmanager
async def serving(
    port: int, app: str = "http://127.0.0.1:9/slack/events"
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run the command until it has said all; yield it with what it said."""
    process = await started("--port", str(port), "--app", app)
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readuntil(b"Ctrl-C.\n")).decode()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_it_says_what_an_app_needs_and_ends_at_ctrl_c() -> None:
    port = free_port()
    async with serving(port) as (process, said):
        for needed in (
            f"http://127.0.0.1:{port}/api/",
            BOT_TOKEN,
            SIGNING_SECRET,
            "http://127.0.0.1:9/slack/events",
            "/say",
        ):
            assert needed in said
        process.send_signal(signal.SIGINT)
        output, errors = await process.communicate()
        assert (process.returncode, output, errors) == (0, b"", b"")


async def test_a_person_is_driven_by_requests() -> None:
    port = free_port()
    async with serving(port) as (process, _), ClientSession(f"http://127.0.0.1:{port}") as session:

        async def post(path: str, body: Any, **more: Any) -> tuple[int, str]:
            async with session.post(path, **{"data": body} | more) as response:
                return response.status, await response.text()

        status, shown = await post("/say", {"text": "hello"})
        refused = f"event message: dispatch_failed, no answer from {APP}"
        assert (status, json.loads(shown)["mistakes"]) == (200, [refused])
        assert [message["text"] for message in json.loads(shown)["messages"]] == ["hello"]
        assert process.stdout is not None
        assert (await process.stdout.readline()).decode() == f"Mistake: {refused}\n"
        async with session.get("/") as response:
            assert await response.text() == shown
        for path, body, said in (
            ("/shout", {}, f"/shout: it must be one of /{', /'.join(ACTIONS)}\n"),
            ("/say", {}, "/say: missing a required argument: 'text'; it takes text, thread_ts, channel\n"),
            ("/say", {"txt": "x"}, "/say: missing a required argument: 'text'; it takes text, thread_ts, channel\n"),
            (
                "/say",
                {"text": "x", "channel": "C9"},
                "channel: 'C9' must be one of C0PLAYGROUND, D0PLAYGROUND, C0ELSEWHERE\n",
            ),
            ("/click", {"action_id": "x"}, "action_id: 'x' must be that of an element that is shown\n"),
        ):
            assert await post(path, body) == (400, said)
        assert (await post("/say", {"text": "x"}, headers={"Origin": "https://evil.example"}))[0] == 403
        assert (await post("/say", {"text": "x"}, headers={"Host": "evil.example"}))[0] == 403


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "0"], "argument --port: '0' must be a port, from 1 to 65535"),
        (["--port", "many"], "argument --port: 'many' must be a port, from 1 to 65535"),
        (
            ["--app", "localhost"],
            "argument --app: 'localhost' must be an address such as http://127.0.0.1:3000/slack/events",
        ),
    ],
)
async def test_bad_input_is_named_with_what_is_allowed(arguments: list[str], said: str) -> None:
    process = await started(*arguments)
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode().splitlines()[-1] == f"fake-slack: error: {said}"


async def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await started("--port", str(port))
        _, errors = await process.communicate()
    assert process.returncode == 1
    said = errors.decode()
    assert said.startswith(f"fake-slack: --port {port}: Address already in use")
    assert said.endswith("; choose another port\n")
