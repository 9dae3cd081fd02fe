"""Save as canvas, end to end: one canvas, shared with the person who chose it, whose link is in the direct messages."""

from __future__ import annotations

import pytest

from bot.features.saving.canvas import NOT_MADE
from bot.listeners.clicks import NOT_YOUR_ANSWER
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import connection_pool
from tests.driver import Driver
from tests.fakes.slack import Fault, refusal
from tests.rare import one_in

MAKES = "I’ll make a canvas of the answer and send you its link, in our direct messages."
ASKED_BEFORE = "You asked for this canvas a moment ago. Look for it in our direct messages."
NO_SCOPE = "To make a canvas, I need the permission canvases:write, which an admin can give me."
NO_CANVASES = "This workspace’s plan has no canvases, or they are switched off here."
OR_FILE = " Choose “Save as Markdown” to get the answer as a file."


def called(harness: Driver, method: str) -> list[dict[str, object]]:
    return [arguments for name, arguments in harness.slack.calls if name == method]


async def test_an_answer_becomes_one_canvas_of_the_person_who_chose_it(harness: Driver) -> None:
    harness.script_answer("Wheels are **zip** files. [2]")
    answer = await harness.answered("/ask what are wheels?")
    assert await harness.told(answer, "more", "canvas") == MAKES
    await harness.slack.wait_until(lambda: bool(called(harness, "canvases.access.set")))
    assert await harness.told(answer, "more", "canvas") == ASKED_BEFORE

    ((name, text),) = harness.slack.files.items()
    (shared,) = called(harness, "canvases.access.set")
    assert name == "what are wheels?.md"
    assert text.startswith("Wheels are **zip** files. [1]\n\nSources:\n\n1. Page 2")
    assert (shared["access_level"], shared["user_ids"]) == ("write", "U1")
    link = f"<{harness.slack.origin}/docs/T1/{shared['canvas_id']}|what are wheels?>"
    sent = [post.payload["text"] for post in harness.slack.posts if post.payload.get("channel") == "DU1"]
    assert sent == [f"Here is the answer as a canvas: {link}"]
    assert len(harness.perplexity.requests) == 1


async def test_the_file_and_the_canvas_of_an_answer_are_two(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    await harness.told(answer, "more", "save")

    assert await harness.told(answer, "more", "canvas") == MAKES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> said\n> - one\n> 2. two", "> said\n> \u2060- one\n> \u20602. two"),
        ("```\n> - code\n```", "```\n> - code\n```"),
        ("#### Deep\n\nSee ![](@U1) and <!channel>.", "**Deep**\n\n\nSee ![] (@U1) and < !channel>."),
    ],
)
async def test_a_canvas_gets_only_what_slack_takes(harness: Driver, text: str, expected: str) -> None:
    harness.script_answer(f"{text}\n\nEnd. [1]")
    await harness.told(await harness.answered("/ask why"), "more", "canvas")
    await harness.slack.wait_until(lambda: bool(called(harness, "canvases.access.set")))

    assert harness.slack.files["why.md"].startswith(f"{expected}\n\nEnd. [1]")


@pytest.mark.parametrize(("typed", "expected"), [("/ask why", NOT_YOUR_ANSWER), ("/ask --public why", MAKES)])
async def test_others_get_only_what_they_see(harness: Driver, typed: str, expected: str) -> None:
    answer = await harness.answered(typed)

    assert await harness.as_user("U2").told(answer, "more", "canvas") == expected


@pytest.mark.parametrize(
    ("method", "fault", "expected"),
    one_in(
        2,
        [
            ("canvases.create", refusal("free_teams_cannot_create_non_tabbed_canvases"), NO_CANVASES),
            ("canvases.create", refusal("canvas_disabled_user_team"), NO_CANVASES),
            ("canvases.create", refusal("canvas_creation_failed"), NOT_MADE),
            ("canvases.create", Fault(status=500), NOT_MADE),
            ("canvases.create", Fault(status=429), NOT_MADE),
            ("chat.postMessage", refusal("restricted_action"), NOT_MADE),
            ("canvases.access.set", refusal("failed_to_update_user_ids"), NOT_MADE),
            (
                "canvases.access.set",
                Fault(status=200, body='{"ok": true, "failed_to_update_user_ids": ["U1"]}'),
                NOT_MADE,
            ),
        ],
    ),
)
async def test_what_slack_refuses_is_said__leaves_no_link_and_can_be_tried_again(
    harness: Driver, method: str, fault: Fault, expected: str
) -> None:
    answer = await harness.answered("/ask why")
    harness.slack.fail(method, fault)
    await harness.told(answer, "more", "canvas")
    told = await harness.slack.wait_for_text(expected)

    assert told.payload["text"] == expected + OR_FILE
    assert harness.slack.timeline.history("DU1") == []
    assert await harness.told(answer, "more", "canvas") == MAKES
    await harness.slack.wait_until(lambda: len(harness.slack.timeline.history("DU1")) == 1)


async def test_without_the_scope_it_is_said__and_can_be_tried_again(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    harness.slack.workspace.scopes.remove("canvases:write")
    await harness.told(answer, "more", "canvas")
    told = await harness.slack.wait_for_text("canvases:write")
    assert told.payload["text"] == NO_SCOPE + OR_FILE
    harness.slack.workspace.scopes.append("canvases:write")

    assert await harness.told(answer, "more", "canvas") == MAKES


@pytest.mark.settings(send_files=False)
async def test_no_file_is_offered_where_none_is_sent(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    harness.slack.fail("canvases.create", refusal("canvas_creation_failed"))
    await harness.told(answer, "more", "canvas")

    assert (await harness.slack.wait_for_text(NOT_MADE)).payload["text"] == NOT_MADE


async def test_who_chose_it_is_erased_with_the_rest(harness: Driver) -> None:
    answer = await harness.answered("/ask --public why")
    await harness.as_user("U2").told(answer, "more", "canvas")
    assert await harness.rows("SELECT user_id FROM file_requests") == [("U2:canvas",)]
    async with connection_pool(harness.database, size=1) as pool:
        await PersonalDataStore(pool).erase("U2")

    assert await harness.rows("SELECT user_id FROM file_requests") == []
