"""What was sent for a question is saved once, also while other requests are on their way."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from bot.blocks.sent import interrupted_note, not_kept_note, sent_blocks
from bot.privacy.outgoing import MAX_SAVED, Outgoing, load_sent, note_left_out, recorded
from bot.privacy.redaction import LeftOut


def test_a_request_that_did_not_leave_after_all_hides_no_later_one() -> None:
    """As when one part of a deep dive is saved while the connection of the other is refused."""
    outgoing = Outgoing()
    outgoing.log.add("a.example", "/run", "{}")
    refused = outgoing.log.add("b.example", "/posts", "{}")
    saved = outgoing.take() or ""
    outgoing.log.remove(refused)
    outgoing.log.add("c.example", "/posts", "{}")
    saved += outgoing.take() or ""

    assert {request.service for request in load_sent(saved).requests} >= {"a.example", "c.example"}
    assert outgoing.take() is None


def test_a_request_that_was_saved_twice_is_shown_once() -> None:
    """As when the connection breaks after the database has saved it."""
    outgoing = Outgoing()
    line = outgoing.line(outgoing.log.add("a.example", "/run", "{}"))

    assert len(load_sent(line + line).requests) == 1


@pytest.mark.parametrize("length", [10, MAX_SAVED // 20, 2 * MAX_SAVED])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_of_many_long_requests_the_first_and_the_last_are_kept_and_the_others_counted(count: int, length: int) -> None:
    """As those of an agent, which repeat all that was said before."""
    outgoing = Outgoing()
    for number in range(count):
        outgoing.log.add("a.example", f"/{number}", json.dumps(["x" * length]))
    saved = outgoing.take() or ""
    sent = load_sent(saved)

    kept = [int(request.path[1:]) for request in sent.requests]
    assert {0, count - 1} <= set(kept)
    assert kept == sorted(set(kept))
    assert len(kept) + sum(sent.not_kept.values()) == count
    assert len(saved) < MAX_SAVED + 2 * (length + 200)
    if count * length < MAX_SAVED:
        assert sent.not_kept == {}


def test_what_was_sent_says_how_many_are_not_kept_and_numbers_the_others() -> None:
    outgoing = Outgoing()
    for number in range(40):
        outgoing.log.add("a.example", f"/{number}", json.dumps(["x" * (MAX_SAVED // 4) if 0 < number < 39 else "why"]))
    shown = json.dumps(sent_blocks(load_sent(outgoing.take() or ""), interrupted=1), ensure_ascii=False)

    assert "40 requests" in shown
    assert interrupted_note(1) in shown
    assert "*1. a.example*" in shown
    outgoing = Outgoing()
    for number in range(9):
        outgoing.log.add("a.example", f"/{number}", json.dumps("why"))
    sent = load_sent((outgoing.take() or "").replace('"at":', '"not_kept": 5, "at":', 1))
    shown = json.dumps(sent_blocks(sent), ensure_ascii=False)
    assert not_kept_note(5) in shown
    assert "*7. a.example*" in shown
    assert "*14. a.example*" in shown


def test_what_a_later_part_left_out_hides_nothing_of_an_earlier_one() -> None:
    """As of a message whose claims are checked: its text has more than the claims that were kept."""
    saved = ""
    for people in (("anna", "bert"), ("anna",)):
        outgoing = Outgoing()
        outgoing.log.add("a.example", "/", "{}")
        with recorded(outgoing):
            note_left_out([LeftOut("email", f"{person}@example.com") for person in people])
        saved += outgoing.take() or ""

    assert load_sent(saved).left_out == {"email": 2}


def test_of_what_was_saved_before_it_left_only_what_did_not_leave_is_replaced() -> None:
    outgoing = Outgoing()
    saved = [outgoing.log.add("a.example", f"/{number}", json.dumps("why")) for number in range(3)]
    ids = [uuid4() for _ in saved]
    outgoing.kept += zip(saved, ids, strict=True)
    outgoing.log.add("b.example", "/not-saved", json.dumps("why"))
    outgoing.log.remove(saved[1])

    assert [load_sent(outgoing.line(one)).requests for one in saved] == [(one,) for one in saved]
    sent, replaced = outgoing.take_all()
    assert [one.path for one in load_sent(sent or "").requests] == ["/not-saved"]
    assert replaced == [ids[1]]


def test_very_long_requests_that_were_saved_before_they_left_are_replaced_by_fewer() -> None:
    outgoing = Outgoing()
    for number in range(9):
        request = outgoing.log.add("a.example", f"/{number}", json.dumps("x" * (MAX_SAVED // 4)))
        outgoing.kept.append((request, uuid4()))
    ids = [saved_as for _, saved_as in outgoing.kept]

    text, replaced = outgoing.take_all()
    sent = load_sent(text or "")
    assert replaced == ids
    assert len(sent.requests) + sum(sent.not_kept.values()) == 9
    assert len(text or "") < 2 * MAX_SAVED
