"""Grok over HTTP: requests, the validation of responses, and failures."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import (
    AuthenticationError,
    ConnectionFailed,
    EndpointRetired,
    InvalidRequest,
    MalformedResponse,
    PerplexityError,
    RateLimitError,
    RunFailed,
    ServerError,
    TimedOut,
)
from perplexity.x_posts.client import Grok
from perplexity.x_posts.grok import XaiWire
from perplexity.x_posts.parsing import MORE_THAN_READ, NO_POSTS, NOT_CONFIRMED, post_url, validate_response
from perplexity.x_posts.types import PostSummary, Sentiment
from tests.fakes.grok import KEY, PATH, FakeGrok, error_reply, fixture, reply_body, sentiment
from tests.fakes.service import Fault, json_reply

SINCE, UNTIL = date(2026, 11, 14), date(2026, 11, 21)


@pytest.fixture
async def fake() -> AsyncIterator[FakeGrok]:
    async with FakeGrok() as server:
        yield server


async def summarize(fake: FakeGrok, *, key: str = KEY, seconds: float = 5.0) -> PostSummary:
    async with Grok(key, base_url=fake.api_url) as grok:
        return await grok.summarize("heat pumps", since=SINCE, until=UNTIL, seconds=seconds)


def read(body: dict[str, Any]) -> PostSummary:
    return validate_response(XaiWire().read(body))


async def test_the_search_of_x_is_forced_and_bounded_in_days_posts_and_turns(fake: FakeGrok) -> None:
    await summarize(fake)

    body = fake.requests[0].json
    assert body["tools"] == [{"type": "x_search", "from_date": "2026-11-14", "to_date": "2026-11-21"}]
    assert (body["tool_choice"], body["max_turns"], body["store"]) == ("required", 4, False)
    assert body["include"] == ["no_inline_citations"]
    assert "at most 20 posts" in body["input"][0]["content"]
    assert "heat pumps" in body["input"][1]["content"]


async def test_posts_are_counted_by_sentiment_and_the_cost_is_read(fake: FakeGrok) -> None:
    summary = await summarize(fake)

    assert [(post.number, post.url) for post in summary.posts] == [
        (1, "https://x.com/ada/status/1111"),
        (2, "https://x.com/i/status/2222"),
        (3, "https://x.com/eve/status/3333"),
    ]
    assert (summary.sentiment, summary.sentiment.total) == (Sentiment(positive=2, negative=1), 3)
    assert summary.cost_usd == pytest.approx(0.02923315)
    assert (summary.posts_read, summary.unreliable) == (12, None)


def post(url: str, mood: str = "neutral") -> dict[str, str]:
    return {"url": url, "mood": mood, "about": "Somebody"}


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://x.com/ada/status/1", "https://x.com/ada/status/1"),
        (" https://twitter.com/i/status/22?s=20#top", "https://twitter.com/i/status/22"),
        ("https://x.com/i/status/22/photo/1", "https://x.com/i/status/22"),
        ("http://x.com/ada/status/1", None),
        ("https://x.com/ada", None),
        ("https://x.com/ada/status/", None),
        ("https://x.com.evil.example/ada/status/1", None),
        ("https://evil.example/https://x.com/ada/status/1", None),
        ("https://x.com/a_name_that_is_too_long/status/1", None),
        ("https://x.com@evil.example/ada/status/1", None),
        ("https://x.com/ada/status/1abc", None),
        ("https://x.com/ada/status/١", None),
    ],
)
def test_only_the_address_of_a_post_counts(url: str, address: str | None) -> None:
    assert post_url(url) == address


def posts(count: int) -> list[dict[str, str]]:
    return [post(f"https://x.com/a/status/{number}", "positive") for number in range(count)]


@pytest.mark.parametrize(
    ("body", "urls", "unreliable"),
    [
        (reply_body(sentiment(post("https://x.com/a/status/1"), post("https://example.com/2"))), ["1"], None),
        (reply_body(sentiment(post("https://x.com/a/status/1"), post("https://twitter.com/b/status/1"))), ["1"], None),
        (
            reply_body(sentiment(post("https://x.com/a/status/1"), post("https://x.com/a/status/2", "angry"))),
            ["1"],
            None,
        ),
        (reply_body(sentiment(post("https://x.com/a/status/1")), fetched=0), [], NO_POSTS),
        (reply_body(sentiment(post("https://example.com/1"))), [], NO_POSTS),
        (
            reply_body(
                sentiment(post("https://x.com/a/status/1"), post("https://x.com/a/status/2")),
                citations=["https://x.com/i/status/2"],
            ),
            ["2"],
            None,
        ),
        (reply_body(sentiment(*posts(30)), fetched=40), [*map(str, range(20))], None),
        (fixture(), ["1"], None),
    ],
    ids=[
        "another site",
        "the same twice",
        "an unknown mood",
        "none was fetched",
        "no post",
        "not come across",
        "thirty",
        "prose",
    ],
)
def test_only_valid_posts_count(body: dict[str, Any], urls: list[str], unreliable: str | None) -> None:
    summary = read(body)

    assert [source.url.rpartition("/")[2] for source in summary.posts] == urls
    assert summary.unreliable == unreliable
    assert summary.sentiment.total == (0 if body == fixture() else len(urls))


def annotated(body: dict[str, Any], *urls: str) -> dict[str, Any]:
    body["output"][-1]["content"][0]["annotations"] = [{"type": "url_citation", "url": url} for url in urls]
    return body


LINKED = "Glad.[[1]](https://x.com/i/status/0)"


@pytest.mark.parametrize(
    ("body", "counted", "unreliable"),
    [
        (reply_body(sentiment(*posts(3)), citations=["https://x.com/i/status/0", "https://x.com/i/status/2"]), 2, None),
        (annotated(reply_body(sentiment(*posts(3)), citations=[], fetched=2), "https://x.com/i/status/1"), 1, None),
        (reply_body(sentiment(*posts(3), summary=LINKED), citations=[]), 0, NOT_CONFIRMED),
        (
            annotated(reply_body(sentiment(*posts(3)), citations=["https://x.com/b/status/2"]), posts(1)[0]["url"]),
            2,
            None,
        ),
        (reply_body(sentiment(*posts(3)), fetched=None), 3, None),
        (reply_body(sentiment(*posts(3)), citations=[]), 0, NOT_CONFIRMED),
        (reply_body(sentiment(*posts(3)), citations=["https://example.com/"], fetched=None), 0, NOT_CONFIRMED),
        (reply_body(sentiment(*posts(3)), citations=[], fetched=2), 0, MORE_THAN_READ),
        (reply_body(sentiment(*posts(3)), fetched=2), 0, MORE_THAN_READ),
    ],
    ids=[
        "in the citations",
        "in an annotation",
        "only in a link that the model wrote",
        "in two of these places",
        "not said how many were read",
        "nowhere",
        "only another page",
        "nowhere, and too many",
        "more than were read",
    ],
)
def test_sentiment_is_counted_only_for_confirmed_and_read_posts(
    body: dict[str, Any], counted: int, unreliable: str | None
) -> None:
    summary = read(body)

    assert (summary.sentiment.total, summary.sentiment.positive, summary.unreliable) == (counted, counted, unreliable)
    assert len(summary.posts) == (counted or 3)


@pytest.mark.parametrize(
    ("ticks", "cost"), [(20_000_000, 0.002), (0, 0.0), (None, None), (-1, None), ("much", None), (10**400, None)]
)
def test_the_cost_is_read_if_it_is_a_number(ticks: object, cost: float | None) -> None:
    body = reply_body(sentiment())
    body["usage"]["cost_in_usd_ticks"] = ticks

    assert read(body).cost_usd == cost


@pytest.mark.parametrize(
    ("more", "incomplete"),
    [
        ({}, None),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
        ({"status": "incomplete"}, "unknown"),
    ],
)
def test_an_answer_that_was_cut_says_why(more: dict[str, Any], incomplete: str | None) -> None:
    assert read(reply_body(sentiment(), **more)).incomplete == incomplete


@pytest.mark.parametrize(
    ("summary", "shown"),
    [
        ("Some fear it [[1]](https://x.com/i/status/2222).", "Some fear it [2]."),
        ("Some fear it.[1](https://twitter.com/bob/status/2222?s=20)", "Some fear it.[2]"),
        ("Glad.[[2]](https://x.com/i/status/1111)[[9]](<https://x.com/i/status/3333>)", "Glad.[1][3]"),
        ("Nobody listed said it [[1]](https://x.com/i/status/9999).", "Nobody listed said it."),
        ("[Bob](https://x.com/i/status/2222) and [Ann](https://x.com/i/status/9999) say so.", "Bob[2] and Ann say so."),
        ("Known by number.[1][3]", "Known by number.[1][3]"),
        ("A page.[[1]](https://example.com/1)", "A page."),
        ("Its form is another [[1]](https://x.com/i/web/status/9999).", "Its form is another."),
        ("Told by phone [1](https://mobile.twitter.com/q/status/77).", "Told by phone."),
        ("A profile.[2, 3](https://x.com/ada 'Ada')", "A profile."),
        ("An address with signs.[1](https://example.com/a_(b)?c=(d))", "An address with signs."),
        ("No address.[1]()", "No address."),
        ("In other brackets.\\[1\\](https://example.com)【2】(https://example.com)", "In other brackets."),
        ("In another form [web:1](https://example.com).", "In another form."),
        ("One in another.[1[[2]](https://example.com)](https://example.com)", "One in another."),
        ("Read [the report](https://example.com/1).", "Read the report."),
    ],
)
def test_a_linked_marker_means_the_post_at_its_address_whatever_its_number(summary: str, shown: str) -> None:
    assert read(reply_body(sentiment(summary=summary))).text == shown


WHOLE = json.dumps(sentiment())


@pytest.mark.parametrize(
    "written",
    [
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}```",
        f"Here is it: {WHOLE}",
        f"{WHOLE}\n\nI read 3 posts {{in all}}.",
        f"\n {WHOLE}",
    ],
)
def test_json_with_something_around_it_is_read(written: str) -> None:
    summary = read(reply_body(written, citations=[one["url"] for one in sentiment()["posts"]]))

    assert (summary.text, summary.sentiment.total) == ("Most people are glad.[1][3] Some fear the cost.[2]", 3)


@pytest.mark.parametrize("written", [f"```json\n{WHOLE[:60]}", f"Here is it: {WHOLE[:60]}", "[]", '[{"posts": []}]'])
def test_broken_json_is_not_shown_as_text(written: str) -> None:
    with pytest.raises(MalformedResponse):
        read(reply_body(written))


@pytest.mark.parametrize("written", ["[1] says so.", "[Ada](https://x.com/ada) says {so}.", "It is so."])
def test_prose_is_not_json_whatever_it_begins_with(written: str) -> None:
    assert read(reply_body(written)).unreliable == NO_POSTS


@given(st.text(alphabet="[]()<> 12xhttps:/.comiau\n") | st.text())
def test_any_summary_is_read(summary: str) -> None:
    assert len(read(reply_body(sentiment(summary=f"So it is. {summary}"))).posts) <= 3


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (error_reply(400), InvalidRequest),
        (error_reply(401), AuthenticationError),
        (error_reply(403), AuthenticationError),
        (error_reply(404), PerplexityError),
        (error_reply(410, "Live search is deprecated."), EndpointRetired),
        (error_reply(422), InvalidRequest),
        (error_reply(429, headers={"Retry-After": "300"}), RateLimitError),
        (error_reply(500), ServerError),
        (Fault(status=502, content_type="text/html", chunks=(b"<html>",)), ServerError),
        (Fault(), MalformedResponse),
        (Fault(chunks=(b'{"half',)), MalformedResponse),
        (Fault(content_type="text/html", chunks=(b"<html></html>",)), MalformedResponse),
        (json_reply({"output": []}), MalformedResponse),
        (json_reply(reply_body('{"posts": []}')), MalformedResponse),
        (json_reply(reply_body('{"posts": [')), MalformedResponse),
        (json_reply(reply_body(sentiment(), status="failed")), RunFailed),
        (Fault(chunks=(b"{",), reset=True), ConnectionFailed),
        (Fault(hang=True), TimedOut),
    ],
)
async def test_each_failure_is_reported_and_charged_once(
    fake: FakeGrok, fault: Fault, error: type[PerplexityError]
) -> None:
    fake.script(PATH, fault)

    with pytest.raises(error) as raised:
        await summarize(fake, seconds=0.5)

    assert (raised.value.provider, len(fake.requests)) == ("Grok", 1)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("written", ["", '{"posts": []}', '{"posts": ['])
async def test_an_answer_of_no_use_says_what_it_cost(fake: FakeGrok, written: str) -> None:
    fake.script(PATH, json_reply(reply_body(written)))

    with pytest.raises(MalformedResponse) as raised:
        await summarize(fake)
    assert raised.value.cost_usd == pytest.approx(0.02923315)


async def test_a_short_limit_is_waited_for(fake: FakeGrok) -> None:
    fake.script(PATH, error_reply(429, headers={"Retry-After": "0.01"}))

    assert (await summarize(fake)).sentiment.total == 3
