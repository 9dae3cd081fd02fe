"""A deep dive on the page: a person watches its stages, reads the report and sees how people feel."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.remote.webdriver import WebDriver

from perplexity.deepdive.types import Stage
from tests.browser.page import Page
from tests.browser.test_whole_app import in_background, running
from tests.fakes import grok
from tests.fakes.grok import FakeGrok
from tests.fakes.perplexity import fixture, json_reply
from tests.fakes.service import Fault

pytestmark = pytest.mark.browser

QUEUED = json_reply({"id": "resp_1", "object": "response", "status": "queued", "output": []})
SITUATION = """\
Sales of heat pumps grew by **14 %** in the third quarter, after two years of decline.[1] The grant was extended to \
2028 in October, and covers up to half of the price.[1][2]

- **Makers** speak of full order books and of too few installers.[2]
- **Grid operators** ask for controls that pause the pumps at peaks.[1]"""
TITLES = ("Heat pump sales grow for the first time in two years", "Makers warn of too few installers")
ANALYSIS = """\
The grant explains most of the growth, and people say so themselves.[1][3] What they fear is the bill for the house \
around the pump, which no figure above covers.[5] I would watch the waiting lists: they decide whether the grant is \
used up before it ends.[2]"""
POSTS = (
    {"url": "https://x.com/ada/status/1111", "mood": "positive", "about": "Ada is glad of the grant"},
    {"url": "https://x.com/eve/status/3333", "mood": "positive", "about": "Eve's bill halved"},
    {"url": "https://x.com/bob/status/2222", "mood": "negative", "about": "Bob fears the cost of insulation"},
)
PULSE = "Most are glad: the grant decided it for them, and bills fell.[1][2] Some fear what insulation costs.[3]"


class Posts:
    """A Grok in a thread's own loop, which holds its answer until it is let go."""

    def __init__(self) -> None:
        self.fake = FakeGrok()
        self.ready = threading.Event()
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.fake.hold()
        self.fake.script(grok.PATH, json_reply(grok.reply_body(grok.sentiment(*POSTS, summary=PULSE))))
        async with self.fake:
            self.ready.set()
            await self._stop.wait()

    def release(self) -> None:
        self._call(self.fake.release)

    def stop(self) -> None:
        self._call(self._stop.set)

    def _call(self, what: Callable[[], None]) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(what)


@contextmanager
def posts() -> Iterator[Posts]:
    served = Posts()
    with in_background(served.main):
        assert served.ready.wait(60)
        try:
            yield served
        finally:
            served.stop()


def research_reply(text: str) -> Fault:
    body = json.loads(fixture("agent.200.json"))
    (found,) = [item for item in body["output"] if item["type"] == "search_results"]
    for result, title in zip(found["results"], TITLES, strict=True):
        result |= {"title": title, "date": "2026-11-18"}
    return text_reply(body, text)


def analysis_reply(text: str) -> Fault:
    body = json.loads(fixture("agent.200.json"))
    body["output"] = [item for item in body["output"] if item["type"] != "search_results"]
    return text_reply(body, text)


def text_reply(body: dict[str, Any], text: str) -> Fault:
    body["output"][-1]["content"][0]["text"] = text
    return json_reply(body | {"id": "resp_1"})


def test_deepdive__its_stages_are_watched_until_the_report_takes_their_place(
    browser: WebDriver, database: str, artifacts: Path
) -> None:
    page = Page(browser=browser)
    with (
        posts() as people,
        running(database, with_key=True, XAI_API_KEY=grok.KEY, XAI_BASE_URL=people.fake.api_url) as app,
    ):
        app.perplexity.script("/v1/agent", QUEUED, analysis_reply(ANALYSIS))
        app.perplexity.script("/v1/agent/resp_1", research_reply(SITUATION))
        page.open(app.url)
        page.send("@Web Answers deepdive heat pumps")
        progress = page.message_with("done · ")
        watched = progress.text
        browser.save_screenshot(str(artifacts / "app-deepdive-progress.png"))
        people.release()
        report = page.message_with("My analysis $")
        with page.emulate(look="light", width=1100, height=1130):
            browser.save_screenshot(str(artifacts / "app-deepdive.png"))

        told = ("listening to what people say", "waiting for the first two", "Stop")
        assert [line for line in told if line not in watched] == []
        headings = [heading.text for heading in report.find_elements("css selector", "h4")]
        assert headings == [stage.heading.capitalize() for stage in Stage]
        assert "Of 3 posts: 2 positive · 0 neutral · 1 negative · 0 mixed" in report.text
        assert {("[1]", "https://a.example/1"), ("[5]", "https://x.com/bob/status/2222")} <= {*page.links(report)}
        assert page.wait_until_gone("waiting for the first two")
