"""Only admins do and see what is for admins, checked with Slack each time; each change is recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from bot.blocks.elements import button
from bot.budgets import format_rounded
from bot.features import data_requests
from bot.features.budgets.command import CHANGE_BUDGETS, PAUSE_SPENDING, RESUME_SPENDING, budgets_section
from bot.features.digests.model import Digest, DigestSpec, Owner
from bot.features.digests.rendering import STOP_DIGEST, workspace_blocks
from bot.features.digests.rendering import home_blocks as digests_of_person
from bot.features.digests.surface import all_digests
from bot.features.home.admin import (
    FOR_ADMINS,
    USE_TABLES,
    admin_blocks,
    all_recorded,
    all_rows_buttons,
    all_use,
    recorded_list,
)
from bot.features.home.page import home_blocks
from bot.features.home.store import (
    MAX_RECENT,
    MAX_RUNNING,
    AdminData,
    AdminStore,
    HomeData,
    Recent,
    Recorded,
    RunningQuestion,
    Use,
    WorkspaceUse,
)
from bot.features.limits import NAMES, Limit, limits_section
from bot.model.admin import Problem
from bot.model.schedule import Schedule
from bot.model.spending import BudgetLine, Spending
from bot.storage.personal_data import PersonalDataStore
from bot.storage.questions import connection_pool
from bot.views.admin_only import NOT_ADMIN, OPEN_PAGE, AllRows
from bot.views.base import modal
from fake_slack.limits import check_view
from tests.driver import Driver, records, wait_for_rows
from tests.fakes.listeners import returning
from tests.fakes.slack import Fault

pytestmark = [pytest.mark.trust(29), pytest.mark.features("budgets", "data_requests", "digests", "home", "limits")]

ADMIN, OTHER = "U1", "U2"
SECRET = "what is our secret plan"


@pytest.fixture
async def workspace(harness: Driver) -> Driver:
    """A workspace with an admin, and with someone who has a digest and has asked."""
    harness.slack.workspace.admins.add(ADMIN)
    await harness.as_user(OTHER).answered("/pplx watch technology weekdays 9:00")
    await harness.as_user(OTHER).answered(f"/ask {SECRET}")
    await harness.wait_until_settled(2)
    return harness


async def test_an_admin_sees_use_cost_digests_and_no_texts(workspace: Driver, database: str) -> None:
    text = await workspace.open_admin_page("Everyone’s digests", "Technology")

    costs = await records(database, "SELECT sum(cost) AS cost FROM ledger")
    assert format_rounded(costs[0]["cost"]) in text
    assert '{"type": "user", "user_id": "U2"}' in text
    assert '{"type": "channel", "channel_id": "C1"}' in text
    assert '"text": "perplexity' in text.lower()
    assert "Nothing is wrong" in text
    assert "workspace.install" in text
    assert SECRET not in text


async def test_a_search_counts_for_the_service_that_is_paid_for_it(workspace: Driver) -> None:
    await workspace.answered("/search postgres vacuum")
    text = await workspace.open_admin_page("$0.0061 today, $0.0061 this month")

    assert '"text": "Perplexity"' in text
    assert '"text": "Perplexity Search"' not in text


async def test_an_admin_turns_to_the_page_and_back(workspace: Driver) -> None:
    text = await workspace.open_home("Your recent questions", FOR_ADMINS)
    assert "Everyone’s digests" not in text

    await workspace.press_home(FOR_ADMINS)
    await workspace.home("Everyone’s digests", without="Your recent questions")
    await workspace.answered("/ask why not")
    await workspace.home("Everyone’s digests", '"text": "2"', without="Your recent questions")

    await workspace.press_home(FOR_ADMINS)
    await workspace.home("Your recent questions", "why not", without="Everyone’s digests")


async def test_each_reads_it_in_their_own_language(harness: Driver) -> None:
    harness.slack.workspace.profiles[ADMIN] = {"is_admin": True, "locale": "de-DE"}

    await harness.open_home("Deine letzten Fragen", "Meine Daten löschen")
    await harness.press_home(FOR_ADMINS)
    await harness.home("Budgets ändern", "Grenzen ändern", "Überblicke pro Person", without="Deine letzten Fragen")
    await harness.as_user(OTHER).open_home("Your recent questions", "Erase my data")


async def test_another_person_cannot_turn_to_it(workspace: Driver, database: str) -> None:
    await workspace.as_user(OTHER).open_home("Your recent questions")

    await workspace.as_user(OTHER).click_button(FOR_ADMINS, "open", token="forged")

    await workspace.slack.wait_until(lambda: NOT_ADMIN in json.dumps([p.payload for p in workspace.slack.posts]))
    assert {"for_admins": True} not in await records(database, "SELECT for_admins FROM homes")


async def test_others_see_nothing_of_it(workspace: Driver) -> None:
    text = await workspace.as_user(OTHER).open_home("Your recent questions")

    assert "For admins" not in text
    assert STOP_DIGEST not in text


@pytest.mark.parametrize(
    "profile",
    [
        {"is_admin": True, "is_restricted": True},
        {"is_admin": True, "is_stranger": True},
        {"is_admin": True, "team_id": "TOTHER"},
        {"is_admin": True, "deleted": True},
        {"is_owner": False},
    ],
)
async def test_flags_that_make_no_admin(harness: Driver, profile: dict[str, Any]) -> None:
    harness.slack.workspace.profiles[ADMIN] = profile

    text = await harness.open_home("Your recent questions")

    assert "For admins" not in text


async def test_while_slack_does_not_say_who_it_is_no_one_sees_it(workspace: Driver) -> None:
    await workspace.open_admin_page()
    workspace.slack.lasting["users.info"] = Fault(status=500)

    await workspace.open_home("Your recent questions")
    await workspace.home("Your recent questions", without="For admins")


async def test_a_digest_is_stopped__its_owner_is_told_and_it_is_recorded(workspace: Driver, database: str) -> None:
    await workspace.open_admin_page(STOP_DIGEST)
    before = len(workspace.slack.posts)

    await workspace.press_home(STOP_DIGEST)

    await workspace.home("The digest is stopped, and I’ll tell its owner.", without=STOP_DIGEST)
    await wait_for_rows(database, "SELECT count(*) FROM audit WHERE what = 'digest.stop'", [(1,)])
    await workspace.open_home("digest.stop", "active")
    posts = await workspace.slack.wait_for(before + 1)
    assert "An admin of this workspace stopped it." in posts[-1].shown_text
    entry = (await records(database, "SELECT * FROM audit WHERE what = 'digest.stop'"))[0]
    digest = (await records(database, "SELECT * FROM digests"))[0]
    admin = (await records(database, "SELECT who FROM audit_people WHERE user_id = 'U1'"))[0]
    assert (entry["before"], entry["after"], entry["subject"]) == ("active", "stopped", str(digest["id"]))
    assert (entry["who"], entry["channel_id"], digest["state"]) == (admin["who"], "C1", "stopped")

    await workspace.click_button(STOP_DIGEST, str(digest["id"]))
    assert len(await records(database, "SELECT 1 FROM audit WHERE what = 'digest.stop'")) == 1


async def test_a_demoted_admin_s_click_on_an_old_home_is_refused(workspace: Driver, database: str) -> None:
    await workspace.open_admin_page(STOP_DIGEST)
    workspace.slack.workspace.admins.clear()

    await workspace.press_home(STOP_DIGEST)

    await workspace.home(NOT_ADMIN, without="For admins")
    await nothing_changed(database)


async def nothing_changed(database: str) -> None:
    assert [one["state"] for one in await records(database, "SELECT state FROM digests")] == ["active"]
    assert await records(database, "SELECT 1 FROM audit WHERE what = 'digest.stop'") == []
    assert await records(database, "SELECT 1 FROM audit_outbox WHERE what = 'digest.stop'") == []


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=200, body='{"ok": true}', seconds=5)])
async def test_while_slack_does_not_say_who_clicks_nothing_is_done(
    workspace: Driver, database: str, fault: Fault
) -> None:
    await workspace.open_admin_page(STOP_DIGEST)
    workspace.slack.lasting["users.info"] = fault

    await workspace.press_home(STOP_DIGEST)

    await workspace.home(
        "I couldn’t check with Slack that you are an admin, so nothing was changed. Please click again."
    )
    await nothing_changed(database)
    workspace.slack.lasting.clear()


async def test_a_forged_click_of_someone_else_is_refused(workspace: Driver, database: str) -> None:
    await workspace.open_admin_page(STOP_DIGEST)
    await workspace.as_user("U3").open_home("Your recent questions")

    await workspace.as_user("U3").press(workspace.slack.home(), STOP_DIGEST)

    await workspace.as_user("U3").home(NOT_ADMIN)
    await nothing_changed(database)


async def test_another_workspace_s_digest_is_neither_shown_nor_stopped(workspace: Driver, database: str) -> None:
    await workspace.execute("UPDATE digests SET team_id = 'T2'")

    await workspace.open_admin_page("There are none")
    digest = (await records(database, "SELECT id FROM digests"))[0]["id"]
    await workspace.click_button(STOP_DIGEST, str(digest))
    await workspace.slack.wait_until(
        lambda: "This digest no longer exists." in json.dumps([p.payload for p in workspace.slack.posts])
    )
    await nothing_changed(database)


async def test_what_is_wrong_is_shown_with_a_fix(workspace: Driver) -> None:
    await workspace.execute(
        "INSERT INTO attempts (at, provider, kind, seconds, error_class)"
        " VALUES (now(), 'Brave', 'search', 1, 'BillingError')"
    )

    await workspace.open_home("Brave is out of credit. Buy credit for it.")


TEXTS = st.text(max_size=300)
COSTS = st.integers(0, 10**12)
USES = st.builds(Use, name=TEXTS, count=st.integers(0, 10**9), cost=COSTS)
DIGEST = Digest(
    id=uuid4(),
    number=1,
    owner=Owner(team_id="T1", user_id="U012AB3CD"),
    channel_id="C012AB3CD",
    spec=DigestSpec(
        category="technology",
        topic="databases & <!channel>" * 12,
        schedule=Schedule(days=frozenset({0, 2}), at=time(9), zone="Europe/Berlin"),
    ),
    next_at=datetime(2026, 11, 24, 8, tzinfo=UTC),
    cost_usd=1.5,
)
RECORDED = st.builds(
    Recorded,
    at=st.datetimes(timezones=st.just(UTC)),
    user_id=st.sampled_from([None, "", "U012AB3CD"]),
    what=st.sampled_from(["channel.settings", "digest.stop"]),
    channel_id=st.sampled_from(["", "C012AB3CD", "D1"]),
    decision=TEXTS,
    before=st.none() | TEXTS,
    after=st.none() | TEXTS,
)


SPENDING = Spending(
    lines=tuple(BudgetLine(scope="user", subject=f"U012AB3C{number}", amount=2_500_000) for number in range(40)),
    people=(),
    channels=(),
    providers=(),
    today=123_456_789,
    month=123_456_789,
    reserved=123_456_789,
)


FIXED = {"Digests per person": "5", "Digests in a channel": "no limit"}
LIMITS = tuple(Limit(name=name, value=1_000_000, own=1_000_000, host=0, bounded=False) for name in NAMES)


@examples(deadline=None)
@given(
    data=st.builds(
        AdminData,
        use=st.builds(
            WorkspaceUse,
            days=st.lists(USES, max_size=30),
            people=st.lists(USES.map(lambda use: replace(use, name="U012AB3CD")), min_size=1, max_size=60),
            channels=st.lists(USES.map(lambda use: replace(use, name="C012AB3CD")), min_size=1, max_size=60),
            providers=st.lists(USES, min_size=1, max_size=60),
        ),
        problems=st.lists(st.builds(Problem, text=TEXTS, fix=TEXTS), max_size=9),
        recorded=st.lists(RECORDED, max_size=60),
        spending=st.just(SPENDING),
    ),
    digests=st.lists(st.just(DIGEST), max_size=40),
)
def test_a_full_home_tab_with_the_part_for_admins_keeps_slack_s_limits(data: AdminData, digests: list[Digest]) -> None:
    full = HomeData(
        running=[RunningQuestion(id=str(uuid4()), command="ask", text="x", state="working", age=3.0)] * MAX_RUNNING,
        recent=[
            Recent(id=str(uuid4()), command="ask", text="x", state="answered", at=1.0, sources=3, kept=True)
            for _ in range(MAX_RECENT)
        ],
        questions=3,
        cost=1,
    )
    problems = data.problems
    own = home_blocks(
        full,
        texts={},
        slash="",
        notice="Told.",
        problems=problems,
        top=[button("Set up a digest", "digest_modal", "home"), button("Settings", "settings_modal", "home")],
        end=data_requests.home_buttons(),
        sections=digests_of_person([DIGEST] * 20),
    )
    pages: list[tuple[AllRows[Any], Sequence[Any]]] = [
        *((all_use(table, returning(data.use)), table.rows(data.use)) for table in USE_TABLES),
        (all_digests(returning(())), digests),
        (all_recorded(returning(())), data.recorded),
    ]
    buttons = [one for rows, of in pages for one in rows.buttons(of)]
    sections = [*budgets_section(SPENDING.lines), limits_section(LIMITS, FIXED, ())]
    blocks = [*admin_blocks(data, "Told.", sections, [*workspace_blocks(digests)]), *all_rows_buttons(buttons)]

    assert check_view({"type": "home", "blocks": own}) == check_view({"type": "home", "blocks": blocks}) == []
    assert max(len(own), len(blocks)) <= 100
    tables = [cell for block in blocks if block["type"] == "table" for row in block["rows"] for cell in row]
    assert sum(len(str(cell.get("text", ""))) for cell in tables) <= 10_000

    for rows, of in pages:
        for page in (0, 1, 99):
            assert check_view(modal("x", rows.title, rows.page(of, page))) == []


def lines(blocks: list[dict[str, Any]]) -> list[str]:
    """Return the items of the lists of a page as they read, with ids instead of the names that Slack fills in."""
    return [
        "".join(leaf.get("text") or leaf.get("user_id") or leaf["channel_id"] for leaf in item["elements"])
        for block in blocks
        if block["type"] == "rich_text"
        for part in block["elements"]
        for item in part["elements"]
    ]


def test_a_line_of_a_page_reads_as_one_and_says_who_it_was() -> None:
    at, person, channel = datetime(2026, 11, 22, 10, 5, tzinfo=UTC), "U012AB3CD", "C012AB3CD"
    recorded = [
        Recorded(
            at=at, user_id=person, what="channel.settings", channel_id=channel, decision="done", before="1", after="2"
        ),
        Recorded(at=at, user_id="", what="workspace.install", channel_id="", decision="done", after="open"),
        Recorded(at=at, user_id=None, what="digest.stop", channel_id="D", decision="done"),
        *(
            Recorded(at=at, user_id="", what="x", channel_id="", decision="done", before=before, after=after)
            for before, after in (
                ('{"amount": 2500000}', '{"amount": null}'),
                ('"open"', '"revoked"'),
                ('{"amount": 0}', None),
                ('{"effort": "low"}', '{"amount": "1", "b": 2}'),
                ('"\\ud800"', "["),
            )
        ),
    ]
    uses = [Use(name=person, count=1, cost=20_000), Use(name="", count=2, cost=0)]
    data = AdminData(use=WorkspaceUse(days=uses, people=uses))
    (people,) = (table for table in USE_TABLES if table.name == "people")

    assert lines(recorded_list(recorded)) == [
        f"2026-11-22 10:05 · {person} · channel.settings · {channel} · 1 → 2",
        "2026-11-22 10:05 · the app · workspace.install · open",
        "2026-11-22 10:05 · erased · digest.stop · direct messages · done",
        "2026-11-22 10:05 · the app · x · $2.50 → no limit",
        "2026-11-22 10:05 · the app · x · open → revoked",
        "2026-11-22 10:05 · the app · x · $0.00 → –",
        '2026-11-22 10:05 · the app · x · {"effort": "low"} → {"amount": "1", "b": 2}',
        '2026-11-22 10:05 · the app · x · "\\ud800" → [',
    ]
    assert lines(people.list(uses)) == [
        f"{person}: 1 question, $0.02",
        "erased people, and the app: 2 questions, $0.00",
    ]
    # Both have no id in the sums; the home tab knows no more.
    assert "erased people, and the app" in json.dumps(admin_blocks(data))


async def page(harness: Driver, *words: str) -> str:
    """Wait until the open window shows these words, and return all of it."""
    async with asyncio.timeout(15):
        while True:
            content = json.dumps(dict(harness.slack.modal(ADMIN).content), ensure_ascii=False)
            if all(word in content for word in words):
                return content
            await asyncio.sleep(0.05)


async def test_what_does_not_fit_has_pages(workspace: Driver) -> None:
    await workspace.execute(
        "INSERT INTO ledger (id, team_id, channel_id, user_id, provider, effort, reserved, cost, state, ended_at)"
        " SELECT gen_random_uuid(), 'T1', 'C1', 'UP' || n, 'Perplexity', 'fast', 0, n * 10000, 'settled', now()"
        " FROM generate_series(1, 99) n"
    )
    text = await workspace.open_admin_page("Use by person (100)")
    assert '"UP99"' in text
    assert '"UP1"' not in text
    assert f"{OPEN_PAGE}days:0" not in text

    await workspace.press_home(f"{OPEN_PAGE}people:0")
    first = await page(workspace, "1 to 40 of 100", '"UP99"', '"UP60"', "$0.99")
    assert '"UP59"' not in first
    await turn(workspace, 1)
    await page(workspace, "41 to 80 of 100", '"UP59"', "Previous")
    await turn(workspace, 2)
    last = await page(workspace, "81 to 100 of 100", '"UP1"', '"U2"')
    assert "Next" not in last
    assert SECRET not in first + last

    # Each turn asks Slack again.
    workspace.slack.workspace.admins.clear()
    await turn(workspace, 1)
    await workspace.home(NOT_ADMIN)
    assert "81 to 100" in await page(workspace)


async def turn(harness: Driver, number: int) -> None:
    view = harness.slack.modal(ADMIN)
    await harness.press(view, f"{OPEN_PAGE}people:{number}")


async def test_every_digest_can_be_stopped_on_its_page(workspace: Driver, database: str) -> None:
    await workspace.execute(
        "INSERT INTO digests SELECT (jsonb_populate_record(d, jsonb_build_object("
        "'id', gen_random_uuid(), 'number', 1 + n, 'topic', 'topic' || n))).*"
        " FROM digests d, generate_series(1, 10) n"
    )
    await workspace.open_admin_page("Everyone’s digests (11)")
    await workspace.press_home(f"{OPEN_PAGE}digests:0")
    await page(workspace, "1 to 11 of 11", "topic9", "topic10")

    digest = (await records(database, "SELECT id FROM digests ORDER BY number DESC LIMIT 1"))[0]["id"]
    view = workspace.slack.modal(ADMIN)
    buttons = [
        (element["action_id"], element["value"])
        for block in view.content["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
    ]
    assert (STOP_DIGEST, str(digest)) in buttons
    assert len(buttons) == 11


async def test_a_page_is_refused_to_others(workspace: Driver) -> None:
    await workspace.as_user("U3").open_home("Your recent questions")
    forged = replace(workspace.person, user="U3")
    async with await forged.click(f"{OPEN_PAGE}people:0", "admin", token=str(uuid4())) as response:
        assert response.status == 200

    await workspace.slack.wait_until(lambda: NOT_ADMIN in json.dumps([p.payload for p in workspace.slack.posts]))
    with pytest.raises(LookupError):
        workspace.slack.modal("U3")


async def test_days_are_those_of_utc(harness: Driver, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        name = (await (await connection.execute("SELECT current_database()")).fetchone() or [""])[0]
        await connection.execute(f"ALTER DATABASE \"{name}\" SET timezone = 'Pacific/Kiritimati'".encode())
    async with connection_pool(database) as pool:
        async with pool.connection() as connection:
            await connection.execute(
                "INSERT INTO ledger (id, team_id, channel_id, user_id, provider, effort, reserved, cost, state, at)"
                " VALUES (gen_random_uuid(), 'T9', 'C1', 'U1', 'Perplexity', 'fast', 0, 7, 'settled',"
                " '2026-11-20 23:30Z'), (gen_random_uuid(), 'T9', 'C1', 'U1', 'Perplexity', 'fast', 0, 5, 'settled',"
                " '2026-11-21 00:30Z')"
            )
        now = datetime(2026, 11, 21, 1, tzinfo=UTC)
        use = await AdminStore(pool, commands=lambda: ["ask"], now=lambda: now).use("T9")
    assert [(one.name, one.cost) for one in use.days] == [("2026-11-21", 5), ("2026-11-20", 7)]


async def test_an_erased_person_is_in_no_sum_any_more(harness: Driver, database: str) -> None:
    """Though the sums of the days before today are kept for an hour."""
    async with connection_pool(database) as pool:
        async with pool.connection() as connection:
            await connection.execute(
                "INSERT INTO ledger (id, team_id, channel_id, user_id, provider, effort, reserved, cost, state, at)"
                " SELECT gen_random_uuid(), 'T9', 'C1', who, 'Perplexity', 'fast', 0, 7, 'settled', at"
                " FROM unnest(ARRAY['U1', 'U2']) who,"
                " unnest(ARRAY['2026-11-21 00:30Z', '2026-11-22 00:30Z']::timestamptz[]) at"
            )
        store = AdminStore(pool, commands=lambda: ["ask"], now=lambda: datetime(2026, 11, 22, 1, tzinfo=UTC))
        assert {one.name for one in (await store.use("T9")).people} == {"U1", "U2"}
        await PersonalDataStore(pool).erase("U1", team_id="T9", own=True)
        use = await store.use("T9")
    assert [(one.name, one.cost) for one in use.people] == [("", 14), ("U2", 14)]


async def test_an_admin_stops_another_person_s_question__recorded_as_theirs(workspace: Driver, database: str) -> None:
    workspace.perplexity.hold()
    await workspace.as_user(OTHER).ask("/ask why", trigger="t9")
    question = (await records(database, "SELECT id FROM questions WHERE settled_at IS NULL"))[0]["id"]

    await workspace.click_button("stop", str(question), token="admin")
    workspace.perplexity.release()

    async with asyncio.timeout(60):
        while True:
            entries = await records(
                database, "SELECT * FROM audit LEFT JOIN audit_people USING (team_id, who) ORDER BY what"
            )
            found = [one for one in entries if one["subject"] == str(question)]
            if len(found) == 2:
                break
            await asyncio.sleep(0.05)
    assert [(one["what"], one["user_id"]) for one in found] == [("question.ask", OTHER), ("question.stop", ADMIN)]
    assert found[1]["after"] == "stopped"


async def test_budgets_are_changed_in_a_form__recorded_with_before_and_after(workspace: Driver, database: str) -> None:
    await workspace.open_admin_page("Change budgets")
    await workspace.press_home(CHANGE_BUDGETS)
    assert await workspace.submit(user="2.50", workspace="$100") == {}
    await workspace.home("The budgets are saved.", "*$2.50*")
    await workspace.press_home(CHANGE_BUDGETS)
    inputs = [block["element"] for block in workspace.slack.modal().blocks if block["type"] == "input"]
    shown = {one["action_id"]: one.get("initial_value") or one["placeholder"]["text"] for one in inputs}
    weekly = dict.fromkeys(("user_week", "channel_week", "workspace_week"), "no limit")
    assert shown == {"user": "2.50", "channel": "no limit", "workspace": "100.00"} | weekly
    assert await workspace.submit(user="") == {}
    await workspace.home("The budgets are saved.", without="*$2.50*")

    assert await recorded_budgets(database, 3) == [
        ("budget.user", None, {"amount": 2_500_000}),
        ("budget.workspace", None, {"amount": 100_000_000}),
        ("budget.user", {"amount": 2_500_000}, None),
    ]


async def recorded_budgets(database: str, count: int) -> list[tuple[Any, ...]]:
    """Wait until so many changes of budgets are in the audit log, and return them."""
    async with asyncio.timeout(60):
        while True:
            found = await records(
                database, "SELECT what, before, after FROM audit WHERE what LIKE 'budget.%' ORDER BY number"
            )
            if len(found) == count:
                return [tuple(one.values()) for one in found]
            await asyncio.sleep(0.05)


@pytest.mark.settings(budget_user_day_usd=Decimal(5))
@pytest.mark.parametrize("word", ["off", "None"])
async def test_a_default_is_lifted_in_the_form__and_recorded_with_its_amount(
    workspace: Driver, database: str, word: str
) -> None:
    await workspace.open_admin_page("*$5.00*")
    await workspace.press_home(CHANGE_BUDGETS)
    assert await workspace.submit(user=word) == {}
    await workspace.home("The budgets are saved.", without="*$5.00*")
    assert await recorded_budgets(database, 1) == [("budget.user", {"amount": 5_000_000}, {"amount": None})]


async def test_an_amount_that_is_none_is_refused_and_named(workspace: Driver, database: str) -> None:
    await workspace.open_admin_page()
    await workspace.press_home(CHANGE_BUDGETS)

    errors = await workspace.submit(channel="a lot")

    assert "cannot be “a lot”: it takes an amount in dollars" in errors["channel"]
    assert errors["channel"].endswith(", off, or nothing.")
    assert await records(database, "SELECT 1 FROM budgets") == []


async def test_spending_is_paused_and_allowed_again(workspace: Driver) -> None:
    await workspace.open_admin_page()
    await workspace.press_home(PAUSE_SPENDING)
    await workspace.home("All paid searches are paused", RESUME_SPENDING)
    await workspace.press_home(RESUME_SPENDING)
    await workspace.home("Paid searches are allowed again", without="All paid searches are paused")


@pytest.mark.parametrize("action", [CHANGE_BUDGETS, PAUSE_SPENDING])
async def test_a_demoted_admin_changes_no_budget(workspace: Driver, database: str, action: str) -> None:
    await workspace.open_admin_page()
    workspace.slack.workspace.admins.clear()

    await workspace.press_home(action)

    await workspace.home(NOT_ADMIN, without="For admins")
    assert await records(database, "SELECT 1 FROM spending_pauses") == []
    with pytest.raises((LookupError, IndexError)):
        workspace.slack.modal()


async def test_an_admin_who_is_demoted_while_the_form_is_open_saves_nothing(workspace: Driver, database: str) -> None:
    await workspace.open_admin_page()
    await workspace.press_home(CHANGE_BUDGETS)
    workspace.slack.workspace.admins.clear()

    assert await workspace.submit(user="2") == {"user": NOT_ADMIN}
    assert await records(database, "SELECT 1 FROM budgets") == []
    recorded = "SELECT what, decision FROM audit UNION ALL SELECT what, decision FROM audit_outbox"
    assert {"what": "budget.change", "decision": "refused"} in await records(database, recorded)
