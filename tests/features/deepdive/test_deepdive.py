"""`/deepdive` through the whole app: the report, how far it has come, the Stop button, and processes that die."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from aiohttp import ClientSession
from psycopg import AsyncConnection
from pydantic import SecretStr

from bot.features.deepdive import Reports
from bot.settings import Settings
from bot.storage.stages import StageStore
from bot.worker.background import FileUploader
from tests.bot.listeners.clicks import assert_acknowledged
from tests.driver import Driver, Processes
from tests.end_to_end.test_stop import move_stop
from tests.fakes import grok
from tests.fakes.grok import FakeGrok
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import Person
from tests.fakes.service import Fault
from tests.fakes.slack import FakeSlack, Post


@pytest.fixture
async def posts() -> AsyncIterator[FakeGrok]:
    async with FakeGrok() as fake:
        yield fake


@pytest.fixture
def settings(settings: Settings, posts: FakeGrok) -> Settings:
    return settings.model_copy(
        update={"xai_api_key": SecretStr(grok.KEY), "xai_base_url": posts.api_url, "persona_name": "Ada"}
    )


def is_report(post: Post) -> bool:
    return '"text": "My analysis"' in post.shown_text


def headings(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["text"]["text"] for block in blocks if block["type"] == "header"]


TITLE = "heat pumps"
HEADINGS = ["The situation", "The public pulse", "My analysis"]


async def test_a_report_comes_in_three_sections_with_one_list_of_sources_and_a_chart(harness: Driver) -> None:
    await harness.ask("/deepdive heat pumps")
    await harness.wait_until_settled(1)

    report = harness.slack.posts[-1]
    blocks = report.payload["blocks"]
    text = "\n".join(block["text"] for block in blocks if block["type"] == "markdown")
    assert headings(blocks) == [TITLE, *HEADINGS]
    assert blocks[0] == {"type": "header", "text": {"type": "plain_text", "text": TITLE, "emoji": False}}
    assert report.payload["text"].startswith(TITLE)
    kinds = [block["type"] for block in blocks]
    assert headings(blocks[: kinds.index("data_visualization")])[-1] == "The public pulse"
    (chart,) = [block for block in blocks if block["type"] == "data_visualization"]
    assert [point["value"] for point in chart["chart"]["series"][0]["data"]] == [2, 0, 1, 0]
    assert "Of 3 posts: 2 positive · 0 neutral · 1 negative · 0 mixed" in text
    assert "[[3]](https://x.com/ada/status/1111)" in text
    (sources,) = [line for line in lines(blocks) if line.startswith("<https://")]
    assert len(re.findall(r"<https://", sources)) <= 3
    assert re.search(r"The situation \$\S+ · The public pulse \$\S+ · My analysis \$", report.shown_text)
    assert harness.slack.refusals == []


def lines(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["elements"][0]["text"] for block in blocks if block["type"] == "context"]


def stop_button(post: Post) -> str:
    """Return the question that the message's only button would stop."""
    (row,) = [block for block in post.payload["blocks"] if block["type"] == "actions"]
    ((action, value),) = [(element["action_id"], element["value"]) for element in row["elements"]]
    assert action == "stop"
    return str(value)


async def test_a_slash_command_shows_its_progress_at_most_three_times(harness: Driver, posts: FakeGrok) -> None:
    posts.hold()
    ack = await harness.ask("/deepdive heat pumps")
    first, *_ = await harness.slack.wait_for(1)
    posts.release()
    await harness.wait_until_settled(1)

    assert all(stage in first.shown_text for stage in HEADINGS)
    assert first.payload["response_type"] == "ephemeral"
    assert stop_button(first) == stop_button(Post(method="ack", payload=ack))
    assert 2 <= len(harness.slack.posts) <= 4
    assert is_report(harness.slack.posts[-1])


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A place to ask for a deep dive: how it is asked there, and by which way its progress comes."""

    typed: str
    way: str
    ticks: bool

    async def ask(self, harness: Driver) -> None:
        if self.way == "response_url":
            await harness.ask(self.typed)
        else:
            await (harness.mention if self.typed.startswith("deepdive") else harness.send_direct_message)(
                self.typed.lstrip()
            )


SURFACES = {
    "private": Surface(typed="/deepdive heat pumps", way="response_url", ticks=False),
    "public": Surface(typed="/deepdive --public heat pumps", way="response_url", ticks=False),
    "thread": Surface(typed="deepdive heat pumps", way="chat.update", ticks=True),
    "direct": Surface(typed=" deepdive heat pumps", way="chat.update", ticks=True),
}


def states(post: Post) -> dict[str, str]:
    """Return what a progress message says of each stage."""
    return dict(re.findall(r"\*([A-Z][a-z ]+)\*  (.+?)(?=\\n|\")", post.shown_text))


@pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)
async def test_a_stage_that_ended_shows_within_two_seconds_and_none_is_said_to_run_for_long(
    harness: Driver, posts: FakeGrok, surface: Surface
) -> None:
    def shown(stage: str, start: str) -> Post | None:
        found = (post for post in harness.slack.posts if states(post).get(stage, "").startswith(start))
        return next(found, None)

    posts.hold()
    await surface.ask(harness)
    await harness.slack.wait_until(lambda: shown("The situation", "done") is not None)
    facts = shown("The situation", "done")
    found = harness.perplexity.served[-1].ended
    harness.perplexity.script("/v1/agent", Fault(hang=True))
    read = time.monotonic()
    posts.release()
    await harness.slack.wait_until(lambda: shown("The public pulse", "done") is not None)
    pulse = shown("The public pulse", "done")

    assert facts is not None
    assert pulse is not None
    assert found is not None
    assert (facts.at - found < 2, pulse.at - read < 2) == (True, True)
    assert {facts.method, pulse.method} == {surface.way}
    if not surface.ticks:
        told = [post.shown_text for post in harness.slack.posts]
        assert [words for words in told if "listening" in words or "researching" in words or "as of" not in words] == []
        assert len(told) <= 3
    await stop(harness, stop_button(pulse))
    await harness.wait_until_settled(1)


async def test_in_a_thread_one_message_shows_each_stage_and_becomes_the_report(
    harness: Driver, posts: FakeGrok
) -> None:
    posts.hold()
    await harness.mention("deepdive heat pumps", ts="1795255200.000100")
    await harness.slack.wait_until(lambda: any("done" in post.shown_text for post in thread(harness)))
    (progress,) = [post.shown_text for post in thread(harness)]
    posts.release()
    await harness.wait_until_settled(1)

    assert "researching" not in progress
    assert "listening to what people say" in progress
    (report,) = thread(harness)
    assert all(heading in report.shown_text for heading in HEADINGS)
    assert "Stop" not in report.shown_text


def thread(harness: Driver) -> list[Post]:
    return harness.slack.thread("C1", "1795255200.000100")


async def stop(harness: Driver, question: str, *, user: str = "U1") -> int:
    async with await replace(harness.person, user=user).click("stop", question, token="stop") as response:
        return response.status


def click_replies(harness: Driver) -> list[Post]:
    return [post for post in harness.slack.posts if post.payload.get("token") == "stop"]


async def start_deepdive(harness: Driver, posts: FakeGrok) -> str:
    """Ask, and return the question once both of the first stages are running."""
    posts.hold()
    harness.perplexity.script("/v1/agent/resp_1", Fault(hang=True))
    await harness.ask("/deepdive heat pumps")
    await asyncio.gather(harness.perplexity.wait_for(2), posts.wait_for(1), harness.slack.wait_for(1))
    return stop_button(harness.slack.posts[0])


async def test_stop_ends_the_dive_at_the_services_and_closes_the_question(harness: Driver, posts: FakeGrok) -> None:
    question = await start_deepdive(harness, posts)
    assert await stop(harness, question) == 200
    async with asyncio.timeout(60):
        await harness.perplexity.cancel_requested.wait()
    posts.release()
    await harness.wait_until_settled(1)

    assert harness.perplexity.cancelled == ["resp_1"]
    assert await stop(harness, question) == 200
    for said in click_replies(harness):
        assert (said.payload["replace_original"], "*Stopped “heat pumps”.*" in said.shown_text) == (True, True)
    assert [request.path for request in harness.perplexity.requests].count("/v1/agent") == 1
    assert not any(is_report(post) for post in harness.slack.posts)


async def test_a_stopped_dive_names_its_topic_and_can_be_started_again(harness: Driver, posts: FakeGrok) -> None:
    await stop(harness, await start_deepdive(harness, posts))
    said, *_ = click_replies(harness)  # the worker may say the same after it
    (again,) = [block["elements"][0] for block in said.payload["blocks"] if block["type"] == "actions"]
    posts.release()
    await move_stop(harness.database, "-3 seconds")
    await harness.click_button(again["action_id"], again["value"], token="again")
    await harness.slack.wait_until(lambda: any(map(is_report, harness.slack.posts)))

    assert said.payload["text"] == "Stopped “heat pumps”."
    assert (again["text"]["text"], again["action_id"]) == ("Start again", "retry")
    begun = next(post for post in harness.slack.posts if post.payload.get("token") == "again")
    assert (begun.payload["replace_original"], bool(stop_button(begun))) == (True, True)
    assert stop_button(begun) != again["value"]
    assert harness.slack.refusals == []


async def test_only_the_asker_can_stop_it(harness: Driver, posts: FakeGrok) -> None:
    question = await start_deepdive(harness, posts)
    await stop(harness, question, user="U2")
    posts.release()

    (said,) = click_replies(harness)
    assert "Only the person who asked" in said.shown_text
    assert said.payload["replace_original"] is False
    assert harness.perplexity.cancelled == []
    await stop(harness, question)


@dataclass(frozen=True, kw_only=True)
class Services(Processes):
    """What a real process talks to, and what of it was asked for money."""

    posts: FakeGrok

    def requests_by_stage(self) -> dict[str, int]:
        """Count the requests that begin a stage, and so cost money."""
        begun = [request for request in self.perplexity.requests if request.path == "/v1/agent"]
        situations = sum(bool(request.json.get("background")) for request in begun)
        return {"situation": situations, "pulse": len(self.posts.requests), "analysis": len(begun) - situations}

    async def finished_stages(self) -> list[str]:
        """Return the stages whose results are kept."""
        async with await AsyncConnection.connect(self.database) as connection:
            rows = await connection.execute("SELECT stage FROM stages WHERE result IS NOT NULL ORDER BY stage")
            return [str(row[0]) for row in await rows.fetchall()]

    async def wait_until_running(self, stage: str) -> None:
        """Wait until a stage is running and every stage that can be finished by then is."""
        before = {"situation": ["pulse"], "pulse": ["situation"], "analysis": ["pulse", "situation"]}[stage]
        async with asyncio.timeout(60):
            while True:
                if self.requests_by_stage()[stage] and await self.finished_stages() == before:
                    return
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("stage", ["situation", "pulse", "analysis"])
async def test_kill_9_in_each_stage__it_is_finished_after_a_restart_and_no_finished_stage_is_asked_twice(
    slack: FakeSlack, session: ClientSession, database: str, stage: str
) -> None:
    async with FakePerplexity(polls=2) as facts, FakeGrok() as posts:
        more = {"XAI_API_KEY": grok.KEY, "XAI_BASE_URL": posts.api_url}
        services = Services(
            slack=slack, perplexity=facts, posts=posts, session=session, database=database, settings=more
        )
        first = await services.start()
        # The stage that the process dies in does not end before; the one next to it does.
        if stage == "pulse":
            posts.script(grok.PATH, Fault(hang=True))
        if stage == "situation":
            facts.script("/v1/agent/resp_1", Fault(hang=True))
        person = Person(session=session, app_url=first.url, response_url=slack.response_url)
        async with await person.type_command("/deepdive heat pumps") as response:
            assert response.status == 200
        # The run was begun and is asked for; the next question is the analysis.
        await facts.wait_for(2)
        if stage == "analysis":
            facts.script("/v1/agent", Fault(hang=True))
        await services.wait_until_running(stage)
        await first.kill()
        second = await services.start()
        await slack.wait_until(lambda: any(is_report(post) for post in slack.posts), seconds=60)
        await second.terminate()

    assert services.requests_by_stage() == {"situation": 1, "pulse": 1, "analysis": 1} | (
        {} if stage == "situation" else {stage: 2}
    )
    assert sum(is_report(post) for post in slack.posts) == 1


def file_buttons(post: Post) -> list[str]:
    rows = [block for block in post.payload["blocks"] if block["type"] == "actions"]
    return [element["value"] for row in rows for element in row["elements"] if element["action_id"] == "as_file"]


async def test_the_report_can_be_had_as_a_file_sent_directly(harness: Driver) -> None:
    await harness.ask("/deepdive Heat pumps & more")
    await harness.wait_until_settled(1)
    (question,) = file_buttons(harness.slack.posts[-1])
    await harness.click_button("as_file", question, token="file")
    await harness.slack.wait_until(
        lambda: "files.completeUploadExternal" in [method for method, _ in harness.slack.calls]
    )

    ((name, text),) = harness.slack.files.items()
    sent_to = [payload for method, payload in harness.slack.calls if method == "files.completeUploadExternal"]
    assert name == "deep-dive-heat-pumps-more.md"
    assert text.startswith("# Deep Dive Report: Heat pumps &")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {heading.upper()}" for heading in HEADINGS
    ]
    assert "5. Bob fears the cost\n   https://x.com/i/status/2222" in text
    assert sent_to[0]["channel_id"] == "DU1"
    assert json.loads(sent_to[0]["files"])[0]["title"] == "Deep Dive Report: Heat pumps & more"


async def click_for_file(harness: Driver, value: str) -> str:
    """Click, and return what is said to the person who clicked, last."""
    said = len(harness.slack.posts)
    await harness.click_button("as_file", value, token="file")
    await harness.slack.wait_for(said + 1)
    return harness.slack.posts[-1].shown_text


async def test_a_refused_upload_is_reported_and_the_next_report_has_no_button(harness: Driver) -> None:
    await harness.ask("/deepdive heat pumps")
    await harness.wait_until_settled(1)
    (question,) = file_buttons(harness.slack.posts[-1])
    harness.slack.workspace.scopes.remove("files:write")
    await click_for_file(harness, question)
    await harness.slack.wait_for_text("rejected the file")
    await harness.ask("/deepdive heat pumps again", trigger="t2")
    await harness.wait_until_settled(2)

    assert file_buttons(harness.slack.posts[-1]) == []
    harness.slack.workspace.scopes.append("files:write")
    await harness.ask("/deepdive heat pumps again", trigger="t3")
    await harness.wait_until_settled(3)
    assert file_buttons(harness.slack.posts[-1]) != []


@pytest.mark.parametrize("value", ["", "nonsense", "00000000-0000-4000-8000-000000000000"])
async def test_no_file_is_promised_of_a_report_that_is_not_there(harness: Driver, value: str) -> None:
    assert "no longer have this report" in await click_for_file(harness, value)
    assert harness.slack.files == {}


async def test_everyone_reads_a_public_report_and_nothing_is_left_that_tells_how_far_it_has_come(
    harness: Driver, posts: FakeGrok
) -> None:
    posts.hold()
    await harness.ask("/deepdive --public heat pumps")
    progress, *_ = await harness.slack.wait_for(1)
    posts.release()
    await harness.wait_until_settled(1)

    *shown, report = harness.slack.posts
    assert 1 <= len(shown) <= 3
    assert (progress.payload["response_type"], bool(stop_button(progress))) == ("ephemeral", True)
    assert (report.payload["response_type"], is_report(report)) == ("in_channel", True)
    removed = [bool(body.get("delete_original")) for way, body in harness.slack.calls if way == "response_url"]
    assert removed == [False] * len(harness.slack.posts) + [True]


async def test_an_admin_sees_that_grok_refuses_its_key(harness: Driver, posts: FakeGrok) -> None:
    posts.script(grok.PATH, grok.error_reply(401))
    await harness.ask("/deepdive heat pumps")
    await harness.wait_until_settled(1)
    providers: dict[str, str] = {}
    async with asyncio.timeout(60):
        while "Grok" not in providers:
            async with harness.session.get(f"{harness.url}/readyz") as response:
                providers = (await response.json())["providers"]
    async with harness.session.get(f"{harness.url}/metrics") as response:
        metrics = await response.text()

    assert providers == {"Grok": "AuthenticationError"}
    assert 'provider_needs_an_admin{provider="Grok"} 1.0' in metrics
    assert 'provider_attempts_total{provider="Grok",result="AuthenticationError"} 1.0' in metrics


async def test_without_the_scope_for_files_there_is_no_button(harness: Driver) -> None:
    harness.slack.workspace.scopes.remove("files:write")
    await harness.ask("/deepdive heat pumps")
    await harness.wait_until_settled(1)

    assert is_report(harness.slack.posts[-1])
    assert file_buttons(harness.slack.posts[-1]) == []


async def test_a_click_is_acknowledged_while_everything_hangs() -> None:
    reports = Reports(files=cast("FileUploader", None), stages=cast("StageStore", None), persona="")

    await assert_acknowledged("as_file", listeners=[reports.register])
