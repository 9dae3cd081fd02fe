"""Items 24 and 29: admins change their workspace's limits in the home tab, which count at once in every process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from bot.features.limits import CHANGE_LIMITS, FOR_ADMINS, NAMES, SAVED, LimitName, LimitStore
from bot.settings import Settings
from bot.storage import queries
from bot.storage.questions import FairShare, Pool, QuestionStore, connection_pool
from bot.views.admin_only import NOT_ADMIN
from tests.bot.workspaces.test_revocation import UNINSTALLED, send
from tests.driver import Driver, records
from tests.end_to_end.test_rates import asked
from tests.fakes.rows import claim
from tests.fakes.workspaces import Installations, many_workspaces
from tests.rare import one_in

pytestmark = [pytest.mark.trust(24), pytest.mark.features("home", "limits")]

ADMIN, OTHER = "U1", "U2"


async def open_form(harness: Driver) -> None:
    await harness.open_admin_page()
    await harness.press_home(CHANGE_LIMITS)
    harness.modal()


async def set_limits(harness: Driver, values: dict[str, str]) -> None:
    await open_form(harness)
    assert await harness.submit(**values) == {}


async def changes(database: str, count: int) -> list[tuple[str, str, Any, Any]]:
    """Wait until so many entries of the audit log are about limits, and return them."""
    async with asyncio.timeout(60):
        while True:
            found = await records(database, "SELECT * FROM audit WHERE what LIKE 'limit.%' ORDER BY number")
            if len(found) >= count:
                return [(one["what"], one["decision"], one["before"], one["after"]) for one in found]
            await asyncio.sleep(0.05)


@pytest.fixture
async def first(harness: Driver) -> Driver:
    harness.slack.workspace.admins.add(ADMIN)
    return harness


@pytest.fixture
async def second(first: Driver, settings: Settings) -> AsyncIterator[Driver]:
    """Another process of the same app."""
    async with first.beside(settings) as other:
        yield other


async def ask(harness: Driver, *, user: str = OTHER) -> str:
    asking = replace(harness, person=replace(harness.person, user=user))
    text: str = (await asking.ask("/ask why", trigger=str(uuid4())))["text"]
    return text


async def test_a_limit_of_open_questions_counts_from_the_very_next_question_in_every_process(
    first: Driver, second: Driver, database: str
) -> None:
    first.perplexity.hold()
    assert ["Searching" in await ask(one) for one in (first, second)] == [True, True]

    await set_limits(first, {"open": "2"})
    refused = [(await ask(one)).partition("\n")[0] for one in (second, first)]
    assert refused == ["You have 2 unanswered questions. Ask again when one of them is answered."] * 2
    assert "Searching" in await ask(second, user="U3")
    await first.home(SAVED, "Open questions per person: *2* (default: 5)")

    await set_limits(first, {"open": ""})
    assert ["Searching" in await ask(one) for one in (second, first)] == [True, True]
    await first.home(SAVED, "Open questions per person: *5*", without="default:")
    first.perplexity.release()

    assert await changes(database, 2) == [
        ("limit.open", "done", {"limit": 5, "set": False}, {"limit": 2, "set": True}),
        ("limit.open", "done", {"limit": 2, "set": True}, {"limit": 5, "set": False}),
    ]


@pytest.mark.settings(user_questions_per_minute=6, open_questions_per_user=0)
async def test_the_wait_is_honest_in_every_process(first: Driver, second: Driver) -> None:
    for harness in (first, second, first, second, first):
        assert "Searching" in await ask(harness)

    await set_limits(second, {"user": "1"})

    for harness in (first, second):
        text = await ask(harness)
        assert text.startswith("You’ve asked a lot in a short time. Ask again in about")
        # Five sixths of a minute, less what this test has taken.
        assert 5 <= int(text.split("about ")[1].split(" s.")[0]) <= 50


BAD = ["0", "-1", "1.5", "1000001", "many", "１２", "1 000", "OFF!", "9" * 20]


@pytest.mark.parametrize("bad", one_in(3, BAD))
async def test_a_value_that_is_none_is_refused_in_its_field_and_nothing_is_saved(
    first: Driver, database: str, bad: str
) -> None:
    await open_form(first)
    errors = await first.submit(open="3", channel=bad)
    assert errors == {
        "channel": f"“{bad}” cannot be the limit “Questions in a channel each minute”. "
        "It takes a whole number from 1 to 1,000,000, or off for no limit, or nothing."
    }
    assert await records(database, "SELECT 1 FROM workspace_limits") == []


async def test_every_bad_value_is_named_at_once(first: Driver) -> None:
    await open_form(first)
    assert sorted(await first.submit(open="x", thread="y", user="7")) == ["open", "thread"]


async def test_where_there_is_one_workspace_its_admins_may_also_raise_limits(first: Driver) -> None:
    await set_limits(first, {"open": "50", "thread": "None", "workspace": "7"})
    await first.home(
        "Open questions per person: *50* (default: 5)",
        "Questions in a thread each minute: *no limit* (default: 6)",
        "Questions in progress: *7* (default: no limit)",
    )
    await open_form(first)
    note, *inputs = first.slack.modal().blocks
    shown = {block["block_id"]: block["element"].get("initial_value") for block in inputs}
    assert shown == {"open": "50", "user": None, "channel": None, "thread": None, "workspace": "7"}
    told = [block["element"]["placeholder"]["text"] for block in inputs if shown[block["block_id"]] is None]
    assert told == ["no limit"] * 3
    assert "Empty a field to go back to its default." in note["elements"][0]["text"]
    assert ["hint" in block for block in inputs] == [False] * 5
    assert await first.submit(open="49") == {}
    await first.home("Open questions per person: *49*", "Questions in a thread each minute: *no limit*")


async def test_what_another_admin_has_set_already_is_not_recorded_again(first: Driver, database: str) -> None:
    first.slack.workspace.admins.add("U9")
    other = replace(first, person=replace(first.person, user="U9"))
    await open_form(first)
    await open_form(other)
    assert await first.submit(open="3") == {}
    assert await other.submit(open="3", user="4") == {}
    assert [what for what, *_ in await changes(database, 2)] == ["limit.open", "limit.user"]
    assert await records(database, "SELECT 1 FROM audit_outbox WHERE what LIKE 'limit.%'") == []


async def test_an_admin_who_is_demoted_while_the_form_is_open_saves_nothing__which_is_recorded(
    first: Driver, database: str
) -> None:
    await open_form(first)
    first.slack.workspace.admins.clear()

    assert await first.submit(open="1") == {"open": NOT_ADMIN}

    assert await records(database, "SELECT 1 FROM workspace_limits") == []
    assert await changes(database, 1) == [("limit.change", "refused", None, None)]


async def test_a_forged_submission_of_someone_else_is_refused_and_recorded(first: Driver, database: str) -> None:
    await open_form(first)

    assert await first.as_user(OTHER).submit(first.modal(), open="1") == {"open": NOT_ADMIN}

    assert await records(database, "SELECT 1 FROM workspace_limits") == []
    assert await changes(database, 1) == [("limit.change", "refused", None, None)]
    who = "SELECT p.user_id FROM audit a JOIN audit_people p USING (team_id, who) WHERE a.decision = 'refused'"
    assert await records(database, who) == [{"user_id": OTHER}]


async def test_the_form_opens_for_admins_only(first: Driver) -> None:
    await first.open_admin_page()
    first.slack.workspace.admins.clear()
    await first.press(first.slack.home(ADMIN), CHANGE_LIMITS)
    await first.home(NOT_ADMIN, without="For admins")
    with pytest.raises((LookupError, IndexError)):
        first.slack.modal()


async def command(harness: Driver, text: str, *, user: str = ADMIN) -> str:
    """Type a command and return what it replies."""
    before, trigger = len(harness.slack.posts), str(uuid4())
    person = replace(harness.person, user=user)
    async with await person.type_command(text, trigger=trigger) as response:
        assert response.status == 200
    posts = await harness.slack.wait_for(before + 1)
    return posts[-1].shown_text


async def test_the_command_shows_and_sets_what_the_form_does(first: Driver, database: str) -> None:
    assert "Questions in a thread each minute: *6*" in await command(first, "/pplx limits")
    shown = await command(first, "/pplx limits thread 2")
    assert SAVED in shown
    assert "Questions in a thread each minute: *2* (default: 6)" in shown
    assert "thread each minute: *no limit*" in await command(first, "/pplx limits thread off")
    shown = await command(first, "/pplx limits thread reset")
    assert "thread each minute: *6*" in shown
    assert "default:" not in shown
    assert FOR_ADMINS in await command(first, "/pplx limits thread 1", user=OTHER)
    assert [after["limit"] for *_, after in await changes(database, 3)] == [2, 0, 6]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("usr 5", "`usr` isn’t a limit. Did you mean `user`? Choose from: `open`, `user`, `channel`, `thread` and"),
        ("user", "Add a number for `user`, `off` or `reset`."),
        ("user 0", "The limit `user` cannot be `0`. It takes a whole number from 1 to 1,000,000, or off for no limit"),
        ("user 1.5", "The limit `user` cannot be `1.5`."),
        ("thread 4 5", "The limit `thread` cannot be `4 5`."),
    ],
)
async def test_the_command_names_field_value_and_what_is_allowed(harness: Driver, text: str, problem: str) -> None:
    assert problem in str(await harness.ask(f"/pplx limits {text}"))


@pytest.fixture
async def many(database: str) -> AsyncIterator[Installations]:
    async with many_workspaces(
        database, open_questions_per_user=3, user_questions_per_minute=0, channel_questions_per_minute=60
    ) as running:
        for team in ("T1", "T2"):
            await running.install(team)
            running.slack.installed[team].admins.add(ADMIN)
        yield running


def as_harness(many: Installations, team: str) -> Driver:
    return Driver(
        person=many.person(team),
        slack=many.slack,
        perplexity=many.perplexity,
        url=many.url,
        session=many.session,
        database=many.database,
    )


async def test_where_there_are_many_workspaces_the_settings_bound_what_their_admins_set(many: Installations) -> None:
    harness = as_harness(many, "T1")
    await open_form(harness)
    errors = await harness.submit(open="4", channel="off", user="1000001", thread="0")

    assert errors == {
        "open": "“4” cannot be the limit “Open questions per person”. "
        "It takes a whole number from 1 to 3, which is this app’s own limit, or nothing.",
        "channel": "“off” cannot be the limit “Questions in a channel each minute”. "
        "It takes a whole number from 1 to 60, which is this app’s own limit, or nothing.",
        "user": "“1000001” cannot be the limit “Questions per person each minute”. "
        "It takes a whole number from 1 to 1,000,000, or off for no limit, or nothing.",
        "thread": "“0” cannot be the limit “Questions in a thread each minute”. "
        "It takes a whole number from 1 to 6, which is this app’s own limit, or nothing.",
    }
    assert "“off” cannot be the limit “Questions in a channel each minute”." in await command(
        harness, "/pplx limits channel off"
    )
    assert await many.rows("SELECT count(*) FROM workspace_limits") == [(0,)]
    await set_limits(harness, {"open": "1", "channel": "59"})
    assert await many.rows("SELECT open_per_person, channel_per_minute FROM workspace_limits") == [(1, 59)]


async def test_another_workspace_is_untouched_and_a_row_goes_with_its_workspace(many: Installations) -> None:
    one, other = as_harness(many, "T1"), as_harness(many, "T2")
    many.perplexity.hold()
    await set_limits(one, {"open": "1"})

    assert ["Searching" in await ask(one) for _ in range(2)] == [True, False]
    assert ["Searching" in await ask(other) for _ in range(4)] == [True, True, True, False]
    many.perplexity.release()

    await many.execute("INSERT INTO workspace_limits (team_id, open_per_person) VALUES ('T2', 2)")
    assert await send(many.person("T1"), UNINSTALLED) == 200
    await many.wait_for_rows("SELECT team_id FROM workspace_limits", [("T2",)])


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database, size=4, seconds=10) as pool:
        yield pool


async def stored(pool: Pool, value: int) -> None:
    """Store limits of T1, as an admin may have set them at another time."""
    async with pool.connection() as connection:
        await connection.execute(
            "INSERT INTO workspace_limits SELECT 'T1', n, n, n, n, n FROM (SELECT %s) v (n)", (value,)
        )


@pytest.mark.parametrize(
    ("own", "host", "bounded", "value"),
    [
        (None, 5, False, 5),
        (None, 5, True, 5),
        (None, 0, True, 0),
        (3, 5, True, 3),
        (9, 5, True, 5),
        (0, 5, True, 5),
        (9, 0, True, 9),
        (3, 5, False, 3),
        (9, 5, False, 9),
        (0, 5, False, 0),
    ],
)
async def test_which_limit_counts(pool: Pool, own: int | None, host: int, bounded: bool, value: int) -> None:
    share = FairShare(
        open_per_person=host,
        thread_per_minute=host,
        per_workspace=host,
        user_per_minute=host,
        channel_per_minute=host,
        bounded=bounded,
    )
    store = LimitStore(pool, share=share)
    if own is not None:
        await store.change(team_id="T1", user_id=ADMIN, values=dict.fromkeys(NAMES, own))
    assert {(one.own, one.host, one.value) for one in (await store.of("T1")).values()} == {(own, host, value)}
    assert {(one.own, one.value) for one in (await store.of("T2")).values()} == {(None, host)}


async def test_a_limit_of_before_the_settings_were_lowered_does_not_outrank_them(pool: Pool) -> None:
    await stored(pool, 9)
    questions = QuestionStore(pool, share=FairShare(open_per_person=2, bounded=True))
    received = [(await questions.insert(asked())).received.value for _ in range(3)]
    assert received == ["new", "new", "too_many_open"]


@pytest.mark.parametrize(
    ("name", "host", "refused"),
    [
        ("open", {"open_per_person": 1}, "too_many_open"),
        ("thread", {"thread_per_minute": 1}, "thread_full"),
        ("user", {"user_per_minute": 1}, "too_fast"),
        ("channel", {"channel_per_minute": 1}, "too_fast"),
    ],
)
async def test_a_raised_limit_still_counts(pool: Pool, name: LimitName, host: dict[str, Any], refused: str) -> None:
    none: dict[str, Any] = {"open_per_person": 0, "thread_per_minute": 0}
    share = FairShare(**(none | host))
    questions = QuestionStore(pool, share=share)
    await LimitStore(pool, share=share).change(team_id="T1", user_id=ADMIN, values={name: 3})
    received = [(await questions.insert(asked(thread_ts="1.1"))).received.value for _ in range(4)]
    assert received == ["new"] * 3 + [refused]


async def test_a_workspace_that_raises_its_questions_in_progress_begins_no_more_than_that(pool: Pool) -> None:
    share = FairShare(open_per_person=0, per_workspace=1)
    questions = QuestionStore(pool, share=share)
    await LimitStore(pool, share=share).change(team_id="T1", user_id=ADMIN, values={"workspace": 3})
    for number in range(5):
        await questions.insert(asked(user_id=f"U{number}"))
    assert await in_progress(pool) == 3


async def test_what_costs_nothing_has_no_limit_of_a_workspace(pool: Pool) -> None:
    await stored(pool, 1)
    questions = QuestionStore(pool)
    received = [(await questions.insert(asked(limited=False))).received.value for _ in range(3)]
    assert received == ["new"] * 3


async def in_progress(pool: Pool) -> int:
    async with pool.connection() as connection:
        row = await (
            await connection.execute("SELECT count(*) AS n FROM questions WHERE settled_at IS NULL AND NOT waiting")
        ).fetchone()
    assert row is not None
    return int(row["n"])


async def test_a_workspace_that_lowers_its_questions_in_progress_begins_none_until_there_is_room(pool: Pool) -> None:
    share = FairShare(open_per_person=0, per_workspace=4)
    questions, limits = QuestionStore(pool, share=share), LimitStore(pool, share=share)
    mine = [asked(user_id=f"U{number}") for number in range(8)]
    for question in mine:
        await questions.insert(question)
    assert await in_progress(pool) == 4

    async def settle(number: int) -> None:
        row = await claim(questions, mine[number].id)
        assert row is not None
        await questions.settle(row, "answered", job=None)

    await limits.change(team_id="T1", user_id=ADMIN, values={"workspace": 2})
    after = []
    for number in range(4):
        await settle(number)
        after.append(await in_progress(pool))
    # Two end without another in their place; then each that ends is followed by the one that has waited longest.
    assert after == [3, 2, 2, 2]

    await limits.change(team_id="T1", user_id=ADMIN, values={"workspace": 3})
    async with pool.transaction() as connection:
        await questions.enqueue_forgotten(connection)
    assert await in_progress(pool) == 3
    await limits.change(team_id="T1", user_id=ADMIN, values={"workspace": 0})
    async with pool.transaction() as connection:
        await questions.enqueue_forgotten(connection)
    assert await in_progress(pool) == 4


def test_the_driver_parses_the_query_of_the_intake_once() -> None:
    assert len(queries.RECEIVE) <= MAX_CACHED_STATEMENT_LENGTH
