"""`/news` as people type it."""

from __future__ import annotations

import pytest

from bot.commands.help import help_message
from bot.commands.news import NEWS, NewsRequest, parse
from bot.errors import UsageError
from bot.model.message import Audience
from fake_slack.limits import check_message
from perplexity.errors import NothingFound
from perplexity.filters import Filters
from tests.fakes.commands import command_context
from tests.fakes.provider import FakeProvider


@pytest.mark.parametrize(
    ("text", "category", "topic", "filters"),
    [
        ("tech", "technology", "", Filters(recency="day")),
        ("Tech  open source databases ", "technology", "open source databases", Filters(recency="day")),
        ("--recency week biz", "business", "", Filters(recency="week")),
        ('sport "transfer window" --lang de', "sports", '"transfer window"', Filters(recency="day", languages=("de",))),
        (
            "world --domain a.com,b.com --country ch votes",
            "world",
            "votes",
            Filters(recency="day", domains=("a.com", "b.com"), country="CH"),
        ),
    ],
)
def test_a_category_a_topic_and_filters_are_read(text: str, category: str, topic: str, filters: Filters) -> None:
    assert parse(text) == NewsRequest(category=category, topic=topic, filters=filters, public=False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--public", "Which category? Choose from: world, business, technology, science"),
        ("technologie", "“technologie” isn’t a category. Did you mean technology? Choose from: world, business"),
        ("open source", "“open” isn’t a category. Choose from: world, business"),
        ("tech --after 2026-01-01", "`--after` doesn’t work for news"),
        ("tech --n 3", "`--n` works for searches only"),
        ("tech --recency weak", "`--recency` cannot be `weak`. Did you mean week?"),
    ],
)
def test_a_mistake_is_explained(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)

    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(("text", "seen_by"), [("tech", Audience.ASKER), ("tech --public", Audience.CHANNEL)])
def test_only_public_news_is_for_everyone(text: str, seen_by: Audience) -> None:
    assert NEWS.audience(parse(text)) is seen_by


async def test_the_chain_is_asked_for_news_and_the_stories_are_rendered() -> None:
    provider, request = FakeProvider("Perplexity"), parse("tech chips --recency week")

    reply = await NEWS.answer(request, command_context(provider, now=lambda: 0.0))

    (message,) = NEWS.render(reply, request, Audience.ASKER).messages
    (question,) = provider.questions
    assert (question.news, question.filters, question.text) == (True, request.filters, "chips technology news")
    assert message.text.startswith("Technology news · chips · past week\n1.  A page")


async def test_no_story_is_nothing_found() -> None:
    provider = FakeProvider("Perplexity", error=NothingFound("none"))

    with pytest.raises(NothingFound):
        await NEWS.answer(parse("tech"), command_context(provider))


def test_slack_accepts_the_help() -> None:
    message = help_message(NEWS, slash="/news")

    assert check_message({"text": message.text, "blocks": list(message.blocks)}) == []
