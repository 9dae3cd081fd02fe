"""The judge sees what is wrong: each figure from a log in which it is so, and from one in which it only looks so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.judge import (
    Call,
    Copy,
    Delivery,
    Interruption,
    NoticeKind,
    QuestionRecord,
    Run,
    Shows,
    faults,
    judge,
    left_running,
)

Q = "zq00001"


def asked(*notices: NoticeKind, surface: str = "ask", seconds: float = 0.1, **more: Any) -> QuestionRecord:
    deliveries = [Delivery(at=10.0, seconds=seconds, notice=one) for one in notices or (NoticeKind.TAKEN,)]
    return QuestionRecord(id=Q, surface=surface, deliveries=deliveries, **more)


def copy(at: float = 12.0, *, shows: Shows = Shows.ANSWER, **more: Any) -> Copy:
    return Copy(question=Q, shows=shows, at=at, **({"by_response_url": True} | more))


def call(began: float, ended: float, process: str = "worker1", **more: Any) -> Call:
    return Call(question=Q, provider=str(more.pop("provider", "perplexity")), process=process, began=began, ended=ended,
                **more)  # fmt: skip


def killed(at: float, process: str = "worker1") -> Interruption:
    return Interruption(process=process, began=at, ended=at)


def test_a_working_setup_has_no_problems() -> None:
    figures = judge([asked()], [copy(shows=Shows.WAITING), copy()], [call(11, 12)])

    assert (figures.n, figures.taken, figures.copies) == (1, 1, 1)
    assert faults(figures) == []


@pytest.mark.parametrize(
    ("question", "copies", "lost"),
    [
        (asked(), [], True),
        (asked(), [copy(shows=Shows.WAITING, by_response_url=False)], True),
        (asked(), [copy(shows=Shows.OTHER, by_response_url=False)], True),
        (asked(NoticeKind.NOTHING, NoticeKind.TAKEN), [], True),
        (asked(seconds=3.5), [], True),
        (asked(again=True), [], True),
        (asked(), [copy(shows=Shows.FAILURE)], False),
        (asked(NoticeKind.REFUSED), [], False),
        (asked(NoticeKind.MAYBE), [], False),
        (asked(NoticeKind.NOTHING), [], False),
    ],
)
def test_lost_is_what_was_taken_and_shows_nothing_at_the_end(
    question: QuestionRecord, copies: list[Copy], lost: bool
) -> None:
    figures = judge([question], copies, [])

    assert figures.lost == ([Q] if lost else [])
    assert any("lost" in fault for fault in faults(figures)) is lost


def test_another_question_s_answer_is_not_this_one_s() -> None:
    assert judge([asked()], [replace(copy(), question="zq00002")], []).lost == [Q]


DIRECT = copy(30, by_response_url=False, direct=True)


@pytest.mark.parametrize(
    ("copies", "interruptions", "doubled", "excused"),
    [
        ([copy(12), copy(20)], [], True, False),
        ([copy(12), copy(20, shows=Shows.FAILURE)], [], True, False),
        ([copy(12, by_response_url=False), copy(20, by_response_url=False)], [], True, False),
        ([copy(12), copy(20, by_response_url=False, direct=True)], [], True, False),
        ([copy(12, acknowledged=False), copy(20)], [], False, True),
        ([copy(12, acknowledged=False), copy(20, acknowledged=False), copy(30)], [], True, False),
        ([copy(12, acknowledged=False), copy(20, acknowledged=False), DIRECT], [], False, True),
        ([copy(12), copy(20), DIRECT], [killed(12.1), killed(20.1)], False, True),
        ([copy(12), copy(20), DIRECT], [killed(12.1)], True, False),
        ([copy(12), copy(20), DIRECT], [killed(20.1)], True, False),
        ([copy(12, acknowledged=False), copy(20, by_response_url=False), DIRECT], [], True, False),
        ([copy(12, by_response_url=False, acknowledged=False), copy(20)], [], True, False),
        ([copy(12), copy(20)], [killed(12.1)], False, True),
        ([copy(12), copy(20)], [killed(15)], True, False),
        ([copy(12), copy(20)], [killed(21)], True, False),
        ([copy(12), copy(12.2)], [killed(12.9)], True, False),
        ([copy(12), copy(20)], [Interruption(process="worker1", began=11.5, ended=19)], False, True),
        ([copy(12, shows=Shows.WAITING), copy(20)], [], False, False),
    ],
)
def test_doubled_is_an_outcome_more_than_once_and_excused_is_a_cut_post(
    copies: list[Copy], interruptions: list[Interruption], doubled: bool, excused: bool
) -> None:
    figures = judge([asked()], copies, [], interruptions)

    assert (figures.doubled, figures.doubled_excused) == ([Q] if doubled else [], [Q] if excused else [])
    assert any("doubled" in fault for fault in faults(figures)) is doubled


@pytest.mark.parametrize(
    ("calls", "interruptions", "twice", "excused"),
    [
        ([call(11, 12), call(20, 21)], [], True, False),
        ([call(11, 12, failed=True), call(12, 13)], [], False, False),
        ([call(11, 12, failed=True), call(12, 13), call(20, 21)], [], True, False),
        ([call(11, 12), call(12, 13, provider="brave")], [], False, False),
        ([call(11, 12), call(20, 21, "worker2")], [killed(11.5)], False, True),
        ([call(11, 12), call(20, 21, "worker2")], [killed(12.5)], False, True),
        ([call(11, 12), call(20, 21, "worker2")], [killed(14)], True, False),
        ([call(11, 12), call(20, 21, "worker2")], [killed(11.5, "worker2")], True, False),
        ([call(11, 12), call(11.2, 12, "worker2")], [killed(11.5)], True, False),
        ([call(11, 12), call(20, 21, "worker2")], [Interruption(process="worker1", began=11.5, ended=30)], False, True),
        ([call(11, 12), call(20, 21, "worker2"), call(30, 31)], [killed(11.5)], True, False),
        ([call(11, 12), call(20, 21, "worker2"), call(30, 31)], [killed(11.5), killed(21, "worker2")], False, True),
    ],
)
def test_paid_twice_is_asked_again_and_excused_is_a_call_in_flight_at_a_process_that_died(
    calls: list[Call], interruptions: list[Interruption], twice: bool, excused: bool
) -> None:
    figures = judge([asked()], [copy()], calls, interruptions)

    assert (figures.paid_twice, figures.paid_twice_excused) == ([Q] if twice else [], [Q] if excused else [])
    assert any("paid twice" in fault for fault in faults(figures)) is twice


@pytest.mark.parametrize(
    ("interruptions", "known", "left"),
    [
        ([], {}, True),
        ([], {"over": True}, False),
        ([], {"kept": True}, True),
        ([killed(11.5)], {}, False),
        ([killed(12.5)], {}, False),
        ([killed(14)], {}, True),
        ([replace(killed(14), margin=2.5)], {}, False),
        ([killed(10.5)], {}, True),
        ([Interruption(process="worker1", began=10.5, ended=11.1)], {}, False),
        ([killed(11.5, "worker2")], {}, True),
        ([killed(11.5)], {"kept": True}, True),
    ],
)
def test_a_run_goes_on_for_no_one_unless_its_id_died_with_the_process_that_was_beginning_it(
    interruptions: list[Interruption], known: dict[str, bool], left: bool
) -> None:
    run = Run(id="resp_1", begun=call(11, 12), **known)

    assert left_running([run], interruptions) == ([run] if left else [])


@pytest.mark.parametrize(
    ("question", "copies", "refused", "false"),
    [
        (asked(NoticeKind.REFUSED), [], 1, False),
        (asked(NoticeKind.REFUSED), [copy()], 1, True),
        (asked(NoticeKind.MAYBE), [copy()], 0, False),
        (asked(NoticeKind.REFUSED, NoticeKind.TAKEN), [copy()], 0, False),
        (asked(NoticeKind.NOTHING), [copy()], 1, False),
        (asked(NoticeKind.REFUSED, surface="mention"), [copy(by_response_url=False)], 0, False),
        (asked(NoticeKind.REFUSED, surface="mention"), [], 1, False),
    ],
)
def test_a_refusal_is_false_when_the_question_is_answered(
    question: QuestionRecord, copies: list[Copy], refused: int, false: bool
) -> None:
    figures = judge([question], copies, [])

    assert (figures.refused, figures.false_refusals) == (refused, [Q] if false else [])
    assert any("but answered" in fault for fault in faults(figures)) is false


def test_a_refusal_fails_only_where_nothing_may_be_refused() -> None:
    figures = judge([asked(NoticeKind.REFUSED)], [], [])

    assert faults(figures) == []
    assert faults(figures, may_refuse=False) == ["1 refused"]


def test_an_ack_after_three_seconds_fails_and_so_does_none_from_a_process_that_lives() -> None:
    late = judge([asked(seconds=3.2)], [copy()], [])
    none = judge([asked(NoticeKind.NOTHING, seconds=4.0)], [], [])

    assert faults(late) == ["1 acks late or missing", "slowest ack 3.2 s"]
    assert faults(none) == ["1 acks late or missing"]
    assert faults(none, may_be_late=True) == []


SAYING_SO = f"Sent as a direct message, 2 h late. You asked: {Q}"


@pytest.mark.parametrize(
    ("words", "unsaid", "late_unsaid"),
    [
        (SAYING_SO, False, False),
        (SAYING_SO.replace(Q, ""), True, False),
        (SAYING_SO.replace(", 2 h late", ""), False, True),
        (f"Example answer {Q}", True, True),
    ],
)
def test_an_answer_that_became_a_direct_message_says_so_and_how_late_it_is(
    words: str, unsaid: bool, late_unsaid: bool
) -> None:
    answer = copy(by_response_url=False, direct=True, words=words)
    figures = judge([asked(late=7200.0)], [answer], [])

    assert (figures.direct, figures.late_direct) == (1, 1)
    assert (bool(figures.direct_unsaid), bool(figures.late_unsaid)) == (unsaid, late_unsaid)
    assert bool(faults(figures)) is (unsaid or late_unsaid)


def test_an_answer_in_a_direct_message_to_one_is_where_it_belongs() -> None:
    figures = judge([asked(surface="im")], [copy(by_response_url=False, direct=True)], [])

    assert (figures.direct, faults(figures)) == (0, [])


def test_a_question_that_only_looks_whether_the_app_is_back_is_not_counted_but_judged() -> None:
    figures = judge([asked(again=True)], [copy(12), copy(20)], [call(11, 12), call(20, 21)])

    assert (figures.n, figures.doubled, figures.paid_twice) == (0, [Q], [Q])
