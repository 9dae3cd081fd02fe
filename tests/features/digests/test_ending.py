"""Digests that can be posted no more, through the whole app: they stop, cost nothing more, and someone is told why."""

from __future__ import annotations

import pytest

from tests.driver import Driver, rows
from tests.fakes.news_answers import BUDGET, PLANT, VOLCANO
from tests.fakes.slack import Fault, refusal
from tests.features.digests.test_digests import channel_posts, clicks, create_watch, directly, run


def direct_messages(harness: Driver) -> list[str]:
    """Return what the owner reads, that a digest has stopped before what it tells."""
    return sorted((post.shown_text for post in directly(harness)), key=lambda words: BUDGET in words or PLANT in words)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("not_in_channel", "I’m not in its channel"),
        ("channel_not_found", "I’m not in its channel"),
        ("is_archived", "Its channel is archived."),
        ("restricted_action_read_only_channel", "don’t let me post in its channel"),
        ("ekm_access_denied", "don’t let me post in its channel"),
        ("missing_scope", "calls the reason “missing_scope”"),
    ],
)
async def test_a_digest_of_a_closed_channel_stops_and_its_owner_is_notified(
    harness: Driver, database: str, error: str, reason: str
) -> None:
    await create_watch(harness)
    harness.slack.fail("chat.postMessage", refusal(error))
    await run(harness, BUDGET, settled=4, trigger="t2")

    notice, news = direct_messages(harness)
    assert "has stopped" in notice
    assert reason in notice
    assert "/pplx watch resume 1" in notice
    assert BUDGET in news
    assert await rows(database, "SELECT state, next_at FROM digests") == [("stopped", None)]


async def test_a_digest_in_a_direct_message_between_others_asks_for_no_invitation(
    harness: Driver, database: str
) -> None:
    await create_watch(harness)
    await rows(database, "UPDATE digests SET channel_id = 'DU7' RETURNING 1")
    harness.slack.fail("chat.postMessage", refusal("channel_not_found"))
    await run(harness, BUDGET, settled=4, trigger="t2")

    notice, _ = direct_messages(harness)
    assert "I can’t post in a direct message that I’m not part of." in notice
    assert "/invite" not in notice


async def test_a_digest_speaks_its_channel_s_language__and_what_its_owner_is_told_theirs(harness: Driver) -> None:
    harness.slack.workspace.profiles["U1"] = {"locale": "de-DE"}
    await create_watch(harness)
    await run(harness, BUDGET, settled=3, trigger="t2")
    assert "1 new story" in channel_posts(harness)[-1].shown_text

    await harness.execute("INSERT INTO channel_settings VALUES ('T1', 'C1', '{\"language\": \"de\"}', 'U1')")
    await run(harness, PLANT, settled=5, trigger="t3")
    assert "1 neue Meldung seit " in channel_posts(harness)[-1].shown_text

    await harness.execute("DELETE FROM channel_settings")
    harness.perplexity.fail("/v1/agent", status=401, body={"error": {"message": "no", "type": "invalid_api_key"}})
    await harness.ask("/pplx watch run 1", trigger="t4")
    await harness.wait_until_settled(7)
    assert "Der Überblick „Welt: europe“ ist diesmal fehlgeschlagen." in directly(harness)[-1].shown_text

    harness.slack.fail("chat.postMessage", refusal("is_archived"))
    await run(harness, VOLCANO, settled=10, trigger="t5")
    notice, *_ = [words for words in direct_messages(harness) if "Sein Channel ist archiviert." in words]
    assert "Überblick 1 (Welt: europe) ist gestoppt." in notice


async def test_the_owner_is_notified_although_slack_is_busy_for_a_moment(harness: Driver) -> None:
    await create_watch(harness)
    busy = Fault(status=429, headers={"Retry-After": "0"})
    harness.slack.fail("chat.postMessage", refusal("is_archived"), busy, busy, busy)
    await run(harness, BUDGET, settled=4, trigger="t2")

    notice, news = direct_messages(harness)
    assert "has stopped" in notice
    assert BUDGET in news


async def test_one_that_is_wanted_while_it_is_paused_says_why_it_is_not_posted(harness: Driver, database: str) -> None:
    await create_watch(harness)
    await run(harness, BUDGET, settled=3, trigger="t2")
    await clicks(harness, "pause")
    harness.slack.fail("chat.postMessage", refusal("is_archived"))
    await run(harness, PLANT, settled=6, trigger="t3")

    notice, news = direct_messages(harness)
    assert "couldn’t be posted in its channel*, so here it is. Its channel is archived." in notice
    assert PLANT in news
    assert await rows(database, "SELECT state FROM digests") == [("paused",)]


async def test_one_that_is_wanted_after_it_stopped_says_again_why_it_is_not_posted(harness: Driver) -> None:
    await create_watch(harness)
    harness.slack.fail("chat.postMessage", refusal("is_archived"))
    await run(harness, BUDGET, settled=4, trigger="t2")
    harness.slack.fail("chat.postMessage", refusal("is_archived"))
    await run(harness, PLANT, settled=7, trigger="t3")

    notices = [words for words in direct_messages(harness) if "Its channel is archived." in words]
    assert len(notices) == 2


async def test_a_digest_whose_owner_left_is_deleted_without_a_call_and_the_channel_is_notified(
    harness: Driver, database: str
) -> None:
    await create_watch(harness)
    harness.slack.workspace.left.add("U1")
    await harness.ask("/pplx watch run 1", trigger="t2")
    await harness.wait_until_settled(4)

    assert await rows(database, "SELECT FROM digests") == []
    assert harness.perplexity.requests == []
    (post,) = channel_posts(harness)
    assert "The digest “World: europe” has ended." in post.shown_text
    assert "The account of the person who set it up is closed." in post.shown_text
    assert directly(harness) == []


async def test_a_digest_whose_owner_left_the_channel_stops_without_a_call_and_its_owner_is_notified(
    harness: Driver, database: str
) -> None:
    await create_watch(harness)
    harness.slack.workspace.members_of["C1"].remove("U1")
    await run(harness, BUDGET, settled=4, trigger="t2")

    assert await rows(database, "SELECT state, next_at FROM digests") == [("stopped", None)]
    assert harness.perplexity.requests == []
    (notice,) = direct_messages(harness)
    assert "*Digest 1 (World: europe) has stopped.* You’re no longer in its channel." in notice
    assert "`/pplx watch resume 1` resumes it." in notice
    assert channel_posts(harness) == []


async def test_a_digest_continues_when_its_owner_rejoins_the_channel(harness: Driver, database: str) -> None:
    await create_watch(harness)
    harness.slack.workspace.members_of["C1"].remove("U1")
    await run(harness, BUDGET, settled=4, trigger="t2")
    harness.slack.workspace.members_of["C1"].append("U1")
    await harness.ask("/pplx watch resume 1", trigger="t3")
    await harness.wait_until_settled(5)
    assert await rows(database, "SELECT state, next_at > now() FROM digests") == [("active", True)]

    await run(harness, BUDGET, settled=7, trigger="t4")
    assert BUDGET in channel_posts(harness)[0].shown_text


async def test_one_that_is_wanted_while_it_is_paused_says_why_it_is_not_made(harness: Driver, database: str) -> None:
    await create_watch(harness)
    await harness.ask("/pplx watch pause 1", trigger="t2")
    await harness.wait_until_settled(2)
    harness.slack.workspace.members_of["C1"].remove("U1")
    await run(harness, BUDGET, settled=5, trigger="t3")

    (notice,) = direct_messages(harness)
    assert "*Digest 1 (World: europe) was skipped.* You’re no longer in its channel." in notice
    assert await rows(database, "SELECT state FROM digests") == [("paused",)]
    assert harness.perplexity.requests == []


async def test_a_digest_goes_on_without_its_owner_where_the_app_may_not_see_members(harness: Driver) -> None:
    harness.slack.workspace.scopes.remove("channels:read")
    await create_watch(harness)
    harness.slack.workspace.members_of["C1"].remove("U1")
    await run(harness, BUDGET, settled=3, trigger="t2")

    assert BUDGET in channel_posts(harness)[0].shown_text
    assert directly(harness) == []


async def test_a_digest_calls_no_provider_while_the_app_is_not_installed(harness: Driver, database: str) -> None:
    await create_watch(harness)
    harness.slack.fail("users.info", refusal("account_inactive"))
    await harness.ask("/pplx watch run 1", trigger="t2")
    await harness.wait_until_settled(3)
    assert harness.perplexity.requests == []
    assert await rows(database, "SELECT state FROM digests") == [("active",)]
    assert await rows(database, "SELECT cost_usd FROM questions WHERE command = 'digest'") == [(0.0,)]

    await run(harness, BUDGET, settled=5, trigger="t3")
    assert BUDGET in channel_posts(harness)[0].shown_text
