"""Every setting, read once from the environment (or `.env`) and checked as a whole. No other module reads it."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

Seconds = Annotated[float, Field(gt=0, le=3600)]


class SettingsError(Exception):
    """The environment cannot be used; the message names every variable that is wrong and what it takes."""


class Settings(BaseSettings):
    """The settings of one process. Secrets show as asterisks wherever a value is printed."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        validate_by_name=True,
    )

    slack_bot_token: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
    slack_api_url: str = "https://slack.com/api/"

    perplexity_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("PERPLEXITY_API_KEY", "PPLX_API_KEY")
    )
    perplexity_base_url: str = "https://api.perplexity.ai"
    perplexity_api: Literal["agent", "sonar"] = "agent"
    reasoning_effort: Literal["fast", "low", "medium", "high", "xhigh"] = "medium"

    database_url: SecretStr | None = None
    data_dir: str = ".data"

    host: str | None = None
    port: int = Field(default=3000, ge=1, le=65535)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    search_provider_seconds: Seconds = 10
    search_chain_seconds: Seconds = 20
    answer_provider_seconds: Seconds = 30
    answer_chain_seconds: Seconds = 45
    reasoning_provider_seconds: Seconds = 60
    reasoning_chain_seconds: Seconds = 90
    deep_provider_seconds: Seconds = 600
    deep_chain_seconds: Seconds = 660

    retry_attempts: int = Field(default=3, ge=1, le=10)
    retry_base_seconds: Seconds = 0.5
    retry_cap_seconds: Seconds = 8

    dyno: str | None = Field(default=None, description="set by Heroku, whose disk is wiped at every restart")

    @field_validator("slack_api_url", "perplexity_base_url")
    @classmethod
    def _https_or_loopback(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme == "https" and parts.hostname:
            return url
        if parts.scheme == "http" and parts.hostname and is_loopback(parts.hostname):
            return url
        raise ValueError("must be an https address; http is allowed for a loopback host only")

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level

    @field_validator("database_url")
    @classmethod
    def _postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("postgres://", "postgresql://")):
            raise ValueError("must start with postgres:// or postgresql://; Postgres is the only database")
        return url

    @model_validator(mode="after")
    def _both_tokens_or_none(self) -> Settings:
        if (self.slack_bot_token is None) != (self.slack_signing_secret is None):
            missing = "SLACK_SIGNING_SECRET" if self.slack_signing_secret is None else "SLACK_BOT_TOKEN"
            raise ValueError(
                f"{missing} is missing; set both SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET to serve Slack, "
                "or neither to try the app on the local page"
            )
        return self

    @property
    def slack_configured(self) -> bool:
        """Whether this process serves a real workspace; otherwise it serves the playground."""
        return self.slack_bot_token is not None

    @property
    def bind_host(self) -> str:
        """The address to listen on: every interface for Slack, loopback for the playground, or HOST."""
        return self.host or ("0.0.0.0" if self.slack_configured else "127.0.0.1")  # noqa: S104 - a dyno's router needs it


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def load() -> Settings:
    """Read the environment; raises `SettingsError` that lists every fault at once, and never shows a secret."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError("\n".join(_explain(fault) for fault in error.errors())) from None


def _explain(fault: ErrorDetails) -> str:
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not fault["loc"]:
        return message
    name = str(fault["loc"][0]).upper()
    field = Settings.model_fields.get(name.lower())
    shown = f" cannot be {fault['input']!r}" if field and "SecretStr" not in str(field.annotation) else ""
    return f"{name}{shown}: {message}"
