"""Save as Markdown, end to end: the file comes in the direct messages, once, to people who see the answer."""

from __future__ import annotations

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from tests.driver import Driver


async def test_an_answer_is_sent_as_a_file_once(harness: Driver) -> None:
    harness.script_answer("Wheels are **zip** files. [2]")
    answer = await harness.answered("/ask what are wheels?")
    assert await harness.told(answer, "more", "save") == "I’ll send you the answer as a file, in our direct messages."
    await harness.slack.wait_until(lambda: "files.completeUploadExternal" in [name for name, _ in harness.slack.calls])
    assert (
        await harness.told(answer, "more", "save")
        == "You asked for this file a moment ago. Look for it in our direct messages."
    )

    ((name, text),) = harness.slack.files.items()
    assert name == "answer-what-are-wheels.md"
    assert text.startswith("# what are wheels?\n\nWheels are **zip** files. [1]\n\nSources:\n\n1. Page 2")
    assert "https://b.example/2" in text
    assert "Perplexity · fast" in text
    uploaded = dict(harness.slack.calls)["files.completeUploadExternal"]
    assert uploaded["channel_id"] == "DU1"
    assert len(harness.perplexity.requests) == 1


async def test_search_results_are_sent_too(harness: Driver) -> None:
    harness.script_pages(3)
    await harness.told(await harness.answered("/search wheels"), "more", "save")
    await harness.slack.wait_until(lambda: bool(harness.slack.files))

    assert (
        "3. Page 3 (2026-11-01)\n   https://p3.example/\n   What page 3 says."
        in harness.slack.files["search-wheels.md"]
    )


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/ask why", NOT_YOUR_ANSWER),
        ("/ask --public why", "I’ll send you the answer as a file, in our direct messages."),
    ],
)
async def test_others_get_only_what_they_see(harness: Driver, typed: str, expected: str) -> None:
    answer = await harness.answered(typed)

    assert await harness.as_user("U2").told(answer, "more", "save") == expected


async def test_without_the_scope_it_is_said__and_can_be_tried_again(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    harness.slack.workspace.scopes.remove("files:write")
    await harness.told(answer, "more", "save")
    refused = await harness.slack.wait_for_text("rejected the file")
    assert (
        refused.payload["text"]
        == "Slack rejected the file. Please tell an admin, who can check my permission to send files."
    )
    harness.slack.workspace.scopes.append("files:write")

    assert await harness.told(answer, "more", "save") == "I’ll send you the answer as a file, in our direct messages."


async def test_a_deleted_answer_is_explained(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    await harness.execute("DELETE FROM questions")

    assert await harness.told(answer, "more", "save") == UNKNOWN_ANSWER
