"""The environment: what is taken, what is refused, and in which words."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.commands.routing import slash_commands
from bot.features import COMMANDS
from bot.settings import MAX_PREFIX, Settings, SettingsError, load_settings, read_keys, read_settings
from tests.fakes.private_ca import PrivateCA
from tests.fakes.workspaces import KEY


def test_nothing_set__playground_on_loopback() -> None:
    settings = load_settings()

    assert (settings.slack_configured, settings.bind_host, settings.port) == (False, "127.0.0.1", 3000)


def test_slack_configured__every_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "s")

    assert load_settings().bind_host == "0.0.0.0"  # noqa: S104 - the expected value


def test_socket_mode_needs_no_signing_secret_and_stays_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1")

    settings = load_settings()

    assert (settings.slack_configured, settings.bind_host) == (True, "127.0.0.1")


def test_spaces_around_a_copied_token_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", " xoxb-1\n")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "s")

    token = load_settings().slack_bot_token

    assert token is not None
    assert token.get_secret_value() == "xoxb-1"


@pytest.mark.parametrize(
    "secret",
    [
        "xoxb-123456789012-abcDEF",
        "pplx-0123456789abcdefghij",
        "sk-or-v1-0123456789abcdef0123",
        "aB3dE5gH7jK9mN1pQ3rS5tU7",
    ],
)
@pytest.mark.parametrize("form", ["{}", "https://{}.example", "{}@example.com", "a,{}"])
def test_a_secret_in_the_wrong_variable_is_not_shown(monkeypatch: pytest.MonkeyPatch, secret: str, form: str) -> None:
    for name in Settings.model_fields:
        monkeypatch.setenv(name.upper(), form.format(secret))

    problems = read_settings()[1]

    assert problems["port"].startswith("PORT: ")
    assert [text for text in problems.values() if secret.casefold() in text.casefold()] == []


def test_the_longest_prefix_leaves_room_for_every_command() -> None:
    longest = max(len(command.name) for command in slash_commands(COMMANDS))

    assert MAX_PREFIX + longest <= 32


def test_a_wrong_value_gives_way_to_the_default_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "web")
    monkeypatch.setenv("PPLX_API_KEY", "xoxb-1")
    monkeypatch.setenv("COMMAND_PREFIX", "X-")

    settings, problems = read_settings()

    assert (settings.port, settings.provider_keys, settings.command_prefix) == (3000, {}, "x-")
    assert set(problems) == {"port", "perplexity_api_key"}


@pytest.mark.parametrize("name", ["PERPLEXITY_API_KEY", "PPLX_API_KEY"])
def test_either_name_of_the_key_is_read(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "pplx-1")

    assert load_settings().provider_keys == {"perplexity": "pplx-1"}


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("PORT", "web", "PORT"),
        ("PORT", "0", "PORT"),
        ("SLACK_API_URL", "http://slack.example/api/", "SLACK_API_URL"),
        ("PERPLEXITY_BASE_URL", "ftp://x", "PERPLEXITY_BASE_URL"),
        ("DATABASE_URL", "mysql://u:hunter2@h/d", "DATABASE_URL"),
        ("PERPLEXITY_API", "chat", "PERPLEXITY_API"),
        ("REASONING_EFFORT", "hard", "REASONING_EFFORT"),
        ("FOLLOW_UPS", "never", "FOLLOW_UPS"),
        ("THREAD_HISTORY", "on", "THREAD_HISTORY"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL"),
        ("RETRY_ATTEMPTS", "0", "RETRY_ATTEMPTS"),
        ("SLACK_BOT_TOKEN", "xoxb-hunter2", "SLACK_SIGNING_SECRET is missing"),
        ("SLACK_SIGNING_SECRET", "hunter2", "SLACK_BOT_TOKEN is missing"),
        ("SLACK_APP_TOKEN", "xapp-hunter2", "SLACK_BOT_TOKEN is missing; set it next to SLACK_APP_TOKEN"),
        ("SLACK_BOT_TOKEN", "hunter2", "SLACK_BOT_TOKEN: must start with xoxb-"),
        ("SLACK_BOT_TOKEN", "xapp-hunter2", "SLACK_BOT_TOKEN: this looks like the value of SLACK_APP_TOKEN"),
        ("SLACK_BOT_TOKEN", "xoxp-hunter2", "SLACK_BOT_TOKEN: this looks like a user token"),
        ("SLACK_APP_TOKEN", "xoxb-hunter2", "SLACK_APP_TOKEN: this looks like the value of SLACK_BOT_TOKEN"),
        ("SLACK_APP_TOKEN", "hunter2", "SLACK_APP_TOKEN: must start with xapp-"),
        ("SLACK_SIGNING_SECRET", "xoxb-hunter2", "SLACK_SIGNING_SECRET: this looks like the value of SLACK_BOT_TOKEN"),
        ("PERPLEXITY_API_KEY", "xoxb-hunter2", "PERPLEXITY_API_KEY: this looks like the value of SLACK_BOT_TOKEN"),
        ("PPLX_API_KEY", "pplx hunter2", "PERPLEXITY_API_KEY: must be one word"),
        ("PERPLEXITY_BASE_URL", "https://u:hunter2@x.example", "PERPLEXITY_BASE_URL"),
        ("DATABASE_URL", "postgres://u:hunter2%zz@h/d", "DATABASE_URL: must look like postgres://user:password@host"),
        ("COMMAND_PREFIX", "/x", "COMMAND_PREFIX cannot be '/x'"),
        ("COMMAND_PREFIX", "x" * 24, "at most 23"),
        ("COMMAND_PREFIX", "ä", "letters, digits, - or _"),
    ],
)
def test_a_bad_value_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as raised:
        load_settings()

    assert named in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_a_value_that_is_not_a_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "80x")

    with pytest.raises(SettingsError, match="PORT cannot be '80x': "):
        load_settings()


def test_every_problem_is_listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "web")
    monkeypatch.setenv("LOG_LEVEL", "loud")

    with pytest.raises(SettingsError) as raised:
        load_settings()

    assert len(str(raised.value).splitlines()) == 2


@pytest.mark.parametrize("url", ["https://x.example/", "http://127.0.0.1:4/", "http://localhost:4/", "http://[::1]:4/"])
def test_http_is_allowed_for_loopback_only(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PERPLEXITY_BASE_URL", url)

    assert load_settings().provider_base_urls["perplexity"] == url


def test_an_unreadable_env_file_is_a_problem_and_not_a_traceback(env_file: Path) -> None:
    env_file.write_bytes(b"PORT=\xff")

    assert read_settings()[1] == {".env": ".env cannot be read: it is not UTF-8 text"}


def test_slack_s_address_ends_with_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_API_URL", "https://slack.com/api")

    assert load_settings().slack_api_url == "https://slack.com/api/"


def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, start in {"SLACK_BOT_TOKEN": "xoxb-", "SLACK_APP_TOKEN": "xapp-"}.items():
        monkeypatch.setenv(name, f"{start}hunter2")
    for name in ("SLACK_SIGNING_SECRET", "PERPLEXITY_API_KEY"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:hunter2@h/d")

    assert "hunter2" not in repr(load_settings())


NAMES = frozenset(name.upper() for name in Settings.model_fields)


def test_every_setting_is_documented_and_no_other() -> None:
    page = Path("docs/settings.md").read_text(encoding="utf-8")

    assert frozenset(re.findall(r"^\| `([A-Z_]+)` \|", page, flags=re.MULTILINE)) == NAMES


def test_the_example_file_contains_every_setting_except_the_host_s() -> None:
    example = Path(".env.example").read_text(encoding="utf-8")

    assert frozenset(re.findall(r"^#([A-Z_]+)=", example, flags=re.MULTILINE)) == NAMES - {"DYNO"}


MANY = ("SLACK_OAUTH_CLIENT_ID", "SLACK_OAUTH_CLIENT_SECRET", "PUBLIC_URL", "ALLOWED_TEAMS", "ENCRYPTION_KEYS")
"""The settings of an app that several workspaces install."""


@pytest.mark.parametrize("unset", [MANY, ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN")], ids=["one", "many"])
def test_the_example_s_values_are_valid(env_file: Path, tmp_path: Path, unset: tuple[str, ...]) -> None:
    company = str(PrivateCA(tmp_path).path)
    example = Path(".env.example").read_text(encoding="utf-8").replace("ENCRYPTION_KEYS=…", f"ENCRYPTION_KEYS={KEY}")
    lines = [
        line
        for line in example.replace("…", "1").replace("/etc/ssl/company.pem", company).splitlines()
        if not line.startswith(tuple(f"#{n}=" for n in unset))
    ]
    env_file.write_text("\n".join(re.sub(r"^#(?=[A-Z_]+=)", "", line) for line in lines))

    assert read_settings()[1] == {}


@pytest.mark.parametrize("absent", [*(name for name in MANY if name != "PUBLIC_URL"), "SLACK_SIGNING_SECRET"])
def test_an_app_of_many_workspaces_needs_all_its_settings(monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    values = {
        "SLACK_OAUTH_CLIENT_ID": "12.34",
        "SLACK_OAUTH_CLIENT_SECRET": "secret",
        "PUBLIC_URL": "https://answers.example.com",
        "ALLOWED_TEAMS": "T1",
        "ENCRYPTION_KEYS": KEY,
        "SLACK_SIGNING_SECRET": "0" * 32,
    }
    for name, value in values.items():
        if name != absent:
            monkeypatch.setenv(name, value)
    problems = read_settings()[1]

    assert list(problems) == [absent.lower()]
    assert problems[absent.lower()].startswith(f"{absent} is missing")


def test_without_a_public_address_the_app_has_one_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "3001")
    assert Settings().public_address == "http://127.0.0.1:3001"

    monkeypatch.setenv("PUBLIC_URL", "https://answers.example.com/")
    assert Settings().public_address == "https://answers.example.com"


@pytest.mark.parametrize("form", [base64.b64encode, base64.urlsafe_b64encode, bytes.hex])
def test_keys_may_be_written_in_the_usual_ways(form: Callable[[bytes], bytes | str]) -> None:
    keys = [bytes(range(200, 232)), bytes(range(32))]
    written = [one.decode() if isinstance(one := form(key), bytes) else one for key in keys]

    assert read_keys(",".join(written)) == tuple(keys)
    assert read_keys(", ".join(one.rstrip("=") for one in written)) == tuple(keys)


@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"])
def test_one_token_and_oauth_exclude_each_other(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "xoxb-1" if name == "SLACK_BOT_TOKEN" else "xapp-1")
    monkeypatch.setenv("SLACK_OAUTH_CLIENT_ID", "12.34")

    assert "is for a single workspace; unset it" in read_settings()[1][name.lower()]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALLOWED_TEAMS", "*"),
        ("ALLOWED_TEAMS", "T1 T2"),
        ("ALLOWED_TEAMS", "U1"),
        ("PUBLIC_URL", "http://answers.example.com"),
        ("PUBLIC_URL", "https://answers.example.com/slack"),
        ("PUBLIC_URL", "https://me:pw@answers.example.com"),
        ("SLACK_OAUTH_CLIENT_ID", "xoxb-1"),
    ],
)
def test_a_wrong_value_of_many_workspaces_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    assert name.lower() in read_settings()[1]


KEYS = ["OPENROUTER_API_KEY", "BRAVE_API_KEY", "AGENT_API_KEY"]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value", ["two words", "kéy"])
def test_an_invalid_key_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert f"{name}: must be one word" in str(caught.value)
    assert value not in str(caught.value)


@pytest.mark.parametrize("name", KEYS)
def test_a_blank_key_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "  ")

    assert getattr(load_settings(), name.lower()) is None


@pytest.mark.parametrize("name", list(Settings.model_fields))
def test_a_blank_setting_counts_as_unset(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for blank in (" ", "\t\n\u00a0"):
        monkeypatch.setenv(name.upper(), blank)

        settings, problems = read_settings()

        assert (settings, problems) == (Settings(), {}), blank
        assert settings.missing_agent_setting == "AGENT_MODEL"


@pytest.mark.parametrize(
    "name", ["AGENT_MODEL", "DATA_DIR", "HOST", "PERSONA_NAME", "PERSONA_PROMPT", "COMMAND_PREFIX", "ADMIN_USER_IDS"]
)
def test_surrounding_spaces_are_removed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, " U012ab\n".upper() if name == "ADMIN_USER_IDS" else " word\n")

    assert getattr(load_settings(), name.lower()) in {"word", "U012AB"}
