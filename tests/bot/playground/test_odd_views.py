"""Whatever is sent as a view, as its values or as the answer to it: a refusal at most, never an error of our own."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fake_slack.inputs import complaints, report, selections
from fake_slack.limits import check_view
from fake_slack.request_parsing import BadInput
from fake_slack.views import FAILURE, OpenViews
from tests.fakes.views import ASKS, FULL, OPTIONS, TABLE, field, home, modal

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        10**20,
        0.5,
        "",
        "x",
        "x" * 300,
        "\ud800",
        [],
        ["x"],
        [None],
        [[]],
        {},
        {"type": "x"},
        {"a": []},
    ]
)
RATING = {
    "type": "feedback_buttons",
    "action_id": "a",
    "positive_button": {"value": "up"},
    "negative_button": {"value": "down"},
}
ELEMENTS = [RATING, *(e for b in FULL["blocks"] for e in (b.get("element"), b.get("accessory")) if e)]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to each part of a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] * bool(at) + [path for name, part in inner for path in places(part, (*at, name))]


@st.composite
def spoilt(draw: st.DrawFn, value: Any) -> Any:
    """Return a value of which some parts are something odd, or missing."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        if not (paths := places(value)):
            break
        *way, last = draw(st.sampled_from(paths))
        holder = value
        for name in way:
            holder = holder[name]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[last]
        else:
            holder[last] = copy.deepcopy(draw(ODD))
    return value


views = st.one_of(spoilt(FULL), spoilt(home(TABLE, *FULL["blocks"][:6])), spoilt(modal(*FULL["blocks"][-5:])))


def opened(content: dict[str, Any], *, user: str = "U1") -> tuple[OpenViews, str]:
    shown = OpenViews(clock=lambda: 1000.0)
    return shown, shown.open(shown.issue_trigger(user, channel="C1"), content).id


@given(content=views)
@settings(deadline=None, max_examples=400)
def test_a_view_is_refused_or_works(content: dict[str, Any]) -> None:
    if check_view(content) or content["type"] != "modal":
        return
    shown, view_id = opened(content)
    view = shown.enter(shown.stack("U1")[0], {})
    shown.update(content, view_id=view_id)

    assert json.dumps([view.as_slack({}), shown.as_page("U1")])
    assert isinstance(complaints(view.blocks, view.state), dict)
    assert list(selections(view.blocks, view.state)) is not None


@given(
    raw=st.dictionaries(
        st.sampled_from(["why", "menu", "x"]), ODD | st.dictionaries(st.sampled_from(["why", "menu"]), ODD)
    )
)
@settings(deadline=None)
def test_values_are_entered_or_refused(raw: dict[str, Any]) -> None:
    menu = field("multi_static_select", name="menu", options=OPTIONS)
    shown, view_id = opened(modal(ASKS, menu))
    view = shown.find(view_id)
    assert view is not None
    try:
        view = shown.enter(view, raw)
    except BadInput:
        return

    assert set(view.state) == {"why", "menu"}
    assert isinstance(complaints(view.blocks, view.state), dict)


@given(element=st.sampled_from(ELEMENTS).flatmap(spoilt), raw=ODD)
def test_an_element_reports_a_value_or_nothing(element: dict[str, Any], raw: Any) -> None:
    action = report(element, raw, block_id="b", action_ts="1.1")

    assert action is None or action["block_id"] == "b"


ANSWERS = st.sampled_from(
    [
        {"response_action": "errors", "errors": {"why": "No"}},
        {"response_action": "update", "view": FULL},
        {"response_action": "push", "view": FULL},
        {"response_action": "clear"},
    ]
).flatmap(spoilt)


@given(answer=ANSWERS)
def test_an_answer_is_done_or_shown_as_a_failure(answer: dict[str, Any]) -> None:
    shown, view_id = opened(modal(ASKS))
    shown.answer(view_id, answer)
    stack = shown.stack("U1")

    assert json.dumps(shown.as_page("U1"))
    assert [view.failure for view in stack] in ([], [""], ["", ""], [FAILURE])
