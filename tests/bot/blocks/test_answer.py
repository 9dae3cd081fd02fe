"""How an answer is laid out: text, sources, notes, the footer line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.blocks.answer import answer_messages
from bot.blocks.sources import format_iso_date
from bot.model.message import Audience, Block
from bot.playground.limits import check_message
from perplexity.attempts import Attempt
from perplexity.formatting import format_dollars, format_duration
from perplexity.types import Answer, AnswerKind, Passage, Source, Usage

SOURCES = (
    Source(number=1, title="What’s new", url="https://docs.python.org/3.14/", date="2025-10-07"),
    Source(
        number=2, title="PEP | 779 <b>", url="https://peps.python.org/pep-0779/?a=1&b=2", date="2026-05-02T10:00:00Z"
    ),
    Source(number=3, title="", url="https://www.example.org/x", date="yesterday"),
    Source(number=4, title="Bad", url="https://user@evil.com/x"),
)
NEW = "1 <https://docs.python.org/3.14/|What’s new> · docs.python.org · 7 Oct 2025"
PEP = "<https://peps.python.org/pep-0779/?a=1&amp;b=2|PEP | 779 &lt;b&gt;> · peps.python.org · 2 May 2026"
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


def test_the_answer_comes_first_then_its_sources_then_one_grey_line() -> None:
    first, sources, footer = blocks(ANSWER)

    assert first == {
        "type": "markdown",
        "text": "Yes [[1]](https://peps.python.org/pep-0779/?a=1&b=2). Also [[2]](https://docs.python.org/3.14/).",
    }
    assert sources["elements"][0]["text"] == f"*Sources*  1 {PEP}\n2 {NEW[2:]}\n2 more sources"
    assert footer["elements"][0]["text"] == "Perplexity · fast · 3.4 s · $0.0014 · only visible to you"
    assert footer["elements"][0]["verbatim"] is True


def test_without_markers_all_sources_are_listed() -> None:
    sources, _ = context_texts(replace(ANSWER, text="Yes."))

    assert sources.splitlines() == [
        f"*Sources*  {NEW}",
        f"2 {PEP}",
        "3 <https://www.example.org/x|example.org> · example.org",
        "4 Bad · https:\u2060/\u2060/user@evil\u2060.\u2060com/x · evil.com",
    ]


def test_the_footer_tells_of_removed_references_and_the_first_line_of_providers_before() -> None:
    failed = (
        Attempt(provider="Perplexity", seconds=1, error_class="BillingError", summary="is out of credit"),
        Attempt(provider="Brave", seconds=1, error_class="X"),
    )
    answer = replace(ANSWER, text="Yes [2][9].", provider="xAI", failed=failed, usage=Usage(), effort=None, model="m/n")

    assert context_texts(answer, Audience.CHANNEL)[-1] == (
        "xAI · m/n · 3.4 s · 1 reference without a source removed · visible to everyone here"
    )
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

    assert context_texts(replace(ANSWER, incomplete=reason))[1] == warning


def test_notes_are_shown_one_by_one() -> None:
    notes = ("An hour became a day <!here>.", " \x00", "No dates.")

    assert context_texts(replace(ANSWER, notes=notes))[1:-1] == [
        "An hour became a day &lt;\u2060!here&gt;.",
        "No dates.",
    ]


def test_the_fallback_text_is_complete_without_the_blocks() -> None:
    (message,) = answer_messages(ANSWER, audience=Audience.ASKER)

    assert message.text.startswith("Yes [1]. Also [2].\nSources")
    assert message.text.endswith("(4 sources)")


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
    notice, first, second, third, _, _ = blocks(PASSAGES)

    assert notice["elements"][0]["text"] == (
        ":warning: No answer model is configured, so these are the passages that fit best, word for word."
    )
    assert first["elements"][0]["elements"] == [
        {"type": "text", "text": "Phase *II* <!here>. "},
        {"type": "link", "url": "https://peps.python.org/pep-0779/?a=1&b=2", "text": "[1]"},
    ]
    assert second["elements"][0]["elements"] == [{"type": "text", "text": "Bad. "}, {"type": "text", "text": "[2]"}]
    assert third["elements"][0]["elements"] == [{"type": "text", "text": "Lost. "}]


@pytest.mark.parametrize(
    ("search_only", "notice"), [(False, "No model wrote this."), (True, "No answer model is configured.")]
)
def test_the_notice_says_whether_a_model_was_there(search_only: bool, notice: str) -> None:
    failed = Attempt(provider="P", seconds=1, error_class="X", summary="x", search_only=search_only)
    answer = replace(PASSAGES, failed=(failed,))

    assert (
        context_texts(answer)[0]
        == f":warning: P x; these are pages from {answer.provider}, quoted word for word. {notice}"
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
