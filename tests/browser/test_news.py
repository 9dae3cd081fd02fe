"""The day's news on the page, as a person sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.remote.webdriver import WebDriver

from tests.browser.page import Page
from tests.browser.test_whole_app import running
from tests.fakes.news_answers import text_reply

pytestmark = pytest.mark.browser

LINES = """\
Chip plant opens in Dresden | 2026-11-20 | It opened on Friday, two years after the first stone was laid. [1][2]
Rain falls in Spain | 2026-11-21 | It rains & rains, and the reservoirs fill. [2]
Rocket lands on a barge | 2026-11-21 | The first stage came back after its tenth flight. [1]
Vaccine trial reports success | 2026-11-20 | Infections fell by four fifths. [2][1]
Parliament passes the budget | 2026-11-20 | It passed by three votes after a night of debate. [1]
"""


def test_news__stories_are_linked_headlines_with_their_sites(
    browser: WebDriver, database: str, artifacts: Path
) -> None:
    page = Page(browser=browser)
    with running(database, with_key=True) as app:
        app.perplexity.script("/v1/agent", text_reply(LINES))
        page.open(app.url)
        page.send("/news tech chips")
        news = page.message_with("Technology news")
        browser.save_screenshot(str(artifacts / "app-news.png"))

        assert page.links(news)[:2] == [
            ("Chip plant opens in Dresden", "https://a.example/1"),
            ("b.example", "https://b.example/2"),
        ]
        assert [line in news.text for line in ("Parliament passes", "past day", "were found")] == [
            True,
            True,
            False,
        ]
        assert "<!date" not in news.text
