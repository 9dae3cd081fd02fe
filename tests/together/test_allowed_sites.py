"""What a channel's settings allow holds for pages and answers that were shown before they were changed."""

from __future__ import annotations

import json

import pytest

from bot.commands.ask import EARLIER_NOT_ALLOWED
from tests.driver import Driver
from tests.features.ask_about.test_ask_about import results, script_offline
from tests.features.home.test_home import recent

pytestmark = pytest.mark.features("ask_about", "home", "settings")


@pytest.mark.parametrize(
    ("channel", "compared"), [("deny a.example", False), ("allow c.example", False), ("deny c.example", True)]
)
async def test_what_has_changed__an_answer_from_sites_that_its_channel_no_longer_allows_is_not_sent(
    harness: Driver, channel: str, compared: bool
) -> None:
    await recent(harness)
    await harness.answered(f"/pplx settings channel {channel}")

    await harness.press_home("more", "recheck")
    await harness.wait_until_settled(3)

    sent = json.dumps(harness.perplexity.requests[-1].json["input"])
    assert ("<message>" in sent, "Example answer" in sent) == (compared, compared)
    said = json.dumps([*harness.slack.shown.values()], ensure_ascii=False)
    assert (EARLIER_NOT_ALLOWED in said) is not compared


@pytest.mark.parametrize(("action", "value"), [("ask_about", None), ("more", "regenerate"), ("more", "go_deeper")])
async def test_pages_that_the_channel_no_longer_allows_are_left_out(
    harness: Driver, action: str, value: str | None
) -> None:
    message = await results(harness)
    if value:
        await harness.click(message, "ask_about")
        script_offline(harness, "Zip files. [2]")
        await harness.submit(question="what are they?")
        await harness.settle()
        message = {"blocks": harness.last_answer().payload["blocks"]}
    await harness.answered("/pplx settings channel deny p2.example")
    script_offline(harness, "Archives [3] or zip files [2].")
    await harness.click(message, action, value)
    if action == "ask_about":
        await harness.submit(question="what are they?")
    await harness.settle()

    prompt = harness.perplexity.requests[-1].json["input"][-1]["content"]
    assert [f"[{n}] Page {n}" in prompt for n in (1, 2, 3)] == [True, False, True]
    answer = harness.last_answer()
    assert "Archives [[1]](https://p3.example/) or zip files." in answer.markdown
    assert "p2.example" not in json.dumps(answer.payload)


async def test_if_the_channel_allows_none_of_the_pages__that_is_said_and_nothing_is_asked(harness: Driver) -> None:
    message = await results(harness)
    await harness.answered("/pplx settings channel allow python.org")
    await harness.click(message, "ask_about")
    asked = len(harness.perplexity.requests)
    await harness.submit(question="what are they?")
    await harness.settle()

    assert "This channel’s settings no longer allow any of these pages." in harness.last_answer().shown_text
    assert len(harness.perplexity.requests) == asked
