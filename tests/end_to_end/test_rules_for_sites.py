"""Sites that are allowed or denied go to the provider and hold for what comes back."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.driver import Driver
from tests.fakes.perplexity import fixture, json_reply

pytestmark = pytest.mark.trust(18)

TEXT = "First.[1] Second.[2] See [there](https://b.example/2) and https://b.example/3."


def answered(*hosts: str) -> dict[str, Any]:
    """Return an answer that cites a page of each host."""
    body: dict[str, Any] = json.loads(fixture("agent.200.json"))
    pages = [
        {"id": n, "title": f"Page {n}", "url": f"https://{host}/{n}", "snippet": "s"} for n, host in enumerate(hosts, 1)
    ]
    body["output"][0]["results"] = pages
    body["output"][1]["content"][0]["text"] = TEXT
    return body


async def asked(harness: Driver, line: str) -> tuple[str, str]:
    """Ask; return what the provider got of sites, and what the person sees."""
    before = len(harness.slack.posts)
    harness.perplexity.script("/v1/agent", json_reply(answered("a.example", "b.example")))
    await harness.ask(line, trigger=str(uuid4()))
    await harness.settle()
    sent = json.dumps(harness.perplexity.requests[-1].json) if harness.perplexity.requests else ""
    return sent, "".join(post.shown_text for post in harness.slack.posts[before:])


async def test_a_denied_site_is_sent_and_its_source__marker_and_links_are_removed(harness: Driver) -> None:
    sent, shown = await asked(harness, "/ask --domain -b.example what is it")

    assert '"-b.example"' in sent
    assert "First.[[1]](https://a.example/1) Second." in shown
    assert "b.example/" not in shown
    async with await harness.person.choose(harness.slack.posts[-1].payload, "sources"):
        pass
    details = json.dumps(harness.slack.modal().blocks)
    assert "1 source on b.example left out, with 1 reference to it." in details
    assert "2 links on b.example removed." in details
