"""News are shared story by story."""

from __future__ import annotations

from tests.driver import Driver
from tests.end_to_end.test_news import private_news


async def test_news__are_shared_story_by_story(harness: Driver) -> None:
    await harness.click(await private_news(harness), "share")
    sections = harness.slack.modal().blocks[1]["element"]["options"]
    assert [option["text"]["text"] for option in sections] == ["Chip plant opens in Dresden", "Rain falls in Spain"]
    requests = len(harness.perplexity.requests)
    await harness.submit(parts=["0", "1"])
    await harness.slack.wait_until(lambda: any(post.method == "chat.postMessage" for post in harness.slack.posts))

    (shared,) = (post for post in harness.slack.posts if post.method == "chat.postMessage")
    assert "<https://a.example/1|Chip plant opens in Dresden>" in shared.shown_text
    assert "It rains &amp; rains." in shared.shown_text
    assert "tech chips" in shared.shown_text
    assert len(harness.perplexity.requests) == requests
