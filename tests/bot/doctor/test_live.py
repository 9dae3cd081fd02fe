"""`doctor --live` against stand-ins: what it finds, what it leaves behind, and what it may spend."""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.__main__ import main
from bot.doctor.checks import exit_code
from bot.doctor.live import MARK, MAX_PROVIDER_CALLS, MAX_SLACK_CALLS, LiveRun, check_live
from bot.settings import Settings
from fake_slack.limits import SlackError
from fake_slack.timeline import Author
from fake_slack.timeline import SlackMessage as PostedMessage
from fake_slack.web_api import METHODS, Arguments, WebApi
from tests.docs.pages import ROOT
from tests.fakes import brave, openrouter, perplexity
from tests.fakes.brave import FakeBrave
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import FakePerplexity, stream_reply
from tests.fakes.service import FakeService
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault, refusal
from tests.rare import one_in

CHANNEL = "C1"
BOLD = re.compile(r"\*\*([^*]+)\*\*")
CANARY = "hunter2"


@dataclass(kw_only=True)
class World:
    """The stand-ins, and a person who does what is asked for, if it `presses` and `stops`."""

    slack: FakeSlack
    perplexity: FakePerplexity
    openrouter: FakeOpenRouter
    brave: FakeBrave
    presses: bool = True
    stops: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    @property
    def providers(self) -> list[FakeService]:
        return [self.perplexity, self.openrouter, self.brave]

    @property
    def left(self) -> list[str]:
        """The texts of the app's messages in the channel."""
        return [one.text for one in self.slack.timeline.history(CHANNEL) if one.author is Author.APP]

    async def sleep(self, seconds: float) -> None:
        """Let time pass in Slack, and the person act."""
        self.slack.advance(seconds)
        for message in self.slack.timeline.history(CHANNEL):
            if self.presses and message.text == "Press this button.":
                # What the running app does with a press: `take_live_press`.
                self.slack.timeline.remove(CHANNEL, message.ts)
            elif self.stops and message.stream and message.text.startswith("Stop this") and message.thread_ts:
                streams = self.slack.timeline.press_stop(CHANNEL, message.thread_ts)
                self.stops = not streams

    async def run(self, *, most: int = 500_000, keep: bool = False) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the exit code and the lines of acceptance.jsonl by name."""
        file = io.StringIO()
        run = LiveRun(
            settings=Settings().model_copy(update=self.settings),
            channel=CHANNEL,
            most=most,
            keep=keep,
            file=file,
            show=self.shown.append,
            symbols=False,
            clock=self.slack.now,
            sleep=self.sleep,
        )
        code = exit_code(await check_live(run))
        return code, {line["name"]: line for line in map(json.loads, file.getvalue().splitlines())}


def verdicts(lines: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: line["verdict"] for name, line in lines.items()}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with FakeSlack() as slack, FakePerplexity() as one, FakeOpenRouter() as two, FakeBrave() as three:
        slack.workspace.scopes.append("channels:history")
        keys = {"perplexity": perplexity.KEY, "openrouter": openrouter.KEY, "brave": brave.KEY}
        urls = {"perplexity": one.base_url, "openrouter": two.base_url, "brave": three.base_url}
        yield World(
            slack=slack,
            perplexity=one,
            openrouter=two,
            brave=three,
            settings={
                "slack_bot_token": SecretStr(BOT_TOKEN),
                "slack_api_url": slack.api_url,
                "admin_user_ids": "U1",
                **{f"{name}_api_key": SecretStr(key) for name, key in keys.items()},
                **{f"{name}_base_url": url for name, url in urls.items()},
            },
        )


GREEN = [
    "Token", "Earlier run", "Thread", "Stream", "Long message", "Status", "Every message", "Every view",
    "Perplexity search", "Perplexity answer", "Perplexity cancel", "OpenRouter answer", "Brave search", "Brave answer",
    "Button", "Long stream", "Stop", "Clear up",
]  # fmt: skip


async def test_everything_holds_and_nothing_is_left(world: World) -> None:
    code, lines = await world.run()

    assert verdicts(lines) == dict.fromkeys(GREEN, "ok")
    assert (code, world.left) == (0, [])
    assert len([1 for method, _ in world.slack.calls if method != "blocks.validate"]) <= MAX_SLACK_CALLS
    assert sum(len(service.requests) for service in world.providers) <= MAX_PROVIDER_CALLS
    assert {name: set(line["figures"]) for name, line in lines.items() if line["figures"]} == {
        "Earlier run": {"deleted"},
        "Perplexity search": {"cost_usd"},
        "Perplexity answer": {"first_text", "cost_usd"},
        "Perplexity cancel": {"finished", "cost_usd"},
        "OpenRouter answer": {"first_text", "cost_usd"},
        "Brave search": {"cost_usd"},
        "Brave answer": {"first_text", "cost_usd"},
        "Clear up": {"deleted"},
    }
    assert {frozenset(line) for line in lines.values()} == {frozenset({"name", "verdict", "seconds", "figures"})}
    assert world.perplexity.cancelled == [RUN]


def refusing(world: World, method: str, error: str, when: Callable[[Arguments], bool]) -> None:
    """Have Slack refuse the calls of a method whose arguments are such."""

    async def answer(api: WebApi, arguments: Arguments) -> dict[str, Any]:
        if when(arguments):
            raise SlackError(error)
        return await METHODS[method](api, arguments)

    world.slack.methods[method] = answer


def says(words: str) -> Callable[[Arguments], bool]:
    return lambda arguments: words in json.dumps([arguments.get("text"), arguments.get("chunks")])


def invalid(world: World, surface: str) -> None:
    """Have Slack find something wrong with each message, or each view."""

    async def answer(api: WebApi, arguments: Arguments) -> dict[str, Any]:
        wrong = {"code": "invalid_blocks", "message": CANARY, "pointer": "/blocks/0", "constraint": CANARY}
        return {"errors": [wrong] if surface in arguments else []}

    world.slack.methods["blocks.validate"] = answer


IN_THREAD = {"Stream", "Long message", "Status", "Button", "Long stream", "Stop"}
STREAMS = {"Stream", "Long stream", "Stop"}
RUN = "resp_00000000-0000-4000-8000-000000000001"
FAULTS: list[tuple[str, set[str], Callable[[World], object]]] = [
    ("Token", STREAMS, lambda world: world.slack.fail("auth.test", refusal("invalid_auth"))),
    ("Earlier run", set(), lambda world: world.slack.fail("conversations.history", refusal("ratelimited"))),
    ("Thread", IN_THREAD, lambda world: world.slack.fail("chat.postMessage", refusal("not_in_channel"))),
    ("Stream", {"Long stream"}, lambda world: world.slack.fail("chat.startStream", refusal("invalid_thread_ts"))),
    ("Long message", set(), lambda world: world.slack.fail("chat.update", refusal("msg_too_long"))),
    ("Status", set(), lambda world: world.slack.fail("assistant.threads.setStatus", refusal("not_allowed"))),
    ("Every message", set(), lambda world: invalid(world, "message")),
    ("Every view", set(), lambda world: invalid(world, "view")),
    ("Perplexity search", set(), lambda world: world.perplexity.fail("/search", status=500, body={"error": CANARY})),
    ("Perplexity answer", set(), lambda world: world.perplexity.script("/v1/agent", stream_reply())),
    ("Perplexity cancel", set(), lambda world: world.perplexity.fail(f"/v1/agent/{RUN}/cancel", status=404, body={})),
    ("OpenRouter answer", set(), lambda world: world.openrouter.fail("/chat/completions", status=402, body={})),
    ("Brave search", set(), lambda world: world.brave.fail("/web/search", status=429, body={"error": CANARY})),
    ("Brave answer", set(), lambda world: world.brave.fail("/llm/context", status=403, body={"error": CANARY})),
    ("Button", set(), lambda world: refusing(world, "chat.postMessage", "invalid_blocks", says("Press"))),
    ("Long stream", set(), lambda world: refusing(world, "chat.appendStream", "internal_error", says("It is old"))),
    ("Stop", set(), lambda world: refusing(world, "chat.startStream", "no_text", says("Stop this"))),
    ("Clear up", set(), lambda world: world.slack.fail("chat.delete", *[refusal("cant_delete_message")] * 2)),
]


@pytest.mark.parametrize(("name", "not_tried", "strike"), one_in(3, FAULTS), ids=[name for name, *_ in FAULTS])
async def test_each_fault_is_one_error(
    world: World, name: str, not_tried: set[str], strike: Callable[[World], object]
) -> None:
    strike(world)
    code, lines = await world.run()

    expected = dict.fromkeys(GREEN, "ok") | dict.fromkeys(not_tried, "not tried") | {name: "error"}
    assert verdicts(lines) == expected
    assert code == 1
    assert [secret for secret in (CANARY, BOT_TOKEN, perplexity.KEY) if secret in json.dumps(lines)] == []
    assert (world.left == []) is (name != "Clear up")


def test_every_line_has_a_fault() -> None:
    assert sorted(name for name, *_ in FAULTS) == sorted(GREEN)


async def test_what_a_person_does_not_do_was_not_tried(world: World) -> None:
    world.presses = world.stops = False
    code, lines = await world.run()

    assert (code, world.left) == (0, [])
    assert verdicts(lines) == dict.fromkeys(GREEN, "ok") | dict.fromkeys(("Button", "Stop"), "not tried")
    assert [text for text in world.shown if text.startswith("Now: ")] == [
        "Now: Press the button in the thread in C1 within 60 seconds.",
        "Now: Stop the answer in the thread in C1 within 60 seconds.",
    ]


async def test_a_channel_that_cannot_be_read_is_not_written_to(world: World) -> None:
    world.slack.workspace.scopes.remove("channels:history")
    code, lines = await world.run()

    errors = {"Earlier run", "Thread", "Clear up"}
    assert (code, {name for name, verdict in verdicts(lines).items() if verdict == "error"}) == (1, errors)
    assert [method for method, _ in world.slack.calls if method.startswith("chat.")] == []


async def test_streams_need_a_person_in_a_channel(world: World) -> None:
    world.settings["admin_user_ids"] = ""
    code, lines = await world.run()

    assert (code, {name for name, one in verdicts(lines).items() if one == "not tried"}) == (0, STREAMS)
    assert any("ADMIN_USER_IDS" in text for text in world.shown)


async def test_a_thread_that_is_kept_stays_after_the_next_run(world: World) -> None:
    _, lines = await world.run(keep=True)
    kept = len(world.left)
    await world.run()

    assert "Clear up" not in lines
    assert (kept, len(world.left)) == (4, 4)


@pytest.mark.parametrize(
    ("dollars", "asked"), [(0, []), (0.019, []), (0.024, ["Perplexity search"]), (0.033, GREEN[8:13])]
)
async def test_no_more_is_spent_than_allowed(world: World, dollars: float, asked: list[str]) -> None:
    code, lines = await world.run(most=round(dollars * 1_000_000))

    tried = [name for name in GREEN[8:14] if verdicts(lines)[name] != "not tried"]
    assert (code, tried) == (0, asked)
    assert sum(service.invoice for service in world.providers) <= dollars * 1_000_000


async def test_a_call_that_fails_counts_as_what_it_may_cost(world: World) -> None:
    world.perplexity.fail("/search", status=500, body={})
    code, lines = await world.run(most=39_999)

    assert (code, verdicts(lines)["Perplexity search"]) == (1, "error")
    assert {verdicts(lines)[name] for name in GREEN[9:14]} == {"not tried"}


async def test_a_retired_endpoint_stays_within_the_calls(world: World) -> None:
    world.settings["perplexity_api"] = "sonar"
    world.perplexity.retired = True
    _, lines = await world.run()

    assert verdicts(lines) == dict.fromkeys(GREEN, "ok") | {"Brave answer": "not tried"}
    assert sum(len(service.requests) for service in world.providers) <= MAX_PROVIDER_CALLS


async def test_no_more_requests_leave_than_allowed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.doctor.live.MAX_PROVIDER_CALLS", 5)
    code, lines = await world.run()

    assert sum(len(service.requests) for service in world.providers) <= 5
    assert (code, verdicts(lines)) == (0, dict.fromkeys(GREEN, "ok") | dict.fromkeys(GREEN[11:14], "not tried"))


def leave(world: World, count: int) -> None:
    """Leave so many messages in the channel, as a run that was killed."""
    root = "1795255200.000001"
    world.slack.timeline.put(posted(root, mark=MARK))
    for number in range(2, count + 1):
        world.slack.timeline.put(replace(posted(f"1795255200.{number:06}"), thread_ts=root))


@pytest.mark.parametrize("count", [10, 14, 18, 22])
async def test_a_run_that_uses_up_its_calls_still_clears_up(world: World, count: int) -> None:
    only_slack(world)
    leave(world, count)
    _, lines = await world.run()

    assert sum(method != "blocks.validate" for method, _ in world.slack.calls) <= MAX_SLACK_CALLS
    assert (world.left, verdicts(lines)["Clear up"]) == ([], "ok")
    assert verdicts(lines)["Stop"] == "not tried"


async def test_what_is_too_much_for_one_run_is_deleted_by_several(world: World) -> None:
    only_slack(world)
    leave(world, 61)
    counts = []
    for _ in range(5):
        world.stops, before = True, len(world.slack.calls)
        _, lines = await world.run()
        counts.append(sum(method != "blocks.validate" for method, _ in world.slack.calls[before:]))

    assert max(counts) <= MAX_SLACK_CALLS
    assert (world.left, verdicts(lines)["Stop"]) == ([], "ok")


async def test_only_the_app_s_own_messages_are_deleted(world: World) -> None:
    only_slack(world)
    leave(world, 1)
    for number, more in ((2, {}), (3, {"bot_id": "B3"})):
        ts = f"1795255200.00000{number}"
        world.slack.write("U2", "Not by the app.", ts=ts, thread_ts="1795255200.000001", **more)
    _, lines = await world.run()

    assert (world.left, verdicts(lines)["Earlier run"]) == ([], "ok")
    assert len(world.slack.timeline.history(CHANNEL)) == 2


def posted(ts: str, *, mark: str = "") -> PostedMessage:
    metadata = {"event_type": "answer_part", "event_payload": {"question": mark, "part": 0}}
    return PostedMessage(channel=CHANNEL, ts=ts, author=Author.APP, text="Left.", metadata=metadata if mark else None)


WRITES = {"chat.postMessage": 3, "chat.startStream": 2, "chat.update": 1, "chat.appendStream": 3, "chat.stopStream": 2}
MOMENTS = [
    (method, number, served)
    for method, times in {**WRITES, "chat.delete": 4}.items()
    for number in range(1, times + 1)
    for served in (False, True)
]


def only_slack(world: World) -> None:
    """Leave out what takes time and posts nothing."""
    world.settings |= {f"{name}_api_key": None for name in ("perplexity", "openrouter", "brave")}
    world.slack.workspace.refused["blocks.validate"] = "unknown_method"


@pytest.mark.parametrize(("method", "number", "served"), one_in(3, MOMENTS))
async def test_what_a_killed_run_leaves_is_deleted_by_the_next(
    world: World, method: str, number: int, served: bool
) -> None:
    only_slack(world)
    halt = world.slack.halt(method, number, served=served)
    killed = asyncio.create_task(world.run())
    async with asyncio.timeout(60):
        await halt.reached.wait()
    # Nothing that it still does gets through, as after a kill.
    world.slack.lasting["*"] = Fault(status=0)
    killed.cancel()
    await asyncio.wait([killed])
    world.slack.lasting.clear()
    world.presses = world.stops = True
    _, lines = await world.run()

    assert world.left == []
    assert verdicts(lines)["Earlier run"] == "ok"


async def test_a_cancelled_run_clears_up_at_once(world: World) -> None:
    only_slack(world)
    halt = world.slack.halt("chat.update", served=True)
    stopped = asyncio.create_task(world.run())
    async with asyncio.timeout(60):
        await halt.reached.wait()
    stopped.cancel()
    await asyncio.wait([stopped])

    assert (stopped.cancelled(), world.left) == (True, [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live"], "--live needs --channel, such as C012AB3CD, and SLACK_BOT_TOKEN"),
        (["--keep"], "--channel, --keep and --max-usd need --live"),
        (["--channel", "C1"], "--channel, --keep and --max-usd need --live"),
        (["--live", "--channel", "general"], "'general' must be the id of a channel, such as C012AB3CD"),
        (["--live", "--max-usd", "lots"], "'lots' must be an amount of dollars, such as 0.50"),
    ],
)
def test_what_cannot_be_run_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], logging_as_it_was: None
) -> None:
    try:
        code: object = main(["doctor", *arguments])
    except SystemExit as ended:
        code = ended.code

    assert code == 2
    assert said in capsys.readouterr().err


async def test_the_command_prints_a_table_and_writes_the_file(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    logging_as_it_was: None,
) -> None:
    only_slack(world)
    world.slack.workspace.refused["chat.postMessage"] = "not_in_channel"
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_SIGNING_SECRET": "8f742231b10e8888abcd99eee1285a50",
        "SLACK_API_URL": world.slack.api_url,
    }.items():
        monkeypatch.setenv(name, value)
    code = await asyncio.to_thread(main, ["doctor", "--live", "--channel", "C1"])

    printed = capsys.readouterr().out
    saved = [json.loads(line)["name"] for line in (tmp_path / "acceptance.jsonl").read_text().splitlines()]
    assert (code, saved) == (1, [*GREEN[:8], *GREEN[14:]])
    assert "ERROR   Thread              Slack refuses it (not_in_channel)." in printed
    assert "Please attach it to an issue." in printed


def test_the_page_of_assumptions_names_every_check() -> None:
    page = (ROOT / "docs" / "assumptions.md").read_text("utf-8")
    named = {title for row in re.findall(r"\| ([^|]*) \|$", page, re.MULTILINE) for title in BOLD.findall(row)}

    assert named == set(GREEN)
