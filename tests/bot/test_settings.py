"""The environment: what is taken, what is refused, and in which words."""

from __future__ import annotations

import pytest

from bot.settings import Settings, SettingsError, load


def test_nothing_set__playground_on_loopback() -> None:
    settings = load()

    assert (settings.slack_configured, settings.bind_host, settings.port) == (False, "127.0.0.1", 3000)


def test_slack_configured__every_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "s")

    assert load().bind_host == "0.0.0.0"  # noqa: S104 - the expected value


@pytest.mark.parametrize("name", ["PERPLEXITY_API_KEY", "PPLX_API_KEY"])
def test_either_name_of_the_key_is_read(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "pplx-1")

    key = load().perplexity_api_key

    assert key is not None
    assert key.get_secret_value() == "pplx-1"


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
        ("LOG_LEVEL", "loud", "LOG_LEVEL"),
        ("RETRY_ATTEMPTS", "0", "RETRY_ATTEMPTS"),
        ("SLACK_BOT_TOKEN", "xoxb-hunter2", "SLACK_SIGNING_SECRET is missing"),
        ("SLACK_SIGNING_SECRET", "hunter2", "SLACK_BOT_TOKEN is missing"),
    ],
)
def test_a_bad_value_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch, name: str, value: str, named: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as raised:
        load()

    assert named in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_the_value_of_what_is_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "80x")

    with pytest.raises(SettingsError, match="PORT cannot be '80x': "):
        load()


def test_every_fault_is_listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "web")
    monkeypatch.setenv("LOG_LEVEL", "loud")

    with pytest.raises(SettingsError) as raised:
        load()

    assert len(str(raised.value).splitlines()) == 2


@pytest.mark.parametrize("url", ["https://x.example/", "http://127.0.0.1:4/", "http://localhost:4/", "http://[::1]:4/"])
def test_http_is_taken_for_loopback_only(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PERPLEXITY_BASE_URL", url)

    assert load().perplexity_base_url == url


def test_secrets_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "PERPLEXITY_API_KEY"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:hunter2@h/d")

    assert "hunter2" not in repr(load())


def test_every_setting_is_documented() -> None:
    from pathlib import Path

    page = Path("docs/settings.md").read_text(encoding="utf-8")
    names = {name.upper() for name in Settings.model_fields}

    assert {name for name in names if f"`{name}`" not in page} == set()
