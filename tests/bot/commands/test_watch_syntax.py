"""Parsing of the text after `watch`."""

from __future__ import annotations

import time as clock
from contextlib import suppress
from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.watch_syntax import parse_days, parse_digest_spec
from bot.errors import UsageError
from bot.model.schedule import DAILY, DAYS, WEEKDAYS, WEEKENDS

CATEGORIES = "world, business, technology, science, health, sports, entertainment and politics"

SEVERAL = (
    "There are several times: {}. Create one digest for each. "
    "If one of them belongs to the topic, put the topic in quotes."
)


@pytest.mark.parametrize(
    ("typed", "category", "topic", "days", "at"),
    [
        ('technology "open source databases" weekdays 9:00', "technology", "open source databases", WEEKDAYS, time(9)),
        ("tech weekdays 9am", "technology", "", WEEKDAYS, time(9)),
        ("tech 9:00", "technology", "", DAILY, time(9)),
        ("world daily at 9:30 pm", "world", "", DAILY, time(21, 30)),
        ("world every day 17.05", "world", "", DAILY, time(17, 5)),
        ("world 17:30 on weekends", "world", "", WEEKENDS, time(17, 30)),
        ("world mon, wed, fri 8:15", "world", "", {0, 2, 4}, time(8, 15)),
        ("world mon/wed/fri 8:15", "world", "", {0, 2, 4}, time(8, 15)),
        ("world mon wed fri 8:15", "world", "", {0, 2, 4}, time(8, 15)),
        ("world mon & wed and fri 9:00", "world", "", {0, 2, 4}, time(9)),
        ("world tue. thu. 8:15", "world", "", {1, 3}, time(8, 15)),
        ("world every Monday and Thursday at noon", "world", "", {0, 3}, time(12)),
        ("world 9am on monday and on friday", "world", "", {0, 4}, time(9)),
        ("world saturdays sundays 12am", "world", "", WEEKENDS, time(0)),
        ("world weekdays and saturday 12 noon", "world", "", {0, 1, 2, 3, 4, 5}, time(12)),
        ("world tue-thu 12:05 P.M.", "world", "", {1, 2, 3}, time(12, 5)),
        ("world mon.-fri. 9:00", "world", "", WEEKDAYS, time(9)),
        ("world mon – wed, sat 9:00", "world", "", {0, 1, 2, 5}, time(9)),
        ("world monday through friday 9:00", "world", "", WEEKDAYS, time(9)),
        ("world mon thru fri 9:00", "world", "", WEEKDAYS, time(9)),
        ("world tuesday until thursday 9:00", "world", "", {1, 2, 3}, time(9)),
        ("world from monday to friday 9:00", "world", "", WEEKDAYS, time(9)),
        ("world M-F 9:00", "world", "", WEEKDAYS, time(9)),
        ("world every workday 9:00", "world", "", WEEKDAYS, time(9)),
        ("world business days, 9:00", "world", "", WEEKDAYS, time(9)),
        ("world fri to mon midnight", "world", "", {4, 5, 6, 0}, time(0)),
        ('sports "formula 1" saturday sunday 6pm', "sports", "formula 1", WEEKENDS, time(18)),
        ("sports formula 1 saturday sunday 6pm", "sports", "formula 1", WEEKENDS, time(18)),
        ('sports "the sun" saturday 6pm', "sports", "the sun", {5}, time(18)),
        ('sports "monday night football" sundays 20:00', "sports", "monday night football", {6}, time(20)),
        ('sports "super sunday" 20:00', "sports", "super sunday", DAILY, time(20)),
        ("sports “9:00 club” 20:00", "sports", "9:00 club", DAILY, time(20)),
        ('world "europe" and asia daily 7:00', "world", '"europe" and asia', DAILY, time(7)),
        ('world "north sea" "oil" daily 7:00', "world", '"north sea" "oil"', DAILY, time(7)),
        ('technology "python 3.14" weekdays 17.05', "technology", "python 3.14", WEEKDAYS, time(17, 5)),
        ("technology iphone 17 on weekdays at 9:00", "technology", "iphone 17", WEEKDAYS, time(9)),
        ("world  the   budget, daily 7:00 ", "world", "the budget", DAILY, time(7)),
    ],
)
def test_a_digest_is_parsed_as(typed: str, category: str, topic: str, days: set[int], at: time) -> None:
    wish = parse_digest_spec(typed)

    assert (wish.category, wish.topic, wish.schedule.days, wish.schedule.at) == (category, topic, frozenset(days), at)
    assert wish.report_empty_on == frozenset()


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("tech", "At what time of day? Put it at the end, such as `9:00`, `17:30` or `9am`."),
        ("tech weekdays 9", "At what time of day? Put it at the end, such as `9:00`, `17:30` or `9am`."),
        ("tech every 2 hours", "At what time of day? Put it at the end, such as `9:00`, `17:30` or `9am`."),
        (
            "tech 24:00",
            "`24:00` isn’t a time of day. Use one from `0:00` to `23:59`, such as `9:00`, `17:30` or `9am`.",
        ),
        (
            "tech 13pm",
            "`13pm` isn’t a time of day. Use one from `0:00` to `23:59`, such as `9:00`, `17:30` or `9am`.",
        ),
        ("tech 9:00 17:00", SEVERAL.format("`9:00`, `17:00`")),
        ("technology python 3.14 weekdays 9:00", SEVERAL.format("`3.14`, `9:00`")),
        ("entertainment high noon weekdays 9:00", SEVERAL.format("`noon`, `9:00`")),
        ("tech 9.00 17.00", SEVERAL.format("`9.00`, `17.00`")),
        ("tech 9:00 weekdays 17:00", SEVERAL.format("`9:00`, `17:00`")),
        ("tech weekdays at 9am and noon", SEVERAL.format("`9am`, `noon`")),
        (
            "databases 9:00",
            f"“databases” isn’t a category. Choose from: {CATEGORIES}.",
        ),
        (
            "weekdays 9:00",
            f"Which category? Choose from: {CATEGORIES}.",
        ),
        (f"tech {'x' * 5000} daily 9:00", "That’s 5,000 characters; a topic takes up to 4,000."),
        ('tech "\u200b" 9:00', "That text is empty. Add a topic."),
    ],
)
def test_a_usage_error_names_what_is_allowed(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_digest_spec(typed)

    assert caught.value.problem == problem


def test_the_days_of_empty_digests_are_parsed() -> None:
    assert parse_digest_spec("tech 9:00", report_empty_on=("mon-wed", "Sunday")).report_empty_on == {0, 1, 2, 6}
    assert parse_digest_spec("tech weekdays 9:00", report_empty_on=("daily",)).report_empty_on == WEEKDAYS
    with pytest.raises(UsageError, match=r"`someday` isn’t a day of the week\. Use `daily`, `weekdays`"):
        parse_days("someday")


@pytest.mark.parametrize("always", [("fri",), ("mon", "fri"), ("weekends",)])
def test_days_of_empty_digests_must_have_a_run(always: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"^This digest doesn’t run on `(fri|weekends)`\. Its days are Monday\.$"):
        parse_digest_spec("science mon 9:00", report_empty_on=always)


@pytest.mark.parametrize("day", range(7))
def test_a_day_has_short_and_long_names(day: int) -> None:
    name = DAYS[day].casefold()

    assert {parse_days(form) for form in (name, f"{name}s", name[:3], name.upper())} == {frozenset({day})}


@given(st.text())
def test_any_text_is_a_digest_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert parse_digest_spec(text).schedule.days
    with suppress(UsageError):
        assert parse_digest_spec(f"world {text} 9:00").category == "world"


@pytest.mark.parametrize("piece", ["at ", "mon ", "every at on ", ", ", "9:00 ", "every day at ", "mon - "])
def test_parsing_takes_linear_time(piece: str) -> None:
    began = clock.perf_counter()
    with pytest.raises(UsageError):
        parse_digest_spec(piece * (8_000 // len(piece)) + "x")
    with pytest.raises(UsageError):
        parse_digest_spec(piece * (8_000 // len(piece)))

    assert clock.perf_counter() - began < 2
