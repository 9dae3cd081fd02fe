"""What was sent for a question is saved once, also while other requests are on their way."""

from __future__ import annotations

from bot.privacy.outgoing import Outgoing, load_sent


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
