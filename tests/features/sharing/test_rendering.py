"""What is shared of an answer: sections, sources, and a preview that shows every word of what is posted."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.blocks.elements import markdown
from bot.blocks.escaping import clean
from bot.blocks.markdown.render import Part
from bot.blocks.markdown.rich_text import rich_text_blocks
from bot.features.sharing.preview import (
    MAX_SECTIONS,
    SharedAnswer,
    preview_blocks,
    shareable_sections,
    shared_blocks,
    shared_messages,
    split_sections,
)
from bot.model.question import SearchPage
from fake_slack.limits import check_message, check_view
from perplexity.types import Answer, AnswerKind, Passage, Query, SearchResults, Source
from tests.fakes.hostile_text import SCRAPS

SOURCES = tuple(Source(number=n, title=f"Title {n}", url=f"https://s{n}.example/{n}") for n in range(1, 5))

STRUCTURES = (
    *(
        "# Head\n\n",
        "## Sub\n\n",
        "Head\n===\n",
        "\n\n",
        "- item [2]\n",
        "1. one\n",
        "> quote\n",
        "    code\n",
        "---\n",
    ),
    *("```py\nx = 1 [1]\n```\n", "| a | b |\n|---|---|\n| 1 | [3] |\n", "**bold** ", "*it* ", "_a_b ", "---\n", "[9]"),
    *("$x^2$ ", "word " * 900, "a" * 4_000 + " ", "\\* ", "~~no~~ ", "שלום ", "字"),
)
TEXTS = st.lists(st.sampled_from([*SCRAPS, *STRUCTURES]), max_size=25).map("".join)


def share(text: str = "", **more: Any) -> SharedAnswer:
    answer = Answer(text=text, sources=SOURCES, provider="Perplexity", **more)
    return SharedAnswer(result=answer, query=Query(text="why?"), by="ada", asked=240)


def modal(blocks: list[Any]) -> dict[str, Any]:
    title = {"type": "plain_text", "text": "x"}
    return {"type": "modal", "title": title, "blocks": blocks[:100]}


def shown(value: Any) -> str:
    """Return every text in blocks, in order, without what Markdown and mrkdwn mean by signs."""
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return "\n".join([*own, *(shown(one) for one in value.values())])
    return "\n".join(map(shown, value)) if isinstance(value, list | tuple) else ""


def words(blocks: Any) -> list[str]:
    text = re.sub(r"\[\[(\d+)\]\]\([^()\s]+\)", r"[\1]", shown(blocks))
    text = re.sub(r"<(?:https?:[^<>|]+)\|([^<>]*)>", r"\1", text)
    return re.findall(r"[^\W_]+", re.sub(r"[\u2060\u200f\u200e]", "", text))


@given(TEXTS)
def test_the_preview_shows_every_word_and_link_that_is_posted(text: str) -> None:
    shared = share(text)
    sections, others = shareable_sections(shared)
    chosen = None if not others else list(sections)
    blocks = shared_blocks(shared, chosen)
    preview, messages = preview_blocks(blocks), shared_messages(shared, chosen, comment="")

    # A code block's language is not shown.
    posted = [
        markdown(re.sub(r"(?m)^([ >]*`{3,})[\w+#.-]*", r"\1", block.text)) if isinstance(block, Part) else block
        for block in blocks
    ]
    assert check_view(modal(preview)) == []
    assert [problem for message in messages for problem in check_message(vars(message))] == []
    seen = iter("".join(words(preview)))
    assert [letter for letter in "".join(words(posted)) if letter not in seen] == []
    if "|" not in text:  # a table of a preview has the numbers of links
        assert addresses(preview) == addresses(posted)


def addresses(blocks: Any) -> list[str]:
    return re.findall(r"https://s\d\.example/\d", json.dumps(blocks))


@given(TEXTS)
def test_sections_are_all_of_a_text__and_at_most_ten(text: str) -> None:
    answer = Answer(text=text, sources=SOURCES, provider="P")
    sections = split_sections(answer)

    assert len(sections) <= MAX_SECTIONS
    cut = "".join("".join(section.text.split()) for section in sections)
    assert cut == "".join(clean(text).split())


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("One.\n\nTwo. [1]\n\n- a\n- b\n\nThree.", ["One.", "Two. - a - b", "Three."]),
        ("Intro.\n\n## A\n\nx\n\n### B\n\ny\n\n## C\n\nz", ["Intro.", "A", "C"]),
        ("# Title\n\nOne.\n\nTwo.", ["Title", "One.", "Two."]),
        ("Only one.", ["Only one."]),
        ("- a\n- b", ["- a - b"]),
        ("", []),
    ],
)
def test_sections_are_what_is_below_headings__otherwise_paragraphs(text: str, labels: list[str]) -> None:
    assert [section.label for section in split_sections(share(text).result)] == labels


def test_many_paragraphs_are_ten_sections() -> None:
    sections = split_sections(share("\n\n".join(f"P{n}." for n in range(25))).result)

    assert len(sections) == MAX_SECTIONS
    assert re.findall(r"P\d+", " ".join(section.text for section in sections)) == [f"P{n}" for n in range(25)]


def test_a_section_without_a_citation_lists_no_source_of_another() -> None:
    shared = share("One. [2]\n\nTwo.")
    _, second = split_sections(shared.result)

    assert "s2.example" not in shown(shared_blocks(shared, [second]))


def test_an_answer_without_any_citation_lists_what_was_read_with_every_section() -> None:
    shared = share("One.\n\nTwo.")

    blocks = shared_blocks(shared, [split_sections(shared.result)[0]])
    assert "https://s1.example/1" in json.dumps(preview_blocks(blocks))


def test_warnings_go_with_every_section() -> None:
    shared = share("One. [1]\n\nTwo.", as_of="As of yesterday.", stand_in="Brave answered.", incomplete="length")
    text = shown(shared_blocks(shared, [split_sections(shared.result)[1]]))

    assert [warning in text for warning in ("As of yesterday.", "Brave answered.", "incomplete")] == [True] * 3


@pytest.mark.parametrize(("asked", "said"), [(240.0, ""), (7_300.0, " · asked 2 hours ago")])
def test_the_question_is_first_then_who_shares_the_answer_and_how_old_it_is(asked: float, said: str) -> None:
    first, *_ = shared_blocks(replace(share("One. [1]"), asked=asked), None)

    assert isinstance(first, dict)
    assert first["elements"][0]["text"] == f"“why?” · shared by *ada*{said}"


def test_the_comment_is_below_the_question() -> None:
    (message,) = shared_messages(share("One. [1]"), None, comment="Look")

    assert [block["type"] for block in message.blocks] == ["context", "rich_text", "markdown", "context"]


def test_passages_are_shared_with_their_own_sources() -> None:
    passages = tuple(Passage(text=f"Quote {n}", source=n) for n in (2, 4))
    shared = share("x", kind=AnswerKind.PASSAGES, passages=passages)
    _, second = split_sections(shared.result)
    text = json.dumps(preview_blocks(shared_blocks(shared, [second])))

    assert ("Quote 4" in text, "Quote 2" in text) == (True, False)
    assert set(re.findall(r"https://s\d\.example/\d", text)) == {"https://s4.example/4"}


def test_twenty_results_are_ten_sections() -> None:
    found = tuple(page(n) for n in range(20))
    sections = split_sections(SearchPage(results=SearchResults(results=found, provider="P")))

    assert [len(section.results) for section in sections] == [2] * 10
    assert all(len(section.label) <= 75 for section in sections)


def page(number: int) -> Source:
    return Source(
        number=number, title=f"A title of many words for page {number} " * 4, url=f"https://a.example/{number}"
    )


@pytest.mark.parametrize("scrap", SCRAPS)
def test_a_comment_is_text(scrap: str) -> None:
    messages = shared_messages(share("One."), None, comment=scrap)
    first = messages[0].blocks[0]

    assert check_message(vars(messages[0])) == []
    if first["type"] == "rich_text":
        assert first["elements"][0]["elements"][0]["type"] == "text"
    assert not re.search(r"<[@!#]", messages[0].text)


def test_what_fits_nowhere_is_cut_into_blocks() -> None:
    blocks = rich_text_blocks("**" + "word " * 3_000 + "**")

    assert check_view(modal(blocks)) == []
    assert len(words(blocks)) == 3_000
