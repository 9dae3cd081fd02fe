"""What the stand-ins for Slack and for the providers remember, as the judge wants it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.chaos.judge import Booking, Call, Charge, Copy, Shows
from tests.fakes.service import Served
from tests.fakes.slack import FakeSlack, Post

ID = re.compile(r"\bzq\d{5}\b")
"""What every question's text holds, and its person, its response_url and its message are called."""

PENDING_PHRASES = ("Searching the ", "*One moment…*")
UNAVAILABLE_PHRASES = ("reach my database",)


def copies(slack: FakeSlack, places: dict[str, str]) -> Iterator[Copy]:
    """Yield what was posted by response_urls, and what is in conversations at the end.

    `places` are the questions by the `ts` of the message that asked them.
    """
    for post in slack.posts:
        if post.method == "response_url":
            yield Copy(
                question=post.payload["token"],
                shows=shows(post.payload),
                at=post.at,
                by_response_url=True,
                acknowledged=post.acknowledged,
                words=visible_text(post.payload),
            )
    changed = _last_changes(slack.posts)
    for (channel, ts), message in slack.shown.items():
        question = places.get(message.get("thread_ts") or "") or _person_of(channel)
        if question is not None:
            yield Copy(
                question=question,
                shows=shows(message),
                at=changed.get((channel, ts), 0.0),
                direct=channel.startswith("D"),
                words=visible_text(message),
            )


def calls(served: Iterable[Served], *, provider: str) -> Iterator[Call]:
    """Yield the calls that were made for a question. A call that never ended hung; that is the provider's failure."""
    for one in served:
        found = ID.search(one.content)
        if found is not None:
            yield Call(
                question=found[0],
                provider=provider,
                process=calling_process(one),
                began=one.began,
                ended=one.began if one.ended is None else one.ended,
                failed=one.failed or one.ended is None,
            )


def charges(served: Iterable[Served]) -> Iterator[Charge]:
    """Yield what a provider charges for questions."""
    for one in served:
        if one.charged:
            found = ID.search(one.content)
            yield Charge(question=found[0] if found else "", amount=one.charged)


BOOKINGS = """
    SELECT coalesce(q.text, ''), coalesce(l.cost, l.reserved), l.state IN ('cut', 'reserved')
    FROM ledger l LEFT JOIN questions q ON q.id = l.question_id WHERE l.state <> 'released'
"""
"""The ledger; what is still reserved at the end belongs to a process that died."""


def bookings(rows: Iterable[tuple[object, ...]]) -> Iterator[Booking]:
    """Yield the rows of the ledger."""
    for text, amount, cut in rows:
        found = ID.search(str(text))
        yield Booking(question=found[0] if found else "", amount=int(str(amount)), cut=bool(cut))


def calling_process(served: Served) -> str:
    """Return which process made a call: its name is the last word of its user agent."""
    return served.headers.get("User-Agent", "").rpartition(" ")[2]


def shows(message: dict[str, Any]) -> Shows:
    """Return what a message is to its reader."""
    seen = visible_text(message)
    if "retry" in _actions(message):
        return Shows.FAILURE
    if any(phrase in seen for phrase in UNAVAILABLE_PHRASES):
        return Shows.OTHER
    if "stop" in _actions(message) or any(phrase in seen for phrase in PENDING_PHRASES):
        return Shows.WAITING
    return Shows.FAILURE if "Sorry" in seen else Shows.ANSWER


def visible_text(message: dict[str, Any]) -> str:
    """Return everything a reader sees, as one string."""
    return json.dumps(message.get("blocks") or message.get("text"), ensure_ascii=False)


def _actions(message: dict[str, Any]) -> set[str]:
    blocks = message.get("blocks") or []
    return {element.get("action_id", "") for block in blocks for element in block.get("elements", [])}


def _last_changes(posts: Iterable[Post]) -> dict[tuple[str, str], float]:
    """Return when each message of a conversation was last changed; ephemeral messages are left out."""
    lasting = (post for post in posts if {"channel", "ts"} <= post.payload.keys())
    return {(post.payload["channel"], post.payload["ts"]): post.at for post in lasting}


def _person_of(channel: str) -> str | None:
    """Return whose direct messages a channel holds."""
    found = ID.search(channel.lower().removeprefix("du"))
    return found[0] if found else None
