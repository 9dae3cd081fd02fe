"""Every message asks Slack not to unfold its links, so that no page is loaded because it was cited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.docs.pages import is_here
from tests.driver import Driver, actions

pytestmark = pytest.mark.trust(15)

TAKE_IT = frozenset({"chat.postMessage", "chat.postEphemeral", "chat.scheduleMessage", "response_url"})
"""The calls that make Slack unfold links unless they say otherwise. https://docs.slack.dev/messaging/unfurling-links-in-messages

Changes and streams have no such field: a message that was posted without previews gets none later.
"""

POSTING = TAKE_IT | {"chat.update", "chat.startStream", "chat.appendStream", "chat.stopStream"}


def unfolds(method: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call leaves it to Slack to unfold links."""
    return (
        method in TAKE_IT
        and not arguments.get("delete_original")
        and (arguments.get("unfurl_links"), arguments.get("unfurl_media")) != (False, False)
    )


async def test_every_message_of_every_surface_says_so(harness: Driver) -> None:
    acknowledged = [
        await harness.ask(line, trigger=f"t{n}") for n, line in enumerate(("/pplx help", "/ask help", "/ask why"))
    ]
    answer = await harness.answered("/ask --public what are wheels?")
    harness.script_pages(3)
    await harness.answered("/search python")
    await harness.answered("/news tech")
    for line in filter(is_here, ("/deepdive heat pumps", "/pplx watch tech daily 9:00", "/pplx settings channel")):
        await harness.answered(line)
    await harness.answered_mention("why")
    await harness.send_direct_message("why", ts="1795255200.000300")
    await harness.settle()
    private = await harness.answered("/ask which?")
    if shared := "share" in actions(private):
        await harness.click(private, "share")
        await harness.submit()
    await harness.click(answer, "more", "regenerate")
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no"}})
    await harness.answered("/ask fails")
    await harness.execute("DELETE FROM questions")
    await harness.click(private, "share" if shared else "sources")
    harness.slack.workspace.profiles["U7"] = {"is_restricted": True}
    await harness.mention("why", user="U7", ts="1795255200.000700")
    await harness.slack.wait_until(lambda: any(method == "chat.postEphemeral" for method, _ in harness.slack.calls))

    harness.perplexity.hold()
    for number in range(5):
        await harness.ask(f"/ask question {number}", trigger=f"open{number}")
    before = len(harness.slack.calls)
    await harness.mention("a sixth", ts="1795255200.000800")
    harness.perplexity.release()
    assert "chat.postEphemeral" in {method for method, _ in harness.slack.calls[before:]}

    posted = [(method, arguments) for method, arguments in harness.slack.calls if method in POSTING]
    assert {method for method, _ in posted} >= {"chat.postMessage", "chat.postEphemeral", "response_url"}
    assert len(posted) > 15
    assert [call for call in posted if unfolds(*call)] == []
    assert [one for one in acknowledged if unfolds("response_url", one)] == []
