"""Sharing a private answer, end to end: the preview, what is left out, and one post that shows no more than it did."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest

from bot.features.sharing.posting import Sharing
from bot.features.sharing.preview import ALREADY_PUBLIC, ALREADY_SHARED, MAYBE_SHARED, NO_PARTS, TOO_LONG, register
from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from bot.views.base import TOO_LATE
from fake_slack.views import View
from tests.bot.listeners.clicks import assert_acknowledged
from tests.driver import Driver, Message
from tests.fakes.slack import Fault, Post
from tests.fakes.views import BUTTON

SITES = ("a.example", "b.example", "c.example")
SECTIONS = (
    "## What changed\n\nWheels are **zip** files now. [1] Once more: they are. [3]",
    "## What it means\n\n- Faster installs [2]\n- Smaller `files`",
    "## What to do\n\n| Step | Why |\n|---|---|\n| Wait | it breaks [3] |",
)
ANSWER = "\n\n".join(SECTIONS)


async def answered(harness: Driver, text: str = ANSWER, *, typed: str = "/ask what are wheels?") -> Message:
    """Ask and return the answer."""
    harness.script_answer(text, sites=SITES)
    return await harness.answered(typed)


async def shares(harness: Driver) -> list[tuple[str, str]]:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        found = await (await connection.execute("SELECT channel_id, state FROM shares")).fetchall()
        return [(row[0], row[1]) for row in found]


async def wait_until_posted(harness: Driver) -> None:
    """Wait until it is recorded that Slack took the shared answer."""
    async with asyncio.timeout(60):
        while True:
            if [state for _, state in await shares(harness)] == ["posted"]:
                return
            await asyncio.sleep(0.05)


async def click(harness: Driver, answer: Message, **more: Any) -> str:
    """Click Share, and return what the person is told; empty if the preview opened."""
    return await harness.told(answer, "share", **more)


async def preview(harness: Driver, text: str = ANSWER, **more: Any) -> View:
    assert await click(harness, await answered(harness, text, **more)) == ""
    return harness.slack.modal()


async def choose(harness: Driver, view: View, *places: int) -> View:
    """Tick these sections and no others; return the view once its preview shows them."""
    old = view.hash
    chosen = [str(place) for place in places]
    async with await harness.person.press(view, "parts", chosen, values={"parts": chosen}, token=str(uuid4())):
        pass
    await harness.slack.wait_until(lambda: harness.slack.modal().hash != old)
    return harness.slack.modal()


def shared(harness: Driver) -> list[Post]:
    """Return what everyone in the channel sees."""
    return [
        post
        for post in harness.slack.posts
        if post.payload.get("response_type") == "in_channel" or post.method == "chat.postMessage"
    ]


def words(blocks: Sequence[Any]) -> list[str]:
    """Return the words that blocks show, without signs of Markdown and mrkdwn."""
    said: list[str] = []

    def read(value: Any) -> None:
        if isinstance(value, dict):
            said.extend([value["text"]] if isinstance(value.get("text"), str) else [])
            for one in value.values():
                read(one)
        elif isinstance(value, list):
            for one in value:
                read(one)

    read(list(blocks))
    text = re.sub(r"\[\[(\d+)\]\]\([^()\s]+\)|<[^<>|]+\|([^<>]*)>", r" \1 \2 ", " ".join(said))
    return re.findall(r"\w+", text.replace("\u2060", ""))


def addresses(blocks: Sequence[Any]) -> set[str]:
    return set(re.findall(r"https?://[\w./-]+", json.dumps(blocks)))


def body(view: View) -> list[Any]:
    """Return the preview: what comes after the divider and the line that says so."""
    kinds = [block["type"] for block in view.blocks]
    return list(view.blocks[kinds.index("divider") + 2 :])


async def test_the_whole_answer_is_posted_once_as_the_preview_showed_it(harness: Driver) -> None:
    view = await preview(harness)
    requests, before = len(harness.perplexity.requests), len(harness.slack.posts)
    assert await harness.submit(comment="For <!here> & <@U2>: @channel look") == {}
    await harness.slack.wait_for(before + 1)
    await wait_until_posted(harness)

    (post,) = shared(harness)
    assert (post.method, post.payload["channel"]) == ("chat.postMessage", "C1")
    head, comment, *rest = post.payload["blocks"]
    assert head["elements"][0]["text"] == "“what are wheels?” · shared by *ada*"
    assert comment["elements"][0]["type"] == "rich_text_quote"
    assert comment["elements"][0]["elements"] == [{"type": "text", "text": "For <!here> & <@U2>: @channel look"}]
    assert "<!here>" not in post.payload["text"]
    assert words([head, *rest]) == words(body(view))
    assert addresses(rest) == addresses(body(view)) == {f"https://{site}/{n}" for n, site in enumerate(SITES, 1)}
    assert "$" not in post.shown_text
    assert not [block for block in post.payload["blocks"] if block["type"] == "actions"]
    assert len(harness.perplexity.requests) == requests
    assert await shares(harness) == [("C1", "posted")]


@pytest.mark.parametrize(("locale", "channel", "head"), [("de-DE", "en", "shared by"), ("en-US", "de", "geteilt von")])
async def test_what_is_shared_speaks_the_channel_s_language__and_the_form_the_person_s(
    harness: Driver, locale: str, channel: str, head: str
) -> None:
    harness.slack.workspace.profiles["U1"] = {"locale": locale}
    await harness.execute(
        "INSERT INTO channel_settings VALUES ('T1', 'C1', jsonb_build_object('language', %s::text), 'U1')", channel
    )
    view = await preview(harness)
    before = len(harness.slack.posts)
    assert await harness.submit() == {}
    await harness.slack.wait_for(before + 1)

    assert head in " ".join(words(body(view)))
    assert head in shared(harness)[0].shown_text
    assert ("Teilen" in json.dumps(view.content)) == (locale == "de-DE")


async def test_a_section_that_is_left_out_goes_with_its_sources__in_the_preview_too(harness: Driver) -> None:
    view = await preview(harness)
    labels = [option["text"]["text"] for option in view.blocks[1]["element"]["options"]]
    assert labels == ["What changed", "What it means", "What to do"]
    view = await choose(harness, view, 1)
    assert await harness.submit() == {}
    await harness.slack.wait_until(lambda: bool(shared(harness)))

    (post,) = shared(harness)
    assert words(post.payload["blocks"]) == words(body(view))
    assert "zip" not in post.shown_text
    assert "Wait" not in post.shown_text
    assert "Faster installs [[1]](https://b.example/2)" in post.markdown
    assert addresses(post.payload["blocks"]) == {"https://b.example/2"}


async def test_what_a_person_typed_stays_while_the_preview_changes(harness: Driver) -> None:
    view = await preview(harness)
    old = view.hash
    async with await harness.person.press(
        view, "parts", ["0"], values={"comment": "My words", "parts": ["0"]}, token="t"
    ):
        pass
    await harness.slack.wait_until(lambda: harness.slack.modal().hash != old)
    assert await harness.submit() == {}
    await harness.slack.wait_until(lambda: bool(shared(harness)))

    assert "My words" in shared(harness)[0].shown_text


async def test_nothing_chosen_is_not_shared(harness: Driver) -> None:
    view = await choose(harness, await preview(harness))

    assert "Nothing is chosen" in json.dumps(view.content)
    assert await harness.submit() == {"parts": NO_PARTS}
    assert (shared(harness), await shares(harness)) == ([], [])


async def test_what_the_preview_did_not_show_yet_is_shown_before_it_is_posted(harness: Driver) -> None:
    view = await choose(harness, await preview(harness), 1)
    harness.slack.fail("views.update", Fault(status=200, body='{"ok": false, "error": "hash_conflict"}'))
    chosen = {"comment": "My words", "parts": ["0"]}
    async with await harness.person.press(view, "parts", ["0"], values=chosen, token="t"):
        pass
    assert await harness.submit() == {}
    view = harness.slack.modal()

    assert (shared(harness), await shares(harness)) == ([], [])
    assert "zip" in json.dumps(body(view))
    assert await harness.submit() == {}
    await harness.slack.wait_until(lambda: bool(shared(harness)))
    (post,) = shared(harness)
    assert "My words" in post.shown_text
    head, _, *rest = post.payload["blocks"]
    assert words([head, *rest]) == words(body(view))


async def test_a_second_window_and_a_second_click_post_nothing_more(harness: Driver) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    first = harness.slack.modal()
    submitting = [
        asyncio.create_task((replace(harness.person)).submit(first, {}, token=f"same-{one}")) for one in range(2)
    ]
    await asyncio.gather(*submitting, return_exceptions=True)
    await wait_until_posted(harness)
    assert await click(harness, answer) == ALREADY_SHARED

    assert len(shared(harness)) == 1


async def test_two_windows_of_one_answer_post_once(harness: Driver) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    old = harness.slack.modal()
    await harness.submit()
    await wait_until_posted(harness)
    # A window that was open on another device before the first was submitted.
    harness.slack.views.issue_trigger("U1", id="other")
    reopened = harness.slack.views.open("other", {k: v for k, v in old.content.items() if k != "id"})

    assert harness.slack.modal() == reopened
    assert await harness.submit() == {"comment": ALREADY_SHARED}
    assert len(shared(harness)) == 1


@pytest.mark.parametrize("typed", ["/ask --public what are wheels?", "/search --public wheels"])
async def test_a_public_answer_has_no_share_button__and_is_not_shared(harness: Driver, typed: str) -> None:
    answer = await answered(harness, typed=typed)
    (row,) = [block for block in answer["blocks"] if block["type"] == "actions"]
    assert "share" not in [element["action_id"] for element in row["elements"]]
    row["elements"][0] = BUTTON | {"action_id": "share", "value": row["block_id"].partition(":")[2]}

    assert await click(harness, answer) == ALREADY_PUBLIC


async def test_only_the_asker_can_share(harness: Driver) -> None:
    answer = await answered(harness)
    assert await click(harness.as_user("U2"), answer) == NOT_YOUR_ANSWER
    await click(harness, answer)
    content = harness.slack.modal().content
    harness.slack.views.issue_trigger("U2", id="other")
    harness.slack.views.open("other", content)

    assert await harness.as_user("U2").submit() == {"comment": NOT_YOUR_ANSWER}
    assert shared(harness) == []


async def test_an_answer_that_is_deleted_meanwhile_is_explained(harness: Driver) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    await harness.execute("DELETE FROM questions")

    assert await harness.submit() == {"comment": UNKNOWN_ANSWER}
    assert await click(harness, answer) == UNKNOWN_ANSWER


async def test_a_lost_trigger_is_explained(harness: Driver) -> None:
    answer = await answered(harness)
    harness.slack.fail("views.open", Fault(status=200, body='{"ok": false, "error": "expired_trigger_id"}'))

    assert await click(harness, answer) == TOO_LATE


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=0, take_message=True),
        Fault(status=502, body="<html>", take_message=True),
        Fault(status=500, body="{}"),
    ],
)
async def test_a_lost_reply_is_said__and_nothing_is_posted_again(harness: Driver, fault: Fault) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    before = len(shared(harness))
    harness.slack.fail("chat.postMessage", fault)
    assert await harness.submit() == {}
    await harness.slack.wait_for_text("Slack didn’t confirm")

    assert len(shared(harness)) - before == fault.take_message
    assert await shares(harness) == [("C1", "unconfirmed")]
    assert await click(harness, answer) == MAYBE_SHARED


async def test_a_post_that_slack_surely_did_not_take_is_repeated(harness: Driver) -> None:
    await click(harness, await answered(harness))
    harness.slack.fail("chat.postMessage", Fault(status=429, headers={"Retry-After": "1"}))
    await harness.submit()
    await harness.slack.wait_until(lambda: bool(shared(harness)))

    assert [post.method for post in shared(harness)] == ["chat.postMessage"]


async def test_a_share_that_a_process_left_unfinished_is_not_posted_again(harness: Driver) -> None:
    answer = await answered(harness)
    await harness.execute("INSERT INTO shares (question_id, channel_id) SELECT id, channel_id FROM questions")

    assert await click(harness, answer) == MAYBE_SHARED


async def test_an_expired_response_url_leaves_the_channel(harness: Driver) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    view = harness.slack.modal()
    harness.slack.expired.add(json.loads(view.content["private_metadata"])["response_url"].rpartition("/")[2])
    await harness.submit()
    await harness.slack.wait_until(lambda: bool(shared(harness)))

    (post,) = shared(harness)
    assert (post.method, post.payload["channel"]) == ("chat.postMessage", "C1")
    assert words(post.payload["blocks"]) == words(body(view))


@pytest.mark.parametrize("error", ["not_in_channel", "channel_not_found"])
async def test_where_the_app_is_no_member__the_asker_is_told__and_can_share_later(harness: Driver, error: str) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    view = harness.slack.modal()
    harness.slack.expired.add(json.loads(view.content["private_metadata"])["response_url"].rpartition("/")[2])
    harness.slack.fail("chat.postMessage", Fault(status=200, body=json.dumps({"ok": False, "error": error})))
    await harness.submit()
    await harness.slack.wait_until(lambda: bool(shared(harness)))

    (told,) = shared(harness)
    assert told.payload["channel"] == "DU1"
    assert "I’m not in #general. Type /invite @Web Answers there, then share again." in told.payload["text"]
    assert await shares(harness) == []
    assert await click(harness, answer) == ""


async def test_where_the_app_is_no_member__the_click_still_shares(harness: Driver) -> None:
    answer = await answered(harness)
    await click(harness, answer)
    no_member = Fault(status=200, body='{"ok": false, "error": "not_in_channel"}')
    harness.slack.fail("chat.postMessage", no_member)
    await harness.submit()
    await wait_until_posted(harness)

    (post,) = shared(harness)
    assert (post.method, post.payload["response_type"]) == ("response_url", "in_channel")
    assert "Undo" not in str(harness.slack.posts)


async def undo_notice(harness: Driver) -> Message:
    """Share an answer; return what its asker alone is told."""
    await click(harness, await answered(harness))
    await harness.submit()
    notice = (await harness.slack.wait_for_text("Undo")).payload
    assert (notice["text"], notice["response_type"]) == ("Shared in #general.", "ephemeral")
    return notice


async def test_a_share_is_undone__and_can_be_shared_again(harness: Driver) -> None:
    notice = await undo_notice(harness)
    assert len(harness.slack.shown) == 1
    assert await harness.as_user("U2").told(notice, "share") == NOT_YOUR_ANSWER
    assert len(harness.slack.shown) == 1
    await click(harness, notice)

    assert (await harness.slack.wait_for_text("Deleted.")).payload["replace_original"] is True
    assert not harness.slack.shown
    assert await shares(harness) == []


async def test_after_a_minute_it_is_too_late(harness: Driver) -> None:
    notice = await undo_notice(harness)
    await harness.execute("UPDATE shares SET at = at - interval '61 seconds'")
    assert "too late" in await click(harness, notice)

    assert (await harness.slack.wait_for_text("too late")).payload["replace_original"] is True
    assert len(harness.slack.shown) == 1
    assert await shares(harness) == [("C1", "posted")]


async def test_once_the_question_is_erased_it_is_too_late_too(harness: Driver) -> None:
    notice = await undo_notice(harness)
    await harness.execute("DELETE FROM questions")

    assert await click(harness, notice) == "It’s too late to undo this share. An admin can delete the post."
    assert len(harness.slack.shown) == 1


async def test_an_answer_that_came_as_a_direct_message_is_shared_where_it_was_asked(harness: Driver) -> None:
    answer = await answered(harness)
    assert await click(harness, answer, channel="DU1") == ""
    assert harness.slack.modal().content["title"]["text"] == "Share this answer"
    await harness.submit()
    await harness.slack.wait_for_text("Shared in that channel.")

    (post,) = shared(harness)
    assert (post.method, post.payload["channel"]) == ("chat.postMessage", "C1")


NO_SCOPE = Fault(status=200, body='{"ok": false, "error": "missing_scope"}')


@pytest.mark.parametrize(
    ("members", "fault", "said"), [(["U2"], None, "You’re not a member of"), (["U1"], NO_SCOPE, "I can’t check that")]
)
async def test_nothing_is_shared_in_a_channel_that_the_asker_may_have_left(
    harness: Driver, members: list[str], fault: Fault | None, said: str
) -> None:
    answer = await answered(harness)
    assert await click(harness, answer, channel="DU1") == ""
    harness.slack.workspace.members_of["C1"] = members
    if fault is not None:
        harness.slack.fail("conversations.members", fault)
    await harness.submit()
    await harness.slack.wait_until(lambda: any(said in post.shown_text for post in harness.slack.posts))

    assert [post for post in shared(harness) if post.payload["channel"] == "C1"] == []
    assert await shares(harness) == []


async def test_search_results_are_shared__without_those_left_out(harness: Driver) -> None:
    view = await preview(harness, typed="/search wheels")
    assert view.content["title"]["text"] == "Share in #general"
    view = await choose(harness, view, 1)
    await harness.submit()
    await harness.slack.wait_until(lambda: bool(shared(harness)))

    (post,) = shared(harness)
    assert words(post.payload["blocks"]) == words(body(view))
    assert "b.example" in post.shown_text
    assert "a.example" not in post.shown_text
    assert [request.path for request in harness.perplexity.requests] == ["/search"]


async def test_a_long_answer_shares_what_its_preview_shows__and_names_the_rest(harness: Driver) -> None:
    text = "\n\n".join(f"## Chapter {n}\n\n{f'Words of chapter {n}. ' * 420} [1]" for n in range(1, 9))
    view = await preview(harness, text)
    assert "left out: “Chapter 4”, “Chapter 5”" in json.dumps(view.content, ensure_ascii=False)
    before = len(shared(harness))  # the end of the answer itself, as direct messages
    await harness.submit()
    await harness.slack.wait_until(lambda: len(shared(harness)) - before >= 3)

    posted = [block for post in shared(harness)[before:] for block in post.payload["blocks"]]
    assert "Chapter 4" not in json.dumps(posted)
    said = re.sub(r" Part \d of \d", "", " ".join(words(posted)))
    assert said == " ".join(words(body(view)[1:]))


async def test_an_answer_without_sections_that_fit_is_not_shared(harness: Driver) -> None:
    answer = await answered(harness, "word " * 12_000)

    assert await click(harness, answer) == TOO_LONG
    assert harness.slack.views.stack("U1") == ()


async def test_a_click_is_acknowledged_while_everything_hangs() -> None:
    listens = partial(register, shares=cast("Sharing", None))

    await assert_acknowledged("share", listeners=[listens])
