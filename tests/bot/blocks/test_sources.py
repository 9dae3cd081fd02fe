"""How search results are laid out."""

from __future__ import annotations

from datetime import date

import pytest

from bot.blocks.sources import results_messages
from bot.model.message import Audience
from fake_slack.limits import check_message
from perplexity.filters import Filters
from perplexity.types import Query, SearchResults, Source

FOUND = SearchResults(
    results=(
        Source(
            number=1,
            title="What’s *New*",
            url="https://docs.python.org/3.14/",
            snippet="# Free\n\n<b>threaded</b> | @here  " + "word " * 900,
            date="2025-10-07",
        ),
        Source(number=2, title="Bare", url="https://x.example/"),
    ),
    provider="Perplexity",
    seconds=0.42,
    cost_usd=0.005,
    notes=("A note.",),
)
QUERY = Query(text="free <threading>")


def test_results_are_listed_below_what_was_searched_for() -> None:
    (message,) = results_messages(FOUND, query=QUERY, audience=Audience.ASKER)

    asked, first, place, second, other, note = message.blocks
    assert asked["elements"][0]["text"] == "“free &lt;threading&gt;”"
    title, snippet = first["text"]["text"].split("\n")
    assert title == "*1.  <https://docs.python.org/3.14/|What’s *New*>*"
    assert place["elements"][0]["text"] == "docs.python.org · 7 Oct 2025"
    assert snippet.startswith("# Free &lt;b&gt;threaded&lt;/b&gt; | @\u2060here word")
    assert snippet.endswith("word …")
    assert second["text"]["text"] == "*2.  <https://x.example/|Bare>*"
    assert other["elements"][0]["text"] == "x.example"
    assert note["elements"][0]["text"] == "A note."
    assert message.text.startswith("“free")


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (Filters(), ""),
        (Filters(recency="year"), "past year"),
        (Filters(after=date(2026, 1, 1), before=date(2026, 6, 30)), "after 1 Jan 2026 · before 30 Jun 2026"),
        (Filters(domains=("a.com", "b.com")), "only a.com, b.com"),
        (Filters(domains=("-a.com", "-b.com")), "without a.com, b.com"),
        (Filters(languages=("de", "en"), country="CH"), "language de, en · country CH"),
        (Filters(mode="academic"), "academic papers"),
        (Filters(mode="sec"), "SEC filings"),
        (Filters(mode="web"), ""),
    ],
)
def test_a_line_above_the_results_lists_the_filters(filters: Filters, said: str) -> None:
    query = Query(text="q", filters=filters)
    one = SearchResults(results=FOUND.results[:1], provider="P")

    (message,) = results_messages(one, query=query, audience=Audience.THREAD)

    assert [block["elements"][0]["text"] for block in message.blocks[:-2]] == ([said] if said else [])


@pytest.mark.parametrize(
    ("filters", "advice"),
    [
        (Filters(), "No results. Try it in other words."),
        (Filters(recency="day"), "No results. Try it without the filters (past day) or in other words."),
    ],
)
def test_no_results_say_what_to_try(filters: Filters, advice: str) -> None:
    none = SearchResults(results=(), provider="P")

    (message,) = results_messages(none, query=Query(text="q", filters=filters), audience=Audience.ASKER)

    assert message.blocks[1]["text"]["text"] == advice


def test_twenty_long_results_fit_and_none_is_missing() -> None:
    listed = tuple(
        Source(number=n, title="T" * 500, url=f"https://s{n}.example/{'&' * 300}", snippet="<&> " * 2_000)
        for n in range(1, 21)
    )

    messages = results_messages(SearchResults(results=listed, provider="P"), query=QUERY, audience=Audience.CHANNEL)

    assert [fault for m in messages for fault in check_message({"text": m.text, "blocks": list(m.blocks)})] == []
    assert len(messages) > 1
    assert [f"*{n}. " for n in range(1, 21)] == [
        b["text"]["text"][: len(f"*{n}. ")]
        for n, b in enumerate((b for m in messages for b in m.blocks if b["type"] == "section"), 1)
    ]


LONG_ADDRESS = f"https://a.example/{'p' * 1_930}"


@pytest.mark.parametrize("sign", ["&", "<", "x", "* "])
@pytest.mark.parametrize("url", [LONG_ADDRESS, "https://a.example/"])
def test_a_result_fits_whatever_must_be_escaped(sign: str, url: str) -> None:
    source = Source(number=1, title=sign * 1_000, url=url, snippet=sign * 5_000)

    messages = results_messages(SearchResults(results=(source,), provider="P"), query=QUERY, audience=Audience.ASKER)

    assert [fault for m in messages for fault in check_message({"text": m.text, "blocks": list(m.blocks)})] == []
    assert "a.example" in str(messages)
