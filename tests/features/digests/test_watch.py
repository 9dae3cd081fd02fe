"""`/pplx watch`: what is typed, what the digest service gets, who sees it."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from functools import partial
from typing import cast
from uuid import UUID

import pytest

from bot.errors import UsageError
from bot.features.digests.model import AlreadyRunning, Digest, DigestAction, DigestNotFound, DigestSpec, Owner
from bot.features.digests.service import DigestService
from bot.features.digests.surface import WATCH, WAYS_ON, ChangeDigest, ListDigests, WatchRequest, answer, parse
from bot.model.message import Audience
from bot.model.schedule import WEEKDAYS, Schedule
from tests.fakes.commands import command_context
from tests.fakes.provider import FakeProvider
from tests.fakes.rows import row
from tests.features.digests.fake_service import FakeDigests

OWNER = Owner(team_id="T1", user_id="U1")
WISH = DigestSpec(
    category="technology",
    topic="open source databases",
    schedule=Schedule(days=WEEKDAYS, at=time(9), zone=""),
    report_empty_on=frozenset({0, 4}),
)
TYPED = '--always mon, fri technology "open source databases" weekdays 9:00'


@pytest.mark.parametrize(
    ("typed", "request_"),
    [
        (TYPED, WISH),
        ("technology “open source databases” weekdays 9:00 —always fri,mon", WISH),
        (f"{TYPED} --zone Asia/Tokyo", replace(WISH, schedule=replace(WISH.schedule, zone="Asia/Tokyo"))),
        ("list", ListDigests()),
        ("LIST", ListDigests()),
        ("pause 2", ChangeDigest(action=DigestAction.PAUSE, number=2)),
        ("Resume #2", ChangeDigest(action=DigestAction.RESUME, number=2)),
        ("delete 12", ChangeDigest(action=DigestAction.DELETE, number=12)),
        ("run 1", ChangeDigest(action=DigestAction.RUN, number=1)),
    ],
)
def test_text_is_parsed_as(typed: str, request_: WatchRequest) -> None:
    assert parse(typed) == request_


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("pause", "Which digest? `pause` takes a number, such as `pause 2`; `list` shows them."),
        ("pause two", "`two` isn’t a digest number. `pause` takes a number, such as `pause 2`; `list` shows them."),
        ("run 1 2", "`1 2` isn’t a digest number. `run` takes a number, such as `run 2`; `list` shows them."),
        ("delete ²", "`²` isn’t a digest number. `delete` takes a number, such as `delete 2`; `list` shows them."),
        ("list all", "Type `list` without any text after it."),
        ("tech 9:00 --public", "`--public` is not for digests: they are posted where you set them up."),
        (
            "tech --always mon",
            f"At what time of day? Put it at the end, such as `9:00`, `17:30` or `9am`. {WAYS_ON}",
        ),
        ("tech 9:00 --zone Berlin", "`--zone` cannot be `Berlin`. It takes a time zone such as Europe/Berlin."),
    ],
)
def test_a_usage_error_names_what_is_allowed(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(typed)

    assert caught.value.problem == problem


async def reply_text(typed: str, digests: FakeDigests) -> str:
    """Run the command and return the text of its message."""
    context, watch = (
        command_context(FakeProvider("P"), row=row(id=UUID(int=9))),
        replace(WATCH, answer=partial(answer, digests=cast("DigestService", digests))),
    )
    request = watch.parse(typed)
    (message,) = watch.render(await watch.answer(request, context), request, watch.audience(request)).messages
    return message.text


async def test_a_digest_is_created_for_the_asker_in_the_channel() -> None:
    digests = FakeDigests()
    text = await reply_text(TYPED, digests)

    assert "Digest 1 (Technology: open source databases) is set up." in text
    assert digests.digests == [Digest(id=UUID(int=9), number=1, owner=OWNER, channel_id="C1", spec=WISH)]
    assert "open source databases" in await reply_text("list", digests)


async def test_a_change_is_applied_for_the_asker() -> None:
    digests = FakeDigests(outcome=DigestNotFound(number=2))

    assert await reply_text("pause 2", digests) == "You have no digest 2. You have none."
    assert digests.calls == [(DigestAction.PAUSE, 2, OWNER, str(UUID(int=9)))]
    digests.outcome = AlreadyRunning(digest=Digest(id=UUID(int=1), number=3, owner=OWNER, channel_id="C1", spec=WISH))
    assert await reply_text("run 3", digests) == "Digest 3 (Technology: open source databases) is already running."


@pytest.mark.parametrize("typed", [TYPED, "list", "run 1"])
def test_only_the_asker_sees_it(typed: str) -> None:
    assert WATCH.audience(WATCH.parse(typed)) is Audience.ASKER
