"""What was sent for a question is saved once, also while other requests are on their way."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from bot.privacy.redaction import Redaction
from bot.privacy.sent_requests import MAX_SAVED, SentLog, load_sent, note_left_out
from bot.views.sent import interrupted_note, not_kept_note, sent_blocks
from perplexity.scope import logged_requests


def test_a_request_that_did_not_leave_after_all_hides_no_later_one() -> None:
    """As when one part of a deep dive is saved while the connection of the other is refused."""
    sent_log = SentLog()
    sent_log.add("a.example", "/run", "{}")
    refused = sent_log.add("b.example", "/posts", "{}")
    saved = sent_log.take() or ""
    sent_log.remove(refused)
    sent_log.add("c.example", "/posts", "{}")
    saved += sent_log.take() or ""

    assert {request.service for request in load_sent(saved).requests} >= {"a.example", "c.example"}
    assert sent_log.take() is None


def test_a_request_that_was_saved_twice_is_shown_once() -> None:
    """As when the connection breaks after the database has saved it."""
    sent_log = SentLog()
    line = sent_log.line(sent_log.add("a.example", "/run", "{}"))

    assert len(load_sent(line + line).requests) == 1


@pytest.mark.parametrize("length", [10, MAX_SAVED // 20, 2 * MAX_SAVED])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_of_many_long_requests_the_first_and_the_last_are_kept_and_the_others_counted(count: int, length: int) -> None:
    """As those of an agent, which repeat all that was said before."""
    sent_log = SentLog()
    for number in range(count):
        sent_log.add("a.example", f"/{number}", json.dumps(["x" * length]))
    saved = sent_log.take() or ""
    sent = load_sent(saved)

    kept = [int(request.path[1:]) for request in sent.requests]
    assert {0, count - 1} <= set(kept)
    assert kept == sorted(set(kept))
    assert len(kept) + sum(sent.not_kept.values()) == count
    assert len(saved) < MAX_SAVED + 2 * (length + 200)
    if count * length < MAX_SAVED:
        assert sent.not_kept == {}


def test_what_was_sent_says_how_many_are_not_kept_and_numbers_the_others() -> None:
    sent_log = SentLog()
    for number in range(40):
        sent_log.add("a.example", f"/{number}", json.dumps(["x" * (MAX_SAVED // 4) if 0 < number < 39 else "why"]))
    shown = json.dumps(sent_blocks(load_sent(sent_log.take() or ""), interrupted=1), ensure_ascii=False)

    assert "40 requests" in shown
    assert interrupted_note(1) in shown
    assert "*1. a.example*" in shown
    sent_log = SentLog()
    for number in range(9):
        sent_log.add("a.example", f"/{number}", json.dumps("why"))
    sent = load_sent((sent_log.take() or "").replace('"at":', '"not_kept": 5, "at":', 1))
    shown = json.dumps(sent_blocks(sent), ensure_ascii=False)
    assert not_kept_note(5) in shown
    assert "*7. a.example*" in shown
    assert "*14. a.example*" in shown


def test_what_a_later_part_left_out_hides_nothing_of_an_earlier_one() -> None:
    """As of a message whose claims are checked: its text has more than the claims that were kept."""
    saved = ""
    for people in (("anna", "bert"), ("anna",)):
        sent_log = SentLog()
        sent_log.add("a.example", "/", "{}")
        with logged_requests(sent_log):
            note_left_out([Redaction("email", f"{person}@example.com") for person in people])
        saved += sent_log.take() or ""

    assert load_sent(saved).left_out == {"email": 2}


def test_of_what_was_saved_before_it_left_only_what_did_not_leave_is_replaced() -> None:
    sent_log = SentLog()
    saved = [sent_log.add("a.example", f"/{number}", json.dumps("why")) for number in range(3)]
    ids = [uuid4() for _ in saved]
    sent_log.kept += zip(saved, ids, strict=True)
    sent_log.add("b.example", "/not-saved", json.dumps("why"))
    sent_log.remove(saved[1])

    assert [load_sent(sent_log.line(one)).requests for one in saved] == [(one,) for one in saved]
    sent, replaced = sent_log.take_all()
    assert [one.path for one in load_sent(sent or "").requests] == ["/not-saved"]
    assert replaced == [ids[1]]


def test_very_long_requests_that_were_saved_before_they_left_are_replaced_by_fewer() -> None:
    sent_log = SentLog()
    for number in range(9):
        request = sent_log.add("a.example", f"/{number}", json.dumps("x" * (MAX_SAVED // 4)))
        sent_log.kept.append((request, uuid4()))
    ids = [saved_as for _, saved_as in sent_log.kept]

    text, replaced = sent_log.take_all()
    sent = load_sent(text or "")
    assert replaced == ids
    assert len(sent.requests) + sum(sent.not_kept.values()) == 9
    assert len(text or "") < 2 * MAX_SAVED
