"""The real app behind the page, as `make run` starts it: a person types, reads, follows a link, presses a button."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver

from bot.commands.routing import EXAMPLES
from bot.playground.examples import OFFLINE
from tests.browser.page import Page
from tests.driver import asked_in
from tests.end_to_end.test_stop import move_stop
from tests.fakes.answers import beginning, deltas, whole_stream
from tests.fakes.perplexity import FakePerplexity, stream_reply
from tests.fakes.ports import free_port
from tests.fakes.process import Process

pytestmark = pytest.mark.browser

KEY = "pplx-browser-key"


@contextmanager
def in_background(main: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Run a coroutine in a thread of its own, since the browser's driver blocks the test's."""
    thread = threading.Thread(target=lambda: asyncio.run(_awaited(main)))
    thread.start()
    yield
    thread.join()


async def _awaited(main: Callable[[], Awaitable[None]]) -> None:
    await main()


class RunningApp:
    """The app as a process with a fake Perplexity, in a thread's own loop."""

    def __init__(self, database: str, *, with_key: bool, **settings: str) -> None:
        self._settings = {"DATABASE_URL": database} | settings
        self._with_key = with_key
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.ready = threading.Event()
        self.url = ""
        self.perplexity = FakePerplexity(key=KEY)

    async def main(self) -> None:
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        async with self.perplexity:
            settings = dict(self._settings)
            if self._with_key:
                settings |= {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": self.perplexity.base_url}
            process = await Process.start("run", ready="Open", port=None, **settings)
            self.url = next(line.split()[1] for line in process.output if line.startswith("Open"))
            self.ready.set()
            await self._stop.wait()
            await process.terminate()

    def stop(self) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)


@contextmanager
def running(database: str, *, with_key: bool, **settings: str) -> Iterator[RunningApp]:
    app = RunningApp(database, with_key=with_key, **settings)
    with in_background(app.main):
        assert app.ready.wait(60)
        try:
            yield app
        finally:
            app.stop()


def test_with_a_model__search_ask_fail_and_try_again(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/search example")
        results = page.message_with("Example A")
        assert page.links(results)[0] == ("Example A", "https://a.example/1")
        assert "“example”" in results.text

        page.send("/ask what is example")
        answer = page.message_with("Example answer with a claim.")
        assert ("[1]", "https://a.example/1") in page.links(answer)
        assert "“what is example”" in answer.text
        browser.save_screenshot(str(artifacts / "app-answer.png"))

        app.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
        page.send("/ask again please")
        failure = page.message_with("Try again")
        browser.save_screenshot(str(artifacts / "app-failure.png"))
        before = len(page.messages())
        page.press(failure, "Try again")
        page.wait_until_gone("Try again")
        assert len(page.messages()) == before

        page.send("/ask --recenty week why")
        assert "Did you mean --recency?" in page.message_with("--recenty").text


def test_the_status_as_a_table(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.send("/ask what is example")
        page.message_with("Example answer with a claim.")

        def status() -> str:
            before = len(page.messages())
            page.send("/pplx status")
            page.wait(lambda: "24 hours" in "".join(page.texts()[before:][-1:]))
            return page.messages()[-1].text

        # The figures are written down a second after the answer.
        shown = next(text for text in (status() for _ in range(50)) if "1 of 1 (100%)" in text)
        browser.save_screenshot(str(artifacts / "app-status.png"))

        assert "Nothing is wrong." in shown


def test_a_suggested_question_is_asked_by_pressing_it(browser: WebDriver, database: str, artifacts: Path) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.open_direct()
        shown = page.wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#prompts:not([hidden]) button"))
        browser.save_screenshot(str(artifacts / "app-prompts.png"))
        assert [button.text for button in shown] == [prompt.title for prompt in EXAMPLES]

        shown[0].click()
        page.message_with("Example answer with a claim.")
        assert asked_in(app.perplexity.requests[-1]) == EXAMPLES[0].message


def test_a_mention_and_a_follow_up_in_its_thread_and_a_direct_message(
    browser: WebDriver, database: str, artifacts: Path
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        page.open(app.url)
        page.type("@w")
        page.type(Keys.TAB)
        page.send("what is example?")
        answer = page.message_with("Example answer with a claim.")
        assert "in-thread" in str(answer.get_attribute("class"))
        assert "“" not in answer.text

        page.reply_to(answer)
        page.send("@Web Answers --recency week and since last week?")
        second = page.messages_with("Example answer", at_least=2)[1]
        browser.save_screenshot(str(artifacts / "app-mention.png"))
        assert "in-thread" in str(second.get_attribute("class"))
        assert len(page.messages()) == 4

        page.open_direct()
        page.send("and in Switzerland?")
        assert "“" not in page.message_with("Example answer").text
        page.send("--recenty week why")
        assert "Did you mean --recency?" in page.message_with("I don’t know the option").text
        browser.save_screenshot(str(artifacts / "app-direct.png"))


TEXT = (
    "**Yes, a heat pump costs less to run** than a gas boiler in most buildings.[1] "
    "The price of electricity decides the rest.[2]\n\n"
    "It needs a low flow temperature, radiators that are large enough, and an installer who knows it.[1]\n\n"
    "Ask two of them, and compare their offers."
)


def _newest_answer(page: Page) -> str:
    return str(page.wait(lambda: page.messages()[-1]).find_element(By.CLASS_NAME, "body").text)


@pytest.mark.rare
def test_by_keyboard_a_stream_grows_is_followed_up_and_stopped(
    browser: WebDriver, database: str, artifacts: Path
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        slow = [*beginning(queries=("heat pump running cost 2026",)), *[b": thinking\n\n"] * 5]
        app.perplexity.script("/v1/agent", stream_reply(*slow, *whole_stream(TEXT)[3:], pause=0.35))
        page.open(app.url)
        page.tab_back_to("Direct message")
        page.key(Keys.ENTER)
        page.wait(lambda: page.focused() == "input")
        page.key("do heat pumps pay off?", Keys.ENTER)
        status = page.message_with("Reading 2 pages")
        browser.save_screenshot(str(artifacts / "app-stream-status.png"))
        assert "Searched “heat pump running cost 2026”" in status.text

        shown = [""]
        for moment, written in enumerate(("and in ", "Switzer", "land?"), 1):
            page.wait(lambda: "Writing …" in page.texts()[-1] and len(_newest_answer(page)) > len(shown[-1]))
            shown.append(_newest_answer(page))
            browser.save_screenshot(str(artifacts / f"app-stream-{moment}.png"))
            page.key(written)
        assert [later.startswith(earlier) for earlier, later in pairwise(shown)] == [True] * 3
        assert page.buttons().count("Stop") == 1
        assert (page.focused(), page.composer_text()) == ("input", "and in Switzerland?")
        answer = page.message_with("a.example · b.example")
        browser.save_screenshot(str(artifacts / "app-stream-end.png"))
        assert shown[-1] in answer.text
        assert "a.example · b.example" in answer.text

        app.perplexity.script("/v1/agent", stream_reply(*whole_stream("Yes, and more so in Switzerland.[1]")))
        page.key(Keys.ENTER)
        page.message_with("more so in Switzerland")
        page.wait_until_gone("Searching the web")
        turns = [turn["content"] for turn in asked_in(app.perplexity.requests[-1])]
        assert (turns[0], turns[-1], len(turns)) == ("do heat pumps pay off?", "and in Switzerland?", 3)
        assert turns[1].startswith("**Yes, a heat pump costs less to run**")

        half = stream_reply(*beginning(), *deltas(TEXT)[:6], hang=True)
        app.perplexity.script("/v1/agent", half, half, half)
        page.key("and in Austria?", Keys.ENTER)
        page.wait(lambda: all(words in page.texts()[-1] for words in ("Writing …", "in most buildings")))
        _stop(page, app, shot=artifacts / "app-stream-stopped.png")
        asyncio.run(move_stop(database, "-3 seconds"))
        page.tab_to("Start again")
        page.key(Keys.ENTER)
        page.wait(lambda: all(words in page.texts()[-1] for words in ("Stop", "in most buildings")))
        page.tab_to("Message")
        _stop(page, app, shot=artifacts / "app-stream-stopped-again.png")


def _stop(page: Page, app: RunningApp, *, shot: Path) -> None:
    """Press the Stop button, and look at what is left."""
    known = len(app.perplexity.cancelled)
    page.tab_back_to("Stop")
    page.key(Keys.ENTER)
    page.wait(lambda: "You stopped this answer" in page.texts()[-1])
    page.browser.save_screenshot(str(shot))
    assert "Yes, a heat pump costs less to run" in page.texts()[-1]
    page.wait(lambda: "Stop" not in page.buttons())
    page.wait(lambda: len(app.perplexity.cancelled) > known)


def test_no_key_and_no_network__a_recorded_example_in_its_real_time_and_one_sentence(
    browser: WebDriver, database: str, artifacts: Path
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=False, HTTPS_PROXY=f"http://127.0.0.1:{free_port()}") as app:
        page.open(app.url)
        began = time.monotonic()
        page.press_prompt("Why is the sky blue?")
        example = page.message_with("Rayleigh scattering")
        seconds = time.monotonic() - began
        with page.emulate(look="light", width=1100, height=885):
            ActionChains(browser).move_to_element(browser.find_element(By.ID, "title")).perform()
            browser.save_screenshot(str(artifacts / "app-playground.png"))

        assert "Recorded example, not a live answer" in example.text
        assert len({address for label, address in page.links(example) if label.startswith("[")}) == 12
        assert seconds > 7
        assert "Why is the sky blue?" not in page.buttons()

        page.send("/ask which variable sets the port?")
        page.message_with(OFFLINE.replace("`", ""))
        page.press_prompt("How do the planets compare?")
        page.message_with("Escape velocity")
        assert "Why is the sky blue?" not in page.buttons()


@pytest.mark.rare
def test_a_network_that_never_answers__what_is_missing_is_told_soon_after_the_others_gave_up(
    browser: WebDriver, database: str
) -> None:
    page = Page(browser=browser, timeout_seconds=40)  # less than the 45 s that the whole chain may take
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with running(database, with_key=False, HTTPS_PROXY=proxy) as app:
            page.open(app.url)
            page.send("/ask which variable sets the port?")

            assert page.message_with("I’m offline.")
