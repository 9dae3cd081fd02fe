"""Where a company's proxy opens TLS, its authority is trusted in every connection: CA_BUNDLE."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.settings import Settings, SettingsError, load_settings
from perplexity.agent import WebAgent, build_model
from perplexity.client import PerplexityClient
from perplexity.errors import ConnectionFailed, InvalidRequest
from perplexity.providers import duckduckgo
from perplexity.providers.base import ProviderConfig
from perplexity.tools.environment import config_from_env
from perplexity.transport import tls_context
from perplexity.types import Message, Query, Question
from tests.driver import KEY, Driver
from tests.end_to_end.test_socket_mode import Workspace, started
from tests.fakes.duckduckgo import FakeDuckDuckGo, Hit, PointDdgsAt
from tests.fakes.model_server import MODEL, FakeModelServer, Says
from tests.fakes.perplexity import FakePerplexity
from tests.fakes.private_ca import PrivateCA
from tests.fakes.process import KEPT, READY_SECONDS
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, FakeSlack
from tests.fakes.slack_socket import FakeSlackSocket
from tests.rare import one_in

ALLOWED = "INSERT INTO workspace_settings (team_id, settings) VALUES ('T1', '{\"files\": true}')"


@pytest.fixture
def authority(tmp_path: Path) -> PrivateCA:
    return PrivateCA(tmp_path)


@pytest.fixture
def settings(settings: Settings, authority: PrivateCA) -> Settings:
    return settings.model_copy(update={"ca_bundle": str(authority.path)})


@pytest.fixture
async def slack(authority: PrivateCA) -> AsyncIterator[FakeSlack]:
    fake = FakeSlack()
    fake.tls = authority.tls
    async with fake:
        yield fake


@pytest.fixture
async def perplexity(authority: PrivateCA) -> AsyncIterator[FakePerplexity]:
    fake = FakePerplexity()
    fake.tls = authority.tls
    async with fake:
        yield fake


async def test_slack_its_files_and_the_services_are_reached(harness: Driver) -> None:
    await harness.execute(ALLOWED)
    private = await harness.answered("/ask how far is the moon")
    file = harness.slack.share("a.png", b"\x89PNG\r\n\x1a\nimage")
    public = await harness.answered_mention("what is it", files=[file], subtype="file_share")

    assert "Example answer" in str(private)
    assert public["blocks"][0]["elements"][0]["text"] == "I read a.png."
    assert harness.slack.origin.startswith("https://")


async def test_socket_mode_connects(
    slack: FakeSlack, perplexity: FakePerplexity, database: str, authority: PrivateCA
) -> None:
    socket = FakeSlackSocket()
    socket.tls = authority.tls
    async with socket:
        slack.socket_url = socket.url
        process = await started(slack, perplexity, database, CA_BUNDLE=str(authority.path))
        try:
            await socket.connected(1)
            shown = await Workspace(slack=slack, socket=socket, process=process).types("/ask why", trigger="t1")
        finally:
            await process.kill()

    assert "Searching" in shown
    assert socket.url.startswith("wss://")


@pytest.mark.parametrize("where", one_in(3, ["environment", ".env", "nowhere"]))
async def test_the_doctor_says_what_to_set(
    where: str, slack: FakeSlack, perplexity: FakePerplexity, authority: PrivateCA, tmp_path: Path
) -> None:
    variables = {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_URL": slack.api_url,
        "PERPLEXITY_API_KEY": KEY,
        "PERPLEXITY_BASE_URL": perplexity.base_url,
    }
    if where != "nowhere":
        variables["CA_BUNDLE"] = str(authority.path)
    (tmp_path / ".env").write_text("\n".join(f"{name}={value}" for name, value in variables.items()))
    printed = await _doctor(tmp_path if where == ".env" else None, {} if where == ".env" else variables)

    refused = [line for line in printed if "cannot be reached" in line]
    assert len(refused) == (3 if where == "nowhere" else 0), printed
    assert sum("(CA_BUNDLE)" in line for line in printed) == len(refused)


async def _doctor(folder: Path | None, variables: dict[str, str]) -> list[str]:
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | variables
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "doctor",
        cwd=folder,
        env=environment | {"PYTHONPATH": str(Path.cwd())},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(READY_SECONDS):
        printed, _ = await process.communicate()
    return printed.decode().splitlines()


async def test_a_client_of_the_library_trusts_it_if_it_is_given(
    perplexity: FakePerplexity, authority: PrivateCA
) -> None:
    async with PerplexityClient(KEY, base_url=perplexity.base_url) as client:
        with pytest.raises(ConnectionFailed, match="Certificate") as caught:
            await client.search("why")
    environ = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": perplexity.base_url, "CA_BUNDLE": str(authority.path)}
    async with PerplexityClient.from_env(environ) as client:
        found = await client.search("why")

    assert not caught.value.sent
    assert found.results


async def test_the_agents_model_is_reached(authority: PrivateCA) -> None:
    question = Question(messages=(Message(role="user", content="How far is the moon?"),))
    server = FakeModelServer([Says(text="Far.")])
    server.tls = authority.tls
    async with (
        server,
        WebAgent(
            build_model(server.base_url, name=MODEL, api_key=KEY, ca_bundle=str(authority.path)), lambda _: []
        ) as agent,
    ):
        assert (await agent.answer(question)).text == "Far."


async def test_duckduckgo_is_reached(authority: PrivateCA, point_ddgs_at: PointDdgsAt) -> None:
    fake = FakeDuckDuckGo([Hit(title="Moon", url="https://moon.example/")])
    fake.tls = authority.tls
    async with fake:
        point_ddgs_at(fake.url)
        provider = duckduckgo.build(ProviderConfig(ca_bundle=str(authority.path)))
        found = await provider.search(Query(text="moon", max_results=5))

    assert [source.url for source in found.results] == ["https://moon.example/"]


def test_the_systems_authorities_stay_trusted(authority: PrivateCA) -> None:
    system = ssl.create_default_context().cert_store_stats()["x509_ca"]

    context = tls_context(str(authority.path))

    assert context is not None
    assert context.cert_store_stats()["x509_ca"] == system + 1


@pytest.mark.parametrize("kind", ["missing", "empty", "text", "key", "folder", "cut"])
def test_a_file_that_cannot_be_used_is_refused_at_the_start(
    kind: str, authority: PrivateCA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # A long path with digits could be a secret: it would not be shown.
    path = Path(kind)
    whole = authority.path.read_text()
    match kind:
        case "folder":
            path.mkdir()
        case "key":
            path = Path(authority.key.name)
        case "empty" | "text" | "cut":
            path.write_text({"empty": "", "text": "no certificate", "cut": whole + whole[: len(whole) // 2]}[kind])
    monkeypatch.setenv("CA_BUNDLE", str(path))

    with pytest.raises(SettingsError) as refused:
        load_settings()
    with pytest.raises(InvalidRequest) as library:
        config_from_env({"CA_BUNDLE": str(path)})

    for message in (str(refused.value), str(library.value)):
        assert "CA_BUNDLE" in message
        assert str(path) in message
        assert "it takes the path of a PEM file with certificates" in message
