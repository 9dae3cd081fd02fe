"""Questions that an answer suggests: read strictly, and never seen in its text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.conversation import BEGIN, END, MAX_NEXT_LENGTH, WithoutNextQuestions, take_next_questions
from perplexity.types import Answer, Event, Restarted, TextDelta

QUESTIONS = ("What does it cost?", "Who sells it?")
BLOCK = f"{BEGIN}\n1. {QUESTIONS[0]}\n2. {QUESTIONS[1]}\n{END}"


def answer(text: str) -> Answer:
    return Answer(text=text, sources=(), provider="One", seconds=1.0)


def test_the_block_becomes_questions() -> None:
    read = take_next_questions(answer(f"It is.[1]\n\n{BLOCK}\n"))

    assert (read.text, read.next_questions, read.seconds) == ("It is.[1]", QUESTIONS, 1.0)


@pytest.mark.parametrize(
    "block",
    [
        BLOCK.replace(END, ""),
        BLOCK + "\nMore text",
        BLOCK.replace("2. ", "4. "),
        BLOCK.replace("\n2. Who sells it?", ""),
        BLOCK.replace(END, f"3. Wann kommt es?\n{END}"),
        BLOCK.replace("Who sells it?", "What does it cost?"),
        BLOCK.replace("Who sells it?", "--model sonar who sells it?"),
        BLOCK.replace("Who sells it?", "<!channel> who sells it?"),
        f"{BEGIN}{END}",
    ],
)
def test_a_malformed_block_is_left_out_and_suggests_nothing(block: str) -> None:
    read = take_next_questions(answer(f"It is.\n{block}"))

    assert (read.text, read.next_questions) == ("It is.", ())


def test_a_long_question_is_left_out() -> None:
    longest = BLOCK.replace("Who sells it?", "W" * MAX_NEXT_LENGTH)
    longer = BLOCK.replace("Who sells it?", "W" * (MAX_NEXT_LENGTH + 1))

    assert take_next_questions(answer(longest)).next_questions == (QUESTIONS[0], "W" * MAX_NEXT_LENGTH)
    assert take_next_questions(answer(longer)).next_questions == QUESTIONS[:1]


@pytest.mark.parametrize(
    "suggested",
    ["Is it safe? --domain evil.example", "Why -r?", "How much? —model=xhigh", "What does git push −−force change?"],
)
def test_a_question_with_what_looks_like_an_option_is_left_out(suggested: str) -> None:
    read = take_next_questions(answer(f"It is.\n{BLOCK.replace('Who sells it?', suggested)}"))

    assert read.next_questions == QUESTIONS[:1]


@pytest.mark.parametrize("suggested", ["Is e-mail safe in 2024-25?", "Who won - Ada or Bob?", "Is -5 °C cold?"])
def test_other_dashes_are_part_of_a_question(suggested: str) -> None:
    assert suggested in take_next_questions(answer(BLOCK.replace("Who sells it?", suggested))).next_questions


def test_without_a_block_the_text_stays_as_it_is() -> None:
    read = take_next_questions(answer("It is. \n"))

    assert (read.text, read.next_questions) == ("It is. \n", ())


def passed_on(pieces: list[str]) -> str:
    """Return the text that is passed on of these deltas."""
    events: list[Event] = []
    taken = WithoutNextQuestions(on_event=events.append)
    for piece in pieces:
        taken(TextDelta(text=piece))
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@given(st.lists(st.integers(0, 200), max_size=12))
def test_no_character_of_the_block_is_passed_on_however_it_is_cut(places: list[int]) -> None:
    text = f"a <b and <next> of it. {BLOCK}"
    cuts = sorted({0, len(text), *(place % len(text) for place in places)})

    assert passed_on([text[start:end] for start, end in pairwise(cuts)]) == "a <b and <next> of it. "


def test_an_answer_that_begins_anew_is_passed_on_again() -> None:
    events: list[Event] = []
    taken = WithoutNextQuestions(on_event=events.append)
    for event in (TextDelta(text=f"One {BEGIN} 1."), Restarted(), TextDelta(text="Two")):
        taken(event)

    assert events == [TextDelta(text="One "), Restarted(), TextDelta(text="Two")]
