from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perplexity.citations import number_citations
from perplexity.cli.live import StreamingMarkdown
from perplexity.sanitize import printable
from perplexity.types import Source
from tests.fakes.hostile_text import wild

A = Source(number=4, title="A", url="https://a.example/")
B = Source(number=7, title="B", url="https://b.example/")
TEXT = "First [7].\n\n- one [4]\n- two\n\n```\ncode [7]\n\nmore\n```\n\nLast [4][7]."
SHOWN = "First [1].\n\n- one [2]\n- two\n\n```\ncode [7]\n\nmore\n```\n\nLast [2][1]."


def grown(
    text: str, *, step: int, sources: tuple[Source, ...], known_from: int = 0
) -> tuple[list[str], StreamingMarkdown]:
    """Feed a text in pieces; its sources are known after so many of its characters."""
    growing, finished = StreamingMarkdown(), []
    for place in range(0, len(text), step):
        growing.sources = sources if place >= known_from else ()
        growing.add(text[place : place + step])
        finished.append(growing.take_finished()[0])
    return [piece for piece in finished if piece], growing


def test_a_block_is_finished_when_the_next_begins_and_numbers_are_those_of_the_end() -> None:
    finished, growing = grown(TEXT, step=1, sources=(A, B))

    assert finished == ["First [1].\n\n", "- one [2]\n- two\n\n", "```\ncode [7]\n\nmore\n```\n\n"]
    assert growing.remaining(SHOWN) == "Last [2][1]."


def test_nothing_is_finished_before_the_sources_are_known() -> None:
    finished, growing = grown(TEXT, step=1, sources=(A, B), known_from=len(TEXT) - 1)

    assert "".join(finished) == SHOWN.removesuffix("Last [2][1].")
    assert growing.remaining(SHOWN) == "Last [2][1]."
    assert grown(TEXT, step=1, sources=())[0] == []


def test_a_text_that_was_put_right_at_its_end_has_no_rest() -> None:
    _, growing = grown(TEXT, step=5, sources=(A, B))

    assert growing.remaining("Another text.") is None


@given(text=wild, step=st.integers(min_value=1, max_value=40))
def test_what_is_finished_and_the_rest_are_the_whole(text: str, step: int) -> None:
    finished, growing = grown(text, step=step, sources=(A, B))
    whole = printable(number_citations(text, (A, B)).text)
    rest = growing.remaining(whole)

    assert growing.finished == "".join(finished)
    assert rest is None or growing.finished + rest == whole
