from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.completions import ThinkStripper, strip_thinking
from perplexity.errors import MalformedResponse
from perplexity.types import Answer

wild = st.text(alphabet="<think>/ \nab", max_size=60) | st.lists(
    st.sampled_from(["<think>", "</think>", "a", " ", "\n", "<", "thi"]), max_size=12
).map("".join)


def answer(text: str) -> Answer:
    return Answer(text=text, sources=(), provider="Perplexity")


def split(text: str, *, expected: bool) -> tuple[str | None, str]:
    told = strip_thinking(answer(text), expected=expected)
    return told.reasoning, told.text


@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("<think>\nplan\n</think>\n\nAnswer.[1]", "plan", "Answer.[1]"),
        ("plan</think>Answer", "plan", "Answer"),
        ("<think></think>Answer", "", "Answer"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("<think>a<think>b</think>c", "a<think>b", "c"),
        ("Answer", None, "Answer"),
        ("<think>never closed", None, "<think>never closed"),
        (' <think>a</think>\n{"b": 1}', "a", '{"b": 1}'),
        ("<THINK>a</THINK>b", None, "<THINK>a</THINK>b"),
    ],
)
def test_everything_up_to_the_first_marker_is_the_reasoning(text: str, reasoning: str | None, rest: str) -> None:
    assert (reasoning, rest) == split(text, expected=True)


@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("<think>plan</think>Answer", "plan", "Answer"),
        ("\n<think>plan</think>Answer", "plan", "Answer"),
        ("The tag </think> closes it", None, "The tag </think> closes it"),
        ("A <think>b</think> c", None, "A <think>b</think> c"),
        ("<thinking>a</think>b", None, "<thinking>a</think>b"),
        ("<think>never closed", None, "<think>never closed"),
        ("<thi", None, "<thi"),
    ],
)
def test_of_another_model_only_a_block_in_front_is(text: str, reasoning: str | None, rest: str) -> None:
    assert (reasoning, rest) == split(text, expected=False)


def test_reasoning_without_text_after_it_is_not_an_answer() -> None:
    with pytest.raises(MalformedResponse):
        strip_thinking(answer("<think>plan</think>\n"), expected=True)


def test_nothing_of_the_block_is_given_wherever_the_marker_is_cut() -> None:
    text = "<think>\nplan\n</think>\n\nAnswer.[1]"
    for expected in (True, False):
        for cut in range(len(text)):
            thinking = ThinkStripper(expected=expected)

            given_away = [thinking.feed(text[:cut]), thinking.feed(text[cut:]), thinking.flush()]

            assert "".join(given_away) == "Answer.[1]"
            assert thinking.reasoning == "plan"


@given(wild, st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_a_stream_gives_what_the_whole_text_gives(text: str, cuts: list[int], expected: bool) -> None:
    whole, pieced = ThinkStripper(expected=expected), ThinkStripper(expected=expected)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})

    at_once = whole.feed(text) + whole.flush()
    in_pieces = "".join(pieced.feed(text[start:end]) for start, end in pairwise(places)) + pieced.flush()

    assert (at_once, whole.reasoning) == (in_pieces, pieced.reasoning)


def test_text_of_a_model_that_does_not_think_is_not_held_back() -> None:
    thinking = ThinkStripper(expected=False)

    assert [thinking.feed(piece) for piece in ("An", "sw", "<think>", "er")] == ["An", "sw", "<think>", "er"]


def test_a_long_thought_in_small_pieces_takes_no_time() -> None:
    thinking = ThinkStripper(expected=True)

    given_away = "".join(thinking.feed("a") for _ in range(200_000)) + thinking.feed("</think>b")

    assert given_away == "b"
