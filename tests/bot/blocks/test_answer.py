"""How an answer is laid out: text, sources, notes, the footer line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.blocks.answer import answer_messages
from bot.model.message import Audience, Block
from fake_slack.limits import check_message
from perplexity.errors import Attempt
from perplexity.formatting import format_dollars, format_duration, format_iso_date
from perplexity.types import Answer, AnswerKind, Passage, Source, Usage

SOURCES = (
    Source(number=1, title="What’s new", url="https://docs.python.org/3.14/", date="2025-10-07"),
    Source(
        number=2, title="PEP | 779 <b>", url="https://peps.python.org/pep-0779/?a=1&b=2", date="2026-05-02T10:00:00Z"
    ),
    Source(number=3, title="", url="https://www.example.org/x", date="yesterday"),
    Source(number=4, title="Bad", url="https://user@evil.com/x"),
)
DOCS, PEPS = (
    "<https://docs.python.org/3.14/|docs.python.org>",
    "<https://peps.python.org/pep-0779/?a=1&amp;b=2|peps.python.org>",
)
EXAMPLE = "<https://www.example.org/x|example.org>"
ANSWER = Answer(
    text="Yes [2]. Also [1].",
    sources=SOURCES,
    provider="Perplexity",
    effort="fast",
    seconds=3.42,
    usage=Usage(cost_usd=0.0014),
)


def blocks(answer: Answer, audience: Audience = Audience.ASKER) -> list[Block]:
    (message,) = answer_messages(answer, audience=audience)

    assert check_message({"text": message.text, "blocks": list(message.blocks)}) == []
    return list(message.blocks)


def context_texts(answer: Answer, audience: Audience = Audience.ASKER) -> list[str]:
    return [block["elements"][0]["text"] for block in blocks(answer, audience) if block["type"] == "context"]


def test_the_answer_comes_first_then_one_line_with_its_sites() -> None:
    first, sources = blocks(ANSWER)

    assert first == {
        "type": "markdown",
        "text": "Yes [[1]](https://peps.python.org/pep-0779/?a=1&b=2). Also [[2]](https://docs.python.org/3.14/).",
    }
    assert sources["elements"][0]["text"] == f"{PEPS} · {DOCS}\u00a0·\u00a0+2"
    assert sources["elements"][0]["verbatim"] is True


def test_without_markers_the_first_pages_that_were_read_are_named() -> None:
    assert context_texts(replace(ANSWER, text="Yes.")) == [f"{DOCS} · {PEPS} · {EXAMPLE}\u00a0·\u00a0+1"]


def test_a_site_is_named_once_and_without_a_link_if_its_address_is_unsafe() -> None:
    pages = (
        replace(SOURCES[0], url="https://docs.python.org/3.13/"),
        *SOURCES[:1],
        SOURCES[3],
        Source(number=9, title="", url=""),
    )

    assert context_texts(replace(ANSWER, text="Yes.", sources=pages)) == [
        "<https://docs.python.org/3.13/|docs.python.org> · evil\u2060.\u2060com · untitled\u00a0·\u00a0+1"
    ]


def test_the_first_line_tells_of_providers_before() -> None:
    failed = (
        Attempt(provider="Perplexity", seconds=1, error_class="BillingError", summary="is out of credit"),
        Attempt(provider="Brave", seconds=1, error_class="X"),
    )
    answer = replace(ANSWER, text="Yes [2][9].", provider="xAI", failed=failed, usage=Usage(), effort=None, model="m/n")

    assert blocks(answer)[0]["elements"][0]["text"] == (
        ":warning: Perplexity is out of credit and Brave failed; this answer is from xAI."
    )


def test_the_age_of_the_newest_source_is_above_the_text() -> None:
    first, second, *_ = blocks(replace(ANSWER, as_of="Newest source: 3 May 2026."))

    assert (first["type"], first["elements"][0]["text"]) == ("context", ":warning: Newest source: 3 May 2026.")
    assert second["type"] == "markdown"


@pytest.mark.parametrize(("reason", "shown"), [("max_output_tokens", " (max_output_tokens)"), ("", ""), ("\x00", "")])
def test_an_incomplete_answer_says_so(reason: str, shown: str) -> None:
    warning = f":warning: This answer is incomplete: the model stopped early{shown}."

    assert context_texts(replace(ANSWER, incomplete=reason))[0] == warning


def test_notes_are_above_an_answer_only_if_it_is_a_stand_in() -> None:
    notes = ("An hour became a day <!here>.", " \x00", "No dates.")
    failed = (Attempt(provider="Perplexity", seconds=1, error_class="X", summary="is out of credit"),)

    own, other = (context_texts(replace(ANSWER, notes=notes, failed=before)) for before in ((), failed))

    assert len(own) == 1
    assert other[1] == "An hour became a day &lt;\u2060!here&gt;. No dates."


def test_what_is_left_out_of_a_long_text_is_said_above_it() -> None:
    first, *_ = answer_messages(replace(ANSWER, text="word " * 45_000), audience=Audience.THREAD)

    assert "Only the first" in first.blocks[0]["elements"][0]["text"]


def test_the_fallback_text_is_complete_without_the_blocks() -> None:
    (message,) = answer_messages(ANSWER, audience=Audience.ASKER)

    assert message.text.startswith("Yes [1]. Also [2].\npeps")
    assert message.text.endswith("\nSources:\n[1] PEP | 779 &lt;\u2060b&gt;\n[2] What’s new")


@pytest.mark.parametrize("letter", ["a ", "語", "&", "<", "evil.com "])
def test_the_fallback_text_fits_slacks_limit_in_bytes(letter: str) -> None:
    messages = answer_messages(replace(ANSWER, text=letter * 9_000), audience=Audience.ASKER)

    assert max(len(message.text.encode()) for message in messages) < 4_000
    assert len(messages[0].text.encode()) > 3_000


PASSAGES = replace(
    ANSWER,
    kind=AnswerKind.PASSAGES,
    text="Phase II. [2]",
    passages=(
        Passage(text="Phase *II* <!here>.", source=2),
        Passage(text="Bad.", source=4),
        Passage(text="Lost.", source=8),
        Passage(text="\x00", source=1),
    ),
)


def test_passages_are_quoted_word_for_word_under_a_plain_notice() -> None:
    notice, first, second, third, _ = blocks(PASSAGES)

    assert notice["elements"][0]["text"] == (
        ":warning: No answer model is configured, so these are the passages that fit best, word for word."
    )
    assert first["elements"][0]["elements"] == [
        {"type": "text", "text": "Phase *II* <!here>. "},
        {"type": "link", "url": "https://peps.python.org/pep-0779/?a=1&b=2", "text": "[1]"},
    ]
    assert second["elements"][0]["elements"] == [{"type": "text", "text": "Bad. "}, {"type": "text", "text": "[2]"}]
    assert third["elements"][0]["elements"] == [{"type": "text", "text": "Lost. "}]


@pytest.mark.parametrize(("search_only", "notice"), [(False, ""), (True, " No answer model is configured.")])
def test_the_notice_says_whether_a_model_was_there(search_only: bool, notice: str) -> None:
    failed = Attempt(provider="P", seconds=1, error_class="X", summary="x", search_only=search_only)
    answer = replace(PASSAGES, failed=(failed,))

    assert (
        context_texts(answer)[0]
        == f":warning: P x; these are pages from {answer.provider}, quoted word for word.{notice}"
    )


def test_a_passage_longer_than_a_quote_is_split() -> None:
    answer = replace(PASSAGES, passages=(Passage(text="x" * 7_000, source=2),))

    quotes = [block for block in blocks(answer) if block["type"] == "rich_text"]

    assert "".join(q["elements"][0]["elements"][0]["text"].strip() for q in quotes) == "x" * 7_000


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(None, ""), (0.0, "free"), (0.0014, "$0.0014"), (0.005, "$0.005"), (0.12345, "$0.12"), (2.0, "$2.00"),
     (0.00114, "$0.0011"), (0.00001, "under $0.0001"), (0.999, "$1.00"), (0.1, "$0.10")],
)  # fmt: skip
def test_dollars(cost: float | None, shown: str) -> None:
    assert shown == format_dollars(cost)


@pytest.mark.parametrize(("seconds", "shown"), [(3.42, "3.4 s"), (0, "0.0 s"), (99.9, "99.9 s"), (125.4, "2 min 5 s")])
def test_durations(seconds: float, shown: str) -> None:
    assert shown == format_duration(seconds)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2025-10-07", "7 Oct 2025"),
        ("2025-10-07T10:00:00Z", "7 Oct 2025"),
        ("2025-10", "Oct 2025"),
        ("2025", "2025"),
        (None, ""),
        ("soon", ""),
        ("2025-13-01", ""),
        ("2025-13", ""),
    ],
)
def test_days(value: str | None, shown: str) -> None:
    assert shown == format_iso_date(value)


@pytest.mark.parametrize("text", ["", " \n ", "\u2060", "**", "&<>" * 2_000])
def test_any_text_has_a_fallback_text_that_fits(text: str) -> None:
    for message in answer_messages(replace(ANSWER, text=text), audience=Audience.ASKER):
        assert 0 < len(message.text.encode()) <= 4_000


def test_an_address_with_dollar_signs_is_a_number_in_the_fallback_text() -> None:
    source = Source(number=1, title="Prices", url="https://a.example/$x$/")
    (message,) = answer_messages(replace(ANSWER, text="Yes [1].", sources=(source,)), audience=Audience.ASKER)

    assert message.text.startswith("Yes [1].\n")
