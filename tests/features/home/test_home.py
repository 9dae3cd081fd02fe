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

from bot.app import WORK_CONNECTIONS
from bot.blocks.examples import LINES
from bot.delivery.withdrawal import Deleted
from bot.features.home.store import HomeStore
from bot.listeners.clicks import NOT_YOUR_ANSWER, UNKNOWN_ANSWER
from bot.model.question import NewQuestion
from bot.storage.questions import QuestionStore, connection_pool
from fake_slack.limits import check_view
from tests.driver import Driver, asked_in, execute
from tests.fakes.hostile_text import SCRAPS
from tests.fakes.service import json_reply
from tests.fakes.slack import Fault, refusal
from tests.rare import one_in


async def test_a_new_person_sees_three_examples(harness: Driver) -> None:
    text = await harness.open_home("Your recent questions")

    for example in LINES:
        assert example in text
    assert "This month" not in text


async def test_it_shows_a_person_s_own_and_changes_by_itself(harness: Driver) -> None:
    await harness.answered("/ask first question")
    await harness.as_user("U2").answered("/ask the other person's")
    text = await harness.open_home("first question", "This month: 1 question, $0.0011")
    assert "the other person" not in text

    await harness.answered("/search second question")
    text = await harness.home("first question", "second question", "This month: 2 questions, $0.0061")

    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    await harness.answered("/ask a third that fails")
    await harness.home("a third that fails", "failed", "This month: 2 questions, $0.0061")

    await harness.as_user("U2").open_home("the other person")
    assert "first question" not in harness.as_user("U2").home_now()
    assert harness.slack.refusals == []


async def test_it_changes_at_most_once_in_three_seconds(harness: Driver) -> None:
    await harness.open_home("Your recent questions")
    for number in range(4):
        await harness.answered(f"/ask number {number}")
    await harness.home("number 3")

    published = [one.at for one in harness.slack.answered if one.method == "views.publish"]
    assert all(later - earlier > 2.5 for earlier, later in pairwise(published))


async def test_someone_who_never_opened_it_gets_none(harness: Driver) -> None:
    await harness.answered("/ask why")
    await harness.wait_until_settled(1)

    assert [one for one in harness.slack.answered if one.method == "views.publish"] == []


@pytest.mark.parametrize(
    "question",
    ["最新の量子コンピューターは？", "ما هي آخر أخبار الطاقة؟", "<!channel> *x* <@U2> & ``` [a](http://evil.com)"],
)
async def test_texts_of_every_script_and_hostile_ones(harness: Driver, question: str) -> None:
    await harness.answered(f"/ask {question}")

    text = await harness.open_home("This month")

    assert ("<!channel>" in text, "<@U2>" in text) == (False, False)
    assert harness.slack.refusals == []
    assert question.split(maxsplit=1)[0] in text or question.startswith("<")


async def test_ten_thousand_questions(harness: Driver) -> None:
    text = "".join(SCRAPS).replace("\x00", "").encode("utf-8", "ignore").decode()
    await harness.execute(
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
        " messages, cost_usd) SELECT gen_random_uuid(), 'k' || n, 'slash', 'ask', 'q' || n || ' ' || %s, 'T1',"
        " 'C1', 'U1', 'answered', '[]', 0.01 FROM generate_series(1, 10000) n",
        text,
    )

    text = await harness.open_home("This month: 10,000 questions, $0.00")

    assert text.count('"more"') == 15


async def test_all_questions_are_turned_to_page_by_page(harness: Driver) -> None:
    await harness.execute(
        "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
        " messages, received_at) SELECT gen_random_uuid(), 'k' || n, 'slash', 'ask', 'q' || n || 'q', 'T1',"
        " 'C1', 'U1', 'answered', '[]', now() - n * interval '1 second' FROM generate_series(1, 31) n"
    )
    await harness.open_home("q1q", "q15q", "Earlier questions", without="q16q")

    await harness.press_home("home_page:1")
    await harness.home("q16q", "q30q", "Newer questions", "Earlier questions", without="q15q")
    await harness.press_home("home_page:2")
    await harness.home("q31q", "Newer questions", without="Earlier questions")
    await harness.press_home("home_page:1")
    await harness.home("q16q", "Earlier questions")
    await harness.press_home("home_page:0")
    await harness.home("q1q", "q15q", without="Newer questions")


async def recent(harness: Driver, text: str = "/ask why is it so") -> None:
    await harness.answered(text)
    await harness.wait_until_settled(1)
    await harness.open_home("why is it so")


async def test_open_shows_the_answer_again(harness: Driver) -> None:
    await recent(harness)

    await harness.press_home("more", "open")

    view = harness.slack.modal()
    assert check_view(dict(view.content)) == []
    assert "rich_text" in json.dumps(view.content)


async def test_open_links_to_the_message_of_a_thread(harness: Driver) -> None:
    await harness.mention("why is it so")
    await harness.wait_until_settled(1)
    await harness.open_home("why is it so")

    await harness.press_home("more", "open")

    assert "Open it in Slack" in json.dumps(harness.slack.modal().content)


async def test_ask_again_twice_asks_once(harness: Driver) -> None:
    await recent(harness)

    await asyncio.gather(harness.press_home("more", "again"), harness.press_home("more", "again"))
    await harness.wait_until_settled(2)

    assert len(harness.perplexity.requests) == 2


async def test_what_has_changed__the_earlier_answer_goes_along_as_data(harness: Driver) -> None:
    await recent(harness)

    await harness.press_home("more", "recheck")
    await harness.slack.wait_until(lambda: "|our messages>." in json.dumps(harness.slack.home().content))
    await harness.wait_until_settled(2)

    sent = asked_in(harness.perplexity.requests[-1])
    assert "Begin with what has changed since" in sent[0]["content"]
    assert sent[-1]["content"].startswith("<message>")
    assert sent[-1]["content"].endswith("why is it so")


async def test_delete(harness: Driver, database: str) -> None:
    await recent(harness)

    await harness.press_home("more", "delete")
    await harness.submit(understood=["yes"])
    await harness.home("Nothing yet", without="why is it so")

    async with await psycopg.AsyncConnection.connect(database) as connection:
        left = await (await connection.execute("SELECT count(*) FROM questions")).fetchone()
    assert left == (0,)


async def test_delete_in_a_thread_takes_the_answer_away(harness: Driver) -> None:
    await harness.send_direct_message("why is it so")
    await harness.wait_until_settled(1)
    await harness.open_home("why is it so")
    assert harness.slack.shown != {}

    await harness.press_home("more", "delete")
    await harness.submit(understood=["yes"])
    await harness.home("Nothing yet", without="why is it so")

    assert harness.slack.shown == {}


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize(
    ("method", "fault", "notice"),
    one_in(
        3,
        [
            ("chat.delete", Fault(status=500), Deleted.LATER),
            ("chat.delete", refusal("cant_delete_message"), Deleted.REFUSED),
            ("chat.delete", refusal("message_not_found"), Deleted.ALL),
            ("conversations.replies", Fault(status=500), Deleted.LATER),
            ("conversations.replies", Fault(status=429, headers={"Retry-After": "60"}), Deleted.LATER),
            ("conversations.replies", refusal("missing_scope"), Deleted.REFUSED),
        ],
        first=1,
    ),
)
async def test_messages_that_slack_does_not_delete(
    harness: Driver, method: str, fault: Fault, notice: Deleted, failed: bool
) -> None:
    if failed:
        harness.perplexity.lasting["/v1/agent"] = json_reply({"error": {"message": "bad model"}}, status=400)
    await harness.send_direct_message("why is it so")
    await harness.wait_until_settled(1)
    await harness.open_home("why is it so")
    harness.slack.lasting[method] = fault
    await delete_the_question(harness)

    kept = notice is Deleted.LATER
    await harness.home(notice.value, "why is it so" if kept else "Nothing yet")
    if kept:
        harness.slack.lasting.clear()
        await delete_the_question(harness)
        await harness.home("Nothing yet")
        assert harness.slack.shown == {}


async def delete_the_question(harness: Driver) -> None:
    await harness.press_home("more", "delete")
    await harness.submit(understood=["yes"])


@pytest.mark.parametrize(
    ("user", "told", "choice"),
    one_in(
        3,
        [
            (*one, choice)
            for one in [("U2", NOT_YOUR_ANSWER), ("U1", UNKNOWN_ANSWER)]
            for choice in ["open", "again", "recheck", "delete"]
        ],
    ),
)
async def test_another_person_and_a_stale_row(harness: Driver, choice: str, user: str, told: str) -> None:
    await recent(harness)
    await harness.as_user("U2").open_home("Your recent")
    if user == "U1":
        await harness.execute("DELETE FROM questions")

    await harness.as_user(user).press(harness.slack.home("U1"), "more", choice)

    await harness.as_user(user).home(told)
    assert len(harness.perplexity.requests) == 1
    with pytest.raises((LookupError, IndexError)):
        harness.slack.modal(user)


async def test_stop(harness: Driver) -> None:
    harness.perplexity.hold()
    await harness.ask("/ask why is it so", trigger="t9")
    await harness.open_home("Running", "why is it so")

    await harness.press_home("stop")

    await harness.home("Nothing yet", without='"Running"')
    harness.perplexity.release()


@pytest.fixture
async def slow_home(harness: Driver) -> AsyncIterator[Driver]:
    harness.slack.lasting["views.publish"] = Fault(status=500, seconds=5)
    yield harness
    del harness.slack.lasting["views.publish"]


async def test_slack_slow_and_failing__answers_come_anyway(slow_home: Driver) -> None:
    async with await slow_home.person.open_home() as response:
        assert response.status == 200

    async with asyncio.timeout(4):
        await slow_home.answered("/ask why")
        await slow_home.wait_until_settled(1)

    assert slow_home.home_now() == ""


async def test_a_click_keeps_a_tab_up_to_date_that_was_opened_long_ago(harness: Driver) -> None:
    harness.perplexity.hold()
    await harness.ask("/ask why is it so", trigger="t9")
    await harness.open_home("Running", "why is it so")
    await harness.execute("UPDATE homes SET opened_at = now() - interval '13 hours'")

    await harness.press_home("stop")

    await harness.home("Nothing yet", without='"Running"')
    harness.perplexity.release()


async def test_delete_takes_all_messages_away_although_the_database_s_clock_is_ahead(
    harness: Driver, database: str
) -> None:
    """Of a question that no message asked, the database's clock says when it came; its thread began with the app."""
    await harness.answered("/ask why is it so")
    await harness.wait_until_settled(1)
    await harness.open_home("why is it so")
    await harness.press_home("more", "again")
    await harness.wait_until_settled(2)
    assert len(harness.slack.shown) == 2
    async with await psycopg.AsyncConnection.connect(database) as connection:
        changed = await connection.execute(
            "UPDATE questions SET received_at = received_at + interval '10 seconds' WHERE surface = 'im' RETURNING id"
        )
        ((question,),) = await changed.fetchall()
    await harness.open_home(str(question), "recent")
    await harness.home(str(question), without='"Running"')

    await delete_the_question(harness)

    await harness.slack.wait_until(lambda: harness.slack.shown == {})


async def test_a_home_tab_counts_from_the_beginning_of_the_month_in_utc(database: str) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        await execute(database, "DELETE FROM questions")
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


async def open_private(harness: Driver) -> None:
    harness.script_answer("So it is. [1]")
    await recent(harness)
    await harness.press_home("more", "open")


async def test_an_answer_that_is_opened_again_has_its_buttons(harness: Driver) -> None:
    await open_private(harness)

    answer = harness.slack.modal()
    await harness.press(answer, "sources")
    opened = harness.slack.modal()
    assert opened.content["title"]["text"].startswith("Sources")
    assert opened.id != answer.id
    assert [one.method for one in harness.slack.answered if one.method == "views.push"] == ["views.push"]


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INTO homes%'"


async def test_a_message_from_another_workspace_does_not_wait_for_the_connections_of_the_work(
    harness: Driver, database: str
) -> None:
    """All of these hang, as people open the home tab and their table is locked."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("LOCK TABLE homes")
        for number in range(WORK_CONNECTIONS):
            person = replace(harness.person, user=f"U{number}")
            async with await person.open_home(id=f"Ev{number}") as response:
                assert response.status == 200
        async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(database, autocommit=True) as watching:
            while True:
                if await (await watching.execute(WAITING)).fetchone() == (WORK_CONNECTIONS,):
                    break
                await asyncio.sleep(0.01)
        async with await replace(harness.person, team="T2").mention("why") as response:
            assert response.status == 200
