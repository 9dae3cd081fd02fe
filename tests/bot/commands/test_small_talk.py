"""Small talk is told from questions: in two corpora that were written before the rule, and however it is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.commands.routing import MAX_TALK_LENGTH, is_small_talk

CORPORA = sorted((Path(__file__).parents[2] / "data" / "small_talk").glob("*.jsonl"))


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda path: path.stem)
def test_no_question_is_lost__and_nine_of_ten_greetings_are_found(corpus: Path) -> None:
    lines = [json.loads(line) for line in corpus.read_text("utf-8").splitlines()]
    small_talk = [line["text"] for line in lines if line["kind"] == "small_talk"]
    lost = [line["text"] for line in lines if line["kind"] == "question" and is_small_talk(line["text"])]
    missed = [text for text in small_talk if not is_small_talk(text)]

    assert lost == []
    assert len(missed) <= 0.1 * len(small_talk), missed


@pytest.mark.parametrize(
    "text",
    [
        "HELLO",
        "ｈｅｌｌｏ",
        "hellooooo!!!",
        "hlelo",
        "  hi\n",
        "hi :wave::skin-tone-3:",
        "hi, <@U2> :)",
        "Ça va ?",
        "ca va",
        "what’s up",
        "whats up",
        "grcias 🙏🏽",
        "ありがとーーー",
        "thanks、助かりました",
        "ok 👍",
        "cool!",
    ],
)
def test_case_width_accents_stretched_letters_typos_and_signs_do_not_matter(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        ":wave:?",
        "ok",
        "cool?",
        "tty",
        "thanks <https://a.example>",
        "hi 5",
        "hi/hello",
        "thanks, now in euros",
        "こんにちは赤ちゃん",
        "hi " * MAX_TALK_LENGTH,
    ],
)
def test_what_is_more_than_small_talk_is_a_question(text: str) -> None:
    assert not is_small_talk(text)
