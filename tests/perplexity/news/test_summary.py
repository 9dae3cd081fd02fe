"""News of a category: stories with their pages, from any provider."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from perplexity.errors import InvalidRequest, NothingFound
from perplexity.filters import Filters
from perplexity.news.summary import FROM_PAGES, UNPARSED_REPLY, NewsSummary, news_summary
from perplexity.types import Answer, AnswerKind, Question, Source, Usage
from tests.fakes.provider import FakeProvider

NOW = datetime(2026, 11, 21, 14, 5, tzinfo=UTC)
HEADLINES = (
    "Parliament passes the budget",
    "Volcano erupts in Iceland",
    "Central bank holds interest rates",
    "Chipmaker opens a plant in Dresden",
    "Team wins the cup after penalties",
    "Rocket lands on a barge",
    "Strike halts trains in Lyon",
    "Vaccine trial reports success",
    "Mayor resigns over contracts",
    "Film festival opens in Goa",
)
SOURCES = tuple(
    Source(number=n, title=f"{title} - Site{n}", url=f"https://site{n}.example/{n}", date="2026-11-20", snippet="A. B.")
    for n, title in enumerate(HEADLINES, 1)
)


OLD = tuple(replace(source, date="2026-11-18") for source in SOURCES)


class NewsHarness(FakeProvider):
    """Answers with what it was given."""

    def __init__(
        self,
        text: str,
        *,
        sources: tuple[Source, ...] = SOURCES,
        kind: AnswerKind = AnswerKind.MODEL,
        incomplete: str | None = None,
    ) -> None:
        super().__init__("Perplexity")
        self._answer = Answer(
            text=text,
            sources=sources,
            provider=self.name,
            kind=kind,
            incomplete=incomplete,
            seconds=2.5,
            usage=Usage(cost_usd=0.01),
        )

    async def answer(self, question: Question) -> Answer:
        """Answer with it."""
        self.questions.append(question)
        return self._answer


def line(number: int) -> str:
    return f"{HEADLINES[number - 1]} | 2026-11-19 | It happened {number}. [{number}]"


def lines(count: int) -> str:
    return "\n".join(map(line, range(1, count + 1)))


async def news(provider: FakeProvider, *, topic: str = "", filters: Filters | None = None) -> NewsSummary:
    return await news_summary(provider, category="tech", topic=topic, filters=filters, now=NOW)


async def test_every_line_is_a_story_of_the_page_that_it_names() -> None:
    summary = await news(NewsHarness(lines(6)), topic=" chips ")

    first = summary.stories[0]
    assert len(summary.stories) == 6
    assert (first.headline, first.sentence, first.source) == (HEADLINES[0], "It happened 1.", SOURCES[0])
    assert first.date == date(2026, 11, 20)
    assert (summary.category, summary.topic, summary.made_at) == ("technology", "chips", NOW)
    assert (summary.provider, summary.seconds, summary.cost_usd, summary.notes) == ("Perplexity", 2.5, 0.01, ())


@pytest.mark.parametrize(
    ("written", "headline", "sentence"),
    [
        ("- **Rain falls** | 2026-11-20 | It rains.[1]", "Rain falls", "It rains."),
        ("1. Rain falls | 2026-11-20 | It rains. [web:1]", "Rain falls", "It rains."),
        ("| Rain falls | 2026-11-20 | It rains. [1] |", "Rain falls", "It rains."),
        ("Rain falls [1] | *2026-11-20* | It rains.", "Rain falls", "It rains."),
        ("Rain falls | It rains. | (2026-11-20) [1]", "Rain falls", "It rains."),
        ("[Rain falls](https://site1.example/1) | 2026-11-20 | It rains.", "Rain falls", "It rains."),
        ("Rain falls | 20 November | [1]", "Rain falls", "20 November"),
    ],
)
async def test_a_line_is_read_however_a_model_dresses_it(written: str, headline: str, sentence: str) -> None:
    (story,) = (await news(NewsHarness(written))).stories

    assert (story.headline, story.sentence, story.source) == (headline, sentence, SOURCES[0])


@pytest.mark.parametrize("written", ["Rain | 2026-11-20 | It rains.", "Rain | 2026-11-20 | It rains. [99]"])
async def test_a_story_of_no_page_is_left_out_and_counted(written: str) -> None:
    summary = await news(NewsHarness(f"{lines(5)}\n{written}"))

    assert [story.headline for story in summary.stories] == list(HEADLINES[:5])
    assert summary.notes == ("1 story left out: no source for it.",)


async def test_the_day_is_the_pages_own_else_the_models() -> None:
    undated = replace(SOURCES[0], date=None)

    (story,) = (await news(NewsHarness(line(1), sources=(undated,)))).stories

    assert story.date == date(2026, 11, 19)


async def test_a_story_whose_pages_are_all_of_another_time_is_left_out_and_counted() -> None:
    sources = (*OLD[:2], *SOURCES[2:7])
    both = f"{HEADLINES[1]} | 2026-11-20 | It began on Tuesday. [2][7]"

    summary = await news(NewsHarness("\n".join([line(1), both, *map(line, range(3, 7))]), sources=sources))

    assert [story.headline for story in summary.stories] == list(HEADLINES[1:6])
    assert (summary.stories[0].source, summary.stories[0].others) == (sources[6], (sources[1],))
    assert summary.stories[0].date == date(2026, 11, 20)
    assert summary.notes == ("1 story left out: its sources are outside this period.",)


async def test_a_story_that_several_lines_or_pages_tell_is_one() -> None:
    again = "Budget passed by parliament | 2026-11-20 | It is done. [8]\nRain | 2026-11-20 | It rains. [9][10]"

    summary = await news(NewsHarness(f"{lines(5)}\n{again}"))

    assert [story.headline for story in summary.stories] == [*HEADLINES[:5], "Rain"]
    assert summary.stories[0].others == (SOURCES[7],)
    assert summary.stories[5].others == (SOURCES[9],)


async def test_there_are_at_most_eight() -> None:
    assert len((await news(NewsHarness(lines(10)))).stories) == 8


@pytest.mark.parametrize("count", [3, 10])
async def test_without_a_limit_all_stories_are_returned_and_no_note_says_how_few(count: int) -> None:
    summary = await news_summary(NewsHarness(lines(count)), category="tech", now=NOW, max_stories=None)

    assert (len(summary.stories), summary.notes) == (count, ())


@pytest.mark.parametrize(
    ("incomplete", "note"),
    [
        ("max_output_tokens", "The model stopped early (max_output_tokens): stories may be missing."),
        ("", "The model stopped early: stories may be missing."),
    ],
)
async def test_an_early_stop_of_the_model_is_noted(incomplete: str, note: str) -> None:
    assert (await news(NewsHarness(lines(6), incomplete=incomplete))).notes == (note,)


@pytest.mark.parametrize(("count", "note"), [(1, "Only 1 story was found."), (4, "Only 4 stories were found.")])
async def test_fewer_than_five_stories_are_not_padded_and_a_note_says_so(count: int, note: str) -> None:
    summary = await news(NewsHarness(lines(count)))

    assert (len(summary.stories), summary.notes) == (count, (note,))


@pytest.mark.parametrize(
    ("provider", "note"),
    [
        (NewsHarness("Some passage [1]", kind=AnswerKind.PASSAGES), FROM_PAGES),
        (NewsHarness("NONE", kind=AnswerKind.PASSAGES), FROM_PAGES),
        (NewsHarness("Much has happened, such as the budget [1]."), UNPARSED_REPLY),
        (NewsHarness("Much has happened.\n\nThe budget has passed, for one."), UNPARSED_REPLY),
        (
            NewsHarness("\n".join(f"{headline} | 2026-11-19 | It happened." for headline in HEADLINES[:5])),
            UNPARSED_REPLY,
        ),
        (NewsHarness("Rain | 2026-11-20 | It rains. [99]"), UNPARSED_REPLY),
    ],
    ids=["search only", "a page says so", "prose", "unmarked prose", "no page is named", "nor one that was found"],
)
async def test_without_lines_the_pages_are_the_stories_in_their_own_words(provider: NewsHarness, note: str) -> None:
    summary = await news(provider)

    assert [story.headline for story in summary.stories] == list(HEADLINES[:8])
    assert {story.sentence for story in summary.stories} == {"A."}
    assert summary.notes == (note,)


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("NONE", SOURCES),
        ("**None.**", SOURCES),
        ("NONE [1][2]", SOURCES),
        ("- NONE – no stories on this topic were found.", SOURCES),
        ("NONE\n\nNo result is from the past day.", SOURCES),
        (f"None.\n\nOlder stories are:\n{lines(2)}", SOURCES),
        (f"NONE [1]\n{lines(2)}", SOURCES),
        ("None of the results tells of frogs, such as:\nRain | 2026-11-20 | It rains.", SOURCES),
        (f"None of today. Older stories are:\n{lines(2)}", OLD),
        (lines(2), OLD),
        ("I found no technology news about quantum frogs from the past day. The results are older.", SOURCES),
        ("I could not find news of the past day.\n\nThe results [1][2] are older.", SOURCES),
        ("There are no new stories on this topic in the past day [3].", SOURCES),
        ("No news about quantum frogs was reported.\nThe pages are from 2024.", SOURCES),
        ("Keine Nachrichten zu Quantenfröschen.", SOURCES),
        ("Nothing.", SOURCES),
        ("Nothing.", ()),
        ("", ()),
        (lines(2), ()),
    ],
)
async def test_no_story_at_all_is_nothing_found(text: str, sources: tuple[Source, ...]) -> None:
    with pytest.raises(NothingFound) as caught:
        await news(NewsHarness(text, sources=sources))

    assert caught.value.cost_usd == 0.01


async def test_a_headline_may_begin_like_no_news() -> None:
    summary = await news(NewsHarness("None of the airlines flies | 2026-11-20 | No news of flights. [1]"))

    assert [story.headline for story in summary.stories] == ["None of the airlines flies"]


@pytest.mark.parametrize(
    "said", ["None of these results is older than a day:", "None is left out. [1]", "- None found twice."]
)
async def test_a_preamble_may_begin_like_no_news(said: str) -> None:
    summary = await news(NewsHarness(f"{said}\n\n{lines(5)}"))

    assert ([story.headline for story in summary.stories], summary.notes) == (list(HEADLINES[:5]), ())


async def test_a_tables_head_and_ruler_are_no_stories_that_no_page_tells() -> None:
    rows = "\n".join(f"| {line(number)} |" for number in range(1, 6))

    summary = await news(NewsHarness(f"| Headline | Date | What happened |\n|:---|:---:|---|\n{rows}"))

    assert (len(summary.stories), summary.notes) == (5, ())


@pytest.mark.parametrize("kind", AnswerKind)
@pytest.mark.parametrize(
    ("filters", "left_out"),
    [
        (None, ["2026-11-19", "2024-01-01"]),
        (Filters(recency="week"), ["2026-11-13", "2024-01-01"]),
        (Filters(after=date(2026, 11, 2), before=date(2026, 11, 9)), ["2026-11-01", "2026-11-10"]),
    ],
)
async def test_a_page_dated_outside_the_time_that_was_asked_for_is_no_story(
    kind: AnswerKind, filters: Filters | None, left_out: list[str]
) -> None:
    days = [*left_out, "2026-11-20" if filters is None or filters.recency else "2026-11-05", None]
    sources = tuple(replace(source, date=day) for source, day in zip(SOURCES, days, strict=False))

    summary = await news(NewsHarness("Much has happened [1].", sources=sources, kind=kind), filters=filters)

    assert [story.headline for story in summary.stories] == list(HEADLINES[2:4])


@pytest.mark.parametrize(
    ("title", "path"), [("Technology News | Site1", "technology/"), ("Technology - Site1", "news/technology?hl=en")]
)
async def test_the_front_of_a_section_is_no_story(title: str, path: str) -> None:
    front = replace(SOURCES[0], title=title, url=f"https://site1.example/{path}")

    summary = await news(NewsHarness("Chips are up [1].", sources=(front, SOURCES[1]), kind=AnswerKind.PASSAGES))

    assert [story.headline for story in summary.stories] == [HEADLINES[1]]


@pytest.mark.parametrize(
    ("filters", "sent", "told"),
    [
        (None, Filters(recency="day"), "news about chips of the past day"),
        (Filters(recency="week"), Filters(recency="week"), "news about chips of the past week"),
        (
            Filters(after=date(2026, 11, 1), domains=("a.com",)),
            Filters(after=date(2026, 11, 1), domains=("a.com",)),
            "news about chips from after 2026-11-01",
        ),
        (Filters(languages=("de",)), Filters(recency="day", languages=("de",)), "Write in the language de"),
    ],
)
async def test_news_of_the_past_day_is_asked_for_unless_another_time_is_named(
    filters: Filters | None, sent: Filters, told: str
) -> None:
    provider = NewsHarness(lines(5))

    await news(provider, topic="chips", filters=filters)

    (question,) = provider.questions
    form, asked = question.messages
    assert (question.news, question.filters, asked.content) == (True, sent, "chips technology news")
    assert told in form.content
    assert "It is 2026-11-21 14:05, UTC." in form.content


@pytest.mark.parametrize(("hours", "most"), [(1, 8), (25, 8), (48, 16), (72, 24), (700, 24)])
async def test_news_since_a_moment_are_the_more_stories_the_longer_ago_it_is(hours: int, most: int) -> None:
    provider, since = NewsHarness(lines(5)), NOW - timedelta(hours=hours)

    await news_summary(provider, category="tech", since=since, now=NOW)

    (question,) = provider.questions
    assert question.filters == Filters(after=since.date() - timedelta(days=1))
    assert f"technology news since {since:%Y-%m-%d %H:%M} and list 5 to {most} stories" in question.messages[0].content


async def test_the_moment_is_told_in_utc_whatever_its_zone() -> None:
    provider = NewsHarness(lines(5))

    await news_summary(provider, category="tech", now=NOW.astimezone(timezone(timedelta(hours=9))))

    (question,) = provider.questions
    assert "It is 2026-11-21 14:05, UTC." in question.messages[0].content


async def test_a_topic_alone_is_looked_for_in_all_news() -> None:
    provider = NewsHarness(lines(6))
    summary = await news_summary(provider, category="", topic="chips", now=NOW)

    (question,) = provider.questions
    instructions, query = (message.content for message in question.messages)
    assert ("most important news about chips" in instructions, query) == (True, "chips news")
    assert (summary.category, summary.topic) == ("", "chips")


@pytest.mark.parametrize("topic", ["", " "])
async def test_neither_category_nor_topic_is_refused(topic: str) -> None:
    with pytest.raises(InvalidRequest):
        await news_summary(NewsHarness(""), category="", topic=topic, now=NOW)


async def test_an_unknown_category_is_refused_before_any_call() -> None:
    provider = NewsHarness(lines(5))

    with pytest.raises(InvalidRequest):
        await news_summary(provider, category="weather", now=NOW)

    assert provider.questions == []
