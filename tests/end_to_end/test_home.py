"""The home tab: what a person sees there and what its menus do, end to end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from uuid import uuid4

import psycopg
import pytest

from bot.blocks.examples import LINES
from bot.commands.ask import EARLIER_NOT_ALLOWED
from bot.delivery.withdrawal import Deleted
from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from bot.model.question import NewQuestion
from bot.playground.slack.limits import check_view
from bot.storage.homes import HomeStore
from bot.storage.questions import QuestionStore, connection_pool
from tests.end_to_end.answer_buttons import script_answer
from tests.end_to_end.conftest import AppHarness, asked_in
from tests.fakes.hostile_text import SCRAPS
from tests.fakes.service import json_reply
from tests.fakes.slack import Fault, refusal


async def ask(harness: AppHarness, text: str, *, user: str = "U1") -> None:
    before = len(harness.slack.posts)
    person = replace(harness.person, user=user)
    async with await person.type_command(text, trigger=str(uuid4())) as response:
        assert response.status == 200
    await harness.slack.wait_for(before + 1)


def shown(harness: AppHarness, user: str = "U1") -> str:
    try:
        return json.dumps(harness.slack.home(user).content, ensure_ascii=False)
    except LookupError:
        return ""


async def home(harness: AppHarness, *words: str, user: str = "U1", without: str = "\0") -> str:
    """Wait until the home tab shows these words."""
    async with asyncio.timeout(60):
        while True:
            text = shown(harness, user)
            if text and all(word in text for word in words) and without not in text:
                assert check_view(dict(harness.slack.home(user).content)) == []
                return text
            await asyncio.sleep(0.05)


async def open_home(harness: AppHarness, *words: str, user: str = "U1", without: str = "\0") -> str:
    async with await replace(harness.person, user=user).open_home(id=str(uuid4())) as response:
        assert response.status == 200
    return await home(harness, *words, user=user, without=without)


async def press(harness: AppHarness, action: str, value: object = None, *, user: str = "U1") -> None:
    view = harness.slack.home("U1")
    person = replace(harness.person, user=user)
    async with await person.press(view, action, value, token=str(uuid4())) as response:
        assert response.status == 200


async def test_a_new_person_sees_three_examples(harness: AppHarness) -> None:
    text = await open_home(harness, "Your recent questions")

    for example in LINES:
        assert example in text
    assert "This month" not in text


async def test_it_shows_a_person_s_own_and_changes_by_itself(harness: AppHarness) -> None:
    await ask(harness, "/ask first question")
    await ask(harness, "/ask the other person's", user="U2")
    text = await open_home(harness, "first question", "This month: 1 question, $0.0011")
    assert "the other person" not in text

    await ask(harness, "/search second question")
    text = await home(harness, "first question", "second question", "This month: 2 questions, $0.0061")

    await open_home(harness, "the other person", user="U2")
    assert "first question" not in shown(harness, "U2")
    assert harness.slack.refusals == []


async def test_it_changes_at_most_once_in_three_seconds(harness: AppHarness) -> None:
    await open_home(harness, "Your recent questions")
    for number in range(4):
        await ask(harness, f"/ask number {number}")
    await home(harness, "number 3")

    published = [one.at for one in harness.slack.answered if one.method == "views.publish"]
    assert all(later - earlier > 2.5 for earlier, later in pairwise(published))


async def test_someone_who_never_opened_it_gets_none(harness: AppHarness) -> None:
    await ask(harness, "/ask why")
    await harness.wait_until_settled(1)

    assert [one for one in harness.slack.answered if one.method == "views.publish"] == []


@pytest.mark.parametrize(
    "question",
    ["最新の量子コンピューターは？", "ما هي آخر أخبار الطاقة؟", "<!channel> *x* <@U2> & ``` [a](http://evil.com)"],
)
async def test_texts_of_every_script_and_hostile_ones(harness: AppHarness, question: str) -> None:
    await ask(harness, f"/ask {question}")

    text = await open_home(harness, "This month")

    assert ("<!channel>" in text, "<@U2>" in text) == (False, False)
    assert harness.slack.refusals == []
    assert question.split(maxsplit=1)[0] in text or question.startswith("<")


async def test_ten_thousand_questions(harness: AppHarness, database: str) -> None:
    text = "".join(SCRAPS).replace("\x00", "").encode("utf-8", "ignore").decode()
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
            " messages, cost_usd) SELECT gen_random_uuid(), 'k' || n, 'slash', 'ask', 'q' || n || ' ' || %s, 'T1',"
            " 'C1', 'U1', 'answered', '[]', 0.01 FROM generate_series(1, 10000) n",
            [text],
        )

    text = await open_home(harness, "This month: 10000 questions, $0.00")

    assert text.count('"more"') == 15


async def test_all_questions_are_turned_to_page_by_page(harness: AppHarness, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
            " messages, received_at) SELECT gen_random_uuid(), 'k' || n, 'slash', 'ask', 'q' || n || 'q', 'T1',"
            " 'C1', 'U1', 'answered', '[]', now() - n * interval '1 second' FROM generate_series(1, 31) n"
        )
    await open_home(harness, "q1q", "q15q", "Earlier questions", without="q16q")

    await press(harness, "home_page:1")
    await home(harness, "q16q", "q30q", "Newer questions", "Earlier questions", without="q15q")
    await press(harness, "home_page:2")
    await home(harness, "q31q", "Newer questions", without="Earlier questions")
    await press(harness, "home_page:1")
    await home(harness, "q16q", "Earlier questions")
    await press(harness, "home_page:0")
    await home(harness, "q1q", "q15q", without="Newer questions")


async def test_a_digest_whose_last_run_failed_says_so(harness: AppHarness, database: str) -> None:
    harness.perplexity.lasting["/search"] = harness.perplexity.lasting["/v1/agent"] = json_reply({}, status=400)
    await ask(harness, "/pplx watch technology weekdays 9:00")
    await open_home(harness, "Your digests", without="failed")

    await press(harness, "digest_run")
    await harness.wait_until_settled(2)

    await open_home(harness, "the last one failed, “Run now” tries again")


async def recent(harness: AppHarness, text: str = "/ask why is it so") -> None:
    await ask(harness, text)
    await harness.wait_until_settled(1)
    await open_home(harness, "why is it so")


async def test_open_shows_the_answer_again(harness: AppHarness) -> None:
    await recent(harness)

    await press(harness, "more", "open")

    view = harness.slack.modal()
    assert check_view(dict(view.content)) == []
    assert "rich_text" in json.dumps(view.content)


async def test_open_links_to_the_message_of_a_thread(harness: AppHarness) -> None:
    await harness.mention("why is it so")
    await harness.wait_until_settled(1)
    await open_home(harness, "why is it so")

    await press(harness, "more", "open")

    assert "Open it in Slack" in json.dumps(harness.slack.modal().content)


async def test_ask_again_twice_asks_once(harness: AppHarness) -> None:
    await recent(harness)

    await asyncio.gather(press(harness, "more", "again"), press(harness, "more", "again"))
    await harness.wait_until_settled(2)

    assert len(harness.perplexity.requests) == 2


async def test_what_has_changed__the_earlier_answer_goes_along_as_data(harness: AppHarness) -> None:
    await recent(harness)

    await press(harness, "more", "recheck")
    await harness.slack.wait_until(lambda: "|our messages>." in json.dumps(harness.slack.home().content))
    await harness.wait_until_settled(2)

    sent = asked_in(harness.perplexity.requests[-1])
    assert "Begin with what has changed since" in sent[0]["content"]
    assert sent[-1]["content"].startswith("<message>")
    assert sent[-1]["content"].endswith("why is it so")


@pytest.mark.parametrize(
    ("channel", "compared"), [("deny a.example", False), ("allow c.example", False), ("deny c.example", True)]
)
async def test_what_has_changed__an_answer_from_sites_that_its_channel_no_longer_allows_is_not_sent(
    harness: AppHarness, channel: str, compared: bool
) -> None:
    await recent(harness)
    await ask(harness, f"/pplx settings channel {channel}")

    await press(harness, "more", "recheck")
    await harness.wait_until_settled(3)

    sent = json.dumps(harness.perplexity.requests[-1].json["input"])
    assert ("<message>" in sent, "Example answer" in sent) == (compared, compared)
    said = [post for post in harness.slack.posts if EARLIER_NOT_ALLOWED in post.shown_text]
    assert bool(said) is not compared


async def test_delete(harness: AppHarness, database: str) -> None:
    await recent(harness)

    await press(harness, "more", "delete")
    async with await harness.person.submit(harness.slack.modal(), {"understood": ["yes"]}) as response:
        assert response.status == 200
    await home(harness, "Nothing yet", without="why is it so")

    async with await psycopg.AsyncConnection.connect(database) as connection:
        left = await (await connection.execute("SELECT count(*) FROM questions")).fetchone()
    assert left == (0,)


async def test_delete_in_a_thread_takes_the_answer_away(harness: AppHarness) -> None:
    await harness.send_direct_message("why is it so")
    await harness.wait_until_settled(1)
    await open_home(harness, "why is it so")
    assert harness.slack.shown != {}

    await press(harness, "more", "delete")
    async with await harness.person.submit(harness.slack.modal(), {"understood": ["yes"]}) as response:
        assert response.status == 200
    await home(harness, "Nothing yet", without="why is it so")

    assert harness.slack.shown == {}


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize(
    ("method", "fault", "notice"),
    [
        ("chat.delete", Fault(status=500), Deleted.LATER),
        ("chat.delete", refusal("cant_delete_message"), Deleted.REFUSED),
        ("chat.delete", refusal("message_not_found"), Deleted.ALL),
        ("conversations.replies", Fault(status=500), Deleted.LATER),
        ("conversations.replies", Fault(status=429, headers={"Retry-After": "60"}), Deleted.LATER),
        ("conversations.replies", refusal("missing_scope"), Deleted.REFUSED),
    ],
)
async def test_messages_that_slack_does_not_delete(
    harness: AppHarness, method: str, fault: Fault, notice: Deleted, failed: bool
) -> None:
    if failed:
        harness.perplexity.lasting["/v1/agent"] = json_reply({"error": {"message": "bad model"}}, status=400)
    await harness.send_direct_message("why is it so")
    await harness.wait_until_settled(1)
    await open_home(harness, "why is it so")
    harness.slack.lasting[method] = fault
    await delete_the_question(harness)

    kept = notice is Deleted.LATER
    await home(harness, notice.value, "why is it so" if kept else "Nothing yet")
    if kept:
        harness.slack.lasting.clear()
        await delete_the_question(harness)
        await home(harness, "Nothing yet")
        assert harness.slack.shown == {}


async def delete_the_question(harness: AppHarness) -> None:
    await press(harness, "more", "delete")
    async with await harness.person.submit(harness.slack.modal(), {"understood": ["yes"]}, token=str(uuid4())) as sent:
        assert sent.status == 200


@pytest.mark.parametrize("choice", ["open", "again", "recheck", "delete"])
@pytest.mark.parametrize(("user", "told"), [("U2", NOT_YOUR_ANSWER), ("U1", UNKNOWN_ANSWER)])
async def test_another_person_and_a_stale_row(
    harness: AppHarness, database: str, choice: str, user: str, told: str
) -> None:
    await recent(harness)
    await open_home(harness, "Your recent", user="U2")
    if user == "U1":
        async with await psycopg.AsyncConnection.connect(database) as connection:
            await connection.execute("DELETE FROM questions")

    await press(harness, "more", choice, user=user)

    await home(harness, told, user=user)
    assert len(harness.perplexity.requests) == 1
    with pytest.raises((LookupError, IndexError)):
        harness.slack.modal(user)


async def test_stop(harness: AppHarness) -> None:
    harness.perplexity.hold()
    async with await harness.person.type_command("/ask why is it so", trigger="t9") as response:
        assert response.status == 200
    await open_home(harness, "Running", "why is it so")

    await press(harness, "stop")

    await home(harness, "Nothing yet", without='"Running"')
    harness.perplexity.release()


async def test_a_digest_is_paused_and_resumed(harness: AppHarness) -> None:
    await ask(harness, "/pplx watch technology weekdays 9:00")
    await open_home(harness, "Your digests", "Pause", '"channel_id": "C1"')

    await press(harness, "digest_pause")
    await home(harness, "Resume", without='"Pause"')
    await press(harness, "digest_resume")
    await home(harness, "Pause", without='"Resume"')


@pytest.fixture
async def slow_home(harness: AppHarness) -> AsyncIterator[AppHarness]:
    harness.slack.lasting["views.publish"] = Fault(status=500, seconds=5)
    yield harness
    del harness.slack.lasting["views.publish"]


async def test_slack_slow_and_failing__answers_come_anyway(slow_home: AppHarness) -> None:
    async with await slow_home.person.open_home() as response:
        assert response.status == 200

    async with asyncio.timeout(4):
        await ask(slow_home, "/ask why")
        await slow_home.wait_until_settled(1)

    assert shown(slow_home) == ""


async def test_a_click_keeps_a_tab_up_to_date_that_was_opened_long_ago(harness: AppHarness, database: str) -> None:
    harness.perplexity.hold()
    async with await harness.person.type_command("/ask why is it so", trigger="t9") as response:
        assert response.status == 200
    await open_home(harness, "Running", "why is it so")
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("UPDATE homes SET opened_at = now() - interval '13 hours'")

    await press(harness, "stop")

    await home(harness, "Nothing yet", without='"Running"')
    harness.perplexity.release()


async def test_delete_takes_all_messages_away_although_the_database_s_clock_is_ahead(
    harness: AppHarness, database: str
) -> None:
    """Of a question that no message asked, the database's clock says when it came; its thread began with the app."""
    await ask(harness, "/ask why is it so")
    await harness.wait_until_settled(1)
    await open_home(harness, "why is it so")
    await press(harness, "more", "again")
    await harness.wait_until_settled(2)
    assert len(harness.slack.shown) == 2
    async with await psycopg.AsyncConnection.connect(database) as connection:
        changed = await connection.execute(
            "UPDATE questions SET received_at = received_at + interval '10 seconds' WHERE surface = 'im' RETURNING id"
        )
        ((question,),) = await changed.fetchall()
    await open_home(harness, str(question), "recent")
    await home(harness, str(question), without='"Running"')

    await delete_the_question(harness)

    await harness.slack.wait_until(lambda: harness.slack.shown == {})


async def test_a_home_tab_counts_from_the_beginning_of_the_month_in_utc(database: str) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
            await connection.execute("DELETE FROM questions")
        async with connection_pool(f"{database}&options=-c%20timezone%3D{zone}") as pool:
            questions = QuestionStore(pool)
            for seconds in (1, 0):
                question = NewQuestion(
                    id=uuid4(),
                    delivery_key=str(seconds),
                    surface="slash",
                    command="ask",
                    text="why",
                    team_id="T1",
                    channel_id="C1",
                    user_id="U1",
                )
                await questions.insert(question)
                async with pool.connection() as connection:
                    await connection.execute(
                        "UPDATE questions SET state = 'answered', received_at ="
                        " date_trunc('month', now(), 'UTC') - %s * interval '1 second' WHERE id = %s",
                        (seconds, question.id),
                    )
            data = await HomeStore(pool).read("T1", "U1", commands=["ask"])

        assert data.questions == 1


async def open_private(harness: AppHarness) -> None:
    script_answer(harness, "So it is. [1]")
    await recent(harness)
    await press(harness, "more", "open")


async def test_an_answer_that_is_opened_again_has_its_buttons(harness: AppHarness) -> None:
    await open_private(harness)

    for action, title in (("sources", "Sources"), ("share", "Share"), ("follow_up", "Ask a follow-up")):
        answer = harness.slack.modal()
        async with await harness.person.press(answer, action, token=str(uuid4())) as response:
            assert response.status == 200
        opened = harness.slack.modal()
        assert opened.content["title"]["text"].startswith(title)
        assert opened.id != answer.id
        harness.slack.views.close(opened.id)
    assert [one.method for one in harness.slack.answered if one.method == "views.push"] == ["views.push"] * 3


async def test_a_follow_up_of_an_answer_that_is_opened_again_comes_as_a_direct_message(harness: AppHarness) -> None:
    await open_private(harness)
    async with await harness.person.press(harness.slack.modal(), "follow_up", token=str(uuid4())) as response:
        assert response.status == 200

    async with await harness.person.submit(harness.slack.modal(), {"question": "and in Bonn?"}) as response:
        assert await response.read() == b""
    await harness.wait_until_settled(2)

    assert str(harness.slack.posts[-1].payload["channel"]).startswith("D")
    assert "why is it so" in json.dumps(harness.perplexity.requests[-1].json)
