"""Only the asker's click shares, and what is shared has its citations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.listeners.clicks import NOT_YOUR_ANSWER
from tests.driver import Driver

pytestmark = pytest.mark.trust(19)

SITES = ("a.example", "b.example")


async def test_only_the_asker_s_click_shares__there_and_with_its_citations(harness: Driver) -> None:
    harness.script_answer("Wheels are zip files. [1] So they are. [2]", sites=SITES)
    answer = await harness.answered("/ask what are wheels?")
    for other in ("U2", "U9"):
        harness.slack.workspace.admins.add("U9")
        assert NOT_YOUR_ANSWER in await harness.as_user(other).told(answer, "share")
    assert await harness.told(answer, "share") == ""
    view = harness.slack.modal()
    stranger = replace(harness.person, user="U2")
    async with await stranger.submit(view, {}, token="theft") as response:
        assert response.status == 200
    assert not [post for post in harness.slack.posts if post.payload.get("response_type") != "ephemeral"]

    assert await harness.told(answer, "share") == ""
    assert await harness.submit() == {}
    await harness.slack.wait_until(lambda: any(post.method == "chat.postMessage" for post in harness.slack.posts))

    (shared,) = [post for post in harness.slack.posts if post.method == "chat.postMessage"]
    for number, site in enumerate(SITES, 1):
        assert f"[[{number}]](https://{site}/{number})" in shared.shown_text
    assert shared.payload["channel"] == "C1"
    assert {post.payload.get("response_type") for post in harness.slack.posts} == {"ephemeral", None}
