"""What a stream shows, from whatever its calls contain."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fake_slack.limits import SlackError, check_blocks
from fake_slack.request_parsing import BadInput
from fake_slack.streams import Stream, read_content

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
blocks = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["markdown", "section", "task_card", "plan", "divider"]) | json_values,
            "text": json_values,
            "tasks": json_values,
            "title": json_values,
        },
    )
    | json_values,
    max_size=3,
)
odd = st.fixed_dictionaries(
    {"type": st.sampled_from(["markdown_text", "task_update", "plan_update", "blocks"]) | json_values},
    optional={
        "text": json_values,
        "id": json_values,
        "title": json_values,
        "status": st.just("complete") | json_values,
        "details": json_values,
        "sources": json_values,
        "blocks": blocks,
    },
)
texts = st.builds(lambda text: {"type": "markdown_text", "text": text}, st.text(min_size=1, max_size=20))
titles = st.text(min_size=1, max_size=20)
tasks = st.builds(
    lambda name, title, status: {"type": "task_update", "id": name, "title": title, "status": status},
    st.sampled_from("12"),
    titles,
    st.sampled_from(["in_progress", "complete", "error"]),
)
plans = st.builds(lambda title: {"type": "plan_update", "title": title}, titles)
dividers = st.just({"type": "blocks", "blocks": [{"type": "divider"}]})
good = st.lists(texts | tasks | plans | dividers, max_size=8)
displays = st.sampled_from(["timeline", "plan"])


@given(
    chunks=st.lists(odd, max_size=4) | json_values,
    more=st.fixed_dictionaries({}, optional={"markdown_text": json_values}),
    display=displays,
)
def test_odd_content_is_refused_or_shown(chunks: Any, more: dict[str, Any], display: str) -> None:
    try:
        stream = Stream(started=0.0, display=display).grown(read_content({"chunks": chunks} | more))
        stream.check()
    except (SlackError, BadInput):
        return
    assert check_blocks(stream.blocks(), ()) == []


@given(chunks=good, at=st.integers(0, 8), display=displays)
def test_a_stream_shows_the_same_however_its_chunks_are_split_into_calls(
    chunks: list[dict[str, Any]], at: int, display: str
) -> None:
    whole = Stream(started=0.0, display=display).grown(read_content({"chunks": chunks}))
    parts = Stream(started=0.0, display=display)
    for part in (chunks[:at], chunks[at:]):
        parts = parts.grown(read_content({"chunks": part}))

    assert (parts.blocks(), parts.text, parts.markdown) == (whole.blocks(), whole.text, whole.markdown)
    assert parts.markdown == "".join(chunk.get("text", "") for chunk in chunks)
