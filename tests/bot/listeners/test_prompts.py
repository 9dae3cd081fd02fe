"""Suggested prompts: which questions a person can choose from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.routing import EXAMPLES
from bot.listeners.messages import MAX_MESSAGE, MAX_PROMPTS, MAX_TITLE, MIN_QUESTIONS, choose_prompts


@pytest.mark.parametrize("count", [0, 1, MIN_QUESTIONS - 1])
def test_after_few_questions_there_are_examples(count: int) -> None:
    assert choose_prompts(["why"] * count) == EXAMPLES
    assert 1 <= len(EXAMPLES) <= MAX_PROMPTS


def test_the_newest_different_questions_are_suggested() -> None:
    asked = ["Why  is the sky blue", "why is the sky\nblue", "two", "three", "TWO", "x" * 5_000, *"abcdef"]

    assert [prompt.message for prompt in choose_prompts(asked)] == ["Why  is the sky blue", "two", "three", "a"]


@given(st.lists(st.text(max_size=MAX_MESSAGE + 10), max_size=30))
def test_whatever_was_asked__the_prompts_are_what_slack_takes(asked: list[str]) -> None:
    prompts = choose_prompts(asked)

    assert 1 <= len(prompts) <= MAX_PROMPTS
    assert all(0 < len(prompt.title) <= MAX_TITLE and 0 < len(prompt.message) <= MAX_MESSAGE for prompt in prompts)
    assert len({prompt.message for prompt in prompts}) == len(prompts)
