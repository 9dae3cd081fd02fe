"""The command line and the doctor for many workspaces."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping

import psycopg
import pytest
from pydantic import SecretStr

from bot.__main__ import main
from bot.doctor.checks import Finding
from bot.doctor.diagnosis import diagnose
from bot.features import CHECKS, OFFERS
from bot.settings import read_keys
from bot.workspaces.encryption import KeyRing, place_of
from tests.driver import execute
from tests.fakes.perplexity import KEY as PERPLEXITY_KEY
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.slack import BOT_TOKEN, FakeSlack, refusal
from tests.fakes.workspaces import KEY, PUBLIC_URL, SECOND_KEY, oauth_settings

RING = KeyRing.of(read_keys(KEY))


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch, database: str, logging_as_it_was: None) -> None:
    values = {
        "SLACK_OAUTH_CLIENT_ID": "12.34",
        "SLACK_OAUTH_CLIENT_SECRET": "secret",
        "PUBLIC_URL": PUBLIC_URL,
        "ALLOWED_TEAMS": "T1,E1",
        "ENCRYPTION_KEYS": f"{SECOND_KEY},{KEY}",
        "SLACK_SIGNING_SECRET": "0" * 32,
        "DATABASE_URL": database,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)


async def add(database: str, owner: str, columns: Mapping[str, object] = {}, *, ring: KeyRing = RING) -> None:
    values: dict[str, object] = {
        "id": owner,
        "team_id": owner,
        "is_enterprise_install": owner.startswith("E"),
        **columns,
    }
    values["bot_token"] = ring.encrypt(BOT_TOKEN, place=place_of(owner, "bot_token"))
    names = ", ".join(values)
    places = ", ".join("%s" for _ in values)
    await execute(database, f"INSERT INTO installations ({names}) VALUES ({places})", *values.values())  # noqa: S608


def test_install_url_prints_the_address(configured: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install-url"]) == 0
    assert capsys.readouterr().out == f"{PUBLIC_URL}/slack/install\n"


def test_without_a_public_address_install_url_says_who_reaches_it(
    configured: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PUBLIC_URL")

    assert main(["install-url"]) == 0
    said = capsys.readouterr()
    assert said.out == "http://127.0.0.1:3000/slack/install\n"
    assert "Set PUBLIC_URL" in said.err


@pytest.mark.parametrize("command", ["install-url", "rotate-keys"])
def test_without_oauth_the_settings_are_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 2
    assert "SLACK_OAUTH_CLIENT_ID" in capsys.readouterr().err


def test_the_manifest_takes_the_configured_address(configured: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest"]) == 0
    assert f"{PUBLIC_URL}/slack/oauth_redirect" in capsys.readouterr().out


def test_the_manifest_can_be_had_before_there_is_an_app(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "--oauth", "--url", "https://a.example.com"]) == 0
    assert "https://a.example.com/slack/oauth_redirect" in capsys.readouterr().out
    assert main(["manifest", "--url", "https://a.example.com"]) == 0
    assert "oauth_redirect" not in capsys.readouterr().out


async def recorded(database: str) -> list[tuple[str, str, str, str]]:
    """Return what is to be chained in the audit log: where, by whom, what, and about what."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        query = "SELECT team_id, user_id, what, subject FROM audit_outbox ORDER BY id"
        return list(await (await connection.execute(query)).fetchall())


def test_rotate_keys_says_what_it_did(configured: None, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(add(database, "T1"))
    assert main(["rotate-keys"]) == 0
    first = capsys.readouterr().out
    assert main(["rotate-keys"]) == 0
    second = capsys.readouterr().out
    asyncio.run(add(database, "T2", ring=KeyRing.of([bytes(32)])))
    assert main(["rotate-keys"]) == 1
    third = capsys.readouterr().out

    assert "Encrypted again 1" in first
    assert "Encrypted again 0" in second
    assert asyncio.run(recorded(database)) == [("T1", "", "keys.rotate", "")]
    assert "Already current 1" in second
    assert "T2 (bot_token)" in third


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


async def findings(slack: FakeSlack, database: str, **changes: object) -> list[Finding]:
    async with FakePerplexity() as perplexity:
        settings = oauth_settings(slack, perplexity, database_url=SecretStr(database), **changes)
        found = await diagnose(settings, {}, now=time.time, offers=OFFERS, checks=CHECKS)
    return [one for one in found if one.title in {"Workspaces", "Slack", "Clock"}]


def texts(found: list[Finding]) -> str:
    return "\n".join(f"{one.text} {one.fix}" for one in found)


async def test_the_doctor_is_content_with_a_good_setup(slack: FakeSlack, database: str) -> None:
    await add(database, "T1")
    said = texts(await findings(slack, database))

    assert "1 have installed the app." in said
    assert "Every token can be decrypted" in said
    assert "Slack can be reached." in said
    assert "clock agrees" in said


FAULTS: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "The tokens of these cannot be decrypted: T1.": ("T1", {}, {"encryption_keys": SecretStr(SECOND_KEY)}),
    "Then run `python -m bot rotate-keys`": ("T1", {}, {"encryption_keys": SecretStr(f"{SECOND_KEY},{KEY}")}),
    "ALLOWED_TEAMS does not list them any more: T9.": ("T9", {}, {}),
    "Every token can be decrypted": ("T9", {"enterprise_id": "E1"}, {}),
    "ALLOWED_TEAMS does not list them any more: E9.": ("E9", {"enterprise_id": "E9"}, {}),
    "the token of T1 (invalid_refresh_token)": ("T1", {"refresh_error": "invalid_refresh_token"}, {}),
    "have expired and could not be refreshed: T1.": ("T1", {"expires_at": "2020-01-01"}, {}),
    "Set PUBLIC_URL to the https address": ("T1", {}, {"public_url": None}),
}
"""What the doctor says for an installation with these columns, and these settings."""


async def test_the_doctor_tries_the_tokens_of_workspaces(slack: FakeSlack, database: str) -> None:
    await add(database, "T1")
    await add(database, "T2")
    slack.fail("auth.test", refusal("account_inactive"))
    slack.workspace.scopes.remove("im:write")
    said = texts(await findings(slack, database))

    assert re.search(r"Slack refuses the tokens of these \(account_inactive\): T[12]\. Have them install", said)
    assert re.search(r"The tokens of these lack scopes: T[12]\. im:write: \w", said)
    assert f"install the app again at {PUBLIC_URL}/slack/install." in said


async def test_the_doctor_tries_the_keys_that_workspaces_brought(slack: FakeSlack, database: str) -> None:
    keys = {"T1": "pplx-refused", "T2": PERPLEXITY_KEY}
    for owner, key in keys.items():
        await add(database, owner)
        await execute(
            database,
            "INSERT INTO provider_keys (id, provider, secret) VALUES (%s, 'perplexity', %s)",
            owner,
            RING.encrypt(key, place=place_of(owner, "perplexity")),
        )
    said = texts(await findings(slack, database))

    assert "The key that T1 brought for perplexity cannot be used: Perplexity refuses the key." in said
    assert "`python -m bot provider-key set T1 perplexity`" in said
    assert "The key that T2" not in said
    assert "pplx-refused" not in said


@pytest.mark.parametrize("expected", FAULTS)
async def test_the_doctor_explains_what_is_wrong(slack: FakeSlack, database: str, expected: str) -> None:
    owner, columns, changes = FAULTS[expected]
    await add(database, owner, columns)
    said = texts(await findings(slack, database, **changes))

    assert expected in said
    assert KEY not in said


async def test_the_doctor_names_the_workspaces_that_their_organization_took_off(
    slack: FakeSlack, database: str
) -> None:
    await add(database, "E1", {"enterprise_id": "E1"})
    await execute(
        database,
        "INSERT INTO organization_teams (team_id, enterprise_id, revoked)"
        " VALUES ('T7', 'E1', true), ('T8', 'E1', false), ('T9', 'E2', true)",
    )
    said = texts(await findings(slack, database))

    assert "taken them off the app: T7." in said
    assert "team_access_revoked" in said
