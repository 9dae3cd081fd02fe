"""The settings, read once from the environment (or `.env`) and checked as a whole. No other module reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bot.settings import Settings

_WORDS = (("Input should be", "must be"), ("a valid integer", "a whole number"), ("a valid number", "a number"))
"""What the library says, and how it is said here."""


class SettingsError(Exception):
    """The environment cannot be used; the message names every variable that is wrong and what it takes."""


def load() -> Settings:
    """Read the environment; raises `SettingsError` that lists every fault at once, and never shows a secret."""
    settings, faults = read()
    if faults:
        raise SettingsError("\n".join(faults.values()))
    return settings


def read() -> tuple[Settings, Mapping[str, str]]:
    """Read what can be used of the environment; a wrong value gives way to its default.

    The faults are sentences by the names of their fields, such as `port`; a whole file's is under its name, `.env`.
    """
    try:
        settings, wrong = Settings(), {}
    except ValidationError as error:
        wrong = {_field(fault): _explain(fault) for fault in error.errors()}
        settings = Settings(**{name: Settings.model_fields[name].get_default() for name in wrong})
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        return Settings.model_construct(), {".env": f".env cannot be read: {why}"}
    return settings, wrong | dict(_missing(settings, wrong.keys()))


def _missing(settings: Settings, wrong: Set[str]) -> Iterator[tuple[str, str]]:
    """Say what a workspace lacks, unless it is there and wrong."""
    slack = {
        name
        for name in ("slack_bot_token", "slack_signing_secret", "slack_app_token")
        if name in wrong or getattr(settings, name) is not None
    }
    none = "or none of them to try the app on the local page"
    if slack and "slack_bot_token" not in slack:
        there = " and ".join(sorted(name.upper() for name in slack))
        yield "slack_bot_token", f"SLACK_BOT_TOKEN is missing; set it beside {there} to serve Slack, {none}"
    if slack == {"slack_bot_token"}:
        yield (
            "slack_signing_secret",
            (
                "SLACK_SIGNING_SECRET is missing; set both SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET to serve Slack (in "
                f"development SLACK_APP_TOKEN does instead), {none}"
            ),
        )


def _field(fault: ErrorDetails) -> str:
    return str(fault["loc"][0]).lower()


def _explain(fault: ErrorDetails) -> str:
    field = Settings.model_fields[_field(fault)]
    secret = "SecretStr" in str(field.annotation) or "@" in str(fault["input"])
    shown = "" if secret else f" cannot be {fault['input']!r}"
    allowed = str(fault["msg"]).removeprefix("Value error, ").partition(", unable to parse")[0]
    for theirs, ours in _WORDS:
        allowed = allowed.replace(theirs, ours)
    return f"{_field(fault).upper()}{shown}: {allowed}"
