"""Check this, end to end: a message's claims, edited, checked, and answered in the direct message."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from bot.features import checking
from bot.features.checking import NO_TEXT, OWN_SENTENCES
from bot.listeners.intake import MEMBERS_ONLY
from bot.privacy.sent_requests import load_sent
from tests.driver import Driver
from tests.fakes.claims import ScriptedPerplexity
from tests.fakes.rows import SENT
from tests.fakes.service import json_reply
from tests.fakes.slack import Fault, Post
from tests.perplexity.claims.corpus import CORPUS, HONEST, Case

SIGNS = {"supported": ":white_check_mark:", "contradicted": ":x:", "unclear": ":grey_question:"}
MESSAGE: dict[str, Any] = {"ts": "1795255200.000100", "user": "U7"}


@pytest.fixture
async def perplexity() -> AsyncIterator[ScriptedPerplexity]:
    async with ScriptedPerplexity() as fake:
        yield fake


async def proposed(harness: Driver, case: Case, *, user: str = "U1") -> dict[str, str]:
    """Use the shortcut on a message, and return the claims in the modal, by block."""
    assert isinstance(harness.perplexity, ScriptedPerplexity)
    harness.perplexity.script_of_claims = case.script
    person = replace(harness.person, user=user)
    message = MESSAGE | {"text": case.message}
    async with await person.message_shortcut("check_this", message, token=f"shortcut-{user}") as response:
        assert response.status == 200
    await harness.slack.wait_until(lambda: "reading the message" not in json.dumps(harness.slack.modal(user).blocks))
    return {name: str(block["element"].get("initial_value", "")) for name, block in inputs(harness, user).items()}


def inputs(harness: Driver, user: str = "U1") -> dict[str, Any]:
    if not harness.slack.views.stack(user):
        return {}
    return {block["block_id"]: block for block in harness.slack.modal(user).blocks if block["type"] == "input"}


async def result(harness: Driver, posts: int) -> Post:
    """Return the result once the app has posted so often."""

    def results() -> list[Post]:
        return [post for post in harness.slack.posts if any(sign in post.shown_text for sign in SIGNS.values())]

    await harness.slack.wait_until(lambda: len(results()) >= posts)
    return results()[-1]


def verdicts(post: Post) -> list[str]:
    """Return the sign that each claim begins with."""
    texts = [block["text"]["text"] for block in post.payload["blocks"] if block["type"] == "section"]
    return [text.split(" ", 1)[0] for text in texts]


async def test_a_message_is_checked_in_the_direct_message(harness: Driver) -> None:
    case = HONEST[0]
    claims = await proposed(harness, case)
    assert [*claims.values()] == [claim for claim, _ in case.expected] + [""]
    await harness.submit()
    (said,) = harness.slack.modal().blocks
    assert re.fullmatch(r"I’ll send it to <https?://[^|]+/DU1/p\d+\S*\|our messages>\.", said["text"]["text"])
    post = await result(harness, 1)

    assert verdicts(post) == [SIGNS[due] for _, due in case.expected]
    root = next(post for post in harness.slack.posts if "*Checked:*" in post.shown_text)
    assert (root.payload["channel"], post.payload["channel"]) == ("DU1", "DU1")
    assert " in #general, <!date^1795255200^" in root.shown_text


async def test_forty_messages_get_no_false_verdict(harness: Driver) -> None:
    shown: dict[str, list[str]] = {}
    for number, case in enumerate(CORPUS, 1):
        user = f"U{number}"
        await proposed(harness, case, user=user)
        person = replace(harness.person, user=user)
        async with await person.submit(harness.slack.modal(user), token=f"submission-{user}") as response:
            assert response.status == 200
        shown[case.name] = verdicts(await result(harness, number))

    assert shown == {case.name: [SIGNS[due] for _, due in case.expected] for case in CORPUS}


async def test_claims_can_be_changed_emptied_and_added(harness: Driver) -> None:
    case = HONEST[0]
    await proposed(harness, case)
    first, second = case.expected[:2]
    entered = {"claim_1": second[0], "claim_2": "", "claim_3": first[0]}
    entered |= {name: "" for name in inputs(harness) if name not in entered}
    await harness.submit(**entered)
    post = await result(harness, 1)

    assert verdicts(post) == [SIGNS[second[1]], SIGNS[first[1]]]


async def test_no_claim_at_all_is_an_error_below_the_first(harness: Driver) -> None:
    await proposed(harness, HONEST[0])
    await harness.submit(**dict.fromkeys(inputs(harness), ""))

    assert "claim_1" in harness.slack.modal().errors
    assert not harness.slack.posts


async def test_a_double_submission_is_checked_once(harness: Driver) -> None:
    await proposed(harness, HONEST[0])
    view = harness.slack.modal()
    before = len(harness.perplexity.requests)
    for response in await asyncio.gather(*(harness.person.submit(view, token=token) for token in ("one", "two"))):
        async with response:
            assert response.status == 200
    await result(harness, 1)
    await harness.wait_until_settled(1)

    assert sum("*Checked:*" in json.dumps(message) for message in harness.slack.shown.values()) == 1
    assert len(harness.perplexity.requests) - before == 2 * len(HONEST[0].expected)


async def test_without_a_model_the_message_s_own_sentences_are_offered(harness: Driver) -> None:
    harness.perplexity.lasting["/v1/agent"] = json_reply({"error": {"message": "bad model"}}, status=400)
    claims = await proposed(harness, HONEST[0])

    assert any(claims.values())
    assert OWN_SENTENCES in json.dumps(harness.slack.modal().blocks, ensure_ascii=False)


async def test_a_message_without_text_is_explained(harness: Driver) -> None:
    async with await harness.person.message_shortcut("check_this", MESSAGE | {"text": ""}):
        pass

    (post,) = await harness.slack.wait_for(1)
    assert NO_TEXT in post.shown_text


@pytest.mark.parametrize(
    "message",
    [
        {"text": "", "attachments": [{"text": HONEST[0].message, "fallback": "[a message]"}]},
        {"text": "", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": HONEST[0].message}}]},
        {"text": "Did you", "blocks": [{"type": "markdown", "text": HONEST[0].message}]},
        {
            "bot_id": "B0APP",
            "text": f"Warning: It may be old.\n{HONEST[0].message}\nSources:\n[1] The tower is 500 m tall.",
            "blocks": [{"type": "markdown", "text": HONEST[0].message}],
        },
        {
            "text": "",
            "blocks": [
                {
                    "type": "rich_text",
                    "elements": [
                        {
                            "type": "rich_text_section",
                            "elements": [
                                {"type": "text", "text": HONEST[0].message[:20], "style": {"bold": True}},
                                {"type": "text", "text": HONEST[0].message[20:]},
                            ],
                        }
                    ],
                },
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "Perplexity · 3 s"}]},
            ],
        },
    ],
    ids=["shared", "section", "markdown", "an answer", "rich text"],
)
async def test_what_a_shared_message_or_an_app_says_is_read(harness: Driver, message: dict[str, Any]) -> None:
    assert isinstance(harness.perplexity, ScriptedPerplexity)
    harness.perplexity.script_of_claims = HONEST[0].script
    async with await harness.person.message_shortcut("check_this", MESSAGE | message):
        pass
    await harness.slack.wait_until(lambda: bool(inputs(harness)))

    (request,) = harness.perplexity.requests
    assert request.json["input"][-1]["content"] == f"<message>\n{HONEST[0].message}\n</message>"


async def test_a_lost_trigger_is_explained(harness: Driver) -> None:
    harness.slack.fail("views.open", Fault(status=200, body=json.dumps({"ok": False, "error": "expired_trigger_id"})))
    async with await harness.person.message_shortcut("check_this", MESSAGE | {"text": "It is 330 m tall."}):
        pass

    (post,) = await harness.slack.wait_for(1)
    assert "Slack didn’t open the window in time." in post.shown_text


async def test_no_model_reads_a_message_for_a_guest(harness: Driver) -> None:
    harness.slack.workspace.profiles["U9"] = {"is_restricted": True}
    guest = replace(harness.person, user="U9")
    async with await guest.message_shortcut("check_this", MESSAGE | {"text": "It is 330 m tall."}, token="guest"):
        pass
    await harness.slack.wait_until(
        lambda: MEMBERS_ONLY in json.dumps(harness.slack.modal("U9").blocks, ensure_ascii=False)
    )

    assert not harness.perplexity.requests


async def updated_to(harness: Driver, words: str) -> None:
    """Wait until a view was updated to say this."""
    await harness.slack.wait_until(
        lambda: any(method == "views.update" and words in str(sent["view"]) for method, sent in harness.slack.calls)
    )


async def test_one_message_at_a_time_is_read_for_a_person(harness: Driver) -> None:
    assert isinstance(harness.perplexity, ScriptedPerplexity)
    harness.perplexity.script_of_claims = HONEST[0].script
    harness.perplexity.hold()
    message = MESSAGE | {"text": HONEST[0].message}
    for token in ("one", "two"):
        async with await harness.person.message_shortcut("check_this", message, token=token):
            await harness.perplexity.wait_for(1)
    await updated_to(harness, "still reading another message")

    harness.perplexity.release()
    await updated_to(harness, "look for pages")
    assert len(harness.perplexity.requests) == 1


async def test_messages_are_read_as_fast_as_a_person_may_ask(harness: Driver) -> None:
    await harness.execute("INSERT INTO workspace_limits (team_id, user_per_minute) VALUES ('T1', 1)")
    await proposed(harness, HONEST[0])
    async with await harness.person.message_shortcut("check_this", MESSAGE | {"text": "It is."}, token="again"):
        pass

    await updated_to(harness, "Ask again in")
    assert len(harness.perplexity.requests) == 1


async def test_a_busy_slack_is_asked_again_to_show_the_claims(harness: Driver) -> None:
    harness.slack.fail("views.update", Fault(status=429, headers={"Retry-After": "0"}))

    assert any((await proposed(harness, HONEST[0])).values())


async def sent_text(harness: Driver) -> str:
    """Return what was kept of what was sent, of proposals and then of questions."""
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        rows = [
            *await (await connection.execute("SELECT sent FROM proposals")).fetchall(),
            *await (await connection.execute(SENT)).fetchall(),
        ]
    return "".join(str(sent) for (sent,) in rows)


async def test_what_was_sent_shows_also_what_found_the_claims(harness: Driver) -> None:
    case = HONEST[0]
    await proposed(harness, case)
    before = await sent_text(harness)
    assert [json.loads(one.body) for one in load_sent(before).requests] == [
        request.json for request in harness.perplexity.requests
    ]
    await harness.submit()
    await result(harness, 1)
    await harness.wait_until_settled(1)

    after = await sent_text(harness)
    assert after.startswith(before)
    sent = [json.loads(one.body) for one in load_sent(after).requests]
    assert sorted(map(json.dumps, sent)) == sorted(json.dumps(one.json) for one in harness.perplexity.requests)


async def test_what_finds_the_claims_is_kept_before_it_leaves(harness: Driver) -> None:
    """So that it is listed, too, if the app is killed meanwhile."""
    assert isinstance(harness.perplexity, ScriptedPerplexity)
    harness.perplexity.hold()
    async with await harness.person.message_shortcut("check_this", MESSAGE | {"text": HONEST[0].message}):
        await harness.perplexity.wait_for(1)
    assert HONEST[0].message[:20] in await sent_text(harness)
    harness.perplexity.release()


async def test_without_a_database_nothing_leaves_for_a_proposal(harness: Driver) -> None:
    async with await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection:
        await connection.execute("ALTER TABLE proposals ADD CHECK (false) NOT VALID")
        claims = await proposed(harness, HONEST[0])

    assert claims  # the message's own sentences
    assert harness.perplexity.requests == []
    assert await calls_booked(harness) == [("released", 0)]


async def calls_booked(harness: Driver) -> list[tuple[str, int]]:
    """Return how the calls ended and what they cost, as soon as all have ended."""
    query = "SELECT state, cost FROM ledger ORDER BY at"
    async with (
        asyncio.timeout(60),
        await psycopg.AsyncConnection.connect(harness.database, autocommit=True) as connection,
    ):
        while ("reserved", None) in (booked := await (await connection.execute(query)).fetchall()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return booked


def test_the_manifest_has_the_shortcut_that_the_app_listens_to() -> None:
    (shortcut,) = checking.FEATURE.shortcuts

    assert shortcut[:3] == ("message", "Check this", "check_this")
