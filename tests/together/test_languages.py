"""Each kind of message and view in each language: within Slack's limits, and without an English word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from bot.translation import ENGLISH, LANGUAGES, speaking
from fake_slack.limits import check_message, check_view
from tests.together.test_samples import samples

pytestmark = pytest.mark.features(
    "ask_about",
    "budgets",
    "checking",
    "data_requests",
    "deepdive",
    "digests",
    "feedback",
    "home",
    "limits",
    "settings",
    "sharing",
)

OTHERS = [one for one in LANGUAGES if one != ENGLISH]

SAME = ("Neutral", "Admins", "Budgets", "Channel", "Person", "Perplexity")
"""Words that are the same in German."""

SAMPLES = (
    *("example.com", "Example", "example", "An ", " of ", "And then?", "See this.", "It failed.", "Words.", "general"),
    *("print", "python", "query", "Anna", "Nikki", "What was sent", "Set up a digest", "Settings", "In #", "UTC"),
)
"""What the samples themselves say."""

_NO_WORDS = re.compile(
    "|".join([r"`[^`]*`", r"<[^<>]*>", r"https?://\S+", r"\b[AB]\b", *map(re.escape, SAMPLES), r"[\d\W_]+?"])
)


def texts(value: object) -> Iterator[str]:
    """Yield the texts that people read, in order."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name in ("text", "title", "label", "hint", "placeholder", "submit", "close") and isinstance(one, str):
                yield one
            elif name not in ("value", "action_id", "block_id", "private_metadata", "url"):
                yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def english(language: str) -> Iterator[tuple[str, str]]:
    """Yield the texts that are the same in English and in a language, each with its kind."""
    with speaking(language):
        translated = [*samples()]
    for before, after in zip(samples(), translated, strict=True):
        same = {*texts(before)} & {*texts(after)}
        yield from ((before["kind"], text) for text in sorted(same) if _NO_WORDS.sub("", text) and text not in SAME)


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_and_view_is_within_the_limits(language: str) -> None:
    with speaking(language):
        for sample in samples():
            problems = check_view(sample["view"]) if "view" in sample else check_message(sample["message"])
            assert problems == [], (sample["kind"], json.dumps(sample, ensure_ascii=False)[:500])


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_is_left_in_english(language: str) -> None:
    assert [*english(language)] == []
