"""The app fetches no address that a person, a page or a model names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from tests.docs.pages import is_here
from tests.driver import Driver
from tests.fakes.perplexity import fixture, json_reply
from tests.fakes.service import FakeService

pytestmark = pytest.mark.trust(16)


@pytest.fixture
async def stranger() -> AsyncIterator[FakeService]:
    """Yield a server that no one should call."""
    async with FakeService() as server:
        yield server


def cites(address: str) -> bytes:
    """Return an answer whose text, title and page name an address."""
    body = json.loads(fixture("agent.200.json"))
    body["output"][0]["results"] = [
        {"id": 1, "title": address, "url": f"{address}/page", "snippet": f"See {address}/s"}
    ]
    body["output"][1]["content"][0]["text"] = f"Read [more]({address}/m) ![x]({address}/i.png).[1]"
    return json.dumps(body).encode()


async def test_no_named_address_is_fetched(harness: Driver, stranger: FakeService) -> None:
    address = stranger.base_url
    answers = []
    lines = (
        f"/ask what is {address}/x",
        f"/search {address}/x",
        f"/deepdive {address}/x",
        f"/news tech {address}/x",
    )
    for line in filter(is_here, lines):
        harness.perplexity.script("/v1/agent", json_reply(json.loads(cites(address))))
        answers.append(await harness.answered(line))
    await harness.answered_mention(f"<{address}/x|this> and {address}/y")
    for action in ("sources", "share", "ask_about"):
        if f"'action_id': '{action}'" in str(answers):
            answer = next(one for one in answers if f"'action_id': '{action}'" in str(one))
            await harness.click(answer, action)
    await harness.send_direct_message(f"{address}/z", ts="1795255200.000300")
    await harness.settle()

    assert len(harness.perplexity.requests) >= 4
    assert stranger.served == []


@pytest.mark.parametrize(
    "url",
    ["{}/response", "http://169.254.169.254/latest", "https://hooks.slack.com.evil.example/1", "file:///etc/passwd",
     "https://user@hooks.slack.com/1", "https://hooks.slack.com:8443/1"],
)  # fmt: skip
async def test_an_answer_goes_to_slack_s_own_addresses_only(harness: Driver, stranger: FakeService, url: str) -> None:
    person = harness.person
    sent = {"response_url": url.format(stranger.base_url)}
    async with await person.__class__(**{**vars(person), "sent": sent}).type_command("/ask why") as response:
        assert response.status == 200
    await harness.settle()

    assert stranger.served == []
    # The answer comes by another way.
    assert {post.method for post in harness.slack.posts} == {"chat.postMessage"}
    assert {post.payload["channel"] for post in harness.slack.posts} == {"DU1"}
