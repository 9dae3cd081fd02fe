"""`python -m bot settings`: what admins have set as a file, and back, byte by byte."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL, Identifier

from bot.__main__ import main
from bot.features.settings.file import render
from tests.rare import one_in

pytestmark = pytest.mark.features("budgets", "limits", "settings")

FILE = """\
# What admins have set. `python -m bot settings plan FILE` says what applying it would change.

[T1.budgets]
"channel C1" = "10.00"
user = "2.50"
"user U2" = "off"
"user week" = "5.00"

[T1.channels.C1]
allow = ["docs.python.org"]
askers = "U1 U2"
external = false
model = "high"

[T1.limits]
open = 3
user = 0

[T1.workspace]
deny = ["bad.example"]

[T2.channels.C9]
follow-ups = true
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    database: str,
    logging_as_it_was: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Command:
    """Return a function that runs a command with the text of a file, and returns its code and what it printed."""
    for name, value in {"DATABASE_URL": database, "PERPLEXITY_API_KEY": "pplx-canary"}.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, file: str | None = None) -> tuple[int, str, str]:
        if file is not None:
            (tmp_path / "file.toml").write_text(file, encoding="utf-8")
            arguments = (*arguments, str(tmp_path / "file.toml"))
        code = main(["settings", *arguments])
        return (code, *capsys.readouterr())

    return run


def rows(database: str, query: str) -> list[Any]:
    with psycopg.connect(database) as connection:
        return connection.execute(query.encode()).fetchall()


def empty(database: str) -> None:
    with psycopg.connect(database) as connection:
        for table in ("budgets", "channel_settings", "workspace_settings", "workspace_limits"):
            connection.execute(SQL("DELETE FROM {}").format(Identifier(table)))


def test_a_file_is_planned__applied_once__audited__and_exported_as_it_was(command: Command, database: str) -> None:
    code, planned, _ = command("plan", file=FILE)
    assert code == 2
    assert 'T1.channels.C1.allow: not set -> ["docs.python.org"]\n' in planned
    assert planned.endswith("12 to change.\n")
    assert command("export")[1].count("\n") == 1

    assert command("apply", file=FILE)[0] == 0
    assert command("plan", file=FILE) == (0, "Nothing to change.\n", "")
    assert command("export") == (0, FILE, "")
    whats = [what for (what,) in rows(database, "SELECT what FROM audit_outbox WHERE user_id = '' ORDER BY id")]
    assert sorted(whats) == [
        *("budget.channel", "budget.user", "budget.user", "budget.user_week"),
        *("channel.settings", "channel.settings", "limit.open", "limit.user", "workspace.settings"),
    ]


def test_what_a_named_workspace_leaves_out_is_taken_back__and_others_stay(command: Command, database: str) -> None:
    command("apply", file=FILE)

    assert command("plan", file='[T1.budgets]\nuser = "3"\n')[1].splitlines() == [
        'T1.budgets."channel C1": "10.00" -> not set',
        'T1.budgets.user: "2.50" -> "3.00"',
        'T1.budgets."user U2": "off" -> not set',
        'T1.budgets."user week": "5.00" -> not set',
        'T1.channels.C1.allow: ["docs.python.org"] -> not set',
        'T1.channels.C1.askers: "U1 U2" -> not set',
        "T1.channels.C1.external: false -> not set",
        'T1.channels.C1.model: "high" -> not set',
        "T1.limits.open: 3 -> not set",
        "T1.limits.user: 0 -> not set",
        'T1.workspace.deny: ["bad.example"] -> not set',
        "11 to change.",
    ]
    assert command("apply", file="[T1]\n")[0] == 0
    assert command("export")[1].endswith("\n[T2.channels.C9]\nfollow-ups = true\n")
    assert command("apply", file="")[1] == "Nothing to change.\n"


@pytest.mark.parametrize(
    ("file", "problem"),
    one_in(
        3,
        [
            ('[T1.channels.C1]\nalow = "a.com"', "T1.channels.C1.alow: there is no 'alow'; did you mean allow?"),
            ('[T1.channels.C1]\nexternal = "maybe"', "T1.channels.C1.external cannot be 'maybe': it takes on or off"),
            ('[T1.channels.C1]\naskers = "anna"', "it takes everyone, admins, or at most 50"),
            (
                "[T1.channels.C1]\nallow = 5",
                "T1.channels.C1.allow cannot be '5': it takes a text, true, false, or a list of texts",
            ),
            ("[T1.channels.D1]", "T1.channels.D1: it must be a table with the id of a channel, such as C012AB3CD"),
            ("[T1.workspace]\nmodell = 1", "T1.workspace.modell: there is no 'modell'"),
            ('[T1.budgets]\nuser = "much"', "T1.budgets.user: The budget of `user` cannot be `much`"),
            ("[T1.budgets]\nuser = true", "T1.budgets.user: a budget cannot be True"),
            ('[T1.budgets]\n"channel here" = 5', 'T1.budgets."channel here": channel here = 5 is for Slack only'),
            ("[T1.limits]\nopen = -1", "T1.limits.open: the limit open cannot be -1: it takes a whole number from 1"),
            ("[T1.limits]\nopened = 1", "T1.limits.opened: there is no 'opened'; did you mean open?"),
            ("[T1.chanels]", "T1.chanels: a workspace has the tables workspace, channels, budgets and limits"),
            ("[team]", "team: it must be a table with the id of a workspace, such as T012AB3CD"),
            ("T1 = 5", "T1: it must be a table with the id of a workspace, such as T012AB3CD"),
            ("[T1", "This is no TOML"),
            (
                '[T1.workspace]\nallow = ["a.com"]\n[T1.channels.C1]\nallow = ["b.com"]',
                "T1.channels.C1.allow cannot be 'b.com': answers in this workspace come from a.com only",
            ),
        ],
    ),
)
def test_a_wrong_file_is_told_by_field_value_and_what_is_allowed__and_changes_nothing(
    command: Command, database: str, file: str, problem: str
) -> None:
    code, printed, told = command("apply", file=f'{file}\n[T2.budgets]\nuser = "1"\n')

    assert (code, printed) == (1, "")
    assert problem in told
    assert command("export")[1].count("\n") == 1
    assert rows(database, "SELECT 1 FROM audit_outbox") == []


def test_explain_names_the_level_that_has_set_each_value(
    command: Command, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command("explain", "--user", "U1", "--channel", "C1")[0] == 1
    monkeypatch.setenv("BUDGET_CHANNEL_DAY_USD", "7")
    command("apply", file=FILE)
    with psycopg.connect(database) as connection:
        connection.execute("""INSERT INTO person_settings VALUES ('T1', 'U2', '{"model": "fast", "language": "de"}')""")
        connection.execute("INSERT INTO budgets VALUES ('', 'user', '', 5000000, '')")

    def explained(user: str, channel: str) -> set[tuple[str, str]]:
        code, printed, _ = command("explain", "--team", "T1", "--user", user, "--channel", channel)
        assert code == 0
        return {(line[:22].strip(), " ".join(line[22:].split())) for line in printed.splitlines()}

    assert {
        ("model", "fast the person"),
        ("language", "de the person"),
        ("visibility", "- no one: the app’s own default"),
        ("allow", "docs.python.org the channel"),
        ("deny", "bad.example the workspace"),
        ("budget user", "off an admin, for U2"),
        ("budget user week", "5.00 an admin, for the workspace"),
        ("budget channel", "10.00 an admin, for C1"),
        ("budget workspace", "off no one"),
        ("limit open", "3 the workspace"),
        ("limit channel", "60 the environment"),
    } <= explained("U2", "C1")
    assert {("model", "high the channel"), ("budget user", "2.50 an admin, for the workspace")} <= explained("U1", "C1")
    assert ("budget channel", "7.00 the environment") in explained("U1", "C2")
    command("apply", file="[T1]")
    assert ("budget user", "5.00 a new installation begins with it") in explained("U1", "C2")


def test_no_secret_is_exported(command: Command, database: str) -> None:
    command("apply", file=FILE)
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO provider_keys (id, provider, secret) VALUES ('T1', 'perplexity', 'canary')")
        connection.execute("""INSERT INTO person_settings VALUES ('T1', 'U1', '{"language": "de"}')""")

    assert command("export")[1] == FILE


IDS = st.from_regex(r"[A-Z0-9]{1,6}", fullmatch=True)
HOSTS = st.lists(st.sampled_from(["a.com", "b.org", "docs.python.org", "c.net"]), min_size=1, max_size=3, unique=True)
AMOUNTS = st.one_of(st.just("off"), st.integers(0, 10**12).map(lambda one: one / 10**6).map("{:.2f}".format))
SWITCH = st.booleans()
RULES = {
    "allow": st.just(["a.com", "b.org", "c.net", "docs.python.org"]),
    "deny": HOSTS,
    "max-effort": st.sampled_from(["fast", "medium", "xhigh"]),
    "models": st.sampled_from([["none"], ["openai/gpt-6-luna"]]),
    "instructions": st.sampled_from(["Say mice, never rats.", 'Call it "the App",\nand say é, \\ and 😀.']),
}
CHANNELS = st.fixed_dictionaries(
    {},
    optional=RULES
    | {
        "askers": st.one_of(st.just("admins"), st.lists(IDS.map("U{}".format), min_size=1, unique=True).map(" ".join)),
        "model": st.sampled_from(["fast", "xhigh", "openai/gpt-6"]),
        "language": st.sampled_from(["en", "de"]),
        "visibility": st.sampled_from(["private", "public"]),
        "history": SWITCH,
        "follow-ups": SWITCH,
        "external": SWITCH,
    },
)
BUDGETS = st.one_of(
    st.sampled_from(["user", "user week", "channel", "workspace", "workspace week"]),
    st.tuples(IDS, st.sampled_from(["", " week"])).map(lambda one: f"user U{one[0]}{one[1]}"),
    IDS.map("channel C{}".format),
)
WORKSPACES = st.fixed_dictionaries(
    {
        "budgets": st.dictionaries(BUDGETS, AMOUNTS, max_size=4),
        "channels": st.dictionaries(IDS.map("C{}".format), CHANNELS, max_size=3),
        "limits": st.dictionaries(st.sampled_from(["open", "user", "thread"]), st.integers(0, 10**6)),
        "workspace": st.fixed_dictionaries({}, optional=RULES | {"store-nothing": SWITCH}),
    }
)


def flat(table: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, value in table.items():
        found |= flat(value, (*path, name)) if isinstance(value, dict) else {(*path, name): value}
    return found


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(IDS.map("T{}".format), WORKSPACES, max_size=2))
@example({})
def test_an_export_applied_to_an_empty_database_is_exported_byte_by_byte(
    command: Command, database: str, file: dict[str, Any]
) -> None:
    empty(database)
    assert command("apply", file=render(flat(file)))[0] == 0
    exported = command("export")[1]
    assert flat(tomllib.loads(exported)) == flat(file)

    empty(database)
    assert command("apply", file=exported)[0] == 0
    assert command("export")[1] == exported
