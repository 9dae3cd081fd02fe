"""Parsing of days and times after `watch`: ambiguous text is rejected and never becomes other days."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.watch_syntax import parse_digest_spec
from bot.errors import UsageError
from bot.model.schedule import DAILY, DAYS, WEEKDAYS, WEEKENDS, Schedule

DAY_WORDS = "`daily`, `weekdays`, `weekends`, or days such as `monday`, `tue,thu` or `mon-fri`"
UNSURE = (
    f"I’m not sure what `{{}}` means. Days are {DAY_WORDS}; the time comes after them, such as `9:00`, `17:30` or "
    '`9am`. A topic goes in quotes, before them: `technology "open source databases" weekdays 9:00`.'
)
WHICH = (
    f"On which days? Use {DAY_WORDS}. Without days it runs daily, but only if the topic is in quotes, as in "
    '`technology "open source databases" weekdays 9:00`.'
)


@pytest.mark.parametrize(
    ("typed", "unsure"),
    [
        ("daily except sunday 9:00", "except"),
        ("every other day 9:00", "other"),
        ("weekly 9:00", "weekly"),
        ("first monday 9:00", "first"),
        ("between monday and friday 9:00", "between"),
        ("from monday 9:00", "from"),
        ("until friday 9:00", "until"),
        ("mon-fri-sun 9:00", "mon-fri-sun"),
        ("monday to monday 9:00", "monday to monday"),
        ("mon mon 9:00", "mon mon 9:00"),
        ("saturday weekdays 9:00", "saturday weekdays 9:00"),
        ("daily, monday 9:00", "daily, monday 9:00"),
        ("non-weekend 9:00", "non-weekend"),
        ("monday morning 9:00", "morning"),
        ("every morning 9:00", "morning"),
        ("weekdays 9:00 sharp", "sharp"),
        ("weekdays 9:00 climate", "climate"),
        ('weekdays 9:00 "climate"', '"climate"'),
        ("mondy tuesday 9:00", "mondy"),
        ("wensday, friday 9:00", "wensday"),
        ("mondy/tuesday 9:00", "mondy"),
        ("tu, th, sat 9:00", "tu"),
        ("mons weds 9:00", "mons"),
        ("daily python 3.14", "python"),
        ("python 3.14 daily", "python 3.14"),
        ("the sun weekdays 9:00", "the"),
        ("monday night football sundays 20:00", "night"),
        ("frıday monday 9:00", "frıday"),
    ],
)
def test_words_that_could_be_days_are_not_guessed(typed: str, unsure: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_digest_spec(f"world {typed}")

    assert caught.value.problem == UNSURE.format(unsure)


@pytest.mark.parametrize("typed", ["the budget", "mondy", "tu,th", "mo-mi", "lundi", "fortnights", "'ai'"])
def test_without_quotes_a_topic_needs_days_after_it(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_digest_spec(f"world {typed} 9:00")

    assert caught.value.problem == WHICH


@given(st.times(), st.frozensets(st.integers(0, 6), min_size=1))
def test_every_time_and_set_of_days_is_parsed(at: time, days: frozenset[int]) -> None:
    typed = f"world {', '.join(DAYS[day] for day in days)} {at:%H:%M}"

    schedule = parse_digest_spec(typed).schedule
    assert (schedule.days, schedule.at) == (days, at.replace(second=0, microsecond=0))


@given(st.times(), st.frozensets(st.integers(0, 6), min_size=1))
def test_a_schedule_s_text_parses_to_the_schedule(at: time, days: frozenset[int]) -> None:
    told = Schedule(days=days, at=at.replace(second=0, microsecond=0), zone="")

    assert parse_digest_spec(f"world {told.text}").schedule == told


NAMED = {form: {day} for day, name in enumerate(DAYS) for form in (name, f"{name}s", name[:3], f"{name[:3].lower()}.")}
SETS = {"daily": DAILY, "every day": DAILY, "weekdays": WEEKDAYS, "business days": WEEKDAYS, "weekends": WEEKENDS}
RANGES = ("-", " - ", "–", " to ", " through ", " thru ", " until ", " till ")
GLUE = (" ", ", ", ",", "/", " & ", " and ", " on ", " every ", *RANGES)
TWISTS = (
    "except",
    "but not",
    "other",
    "weekly",
    "first",
    "between",
    "twice",
    "non",
    "morning",
    "or",
    "mo",
    "then",
    "+",
)


@given(
    st.lists(st.tuples(st.sampled_from([*NAMED, *SETS]), st.sampled_from(GLUE)), min_size=1, max_size=4),
    st.sampled_from(["", "brexit ", '"brexit" ', "iphone 17 "]),
    st.booleans(),
)
def test_no_day_is_left_out_or_made_up(pieces: list[tuple[str, str]], topic: str, first: bool) -> None:
    days = "".join(f"{name}{glue}" for name, glue in pieces[:-1]) + pieces[-1][0]
    try:
        wish = parse_digest_spec(f"world {topic}9:00 {days}" if first else f"world {topic}{days} 9:00")
    except UsageError:
        return
    said = set().union(*((NAMED | SETS)[name] for name, _ in pieces))

    assert wish.topic == topic.strip(' "')
    assert wish.schedule.days >= said
    if not any(glue in RANGES for _, glue in pieces[:-1]):
        assert wish.schedule.days == said


@given(
    st.lists(st.sampled_from([*NAMED, *SETS]), min_size=1, max_size=3),
    st.sampled_from(TWISTS),
    st.integers(0, 3),
    st.sampled_from([" ", ", "]),
)
def test_a_word_that_changes_the_days_is_never_skipped(words: list[str], twist: str, at: int, glue: str) -> None:
    words.insert(at, twist)
    with pytest.raises(UsageError):
        parse_digest_spec(f"world {glue.join(words)} 9:00")


@given(st.sampled_from(DAYS), st.sampled_from(DAYS), st.integers(1, 4), st.integers(0, 2))
def test_a_misspelt_day_is_not_part_of_the_topic(day: str, other: str, place: int, how: int) -> None:
    swapped = day[place + 1] + day[place] if day[place] != day[place + 1] else "x"
    misspelt = day[:place] + ("", "x", swapped)[how] + day[place + (2 if how == 2 else 1) :]
    for typed in (misspelt, f"{misspelt} {other}", f"{other} {misspelt}", f"{misspelt} and {other}"):
        with pytest.raises(UsageError):
            parse_digest_spec(f"world {typed} 9:00")
