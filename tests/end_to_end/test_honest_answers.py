"""What changes how an answer is to be read comes first, what was not found is said, refusals are the asker's alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.driver import Driver
from tests.fakes import openrouter
from tests.fakes.news_answers import text_reply
from tests.fakes.openrouter import FakeOpenRouter
from tests.fakes.perplexity import json_reply
from tests.fakes.slack import Post

AWAY = json_reply({"error": {"type": "internal_error", "message": "no"}}, status=500)
NO_CREDIT = json_reply({"error": {"type": "insufficient_quota", "message": "no", "code": 401}}, status=401)
TOO_OLD = "2015-05-03"


@pytest.fixture
async def fallback_service() -> AsyncIterator[FakeOpenRouter]:
    async with FakeOpenRouter() as fake:
        yield fake


@pytest.fixture
def settings(settings: Settings, fallback_service: FakeOpenRouter) -> Settings:
    told = {
        "openrouter_api_key": SecretStr(openrouter.KEY),
        "openrouter_base_url": fallback_service.base_url,
        "retry_attempts": 3,
        "providers": "perplexity,openrouter",
    }
    return settings.model_copy(update=told)


def buttons(post: Post) -> list[tuple[str, str]]:
    """Return the labels and the values of a message's buttons."""
    rows = [block for block in post.payload["blocks"] if block["type"] == "actions"]
    return [(element["text"]["text"], element["value"]) for row in rows for element in row["elements"]]


def first_line(post: Post) -> str:
    """Return the small line below the question; an empty string if the answer begins there."""
    # The question is above it.
    first = post.payload["blocks"][1]
    return str(first["elements"][0]["text"]) if first["type"] == "context" else ""


def question_bodies(harness: Driver) -> list[Any]:
    """Return the bodies of the questions that Perplexity got."""
    return [request.json for request in harness.perplexity.requests if request.path == "/v1/agent"]


async def test_news__without_a_story_of_the_day_says_so_and_offers_the_past_week(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", text_reply("NONE"))
    await harness.ask("/news tech --domain a.example chips &amp; --lang de dips")
    (nothing,) = await harness.slack.wait_for(1)
    ((label, question),) = buttons(nothing)
    harness.perplexity.script("/v1/agent", text_reply("Chip plant opens | 2026-11-20 | It opened. [1]"))

    for token in ("one", "two"):
        await harness.click_button("past_week", question, token=token)
    await harness.wait_until_settled(2)

    about = "No technology news about “chips &amp; dips” was found"
    assert f"{about} (past day, only a.example, language de)." in nothing.shown_text
    assert label == "Past week"
    day, week = question_bodies(harness)
    assert [body["tools"][0]["filters"]["search_recency_filter"] for body in (day, week)] == ["day", "week"]
    assert week["tools"][0]["filters"]["search_domain_filter"] == ["a.example"]
    assert "chips & dips" in str(week["input"])
    assert "Chip plant opens" in harness.slack.posts[-1].shown_text


async def test_past_week__is_for_the_asker_and_for_news_only(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", text_reply("NONE"), NO_CREDIT)
    await harness.ask("/news tech")
    (nothing,) = await harness.slack.wait_for(1)
    ((_, question),) = buttons(nothing)

    await harness.as_user("U2").click_button("past_week", question)
    (_, refused) = await harness.slack.wait_for(2)
    await harness.click_button("past_week", "not-a-question")
    (_, _, unknown) = await harness.slack.wait_for(3)

    assert "Only the person who asked" in refused.shown_text
    assert "no longer have this question" in unknown.shown_text
    assert len(question_bodies(harness)) == 1


async def test_news__of_the_past_week_without_a_story_offers_nothing_that_costs_again(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", text_reply("NONE"))
    await harness.ask("/news tech --recency week")
    (nothing,) = await harness.slack.wait_for(1)

    assert "No technology news was found (past week)." in nothing.shown_text
    assert buttons(nothing) == []


async def test_an_answer_of_a_fallback_says_so_first(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", NO_CREDIT)
    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert first_line(post) == ":warning: Perplexity is out of credit; this answer is from OpenRouter."
    assert post.shown_text.count("out of credit") == 1


async def test_a_500_is_tried_three_times_before_the_next_service_is_asked(
    harness: Driver, fallback_service: FakeOpenRouter
) -> None:
    harness.perplexity.script("/v1/agent", AWAY, AWAY, AWAY)
    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert len(question_bodies(harness)) == 3
    assert first_line(post) == ":warning: Perplexity is having trouble; this answer is from OpenRouter."


async def test_in_the_last_service_a_500_is_tried_again_once(harness: Driver, fallback_service: FakeOpenRouter) -> None:
    harness.perplexity.script("/v1/agent", NO_CREDIT)
    fallback_service.script("/chat/completions", AWAY)
    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert first_line(post) == ":warning: Perplexity is out of credit; this answer is from OpenRouter."
    assert [request.path for request in fallback_service.requests].count("/chat/completions") == 2


async def test_after_every_service_failed_none_is_asked_again(
    harness: Driver, fallback_service: FakeOpenRouter
) -> None:
    harness.perplexity.script("/v1/agent", *[AWAY] * 6)
    fallback_service.script("/chat/completions", NO_CREDIT)
    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert len(question_bodies(harness)) == 3
    assert "Example answer" not in post.shown_text


TODAY = f"{datetime.now(UTC):%Y-%m-%d}"


@pytest.mark.parametrize(
    ("text", "day", "line"),
    [
        ("what is the latest release", TOO_OLD, ":warning: Newest source: 3 May 2015."),
        ("was ist die neueste Version", None, ":warning: Newest source: undated."),
        ("--recency week why", TOO_OLD, ":warning: Newest source: 3 May 2015."),
        ("what is the latest release", TODAY, ""),
        ("what is electric current", TOO_OLD, ""),
    ],
)
async def test_the_age_of_the_newest_source_comes_first_if_something_newer_was_asked_for(
    harness: Driver, text: str, day: str | None, line: str
) -> None:
    harness.perplexity.script("/v1/agent", text_reply("It is so. [1]", day=day))
    await harness.ask(f"/ask {text}")
    (post,) = await harness.slack.wait_for(1)

    assert first_line(post) == line


async def test_a_wrong_option_in_a_mention_is_shown_to_the_asker_only(harness: Driver) -> None:
    await harness.mention("--recenty week why")
    (post,) = await harness.slack.wait_for(1)
    await harness.wait_until_settled(1)

    assert (post.method, post.payload["user"]) == ("chat.postEphemeral", "U1")
    assert post.payload.get("thread_ts") is None  # Slack would not show it in a thread without replies.
    assert "Did you mean `--recency`?" in post.shown_text
    assert len(harness.slack.posts) == 1


async def test_a_text_that_is_too_long_in_a_thread_is_refused_there_to_the_asker_only(harness: Driver) -> None:
    await harness.mention("x" * 110_000, thread_ts="1795255000.000100")
    (post,) = await harness.slack.wait_for(1)

    assert (post.method, post.payload["thread_ts"]) == ("chat.postEphemeral", "1795255000.000100")


async def test_what_the_service_refuses_after_a_mention_is_shown_to_the_asker_only(harness: Driver) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    await harness.mention("--recency day why")
    await harness.wait_until_settled(1)

    public = [post for post in harness.slack.posts if post.method in {"chat.postMessage", "chat.update"}]
    (refusal,) = [post for post in harness.slack.posts if post.method == "chat.postEphemeral"]
    assert ["Searching" in post.shown_text for post in public] == [True]
    assert "doesn’t accept this request" in refusal.shown_text
    assert harness.slack.shown == {}


async def test_what_is_refused_after_public_is_shown_to_the_asker_only(harness: Driver) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    await harness.ask("/ask --public --recency day why")
    (post,) = await harness.slack.wait_for(1)

    assert (post.payload["response_type"], post.payload["replace_original"]) == ("ephemeral", True)
