"""Settings by words and in the form, and what they do to questions, end to end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from itertools import product
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from bot.features.settings.surface import CHANGED_SINCE_OPENED, NO_CHANNEL, NO_ONE_NAMED, NOT_CHECKED
from bot.model.question import ChannelSettings
from bot.preferences import CREATOR_UNKNOWN, NOT_MANAGER
from bot.settings import Settings
from bot.storage.preferences import PreferenceStore
from bot.storage.questions import connection_pool
from bot.worker.runner import ALLOWED_UNKNOWN, NOT_ALLOWED_HERE
from tests.driver import Driver
from tests.fakes.slack import Fault
from tests.rare import one_in

NO_SCOPE = Fault(status=200, body='{"ok": false, "error": "missing_scope"}')


def shown(message: Mapping[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


def last_body(harness: Driver) -> Any:
    return harness.perplexity.requests[-1].json


async def test_what_a_person_sets_holds_for_that_person_alone(harness: Driver) -> None:
    told = await harness.answered("/pplx settings effort low")
    assert "*low*" in shown(told)
    await harness.answered("/pplx settings language de")
    await harness.answered("/pplx settings visibility public")

    own = await harness.answered("/ask why")
    assert own["response_type"] == "in_channel"
    assert (last_body(harness)["effort"], last_body(harness)["language_preference"]) == ("low", "de")
    other = await harness.as_user("U2").answered("/ask why")
    assert other["response_type"] == "ephemeral"
    assert (last_body(harness)["effort"], last_body(harness).get("language_preference")) == ("fast", None)
    private = await harness.answered("/ask --private why")
    assert private["response_type"] == "ephemeral"

    unset = shown(await harness.as_user("U2").answered("/pplx settings channel"))
    assert ("*low*" in unset, "How long to think  _quick_" in unset) == (False, True)
    await harness.answered("/pplx settings reset")
    assert (await harness.answered("/ask why"))["response_type"] == "ephemeral"
    assert harness.slack.refusals == []


@pytest.mark.parametrize(
    ("user", "fault", "refusal"),
    [
        ("U1", None, None),
        ("U9", None, None),
        ("U2", None, NOT_MANAGER),
        ("U1", NO_SCOPE, CREATOR_UNKNOWN),
        ("U9", NO_SCOPE, None),
    ],
)
async def test_a_channel_is_its_creator_s_and_the_admins_(
    harness: Driver, user: str, fault: Fault | None, refusal: str | None
) -> None:
    harness.slack.workspace.admins.add("U9")
    if fault is not None:
        harness.slack.fail("conversations.info", fault)

    told = shown(await harness.as_user(user).answered("/pplx settings channel allow example.com"))

    assert ("*example.com*" in told, refusal is None or refusal.partition("`")[0] in told) == (refusal is None, True)


async def test_a_direct_message_has_no_channel_settings(harness: Driver) -> None:
    told = await harness.as_user("U1", sent={"channel_id": "DU1"}).answered("/pplx settings channel allow a.com")

    assert NO_CHANNEL in shown(told)


@pytest.mark.parametrize("text", ["/ask why", "/search why", "/ask --domain docs.python.org why"])
async def test_a_channel_s_sites_are_enforced_on_what_comes_back(harness: Driver, text: str) -> None:
    await harness.as_user("U2").answered("/pplx settings domains gnu.org")
    await harness.answered("/pplx settings channel allow python.org")

    message = await harness.as_user("U2").answered(text)

    sites = {"python.org", "docs.python.org"}
    asked = json.dumps(last_body(harness))
    assert any(f'"{site}"' in asked for site in sites)
    assert "gnu.org" not in asked
    links = [part.split("|")[0] for part in shown(message).split("<https://")[1:]]
    assert [link for link in links if not link.split("/")[0].endswith("python.org")] == []


async def test_a_question_for_another_site_is_refused_privately(harness: Driver) -> None:
    await harness.answered("/pplx settings channel allow python.org")
    before = len(harness.perplexity.requests)

    told = await harness.answered("/ask --public --domain gnu.org why")

    assert "answers in this channel come from python.org only" in shown(told)
    assert (told["response_type"], len(harness.perplexity.requests)) == ("ephemeral", before)


async def test_who_may_ask(harness: Driver) -> None:
    await harness.answered("/pplx settings channel askers U1")

    for_others = await harness.as_user("U2").answered("/ask --public why")
    assert for_others["response_type"] == "ephemeral"
    assert NOT_ALLOWED_HERE in shown(for_others)
    assert "Your settings" in shown(await harness.as_user("U2").answered("/pplx settings channel"))
    before = len(harness.slack.posts)
    harness.slack.workspace.members_of["C1"].append("U2")
    assert await harness.as_user("U2").mention("why") == 200
    await harness.slack.wait_for(before + 1)
    assert harness.slack.posts[before].method == "chat.postEphemeral"
    assert NOT_ALLOWED_HERE in harness.slack.posts[before].shown_text
    assert harness.perplexity.requests == []
    await harness.answered("/ask why")
    assert len(harness.perplexity.requests) == 1


async def test_an_admin_whom_slack_does_not_name_just_now_is_asked_to_come_back(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U9")
    await harness.answered("/pplx settings channel askers admins")
    await harness.answered("/pplx settings channel external on")  # so that nothing else needs the profile
    harness.slack.fail("users.info", *[NO_SCOPE] * 9)

    told = await harness.as_user("U9").answered("/ask --public why")

    assert ALLOWED_UNKNOWN in shown(told)
    assert (told["response_type"], harness.perplexity.requests) == ("ephemeral", [])


async def test_a_preference_that_changes_later_does_not_change_who_saw_an_answer(
    harness: Driver, database: str
) -> None:
    answer = await harness.answered("/ask why")
    await harness.answered("/pplx settings visibility public")
    sources = next(e for b in answer["blocks"] if b["type"] == "actions" for e in b["elements"] if "Sources" in str(e))

    await harness.as_user("U2").click_button("sources", sources["value"], token="other")

    with pytest.raises((LookupError, IndexError)):
        harness.slack.modal("U2")


async def test_what_is_asked_below_a_private_answer_stays_private(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    await harness.answered("/pplx settings visibility public")
    before = len(harness.slack.posts)

    await harness.click(answer, "more", "go_deeper", token="deeper")
    await harness.wait_until_settled(3)

    told = [post.payload for post in harness.slack.posts[before:]]
    assert told != []
    assert {one.get("response_type", "ephemeral") for one in told} == {"ephemeral"}


async def test_settings_that_no_version_understands_are_left_out(harness: Driver, database: str) -> None:
    broken = {"model": "nothing/", "visibility": 7, "domains": "a b c", "language": ["x"], "follow_ups": "maybe"}
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("INSERT INTO person_settings VALUES ('T1', 'U1', %s)", [Jsonb(broken)])
        await connection.execute("INSERT INTO channel_settings VALUES ('T1', 'C1', %s, 'U1')", [Jsonb([1])])

    assert (await harness.answered("/ask why"))["response_type"] == "ephemeral"


async def open_form(harness: Driver, *, user: str = "U1", channel: str = "C1") -> Any:
    message = await harness.as_user(user).answered("/pplx settings channel")
    await harness.as_user(user).click(message, "settings_modal", channel=channel)
    return harness.slack.modal(user)


async def test_the_form_saves_both_parts(harness: Driver) -> None:
    view = await open_form(harness)
    values = {
        "own:model": "high",
        "own:language": "fr",
        "own:domains": "a.com, b.com",
        "channel:deny": "c.com",
        "channel:askers": "named",
        "people": ["U1", "U2"],
    }

    assert await harness.submit(view, **values) == {}

    told = shown(await harness.answered("/pplx settings channel"))
    for part in ("*Much longer*", "*fr*", "*a.com, b.com*", "*c.com*", '"user_id": "U1"', '"user_id": "U2"'):
        assert part in told
    again = await open_form(harness)
    assert await harness.submit(again, **{"own:model": "unset"}) == {}
    told = shown(await harness.answered("/pplx settings channel"))
    assert ("*Much longer*" in told, "*fr*" in told) == (False, True)


async def test_a_form_that_was_opened_before_a_change_does_not_revert_it(harness: Driver) -> None:
    view = await open_form(harness)
    for change in ("channel deny bad.com", "channel language de", "domains a.com"):
        await harness.answered(f"/pplx settings {change}")

    changed_by_both = {"own:language": "fr", "own:domains": "b.com", "channel:language": "it"}
    conflicts = {"own:domains": CHANGED_SINCE_OPENED, "channel:language": CHANGED_SINCE_OPENED}
    assert await harness.submit(view, **changed_by_both) == conflicts
    assert "*fr*" not in shown(await harness.answered("/pplx settings channel"))
    assert await harness.submit(view, **{"own:language": "fr", "own:domains": "a.com", "channel:language": ""}) == {}

    told = shown(await harness.answered("/pplx settings channel"))
    assert [part for part in ("*fr*", "*bad.com*", "*de*", "*a.com*") if part not in told] == []


async def test_of_two_people_who_save_at_once_the_second_is_told(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U9")
    views = {user: await open_form(harness, user=user) for user in ("U1", "U9")}
    saves = [
        harness.as_user(user).submit(view, **{"channel:language": language, "channel:deny": f"{language}.com"})
        for (user, view), language in zip(views.items(), ("de", "it"), strict=True)
    ]
    conflict = {"channel:language": CHANGED_SINCE_OPENED, "channel:deny": CHANGED_SINCE_OPENED}

    assert sorted(await asyncio.gather(*saves), key=len) == [{}, conflict]
    told = shown(await harness.answered("/pplx settings channel"))
    assert ("*de*" in told, "*de.com*" in told) != ("*it*" in told, "*it.com*" in told)


async def test_what_was_changed_since_it_was_read_is_not_saved(database: str) -> None:
    nothing, place = ChannelSettings(), {"team_id": "T1", "channel_id": "C1", "user_id": "U1"}
    async with connection_pool(database) as pool:
        store = PreferenceStore(pool)
        saved = await asyncio.gather(
            *(store.change_part(nothing, ChannelSettings(deny=(site,)), **place) for site in ("a.com", "b.com")),
            store.change_part(nothing, ChannelSettings(language="de"), **place),
        )
        kept = (await store.get(**place)).channel

    assert (sorted(saved[:2]), saved[2], kept.language) == ([False, True], True, "de")
    assert kept.deny == (("a.com",) if saved[0] else ("b.com",))


async def test_wrong_values_are_explained_below_their_inputs(harness: Driver) -> None:
    view = await open_form(harness)

    problems = await harness.submit(
        view, **{"own:language": "german", "channel:allow": "-a.com", "channel:askers": "named"}
    )

    assert set(problems) == {"own:language", "channel:allow", "people"}
    assert problems["people"] == NO_ONE_NAMED


async def test_the_form_of_others_has_no_channel_part__and_is_checked_again(harness: Driver) -> None:
    other = await open_form(harness, user="U2")
    assert NOT_MANAGER in json.dumps(other.content, ensure_ascii=False)
    assert not [block for block in other.blocks if str(block.get("block_id")).startswith("channel:")]

    # The form of the creator, submitted by another person.
    own = await open_form(harness)
    problems = await harness.as_user("U2").submit(own, **{"channel:allow": "a.com"})
    assert list(problems.values()) == [NOT_MANAGER]
    assert "a.com" not in shown(await harness.answered("/pplx settings channel"))


async def test_slack_slow__the_form_opens_without_the_channel(harness: Driver) -> None:
    harness.slack.lasting["conversations.info"] = Fault(status=0, seconds=3)

    view = await open_form(harness)

    assert NOT_CHECKED in json.dumps(view.content, ensure_ascii=False)


class TestFollowUps:
    """Replies without a mention, by the settings of the app, the channel and the person."""

    @pytest.fixture
    def settings(self, settings: Settings, app_answers: str) -> Settings:
        return settings.model_copy(update={"follow_ups": app_answers})

    @pytest.mark.parametrize(
        ("app_answers", "channel", "person"),
        one_in(
            5,
            product(["always", "mention"], ["reset", "follow-ups on", "follow-ups off"], ["reset", "follow-ups off"]),
        ),
    )
    async def test_table(self, harness: Driver, app_answers: str, channel: str, person: str) -> None:
        by_channel = {"reset": app_answers == "always"}.get(channel, channel.endswith("on"))
        expected = by_channel and person == "reset"
        await harness.mention("why", ts="1795255200.000100")
        await harness.wait_until_settled(1)
        await harness.answered(f"/pplx settings channel {channel}")
        await harness.answered(f"/pplx settings {person}")
        await harness.wait_until_settled(3)
        reply = {"type": "message", "channel": "C1", "channel_type": "channel", "text": "and why not?"}

        event = reply | {"ts": "1795255200.000200", "thread_ts": "1795255200.000100"}
        assert await harness.event(event, id="Ev9") == 200
        if expected:
            await harness.wait_until_settled(4)
        else:
            await harness.answered("/ask last")
            await harness.wait_until_settled(4)

        asked = [json.dumps(one.json) for one in harness.perplexity.requests]
        assert ("and why not?" in asked[-1]) is expected


async def test_the_command_alone_opens_the_form_at_once(harness: Driver) -> None:
    async with await harness.person.type_command("/pplx settings", trigger=str(uuid4())) as response:
        assert (response.status, await response.text()) == (200, "")
    view = harness.slack.modal()

    assert [block for block in view.blocks if str(block.get("block_id")).startswith("channel:")] != []
    shown_words = re.sub(r'"(block_id|action_id)": "[^"]*"', "", json.dumps(view.blocks))
    assert [word for word in ("FOLLOW_UPS", "THREAD_HISTORY", "ffort") if word in shown_words] == []
    assert await harness.submit(view, **{"own:language": "fr"}) == {}
