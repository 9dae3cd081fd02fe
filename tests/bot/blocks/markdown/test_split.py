"""Long answers: split where a reader would, never cut."""

from __future__ import annotations

import re

import pytest

from bot.blocks.answer import answer_messages
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import split_markdown
from bot.model.message import Audience
from fake_slack.limits import check_message, rendered_blocks, rendered_length
from perplexity.citations import number_citations
from perplexity.types import Answer, Source
from tests.fakes.renderer import links, shown, tokens
from tests.rare import one_in

ONE = "https://one.example/path"
SOURCES = (Source(number=1, title="One", url=ONE),)
PARAGRAPH = "The quick brown fox jumps over the lazy dog. "


def split(text: str, room: int = 9_000) -> list[str]:
    return [
        part.text for part in split_markdown(insert_placeholders(number_citations(text, SOURCES)), [ONE], limit=room)
    ]


def words(parts: list[str]) -> list[str]:
    return re.findall(r"\w+", " ".join(map(shown, parts)))


def test_a_long_answer_is_split_before_a_heading() -> None:
    parts = split("\n\n".join(f"## Part {n}\n\n{PARAGRAPH * 60}" for n in range(6)))

    assert len(parts) > 1
    assert all(part.startswith("## Part") for part in parts)


def test_a_heading_is_never_the_last_line_of_a_part() -> None:
    parts = split(f"{'word ' * 10}\n\n# Heading\n\n{'word ' * 40}", room=330)

    assert [parts[1].splitlines()[0], "# Heading" in parts[0]] == ["# Heading", False]


def test_a_paragraph_is_split_after_a_sentence() -> None:
    parts = split(PARAGRAPH * 30, room=500)

    assert len(parts) > 1
    assert all(part.endswith("dog.") for part in parts)


@pytest.mark.parametrize(
    "sentence", ["The fox jumps. [1] ", "The fox jumps [1]. ", "The fox jumps.[1] ", "狐が跳ぶ。[1]"]
)
@pytest.mark.parametrize("room", [300, 330])
def test_a_marker_stays_with_its_sentence(sentence: str, room: int) -> None:
    parts = split(sentence * 60, room=room)

    assert len(parts) > 1
    assert {sentence[0]} == {part.lstrip("\u2060")[0] for part in parts}


def test_a_line_is_a_better_place_than_a_sentence() -> None:
    parts = split("\n".join(f"{n}: {PARAGRAPH * 3}".strip() for n in range(20)), room=500)

    assert all(re.match("\u2060?\\d", part) for part in parts)


def test_words_stay_whole_where_they_can() -> None:
    parts = split("word " * 1000, room=400)

    assert {"word"} == {word for part in parts for word in part.split()}


def test_a_word_longer_than_a_message_is_split() -> None:
    parts = split("x" * 30_000)

    assert ("".join(parts), len(parts)) == ("x" * 30_000, 4)


@pytest.mark.parametrize("character", ["👩‍👩‍👧‍👦", "e\u0301", "👍🏽", "🇩🇪"])
def test_what_is_seen_as_one_character_is_not_torn(character: str) -> None:
    parts = split(character * 100, room=60)

    assert all(len(part.strip("\u2060")) % len(character) == 0 for part in parts)


def test_a_fence_is_closed_and_opened_again_with_its_language() -> None:
    code = [f"line_{n} = {n}" for n in range(500)]

    parts = split("```python\n" + "\n".join(code) + "\n```", room=900)

    assert len(parts) > 1
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in parts)
    assert code == [line for part in parts for line in part.splitlines()[1:-1]]


def test_a_fence_in_a_long_list_item_is_closed_too() -> None:
    item = "- first\n\n  ```sh\n" + "\n".join(f"  run {n}" for n in range(200)) + "\n  ```\n\n  last"

    parts = split(item, room=500)

    assert all(part.count("```") % 2 == 0 for part in parts)
    assert [str(n) for n in range(200)] == re.findall(r"run (\d+)", " ".join(map(shown, parts)))


def test_a_table_repeats_its_header_and_keeps_its_rows_whole() -> None:
    rows = [f"| {n} | [1] cell {n} |" for n in range(300)]

    parts = split("| a | b |\n|---|---|\n" + "\n".join(rows), room=2_000)

    assert len(parts) > 1
    assert all(part.startswith("| a | b |\n| --- | --- |\n|") for part in parts)
    assert [str(n) for n in range(300)] == re.findall(r"^\| (\d+) \|", "\n".join(parts), re.MULTILINE)


def test_a_table_of_more_than_a_hundred_rows_becomes_several() -> None:
    (part,) = split("|a|\n|-|\n" + "|x|\n" * 250)

    assert part.count("| a |\n") == 3


@pytest.mark.parametrize("table", ["|a|b|\n|-|-|\n|{}|y|", "|{}|b|\n|-|-|\n|x|y|", "|{}|\n|-|"])
def test_a_row_longer_than_a_message_becomes_lines_of_text(table: str) -> None:
    text = table.format("word " * 200)

    parts = split(text, room=500)

    assert words([text]) == words(parts)


def test_a_list_is_split_between_its_items_and_goes_on_counting() -> None:
    parts = split("\n".join(f"{n}. {PARAGRAPH}" for n in range(1, 60)), room=500)

    assert [str(n) for n in range(1, 60)] == re.findall(r"^(\d+)\.", "\n".join(parts), re.MULTILINE)


def test_a_long_quote_stays_a_quote() -> None:
    parts = split("\n>\n".join(f"> {PARAGRAPH * 3}" for _ in range(20)), room=1_000)

    assert len(parts) > 1
    assert all(line.startswith(">") for part in parts for line in part.splitlines() if line)


@pytest.mark.parametrize("prefix", ["> " * 30, "- " * 30, "> - " * 15])
def test_nesting_without_end_is_given_up_and_the_words_are_kept(prefix: str) -> None:
    parts = split(prefix + PARAGRAPH * 100, room=800)

    assert words([PARAGRAPH * 100]) == words(parts)


@pytest.mark.parametrize("sign", ["# ", "- ", "1. ", "> ", "``` ", "--- ", "| "])
@pytest.mark.parametrize("room", range(200, 206))
def test_text_inside_a_paragraph_begins_no_block_after_a_split(sign: str, room: int) -> None:
    text = f"a {sign}b " * 200

    parts = split(text, room=room)

    assert len(parts) > 1
    assert {"paragraph_open"} == {
        token.type for part in parts for token in tokens(part) if token.type.endswith("_open")
    }
    assert words([text]) == words(parts)


def test_links_and_inline_code_are_never_cut() -> None:
    parts = split("some `inline code here` and a claim [1] " * 200, room=300)

    assert all(part.count("`") % 2 == 0 for part in parts)
    assert [link for part in parts for link in links(part)] == [ONE] * 200


def test_inline_code_longer_than_a_message_is_cut_between_words() -> None:
    text = "`" + "word " * 300 + "`"

    assert words(split(text, room=400)) == ["word"] * 300


@pytest.mark.parametrize(
    "text",
    one_in(
        3,
        [
            "# h\n\np\n\n" * 200,
            "---\n\np\n\n" * 200,
            "- a\n\n  ```\n  x\n  ```\n" * 200,
            "> # h\n>\n> p\n>\n" * 200,
            "&" * 30_000,
            "<" * 30_000,
            "a.b." * 8_000,
            "claim [1] " * 4_000,
            "日本語。" * 8_000,
            "مرحبا " * 6_000,
            "👩‍👩‍👧‍👦" * 3_000,
        ],
    ),
)
def test_every_part_stays_within_what_slack_takes(text: str) -> None:
    messages = answer_messages(Answer(text=text, sources=SOURCES, provider="P"), audience=Audience.ASKER)

    assert [fault for m in messages for fault in check_message({"text": m.text, "blocks": list(m.blocks)})] == []
    parts = [block["text"] for message in messages for block in message.blocks if block["type"] == "markdown"]
    assert max(map(rendered_length, parts)) <= 9_000
    assert max(map(rendered_blocks, parts)) <= 40


def test_messages_are_numbered_and_the_sources_stand_in_the_last() -> None:
    messages = answer_messages(
        Answer(text=f"{PARAGRAPH}[1] " * 500, sources=SOURCES, provider="P"), audience=Audience.ASKER
    )

    count = len(messages)
    assert count > 1
    assert [f"Part {n} of {count}" for n in range(1, count + 1)] == [
        m.blocks[-1]["elements"][0]["text"] for m in messages
    ]
    assert [1] * (count - 1) + [2] == [sum(block["type"] == "context" for block in m.blocks) for m in messages]
    assert all(m.text.startswith(f"Part {n} of {count}\nThe quick") for n, m in enumerate(messages, 1))


def test_many_sources_with_long_addresses_are_split_too() -> None:
    sources = tuple(Source(number=n, title="T" * 300, url=f"https://s{n}.example/{'&' * 400}") for n in range(1, 40))
    text = "".join(f"[{n}]" for n in range(1, 40))

    messages = answer_messages(Answer(text=text, sources=sources, provider="P"), audience=Audience.ASKER)

    assert [fault for m in messages for fault in check_message({"text": m.text, "blocks": list(m.blocks)})] == []
    listed = str([m.blocks for m in messages])
    assert all(f"[[{n}]](https://s{n}.example/" in listed for n in range(1, 40))
