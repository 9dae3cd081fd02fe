"""The Sonar interface, end to end: chosen by a setting, left when the service has retired it."""

from __future__ import annotations

import json

import pytest

from tests.driver import Driver
from tests.fakes.perplexity import fixture

TS = "1795255200.000100"
RETIRED = json.loads(fixture("err.403.chat_completions_not_available.json"))


pytestmark = pytest.mark.settings(perplexity_api="sonar")


async def wait_for_thread_text(harness: Driver, holds: str) -> str:
    """Wait until the thread shows the answer, and return what it then says."""
    await harness.slack.wait_until(lambda: any(holds in post.shown_text for post in harness.slack.thread("C1", TS)))
    (post,) = harness.slack.thread("C1", TS)
    return post.shown_text


async def test_a_question_is_answered_by_sonar_without_what_it_thought(harness: Driver) -> None:
    await harness.mention("--reasoning why")

    shown = await wait_for_thread_text(harness, "Answer.")
    assert "plan" not in shown
    assert "sonar-pro" not in shown
    assert [(request.path, request.json["model"]) for request in harness.perplexity.requests] == [
        ("/chat/completions", "sonar-reasoning-pro")
    ]


async def test_a_question_to_a_retired_sonar_model_is_still_answered(harness: Driver) -> None:
    harness.perplexity.fail("/chat/completions", status=403, body=RETIRED)

    await harness.mention("why")

    assert "Example answer" in await wait_for_thread_text(harness, "Example answer")
    assert [request.path for request in harness.perplexity.requests] == ["/chat/completions", "/v1/agent"]
