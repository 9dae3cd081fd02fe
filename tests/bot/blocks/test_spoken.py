"""The text that screen readers read says all that a message shows, in its order, the states and warnings first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks.answer import answer_messages, broken_off_blocks, growing_message, stopped_message, with_actions
from bot.blocks.elements import MAX_BYTES, REST, bar_chart, cell, fallback_text, leaf, markdown, person, section, table
from bot.blocks.escaping import escape, sanitize_message
from bot.blocks.messages import as_direct_message
from bot.model.message import Audience, OutgoingMessage
from bot.translation import speaking
from perplexity.types import Answer, AnswerKind, Passage, Source
from tests.fakes.hostile_text import wild
from tests.fakes.spoken import left_out, missing_words

SOURCES = (
    Source(number=1, title="What’s new", url="https://docs.python.org/3/", date="2026-11-01"),
    Source(number=2, title="C# and F# _compared_", url="https://s2.example/a_b"),
    Source(number=3, title="", url="https://s3.example/"),
)
ANSWER = Answer(text="Yes [1]. Also [2].", sources=SOURCES, provider="P")
ID = "00000000-0000-0000-0000-000000000001"
many = settings(max_examples=2_000 if settings().max_examples > 100 else 100)

words = st.sampled_from(
    ("word", "café", "日本語", "12 %", "2*3*4", "C#", "snake_case_name", "`a * b`", "**bold**", "*it*", "~~old~~",
     "5 | 6",
     "[1]", "[2][1]", "e.g. this.", "a < b & c", "_x_", "**Bold:** then", "`#1`", "&amp;", "\\*no\\*",
     "https://a.example/b",
     "مرحبا", "$x^2$", "3 * 4 * 5", "@here", "<@U1>", "**a *b* c**")
)  # fmt: skip
line = st.lists(words, min_size=1, max_size=6).map(" ".join)
cells = st.lists(words.filter(lambda word: "|" not in word), max_size=2).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> str:
    width = draw(st.integers(1, 4))
    row = st.lists(cells, min_size=width, max_size=width).map(lambda row: f"| {' | '.join(row)} |")
    rows = draw(st.lists(row, max_size=3))
    return "\n".join([draw(row), f"|{'---|' * width}", *rows])


paragraphs = st.one_of(
    line,
    line.map(lambda said: f"## {said}"),
    st.lists(line, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(line, min_size=1, max_size=4).map(lambda items: "\n".join(f"{n}. {i}" for n, i in enumerate(items, 1))),
    line.map(lambda said: f"> {said}"),
    line.map(lambda said: f"```python\n# {said}\nif a | b:\n---\n    *x* = `y`\n```"),
    tables(),
)
texts = st.lists(paragraphs, min_size=1, max_size=8).map("\n\n".join)


def answers(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Answer]:
    return st.builds(
        Answer,
        text=texts,
        sources=st.sampled_from((SOURCES, SOURCES[:1], ())),
        provider=st.just("P"),
        as_of=st.sampled_from(("", "Newest source: 3 May 2026.")),
        incomplete=st.sampled_from((None, "max_output_tokens")),
        kind=st.sampled_from(AnswerKind),
        passages=texts.map(lambda text: (Passage(text=text, source=1),)),
    )


def whole(answer: Answer, audience: Audience) -> Iterator[OutgoingMessage]:
    """Yield the messages of an answer whose texts are not shortened."""
    for message in answer_messages(answer, audience=audience, question="Is it *so*?"):
        shown = sanitize_message(message)
        assert 0 < len(shown.text.encode()) <= MAX_BYTES
        if not shown.text.endswith(REST):
            yield shown


@given(answers(texts), st.sampled_from(Audience))
@many
def test_the_text_of_an_answer_says_each_of_its_words_in_reading_order(answer: Answer, audience: Audience) -> None:
    for message in whole(answer, audience):
        assert missing_words(message) == []


@given(answers(wild), st.sampled_from(Audience))
@many
def test_the_text_of_any_answer_leaves_out_no_word(answer: Answer, audience: Audience) -> None:
    for message in whole(answer, audience):
        assert left_out(message) == []


def test_states_come_first_and_titles_last() -> None:
    answer = replace(ANSWER, as_of="Newest source: 3 May 2026.")
    (message,) = answer_messages(answer, audience=Audience.ASKER, question="Is it *so*?")

    assert message.text.split("\n")[:3] == ["Warning: Newest source: 3 May 2026.", "“Is it so?”", "Yes [1]. Also [2]."]
    assert message.text.split("\n")[-3:] == ["Sources:", "[1] What’s new", "[2] C# and F# _compared_"]


def test_how_an_answer_ended_is_said_before_it() -> None:
    text = "It is *so* [[1]](https://docs.python.org/3/)."
    broken = with_actions(
        answer_messages(ANSWER, audience=Audience.ASKER), broken_off_blocks(ANSWER, reference="r", question_id=ID)
    )[-1]

    assert stopped_message(text, ANSWER, question_id=ID).text.startswith("You stopped this answer.\nIt is so [1].\n")
    assert growing_message(text, question="Is it?", question_id=ID).text == "still writing…\n“Is it?”\nIt is so [1]."
    assert broken.text.startswith("Warning: This is only a part: the answer broke off. Reference r\nYes [1].")


def test_a_state_comes_first_in_each_language() -> None:
    with speaking("de"):
        message = stopped_message("It is so.", ANSWER, question_id=ID)

    assert message.text.startswith("Du hast diese Antwort gestoppt.\nIt is so.\n")


def test_rows_of_tables_are_sentences() -> None:
    text = "Compare:\n\n| Name | `a|b` | Cost |\n|---|:-:|--:|\n| **x** | 2*3*4 | -5 |\n| y | | 6. |\n\nDone."

    assert fallback_text([markdown(text)]) == "Compare:\nName: x; a|b: 234; Cost: -5.\nName: y; Cost: 6.\nDone."


def test_tables_and_charts_of_slack_are_said() -> None:
    rows = [[cell(person("U1")), cell(leaf("$2"))], [cell(leaf("-")), cell(leaf("$3"))]]
    chart = bar_chart("Posts by mood", categories=["Good", "Bad"], series={"Posts": [1, 2.5]}, y_label="Posts")

    assert fallback_text([table(["Person", "Spent"], rows)]) == "Person: U1; Spent: $2.\nPerson: -; Spent: $3."
    assert fallback_text([chart]) == "Posts by mood\nPosts, Good: 1.\nPosts, Bad: 2.5."


def test_code_is_said_as_it_is() -> None:
    text = "Run `a_*b*_`:\n\n```python\n# **x**\n| a |\n---\n```"

    assert fallback_text([markdown(text)]) == "Run a_*b*_:\n# **x**\n| a |\n---"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```0```", "0"),
        ("See ```py x\ny``` now.", "See py x\ny now."),
        ("```py\nx\n```", "x"),
        ("```py\nx", "x"),
        ("```py\n`x`\n```", "`x`"),
    ],
)
def test_code_is_said_without_its_signs(text: str, said: str) -> None:
    assert fallback_text([markdown(text)]) == said


@pytest.mark.parametrize("said", ["Ein Satz. ", "これは文です。", "&amp; < so it is! "])
def test_a_long_text_ends_with_a_whole_sentence(said: str) -> None:
    text = fallback_text([section(escape(said) * 800)])

    assert 3_700 < len(text.encode()) <= MAX_BYTES
    assert text.endswith(f"{escape(said).strip()}\n{REST}")


@pytest.mark.parametrize("sign", ["x", "ü", "&", "語", "word "])
def test_a_text_without_sentences_ends_where_it_must(sign: str) -> None:
    text = fallback_text([section(escape(sign * 2_900)), section(escape(sign * 2_900))])

    assert 1_900 < len(text.encode()) <= MAX_BYTES
    assert re.fullmatch(rf"(?:{re.escape(escape(sign).strip())}\s*)+\n{REST}", text)


def test_each_part_of_a_long_answer_has_its_own_text() -> None:
    texts = [
        one.text for one in answer_messages(replace(ANSWER, text="Words are here. " * 1_500), audience=Audience.ASKER)
    ]

    assert len(texts) > 1
    assert [text.partition("\n")[0] for text in texts] == [
        f"Part {number} of {len(texts)}" for number in range(1, len(texts) + 1)
    ]


def test_a_direct_message_says_first_why_and_the_question_once() -> None:
    (message,) = answer_messages(ANSWER, audience=Audience.CHANNEL, question="a.example or b.example?")
    direct = as_direct_message(message, part=0, question="a.example or b.example?", public=False, age=0.0)

    assert direct.text.startswith("You asked")
    assert direct.text.count("or b") == 1
    assert missing_words(direct) == []
