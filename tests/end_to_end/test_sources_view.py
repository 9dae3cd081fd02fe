"""Sources below an answer, end to end: clicked, opened, filtered by site, refused and lost."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace

from bot.views.base import NOT_UPDATED, TOO_LATE
from tests.driver import Driver
from tests.fakes.answers import whole_stream
from tests.fakes.service import stream_reply
from tests.fakes.slack import Fault, Post

EXCERPT = b"A kilowatt-hour cost 20 ct in 2019, and more since."
TEXT = "It costs 28 ct a kilowatt-hour.[1] In 2019 it cost 20 ct.[2] [1]"


async def answered(harness: Driver, text: str = TEXT) -> Post:
    """Ask a question privately and return its answer."""
    chunks = [chunk.replace(b"\\u2026", EXCERPT) for chunk in whole_stream(text)]
    harness.perplexity.script("/v1/agent", stream_reply(*chunks))
    await harness.ask("/ask --domain a.example,b.example,c.example what does it cost")
    (post,) = await harness.slack.wait_for(1)
    return post


def shown(harness: Driver, user: str = "U1") -> str:
    return json.dumps(harness.slack.modal(user).blocks, ensure_ascii=False)


async def test_the_modal_shows_each_page_and_the_sentences_that_cite_it(harness: Driver) -> None:
    post = await answered(harness)
    await harness.click(post.payload, "sources")

    text = shown(harness)
    assert "2 pages · 2 cited" in text
    assert "Cited for: “It costs 28 ct a kilowatt-hour.”" in text
    assert ":mag: *28 ct* is not in the excerpts" in text
    assert "<https://a.example/1|" in text


async def test_formulas_and_rows_of_tables_are_shown_as_in_the_answer(harness: Driver) -> None:
    row = "| Clouds | **Droplets** | White [2] |"
    post = await answered(
        harness, f"It is \\(I \\propto \\lambda^{{-4}}\\).[1]\n\n| What | How | Colour |\n|-|-|-|\n{row}\n"
    )
    await harness.click(post.payload, "sources")

    text = shown(harness)
    assert "Cited for: “It is I ∝ λ⁻⁴.”" in text
    assert "Cited for: “Clouds · Droplets · White”" in text


async def test_details_are_at_the_end_and_not_around_the_answer(harness: Driver) -> None:
    post = await answered(harness, f"{TEXT} [9]")
    async with await harness.person.choose(post.payload, "sources"):
        pass

    heading, details = harness.slack.modal().blocks[-2:]
    assert heading["text"]["text"] == "*Details*"
    facts, searched, limited, figures, removed = details["elements"][0]["text"].splitlines()
    assert re.fullmatch(r"Perplexity · fast · \d+\.\d s · \$0\.004", facts)
    assert searched == "Searched for “q1”"
    assert limited.startswith("Limited to: only a.example, b.example")
    assert figures == "Not found in the excerpts: 28 ct"
    assert removed == "1 reference without a source removed"
    assert not re.search(r"fast|\d s\b|\$|excerpts|without a source", post.shown_text)


async def test_what_is_in_another_language_is_not_checked_and_says_so(harness: Driver) -> None:
    post = await answered(harness, "Le kilowattheure coûte 28 ct depuis le mois de mai.[1]")
    async with await harness.person.choose(post.payload, "sources"):
        pass

    assert "not in the excerpts" not in post.shown_text
    assert "mois de mai.”   figures not checked in this language" in shown(harness)


async def test_a_site_can_be_chosen(harness: Driver) -> None:
    post = await answered(harness)
    async with await harness.person.choose(post.payload, "sources"):
        pass
    await harness.press(harness.slack.modal(), "sources_site", "b.example")

    text = shown(harness)
    assert "https://b.example" in text
    assert "https://a.example" not in text


async def test_a_site_that_slack_does_not_show_is_said(harness: Driver) -> None:
    post = await answered(harness)
    async with await harness.person.choose(post.payload, "sources"):
        pass
    harness.slack.fail("views.update", Fault(status=500))
    async with await harness.person.press(harness.slack.modal(), "sources_site", "b.example"):
        pass

    (_, told) = await harness.slack.wait_for(2)
    assert (told.payload["channel"], told.payload["text"]) == ("DU1", NOT_UPDATED)
    assert "https://a.example" in shown(harness)


async def test_another_person_cannot_open_the_sources_of_a_private_answer(harness: Driver) -> None:
    post = await answered(harness)
    other = replace(harness.person, user="U2")
    async with await other.choose(post.payload, "sources", token="other"):
        pass

    (_, refusal) = await harness.slack.wait_for(2)
    assert "Only the person who asked" in refusal.shown_text
    assert not harness.slack.views.stack("U2")


async def test_an_answer_that_was_deleted_is_explained(harness: Driver) -> None:
    post = await answered(harness)
    await harness.execute("DELETE FROM questions")
    async with await harness.person.choose(post.payload, "sources"):
        pass

    (_, refusal) = await harness.slack.wait_for(2)
    assert "I no longer have this answer" in refusal.shown_text


async def test_a_trigger_that_is_too_old_is_explained(harness: Driver) -> None:
    post = await answered(harness)
    harness.slack.fail("views.open", Fault(status=200, body=json.dumps({"ok": False, "error": "expired_trigger_id"})))
    async with await harness.person.choose(post.payload, "sources"):
        pass

    (_, refusal) = await harness.slack.wait_for(2)
    assert TOO_LATE in refusal.shown_text


async def test_two_clicks_open_two_windows_and_ask_nothing_again(harness: Driver) -> None:
    post = await answered(harness)
    for response in await asyncio.gather(
        *(harness.person.choose(post.payload, "sources", token=token) for token in ("one", "two"))
    ):
        async with response:
            assert response.status == 200

    assert len(harness.perplexity.requests) == 1
