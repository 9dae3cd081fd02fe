"""A command is one file and one line: both are added to a copy of the app, which is used through its front door."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from aiohttp import ClientSession

from tests.driver import KEY
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import SIGNING_SECRET, Person
from tests.fakes.process import Process
from tests.fakes.slack import BOT_TOKEN, FakeSlack

ROOT = Path(__file__).parents[2]
FILE = '''"""`/coin`: heads or tails."""

from bot.commands.base import Command, Reply, Stats
from bot.commands.base import CommandContext
from bot.commands.help import text_message
from bot.model.message import Audience


async def answer(request: str, context: CommandContext) -> str:
    return f"{request}: heads"


COIN = Command(
    name="coin",
    summary="Toss a coin",
    usage="QUESTION",
    parse=str.strip,
    audience=lambda request: Audience.ASKER,
    answer=answer,
    render=lambda side, request, audience: Reply(
        messages=(text_message(side),), stats=Stats(provider="Mint", cost_usd=0.25)
    ),
    question_text=str,
    pending_label="Tossing a coin",
)
'''
IMPORT = "from bot.commands.coin import COIN\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the app with the command added; `PYTHONSAFEPATH` makes Python import it, not the original."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "bot", copy / "bot", ignore=shutil.ignore_patterns("__pycache__", "build"))
    for name in ("fake_slack", "perplexity"):
        (copy / name).symlink_to(ROOT / name)
    (copy / "bot/commands/coin.py").write_text(FILE)
    listed = copy / "bot/commands/__init__.py"
    before, head, after = listed.read_text().partition("from bot.commands.base import Command\n")
    added = f"{before}{head}{IMPORT}{after}".replace("    SEARCH,\n", "    COIN,\n    SEARCH,\n")
    assert added.count("COIN") == 2
    listed.write_text(added)
    return copy


@dataclass(frozen=True, kw_only=True)
class App:
    """The copy, running, and a person who types commands to it."""

    slack: FakeSlack
    person: Person

    async def types(self, line: str, *, trigger: str) -> str:
        """Type a command; return the text and blocks of the ack."""
        async with await self.person.type_command(line, trigger=trigger) as response:
            assert response.status == 200
            return json.dumps(await response.json(), ensure_ascii=False)


@pytest.fixture
async def app(
    tree: Path, database: str, slack: FakeSlack, perplexity: FakePerplexity, session: ClientSession
) -> AsyncIterator[App]:
    process = await Process.start(
        "run",
        PYTHONPATH=str(tree),
        PYTHONSAFEPATH="1",
        SLACK_BOT_TOKEN=BOT_TOKEN,
        SLACK_SIGNING_SECRET=SIGNING_SECRET,
        SLACK_API_URL=slack.api_url,
        PERPLEXITY_API_KEY=KEY,
        PERPLEXITY_BASE_URL=perplexity.base_url,
        DATABASE_URL=database,
    )
    yield App(slack=slack, person=Person(session=session, app_url=process.url, response_url=slack.response_url))
    await process.kill()


async def recorded(database: str) -> tuple[object, ...] | None:
    """Wait for the question to be settled; return what its row says."""
    async with asyncio.timeout(60), await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        while True:
            cursor = await connection.execute("SELECT command, state, provider, cost_usd::float FROM questions")
            row = await cursor.fetchone()
            if row is not None and row[1] == "answered":
                return row
            await asyncio.sleep(0.05)


async def test_a_new_command_is_asked_answered_recorded_and_listed(app: App, database: str) -> None:
    pending = await app.types("/coin tea or coffee?", trigger="t1")
    await app.slack.wait_for(1)
    helped = await app.types("/pplx help coin", trigger="t2")

    (post,) = app.slack.posts
    assert "Tossing a coin for “tea or coffee?”" in pending
    assert (post.payload["text"], post.payload["replace_original"]) == ("tea or coffee?: heads", True)
    assert await recorded(database) == ("coin", "answered", "Mint", 0.25)
    assert "Toss a coin" in helped


async def test_the_manifest_lists_a_new_command(tree: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        "manifest",
        env={"PATH": os.environ["PATH"]} | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()

    assert "/coin" in printed.decode()
    assert "Toss a coin" in printed.decode()
