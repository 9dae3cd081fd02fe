"""A person reads the language of their Slack; what is posted in a channel is in the channel's."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.driver import TS, Driver, asked_in
from tests.end_to_end.test_event_limit import drop_events
from tests.fakes.perplexity import json_reply
from tests.fakes.shown import texts_in
from tests.fakes.slack import Fault

BROKEN = json_reply({"error": {"type": "x", "message": "no"}}, status=500)


@pytest.fixture
def german(harness: Driver) -> Driver:
    harness.slack.workspace.profiles["U1"] = {"locale": "de-DE"}
    return harness


def words(message: Mapping[str, Any]) -> str:
    return "\n".join([message["text"], *texts_in(list(message.get("blocks", ())))])


ANSWERS = {
    "de-DE": ("Stopp", "Quellen", "Länger nachdenken", "Neu erzeugen", "Was gesendet wurde"),
    "en-US": ("Stop", "Sources", "Think longer", "Regenerate", "What was sent"),
}


@pytest.mark.parametrize("locale", ANSWERS)
async def test_an_answer_is_framed_in_the_language_of_its_asker(harness: Driver, locale: str) -> None:
    harness.slack.workspace.profiles["U1"] = {"locale": locale}
    stop, *below = ANSWERS[locale]

    ack = await harness.ask("/ask why")
    await harness.settle()

    assert stop in texts_in(ack["blocks"])
    assert [one for one in below if one not in words(harness.last_answer().payload)] == []


async def test_a_failure_is_explained_in_german(german: Driver) -> None:
    german.perplexity.lasting["*"] = BROKEN

    failure = words(await german.answered("/ask why"))

    assert "Perplexity hat gerade Probleme" in failure
    assert "Kein Suchdienst konnte das gerade beantworten" in failure
    assert "Kennung" in failure
    assert "Noch einmal" in failure


async def test_filters_and_missing_results_are_in_german(german: Driver) -> None:
    assert "letzte Woche" in words(await german.answered("/search --recency week wheels"))
    german.perplexity.script("/search", json_reply({"id": "s", "results": []}))
    assert "anderen Wörtern" in words(await german.answered("/search --recency week gears"))


async def test_stop_says_in_german_what_it_did(german: Driver) -> None:
    german.perplexity.hold()
    ack = await german.ask("/ask why")
    await german.perplexity.wait_for(1)

    (reply,) = await german.click(ack, "stop")

    assert "„why“ ist gestoppt." in reply.shown_text
    assert "Neu beginnen" in words(reply.payload)
    german.perplexity.release()
    await german.settle()


async def test_an_example_is_typed_in_german(german: Driver) -> None:
    await german.send_direct_message("hello", ts=TS)
    (greeting,) = await german.slack.wait_for(1)
    assert "Frag mich etwas" in greeting.shown_text

    await german.click(greeting.payload, "examples", "Warum ist der Himmel blau?", channel="D1")
    await german.settle()

    assert "Warum ist der Himmel blau?" in str(asked_in(german.perplexity.requests[0]))


CHANNELS = [
    ("de-DE", {}, "Sources"),
    ("en-US", {"language": "de"}, "Quellen"),
    ("de-DE", {"language": "ja"}, "Sources"),
]


@pytest.mark.parametrize(("locale", "channel", "shown"), CHANNELS)
async def test_a_thread_of_a_channel_is_in_the_language_of_the_channel(
    harness: Driver, locale: str, channel: dict[str, str], shown: str
) -> None:
    harness.slack.workspace.profiles["U1"] = {"locale": locale}
    await harness.execute(
        "INSERT INTO channel_settings (team_id, channel_id, user_id, settings) VALUES ('T1', 'C1', 'U9', %s)",
        json.dumps(channel),
    )

    assert shown in words(await harness.answered_mention("why"))


async def test_who_may_not_ask_in_a_channel_is_told_so_in_german(german: Driver) -> None:
    german.slack.workspace.profiles["U2"] = {"locale": "de-DE", "is_restricted": True}
    german.slack.workspace.members_of["C1"].append("U2")
    await german.execute(
        "INSERT INTO channel_settings (team_id, channel_id, user_id, settings) VALUES ('T1', 'C1', 'U9', %s)",
        json.dumps({"askers": "U9"}),
    )
    await german.mention("why", ts=TS)
    await german.as_user("U2").mention("why", ts="1795255200.000200", id="Ev2")
    told = {post.payload["user"]: words(post.payload) for post in await german.slack.wait_for(2)}

    assert "In diesem Channel dürfen mich nur manche fragen." in told["U1"]
    assert "Ich antworte nur vollwertigen Mitgliedern dieses Workspace" in told["U2"]


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=500, seconds=4)], ids=["fails", "is slow"])
async def test_without_a_profile_in_time_the_acknowledgement_is_english_and_in_time(
    german: Driver, fault: Fault
) -> None:
    german.slack.fail("users.info", *[fault] * 2)

    begun = time.monotonic()
    ack = await german.ask("/ask why")

    assert time.monotonic() - begun < 3
    assert "Searching the web" in ack["text"]


@pytest.mark.settings(admin_user_ids="U0ADMIN,U1ADMIN")
async def test_each_admin_is_told_in_their_language(harness: Driver) -> None:
    harness.slack.workspace.profiles |= {"U0ADMIN": {"locale": "de-DE"}, "U1ADMIN": {"locale": "en-US"}}

    await drop_events(harness, minute=1795255200)
    await harness.slack.wait_for(2)

    told = {post.payload["channel"]: post.shown_text for post in harness.slack.posts}
    assert "30.000 Ereignisse pro Stunde" in told["DU0ADMIN"]
    assert "30,000 events an hour" in told["DU1ADMIN"]
