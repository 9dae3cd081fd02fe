"""Parsing of the text after `watch`: plain forms are understood, everything else is refused with the form to use."""

from __future__ import annotations

import time as clock
from contextlib import suppress
from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UsageError
from bot.features.digests.model import DigestSpec
from bot.features.digests.surface import parse_days, parse_digest_spec, parse_zone, write_digest_spec
from bot.model.schedule import DAILY, DAY_NAMES, WEEKDAYS, WEEKENDS, Schedule

CATEGORIES = "world, business, technology, science, health, sports, entertainment and politics"
WAYS_ON = 'Write it like `technology "open source databases" weekdays 9:00`, or type `watch` alone for a form.'
NO_TIME = f"At what time of day? Put it at the end, such as `9:00`, `17:30` or `9am`. {WAYS_ON}"
SEVERAL = f"There are several times: {{}}. Create one digest for each. {WAYS_ON}"
NOT_A_TIME = "`{}` isn’t a time of day. Use one from `0:00` to `23:59`, such as `9:00`, `17:30` or `9am`."
NOT_UNDERSTOOD = (
    "I don’t understand `{}`. Days are `daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or "
    "`mon-fri`; the time comes last, such as `9:00`, `17:30` or `9am`. A topic goes in quotes, before them. " + WAYS_ON
)


@pytest.mark.parametrize(
    ("typed", "category", "topic", "days", "at"),
    [
        ('technology "open source databases" weekdays 9:00', "technology", "open source databases", WEEKDAYS, time(9)),
        ("tech weekdays 9am", "technology", "", WEEKDAYS, time(9)),
        ("tech 9:00", "technology", "", DAILY, time(9)),
        ("world daily 9:30 pm", "world", "", DAILY, time(21, 30)),
        ("World DAILY 12AM", "world", "", DAILY, time(0)),
        ("world weekends 17:30", "world", "", WEEKENDS, time(17, 30)),
        ("world mon, wed,fri 8:15", "world", "", {0, 2, 4}, time(8, 15)),
        ("world Monday,thursday 12:05 pm", "world", "", {0, 3}, time(12, 5)),
        ("world tue-thu 9:00", "world", "", {1, 2, 3}, time(9)),
        ("world mon – wed, sat 9:00", "world", "", {0, 1, 2, 5}, time(9)),
        ("world fri-mon 0:00", "world", "", {4, 5, 6, 0}, time(0)),
        ('sports "formula 1" saturday,sunday 6pm', "sports", "formula 1", WEEKENDS, time(18)),
        ('sports "monday night football" sun 20:00', "sports", "monday night football", {6}, time(20)),
        ("sports “9:00 club” 20:00", "sports", "9:00 club", DAILY, time(20)),
        ('world  "the   budget"  daily   7:00 ', "world", "the budget", DAILY, time(7)),
        ('world "" daily 7:00', "world", "", DAILY, time(7)),
    ],
)
def test_a_digest_is_parsed_as(typed: str, category: str, topic: str, days: set[int], at: time) -> None:
    wish = parse_digest_spec(typed)

    assert (wish.category, wish.topic, wish.schedule.days, wish.schedule.at) == (category, topic, frozenset(days), at)
    assert (wish.report_empty_on, wish.schedule.zone) == (frozenset(), "")


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("tech", NO_TIME),
        ("tech weekdays 9", NO_TIME),
        ("tech weekdays noon", NO_TIME),
        ("tech 24:00", NOT_A_TIME.format("24:00")),
        ("tech 13pm", NOT_A_TIME.format("13pm")),
        ("tech 9:00 17:00", SEVERAL.format("`9:00`, `17:00`")),
        ("tech 9:00 weekdays", NOT_UNDERSTOOD.format("weekdays")),
        ('tech weekdays 9:00 "climate"', NOT_UNDERSTOOD.format('"climate"')),
        ("world open source weekdays 9:00", NOT_UNDERSTOOD.format("open source weekdays")),
        ('world europe "north sea" daily 9:00', NOT_UNDERSTOOD.format('europe "north sea" daily')),
        ('world "north sea daily 9:00', NOT_UNDERSTOOD.format('"north sea daily')),
        ("world daily except sunday 9:00", NOT_UNDERSTOOD.format("daily except sunday")),
        ("world every day 9:00", NOT_UNDERSTOOD.format("every day")),
        ("world weekdays at 9:00", NOT_UNDERSTOOD.format("weekdays at")),
        ("world mon thu 9:00", NOT_UNDERSTOOD.format("mon thu")),
        ("world mon and thu 9:00", NOT_UNDERSTOOD.format("mon and thu")),
        ("world mon/wed/fri 9:00", NOT_UNDERSTOOD.format("mon/wed/fri")),
        ("world monday through friday 9:00", NOT_UNDERSTOOD.format("monday through friday")),
        ("world mondays 9:00", NOT_UNDERSTOOD.format("mondays")),
        ("world mon-fri-sun 9:00", NOT_UNDERSTOOD.format("mon-fri-sun")),
        ("world mon-mon 9:00", NOT_UNDERSTOOD.format("mon-mon")),
        ("world mon, 9:00", NOT_UNDERSTOOD.format("mon,")),
        ("world frıday 9:00", NOT_UNDERSTOOD.format("frıday")),
        ("databases 9:00", f"“databases” isn’t a category. Choose from: {CATEGORIES}."),
        ("", f"Which category? Choose from: {CATEGORIES}."),
        (f'tech "{"x" * 5000}" daily 9:00', "That’s 5,000 characters; a topic takes up to 4,000."),
        ('tech "\u200b" 9:00', "That text is empty. Add a topic."),
    ],
)
def test_a_usage_error_names_the_form_to_use(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_digest_spec(typed)

    assert caught.value.problem == problem


def test_the_days_of_empty_digests_are_parsed() -> None:
    assert parse_digest_spec("tech 9:00", report_empty_on=("mon-wed", "Sunday")).report_empty_on == {0, 1, 2, 6}
    assert parse_digest_spec("tech weekdays 9:00", report_empty_on=("daily",)).report_empty_on == WEEKDAYS
    with pytest.raises(UsageError, match=r"I don’t understand `someday`\. Days are `daily`, `weekdays`"):
        parse_days("someday")


@pytest.mark.parametrize("always", [("fri",), ("mon", "fri"), ("weekends",)])
def test_days_of_empty_digests_must_have_a_run(always: tuple[str, ...]) -> None:
    with pytest.raises(
        UsageError, match=r"^This digest doesn’t run on `(fri|weekends)`\. Its days are Monday\.$"
    ) as caught:
        parse_digest_spec("science mon 9:00", report_empty_on=always)
    assert caught.value.option == "--always"


@pytest.mark.parametrize("name", ["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", " Asia/Tokyo "])
def test_a_zone_is_known(name: str) -> None:
    assert parse_zone(name) == name.strip()


@pytest.mark.parametrize("name", ["Berlin", "../../etc/passwd", "/etc/localtime", "\x00", "europe berlin", "x" * 5_000])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="takes a time zone such as Europe/Berlin") as caught:
        parse_zone(name)
    assert caught.value.option == "--zone"


@pytest.mark.parametrize("day", range(7))
def test_a_day_has_a_short_and_a_long_name(day: int) -> None:
    name = DAY_NAMES[day].casefold()

    assert {parse_days(form) for form in (name, name[:3], name.upper())} == {frozenset({day})}


@given(
    st.sampled_from(["world", "technology"]),
    st.text(max_size=60),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.times(),
)
def test_what_is_written_is_parsed_as_the_same_digest(
    category: str, topic: str, days: frozenset[int], at: time
) -> None:
    schedule = Schedule(days=days, at=at.replace(second=0, microsecond=0), zone="")
    with suppress(UsageError):
        parsed = parse_digest_spec(write_digest_spec(DigestSpec(category=category, topic=topic, schedule=schedule)))
        assert (parsed.category, parsed.schedule) == (category, schedule)


@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"]), max_size=60))
def test_a_topic_of_words_is_kept(topic: str) -> None:
    schedule = Schedule(days=DAILY, at=time(9), zone="")
    parsed = parse_digest_spec(write_digest_spec(DigestSpec(category="world", topic=topic, schedule=schedule)))

    assert parsed.topic == " ".join(topic.split())


@given(st.text())
def test_any_text_is_a_digest_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert parse_digest_spec(text).schedule.days
    with suppress(UsageError):
        assert parse_digest_spec(f"world {text} 9:00").category == "world"


@pytest.mark.parametrize("piece", ["at ", "mon ", "mon,", ", ", "9:00 ", "9 ", "mon - ", '"'])
def test_parsing_takes_linear_time(piece: str) -> None:
    began = clock.perf_counter()
    for ending in ("x", "", " 9:00"):
        with suppress(UsageError):
            parse_digest_spec(f"world {piece * (40_000 // len(piece))}{ending}")

    assert clock.perf_counter() - began < 2
