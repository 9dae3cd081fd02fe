"""What hosts read: Procfile, app.json, Dockerfile, compose.yaml. No engine is here that builds them: parts are run."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.__main__ import main
from bot.settings import Settings
from tests.fakes.person import SIGNING_SECRET
from tests.fakes.process import Process
from tests.fakes.slack import BOT_TOKEN

ROOT = Path(__file__).parents[2]
NAMES = frozenset(name.upper() for name in Settings.model_fields)

APP_JSON = frozenset(
    [
        "name",
        "description",
        "keywords",
        "website",
        "repository",
        "logo",
        "success_url",
        "scripts",
        "env",
        "formation",
        "addons",
        "buildpacks",
        "environments",
        "stack",
    ]
)
"""The keys of app.json that are in use: https://devcenter.heroku.com/articles/app-json-schema"""


def procfile() -> dict[str, str]:
    lines = (ROOT / "Procfile").read_text(encoding="utf-8").splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines)}


def app_json() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "app.json").read_text(encoding="utf-8"))
    return loaded


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions with their arguments, comments left out."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


def last_stage() -> list[tuple[str, str]]:
    instructions = dockerfile()
    start = max(number for number, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[start:]


def instruction(name: str) -> str:
    """Return the arguments of the one instruction of the last stage with this name."""
    (rest,) = [rest for each, rest in last_stage() if each == name]
    return rest


def copied() -> list[str]:
    """Return what comes from this folder into the image."""
    return [rest.split()[0] for name, rest in dockerfile() if name == "COPY" and not rest.startswith("--from")]


@pytest.mark.parametrize("command", [one for line in procfile().values() for one in line.split(" && ")])
def test_the_procfile_s_commands_exist_and_take_the_signals_themselves(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    python, module, bot, name, *rest = shlex.split(command)
    with pytest.raises(SystemExit) as ended:
        main([name, *rest, "--help"])

    assert (python, module, bot, ended.value.code) == ("python", "-m", "bot", 0)


def test_a_release_migrates_before_anything_starts() -> None:
    assert procfile()["release"] == "python -m bot doctor --release && python -m bot migrate"


def test_heroku_finds_one_list_of_packages_and_a_version_without_a_patch() -> None:
    lists = ("requirements.txt", "Pipfile", "Pipfile.lock", "poetry.lock", "uv.lock", "setup.py", "runtime.txt")

    assert [name for name in lists if (ROOT / name).exists()] == ["requirements.txt"]
    assert re.fullmatch(r"3\.\d+", (ROOT / ".python-version").read_text(encoding="utf-8").strip())


def test_app_json_is_what_heroku_takes() -> None:
    app = app_json()

    assert set(app) <= APP_JSON
    assert 3 <= len(app["name"]) <= 30
    assert len(app["description"]) <= 140
    assert app["formation"] == {"web": {"quantity": 1, "size": "basic"}}
    assert app["addons"] == ["heroku-postgresql:essential-0"]
    assert set(app["formation"]) <= set(procfile())


def test_app_json_asks_for_settings_that_exist_and_only_for_what_is_needed() -> None:
    env = app_json()["env"]

    assert set(env) <= NAMES
    assert {name for name, each in env.items() if each["required"]} == {"SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"}
    assert all(each["description"] and "value" not in each for each in env.values())


def test_the_image_runs_as_an_unprivileged_user_and_stops_on_a_signal() -> None:
    user, group = instruction("USER").split(":")

    assert min(int(user), int(group)) >= 10_000
    assert json.loads(instruction("CMD")) == shlex.split(procfile()["web"])
    assert instruction("STOPSIGNAL") == "SIGTERM"


def test_the_image_holds_packages_by_hash_and_nothing_to_build_them() -> None:
    installs = [rest for name, rest in dockerfile() if name == "RUN" and "pip install" in rest]

    assert len([name for name, _ in dockerfile() if name == "FROM"]) == 2
    assert all("--require-hashes" in rest and "--only-binary :all:" in rest for rest in installs)
    assert [rest for _, rest in last_stage() if re.search(r"\b(apt-get|apk|pip|gcc|curl)\b", rest)] == []


@pytest.mark.parametrize("name", [".env", ".git", ".data", "tests", "README.md", ".venv", "manifest.yml"])
def test_what_is_not_needed_stays_out_of_the_image(name: str) -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]

    assert rules[0] == "*"
    assert [rule for rule in rules if rule.startswith("!") and fnmatch(name, rule[1:])] == []


def test_files_that_the_image_copies_exist_and_are_not_ignored() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert [name for name in copied() if not (ROOT / name).exists() or f"!{name}" not in rules] == []


async def test_the_image_s_files_are_enough_and_its_health_check_works(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bot", "fake_slack", "perplexity"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "build"))
    monkeypatch.chdir(tmp_path)
    command = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
    process = await Process.start(
        "run", DATABASE_URL=database, SLACK_BOT_TOKEN=BOT_TOKEN, SLACK_SIGNING_SECRET=SIGNING_SECRET
    )

    assert await _code(*command, port=process.port) == 0
    await process.terminate()
    assert await _code(*command, port=process.port) == 1


async def _code(*command: str, port: int) -> int | None:
    # A company's proxy reaches nothing on this machine.
    environment = {"PATH": str(Path(sys.executable).parent), "PORT": str(port), "http_proxy": "http://127.0.0.1:9"}
    checking = await asyncio.create_subprocess_exec(*command, env=environment, stderr=asyncio.subprocess.DEVNULL)
    return await checking.wait()


def test_compose_migrates_before_it_serves_and_waits_for_the_database() -> None:
    services = compose()["services"]

    assert services["web"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert services["migrate"]["depends_on"]["database"] == {"condition": "service_healthy"}
    assert procfile()["release"].endswith(f"&& {shlex.join(services['migrate']['command'])}")
    assert services["migrate"]["restart"] == "no"
    assert "healthcheck" in services["database"]


def test_compose_keeps_the_data_and_starts_again() -> None:
    whole = compose()

    assert whole["services"]["database"]["volumes"] == ["database:/var/lib/postgresql/data"]
    assert list(whole["volumes"]) == ["database"]
    assert {whole["services"][name]["restart"] for name in ("database", "web")} == {"unless-stopped"}


def test_compose_holds_no_secret_and_opens_one_port_on_this_machine_alone() -> None:
    services = compose()["services"]
    passwords = [
        services["database"]["environment"]["POSTGRES_PASSWORD"],
        services["web"]["environment"]["DATABASE_URL"],
    ]

    assert all("${POSTGRES_PASSWORD:?" in value for value in passwords)
    assert {name: service.get("ports") for name, service in services.items()} == {
        "database": None,
        "migrate": None,
        "web": ["127.0.0.1:3000:3000"],
    }


def test_compose_s_settings_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in compose()["services"]["web"]["environment"].items():
        monkeypatch.setenv(name, re.sub(r"\$\{.*\}", "secret", value))
    monkeypatch.setenv("SLACK_BOT_TOKEN", BOT_TOKEN)
    monkeypatch.setenv("SLACK_SIGNING_SECRET", SIGNING_SECRET)

    settings = Settings()

    assert (settings.bind_host, settings.port) == ("0.0.0.0", 3000)  # noqa: S104 - the expected value
    assert settings.database_url is not None
