"""How news is laid out."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.blocks import escaping
from bot.blocks.sources import news_messages
from bot.blocks.words import moment
from fake_slack.limits import check_message
from perplexity.filters import Filters
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary
from perplexity.types import Source
from perplexity.urls import safe_url
from tests.fakes.hostile_text import short, wild
from tests.fakes.renderer import all_links, mentions

AT = datetime(2026, 11, 21, 14, 5, tzinfo=UTC)
TOKEN = "<!date^1795269900^{date_short_pretty} at {time}|21 Nov 2026 14:05 UTC>"


def source(url: str) -> Source:
    return Source(number=1, title="A title", url=url)


def summary(*stories: Story, **more: Any) -> NewsSummary:
    return NewsSummary(stories=stories, provider="Perplexity", made_at=AT, category="technology", **more)


FIRST = Story(
    headline="Chip <plant> opens",
    source=source("https://www.a.example/1"),
    date=date(2026, 11, 20),
    sentence="It opened & runs.",
    others=(source("https://b.example/2"), source("https://a.example/3"), source("https://b.example/4")),
)


def test_a_story_has_a_linked_headline_site_date_other_sites_and_a_sentence() -> None:
    found = summary(FIRST, topic="chips", notes=("A note.",), seconds=2.5, cost_usd=0.01)

    (message,) = news_messages(found, filters=Filters(recency="day"))

    header, story, place, note = message.blocks
    assert header["elements"][0]["text"] == "*Technology news* · chips · past day"
    assert story["text"]["text"].split("\n") == [
        "*1.  <https://www.a.example/1|Chip &lt;plant&gt; opens>*",
        "It opened &amp; runs.",
    ]
    assert place["elements"][0]["text"] == "a.example · 20 Nov 2026 · also: <https://b.example/2|b.example>"
    assert note["elements"][0]["text"] == "A note."


def test_a_story_without_a_day_or_a_sentence_says_neither() -> None:
    bare = Story(headline="Bare", source=source("https://x.example/"))

    (message,) = news_messages(summary(bare), filters=Filters())

    assert message.blocks[1]["text"]["text"] == "*1.  <https://x.example/|Bare>*"
    assert message.blocks[2]["elements"][0]["text"] == "x.example"


def test_many_sites_are_counted() -> None:
    others = tuple(source(f"https://s{n}.example/") for n in range(8))
    story = Story(headline="Told by all", source=source("https://x.example/"), others=others)

    (message,) = news_messages(summary(story), filters=Filters())

    assert message.blocks[2]["elements"][0]["text"].endswith("|s4.example>, 3 more")


def test_times_are_in_the_reader_s_time_zone_with_utc_as_fallback() -> None:
    assert moment(AT) == TOKEN
    assert moment(AT.astimezone(timezone(timedelta(hours=5, minutes=30)))) == TOKEN


@given(st.lists(st.tuples(wild, st.one_of(short, st.just("https://e.example/" + "&" * 1_900)), wild), max_size=8), wild)
def test_any_stories_become_messages_without_a_mention_or_a_foreign_link(
    found: list[tuple[str, str, str]], topic: str
) -> None:
    urls = [url for _, url, _ in found] + ["https://ok.example/"]
    others = tuple(map(source, urls))
    stories = [Story(headline=title, source=source(url), sentence=told, others=others) for title, url, told in found]

    messages = news_messages(summary(*stories, topic=topic, notes=(topic,)), filters=Filters(recency="day"))

    for message in messages:
        payload = {"text": message.text, "blocks": list(message.blocks)}
        assert check_message(payload) == []
        assert mentions(payload) == []
        assert set() == set(all_links(payload)) - {address for url in urls if (address := safe_url(url))}
        assert message == escaping.sanitize_message(message)
        json.dumps(payload, ensure_ascii=False).encode()
