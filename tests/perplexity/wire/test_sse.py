from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import MalformedResponse
from perplexity.wire.sse import LONGEST_EVENT, Decoder, ServerSentEvent


def read(*chunks: bytes, finish: bool = True) -> list[tuple[str, str]]:
    decoder = Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [(event.event, event.data) for event in [*events, *(decoder.finish() if finish else [])]]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", "a"), ("", "b")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data: one\r\ndata: two\r\n\r\n", [("", "one\ntwo")]),
        (b"data: a\r\n\ndata: b\n\r\n", [("", "a"), ("", "b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a\n\n", [("", " a")]),
        (b"data\n\n", [("", "")]),
        (b"data: one\ndata: two\ndata:\n\n", [("", "one\ntwo\n")]),
        (b": comment\ndata: a\n: another\n\n", [("", "a")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [("error", "a"), ("", "b")]),
        (b"event: ping\n\ndata: a\n\n", [("", "a")]),
        (b"id: 7\nretry: 9\nwhat: x\ndata: a\n\n", [("", "a")]),
        ("data: a\u2028b\u2029c\x85d\x0be\n\n".encode(), [("", "a\u2028b\u2029c\x85d\x0be")]),
        ("data: ü€😀\n\n".encode(), [("", "ü€😀")]),
        (b"data: \xff\n\n", [("", "\ufffd")]),
        (b"data: a\n\ndata: b\n", [("", "a"), ("", "b")]),
        (b"data: a\n\ndata: cut", [("", "a")]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_a_stream_is_read_however_it_is_cut(stream: bytes, expected: list[tuple[str, str]]) -> None:
    whole = read(stream)
    bytewise = read(*(stream[n : n + 1] for n in range(len(stream))))

    assert (expected, expected) == (whole, bytewise)


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)), st.data())
def test_any_text_in_any_cut_with_any_line_end_comes_through(texts: list[str], data: st.DataObject) -> None:
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    stream = b"".join(b"data: " + text.encode() + end + end for text in texts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert [("", text) for text in texts] == read(*chunks, finish=False)


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_in_any_cut_mean_the_same(chunks: list[bytes]) -> None:
    assert read(b"".join(chunks)) == read(*chunks)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: ", *[b"x" * 65536] * (LONGEST_EVENT // 65536 + 1)],
        [b"data: " + b"x" * 65536 + b"\n"] * (LONGEST_EVENT // 65536 + 1),
        [b"x" * (LONGEST_EVENT + 1)],
    ],
)
def test_an_event_without_end_is_refused(chunks: list[bytes]) -> None:
    with pytest.raises(MalformedResponse):
        read(*chunks)


def test_many_events_are_no_long_event() -> None:
    decoder = Decoder()
    chunk = (b"data: " + b"x" * 60_000 + b"\n\n") * 10

    events = sum(len(decoder.feed(chunk)) for _ in range(20))

    assert events == 200


def test_an_event_is_a_value() -> None:
    assert [ServerSentEvent(event="e", data="d")] == Decoder().feed(b"event: e\ndata: d\n\n")
