"""Every environment variable of the app: reading, validation and error messages."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Set
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, DotEnvSettingsSource, SettingsConfigDict

from bot.model.spending import Budgets
from bot.privacy.redaction import Redactor, compile_patterns, parse_kinds
from perplexity.errors import InvalidRequest
from perplexity.formatting import closest_match, listed
from perplexity.limiter import WAIT_SECONDS, CallKind, Limits, parse_limits
from perplexity.providers import PROVIDERS, validate_order
from perplexity.transport import OPEN_SECONDS, tls_context
from perplexity.urls import hostname, is_https_or_loopback

T = TypeVar("T")

PREFIXES = {"SLACK_BOT_TOKEN": "xoxb-", "SLACK_APP_TOKEN": "xapp-", "PERPLEXITY_API_KEY": "pplx-"}
"""The prefix of each variable's values: https://docs.slack.dev/authentication/tokens"""

WHERE_TO_FIND = {
    "SLACK_BOT_TOKEN": "the bot token starts with xoxb- and is under OAuth & Permissions",
    "SLACK_APP_TOKEN": "the app-level token starts with xapp- and is under Basic Information, App-Level Tokens",
    "SLACK_SIGNING_SECRET": "the signing secret is under Basic Information, App Credentials",
    "PERPLEXITY_API_KEY": "a key starts with pplx-",
}
"""How to recognise the right value, or where it is on the app's pages at https://api.slack.com/apps."""

REQUIRED_PREFIX = frozenset({"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"})
"""The variables whose values must have their prefix.

PERPLEXITY_API_KEY is not among them, because services that are compatible with Perplexity's API have other keys.
"""

_USER_TOKEN_PREFIX = "xoxp-"  # noqa: S105 - a prefix


USER_ID = re.compile(r"[UW][A-Z0-9]{1,20}")
"""A Slack user id."""

CHANNEL_ID = re.compile(r"[CDG][A-Z0-9]{1,20}")
"""The id of a channel or of a direct message."""

_CLIENT_ID = re.compile(r"(?!xox|A[A-Z0-9]{6,}$)[A-Za-z0-9._-]{1,100}")
"""Matches a possible client id, which becomes part of a URL, but neither a token (`xox…`) nor an app's id (`A…`).

Slack shows the app's id next to the client id, so people confuse the two.
"""

Seconds = Annotated[float, Field(gt=0, le=3600)]

Dollars = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]

OPENROUTER = "https://openrouter.ai/api/v1"

AUDIT_KEY_CHARACTERS = 32
"""The fewest characters of `AUDIT_KEY`."""

MAX_PREFIX = 23
"""The most characters of `COMMAND_PREFIX`.

Slack allows a command's name of at most 32 characters with the slash (https://docs.slack.dev/reference/app-manifest),
and the longest name of the app's commands has eight.
"""


def _parts(text: str) -> tuple[str, ...]:
    """Return the parts of a text between commas, without empty parts and surrounding spaces."""
    return tuple(filter(None, (one.strip() for one in text.split(","))))


KEY_BYTES = 32
"""The length of a key for AES-256."""


def _decode(key: str) -> bytes:
    """Return the bytes of a key in base64, also in its URL-safe form, or in hexadecimal; empty for anything else."""
    if re.fullmatch(rf"[0-9A-Fa-f]{{{2 * KEY_BYTES}}}", key):
        return bytes.fromhex(key)
    unpadded = key.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return base64.b64decode(unpadded + "=" * (-len(unpadded) % 4), validate=True)
    except ValueError:
        return b""


def read_keys(value: str) -> tuple[bytes, ...]:
    """Return the keys of `ENCRYPTION_KEYS`. Raises ValueError, whose message contains no key."""
    keys = []
    for number, one in enumerate(_parts(value), start=1):
        key = _decode(one)
        if len(key) != KEY_BYTES:
            raise ValueError(
                f"key {number} must be {KEY_BYTES} random bytes in base64, as `openssl rand -base64 32` prints them; "
                "separate keys by commas, the one that encrypts first"
            )
        keys.append(key)
    if len(set(keys)) != len(keys):
        raise ValueError("two of the keys are the same; remove one of them")
    return tuple(keys)


def strip_secret(value: str) -> str:
    """Return the value without surrounding spaces. Raises ValueError, whose message never contains the value."""
    value = value.strip()
    if not all("!" <= sign <= "~" for sign in value):
        raise ValueError("must be one word of ASCII letters, digits and signs, without spaces")
    return value


def validate_secret(variable: str, value: str) -> str:
    """Return the stripped secret if it can belong to the variable. Raises ValueError; its text never has the secret."""
    value, hint = strip_secret(value), WHERE_TO_FIND.get(variable, "use a key of the service itself")
    if belongs := next((name for name, start in PREFIXES.items() if value.startswith(start)), None):
        if belongs != variable:
            raise ValueError(f"this looks like the value of {belongs}; {hint}")
    elif value.startswith(_USER_TOKEN_PREFIX):
        raise ValueError(f"this looks like a user token, which the app does not use; {hint}")
    elif variable in REQUIRED_PREFIX:
        raise ValueError(f"must start with {PREFIXES[variable]}; {WHERE_TO_FIND[variable]}")
    return value


def _checked(check: Callable[[str], object]) -> AfterValidator:
    """Return a validator that calls `check` with a value's text, unless the text is empty; secrets are checked, too.

    `check` raises ValueError or InvalidRequest for a wrong text.
    """

    def validate(value: T) -> T:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        try:
            if isinstance(text, str) and text:
                check(text)
        except InvalidRequest as error:
            raise ValueError(f"{error.value} is not allowed; {error.allowed}") from None
        return value

    return AfterValidator(validate)


def _must(hold: Callable[[str], object], allowed: str) -> AfterValidator:
    """Return a validator that raises ValueError with the text `allowed` if `hold` returns false for a text.

    An empty text is not checked.
    """

    def check(text: str) -> None:
        if not hold(text):
            raise ValueError(allowed)

    return _checked(check)


def _ids(letters: str, allowed: str) -> AfterValidator:
    """Return a validator of ids, separated by commas, that each begin with one of the `letters`."""
    form = re.compile(rf"[{letters}][A-Z0-9]{{1,20}}")
    return _must(lambda ids: all(map(form.fullmatch, _parts(ids))), f"must be ids of {allowed}, separated by commas")


def _is_base_address(url: str) -> bool:
    return is_https_or_loopback(url) and not urlsplit(url).path.strip("/")


def _check_database_url(url: str) -> None:
    if not url.startswith(("postgres://", "postgresql://")):
        raise ValueError("must start with postgres:// or postgresql://; Postgres is the only database")
    try:
        conninfo_to_dict(url)
    except ProgrammingError:
        raise ValueError(
            "must look like postgres://user:password@host:5432/database; write signs such as @ : / # % in the "
            "password as %40 %3A %2F %23 %25"
        ) from None


Url = Annotated[
    str,
    _must(
        is_https_or_loopback,
        "must be an https address without user name or query; http is allowed for a loopback host only",
    ),
]

_KEY_FIELDS = {f"{name}_api_key": spec.key_variables for name, spec in PROVIDERS.items() if spec.key_variables}
_URL_FIELDS = {f"{name}_base_url": spec for name, spec in PROVIDERS.items() if spec.base_url_variable}


def _provider_fields() -> dict[str, Any]:
    """Return the settings that the providers declare: `NAME_api_key` and `NAME_base_url`."""
    keys = {
        field: (SecretStr | None, Field(default=None, validation_alias=AliasChoices(*variables)))
        for field, variables in _KEY_FIELDS.items()
    }
    urls = {
        field: (Url, Field(default=spec.base_url, validation_alias=AliasChoices(spec.base_url_variable)))
        for field, spec in _URL_FIELDS.items()
    }
    return keys | urls


if TYPE_CHECKING:
    _ProviderSettings = BaseSettings
else:
    _ProviderSettings = create_model("_ProviderSettings", __base__=BaseSettings, **_provider_fields())


class Settings(_ProviderSettings):
    """The settings of one process. Secrets are printed as asterisks."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        str_strip_whitespace=True,
        validate_by_name=True,
    )

    slack_bot_token: SecretStr | None = None
    slack_signing_secret: SecretStr | None = None
    slack_app_token: SecretStr | None = None
    slack_oauth_client_id: Annotated[
        str | None,
        _must(
            _CLIENT_ID.fullmatch, "must be the client id, such as 1234567890.0987654321; it is under Basic Information"
        ),
    ] = None
    slack_oauth_client_secret: SecretStr | None = None
    public_url: Annotated[
        str | None,
        _must(
            _is_base_address,
            "must be the https address of the app without a path, such as https://answers.example.com",
        ),
        AfterValidator(lambda url: url and url.rstrip("/")),
    ] = None
    allowed_teams: Annotated[str, _ids("TE", "workspaces (T012AB3CD) or organizations (E012AB3CD)")] = ""
    encryption_keys: Annotated[SecretStr | None, _checked(read_keys)] = None
    # Without the final slash, the SDK would replace the last part of the address by the method's name.
    slack_api_url: Annotated[Url, AfterValidator(lambda url: url.rstrip("/") + "/")] = "https://slack.com/api/"
    command_prefix: Annotated[
        str,
        _must(
            re.compile(rf"[A-Za-z0-9_-]{{0,{MAX_PREFIX}}}").fullmatch,
            f"must be at most {MAX_PREFIX} letters, digits, - or _, without the slash: x- turns /ask into /x-ask",
        ),
        AfterValidator(str.lower),
    ] = ""

    perplexity_api: Literal["agent", "sonar"] = "agent"
    xai_api_key: SecretStr | None = None
    xai_base_url: Url = "https://api.x.ai/v1"
    persona_name: str = Field(default="Nikki", min_length=1, max_length=40)
    persona_prompt: str = Field(default="", max_length=4_000)
    providers: Annotated[str, _checked(lambda names: validate_order(names.split(",")))] = ""
    agent_model: str = ""
    agent_base_url: Url = OPENROUTER
    agent_api_key: SecretStr | None = None
    reasoning_effort: Literal["fast", "low", "medium", "high", "xhigh"] = "medium"

    admin_user_ids: Annotated[str, _ids("UWS", "Slack users (U012AB3CD) or user groups (S012AB3CD)")] = ""
    security_contact: Annotated[
        str,
        _must(
            re.compile(r"mailto:[^\s@]+@[^\s@]+|https://[^\s]+").fullmatch,
            "must be mailto: with an e-mail address, or an https address",
        ),
    ] = ""
    audit_key: Annotated[
        SecretStr | None,
        _must(
            lambda key: len(key) >= AUDIT_KEY_CHARACTERS,
            f"must have at least {AUDIT_KEY_CHARACTERS} characters, such as `openssl rand -hex 32` prints",
        ),
    ] = None
    allow_external_users: bool = False
    follow_ups: Literal["mention", "always"] = "mention"
    channel_streaming: bool = False
    send_files: bool = False
    read_channels: bool = False
    thread_history: Literal["off", "capped", "full"] = "off"
    next_questions: bool = True

    open_questions_per_user: int = Field(default=5, ge=0, le=1_000_000)
    questions_at_once: int = Field(default=100, ge=1, le=1000)
    workspace_questions_at_once: int | None = Field(default=None, ge=0, le=1_000_000)
    user_questions_per_minute: int = Field(default=20, ge=0, le=1_000_000)
    channel_questions_per_minute: int = Field(default=60, ge=0, le=1_000_000)
    thread_answers_per_minute: int = Field(default=6, ge=0, le=1000)
    budget_user_day_usd: Dollars | None = None
    budget_channel_day_usd: Dollars | None = None
    budget_workspace_month_usd: Dollars | None = None
    provider_limits: Annotated[str, _checked(lambda limits: parse_limits(limits, services=PROVIDERS))] = ""
    wait_seconds: Seconds = WAIT_SECONDS
    digests_per_user: int = Field(default=10, ge=0, le=1000)
    digests_per_channel: int = Field(default=10, ge=0, le=1000)

    retention_days: int = Field(default=30, ge=0, le=3650)
    redact: Annotated[str, _checked(parse_kinds)] = ""
    redact_patterns: Annotated[str, _checked(compile_patterns)] = ""

    database_url: Annotated[SecretStr | None, _checked(_check_database_url)] = None
    data_dir: str = ".data"

    host: str | None = None
    port: int = Field(default=3000, ge=1, le=65535)
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)] = "INFO"

    search_provider_seconds: Seconds = 10
    search_chain_seconds: Seconds = 20
    answer_provider_seconds: Seconds = 30
    answer_chain_seconds: Seconds = 45
    reasoning_provider_seconds: Seconds = 60
    reasoning_chain_seconds: Seconds = 90
    deep_provider_seconds: Seconds = 600
    answer_total_seconds: Seconds = 300
    open_timeout: Seconds = OPEN_SECONDS
    ca_bundle: Annotated[str, _checked(tls_context)] = ""

    retry_attempts: int = Field(default=3, ge=1, le=10)
    retry_base_seconds: Seconds = 0.5
    retry_cap_seconds: Seconds = 8

    dyno: str | None = Field(default=None, description="set by Heroku, which wipes the disk at every restart")

    @model_validator(mode="before")
    @classmethod
    def _unset_blank(cls, values: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in values.items() if not (isinstance(value, str) and not value.strip())}

    @field_validator("budget_user_day_usd", "budget_channel_day_usd", "budget_workspace_month_usd", mode="before")
    @classmethod
    def _lift_budget(cls, amount: object) -> object:
        return None if isinstance(amount, str) and amount.strip().casefold() in {"none", "off"} else amount

    @field_validator(
        *(name.lower() for name in WHERE_TO_FIND),
        "agent_api_key",
        "xai_api_key",
        "slack_oauth_client_secret",
        *(name for name in _KEY_FIELDS if name != "perplexity_api_key"),
    )
    @classmethod
    def _strip_secret(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if secret is None:
            return None
        variable, value = str(info.field_name).upper(), secret.get_secret_value()
        # The prefixes of other services' keys are not known.
        word = validate_secret(variable, value) if variable in WHERE_TO_FIND else strip_secret(value)
        return SecretStr(word) if word else None

    @property
    def slack_configured(self) -> bool:
        """Whether this process serves real workspaces; otherwise it serves the playground."""
        return self.slack_bot_token is not None or self.oauth_configured

    @property
    def saves_files(self) -> bool:
        """Whether answers can be saved as files; in the playground they always can."""
        return self.send_files or not self.slack_configured

    @property
    def oauth_configured(self) -> bool:
        """Whether workspaces install the app by OAuth."""
        return self.slack_oauth_client_id is not None

    @property
    def public_address(self) -> str:
        """The app's address: PUBLIC_URL, or an address that only browsers on this machine reach."""
        return self.public_url or f"http://127.0.0.1:{self.port}"

    @property
    def teams(self) -> frozenset[str]:
        """The ids of `ALLOWED_TEAMS`."""
        return frozenset(_parts(self.allowed_teams))

    @property
    def key_bytes(self) -> tuple[bytes, ...]:
        """The keys of `ENCRYPTION_KEYS`, of which the first one encrypts; empty if the variable is not set."""
        return read_keys(self.encryption_keys.get_secret_value()) if self.encryption_keys is not None else ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values of all secret settings, which the log masks."""
        return tuple(secret.get_secret_value() for _, secret in self if isinstance(secret, SecretStr))

    @property
    def admins(self) -> tuple[str, ...]:
        """The user ids of `ADMIN_USER_IDS`."""
        return tuple(one for one in self.named_admins if not one.startswith("S"))

    @property
    def named_admins(self) -> tuple[str, ...]:
        """All ids of `ADMIN_USER_IDS`, including user groups."""
        return _parts(self.admin_user_ids)

    @property
    def provider_keys(self) -> dict[str, str]:
        """The keys that are set, by the provider's name."""
        keys = {name: getattr(self, f"{name}_api_key", None) for name in PROVIDERS}
        return {name: key.get_secret_value() for name, key in keys.items() if key is not None}

    @property
    def user_budget_unset(self) -> bool:
        """Whether BUDGET_USER_DAY_USD is not set, not even to `off`.

        If it is not set, the budget that the database began with applies, unless it began with none.
        """
        return "budget_user_day_usd" not in self.model_fields_set

    @property
    def budgets(self) -> Budgets:
        """The budgets that apply unless admins have set others."""
        return Budgets.in_dollars(
            user=self.budget_user_day_usd,
            channel=self.budget_channel_day_usd,
            workspace=self.budget_workspace_month_usd,
        )

    @property
    def redactor(self) -> Redactor:
        """The redactor of everything that is sent to a search service."""
        return Redactor(kinds=parse_kinds(self.redact), patterns=compile_patterns(self.redact_patterns))

    @property
    def keyless(self) -> bool:
        """Whether no key of a provider or of xAI is set."""
        return not self.provider_keys and self.xai_api_key is None

    @property
    def provider_base_urls(self) -> dict[str, str]:
        """The addresses of the services, by the provider's name."""
        return {name: getattr(self, f"{name}_base_url") for name in PROVIDERS if f"{name}_base_url" in _URL_FIELDS}

    @property
    def agent_key(self) -> str | None:
        """The key for the agent's model: AGENT_API_KEY, or OPENROUTER_API_KEY if the model is at OpenRouter."""
        shared = self.provider_keys.get("openrouter") if _is_openrouter(self.agent_base_url) else None
        return self.agent_api_key.get_secret_value() if self.agent_api_key is not None else shared

    @property
    def missing_agent_setting(self) -> str | None:
        """The setting that the agent still needs, or None; an endpoint other than OpenRouter may need no key."""
        if not self.agent_model:
            return "AGENT_MODEL"
        wants_key = _is_openrouter(self.agent_base_url)
        return "AGENT_API_KEY" if wants_key and self.agent_key is None else None

    @property
    def provider_order(self) -> tuple[str, ...]:
        """The providers in their order; empty for all of them in the default order."""
        return validate_order(self.providers.split(","))

    @property
    def limits(self) -> dict[tuple[str, CallKind], Limits]:
        """The limits of `PROVIDER_LIMITS`, by service and kind of call."""
        return parse_limits(self.provider_limits, services=PROVIDERS)

    @property
    def bind_host(self) -> str:
        """The address to listen on: HOST, or every interface if Slack sends requests, or else loopback."""
        everywhere = self.slack_configured and self.slack_signing_secret is not None
        return self.host or ("0.0.0.0" if everywhere else "127.0.0.1")  # noqa: S104 - a dyno's router needs it


def _is_openrouter(url: str) -> bool:
    return hostname(url) == hostname(OPENROUTER)


_LIKE_A_SECRET = re.compile(r"@|\b(?:xox|xapp-|pplx-|sk-|xai-)|(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{20}", re.ASCII)
"""Matches a text that may contain a secret. People confuse the variables, so any variable may contain one."""

_REPLACEMENTS = (
    (r"Input should be", "must be"),
    (r"a valid integer", "a whole number"),
    (r"a valid (number|decimal)", "a number"),
    (r"greater than or equal to (\S+)", r"\1 or more"),
    (r"less than or equal to (\S+)", r"\1 or less"),
    (r"Decimal input should have no more than (\d+) decimal places", r"must have at most \1 decimals"),
)
"""Patterns of the phrases in pydantic's messages, and our replacements."""


class SettingsError(Exception):
    """The environment cannot be used; the message lists every wrong variable with its allowed values."""


def load_settings(*, complete: bool = True) -> Settings:
    """Read the environment. Raises `SettingsError`, which lists every problem and never contains a secret.

    If `complete` is False, settings that the app needs to start may be missing.
    """
    settings, problems = read_settings()
    if problems := problems if complete else unreadable(problems):
        raise SettingsError("\n".join(problems.values()))
    return settings


def read_settings() -> tuple[Settings, Mapping[str, str]]:
    """Read the environment and return the settings, with defaults for wrong values, and the problems.

    The problems are sentences by field, such as `port`; a problem with the whole file `.env` has the key `.env`.
    """
    try:
        settings, wrong = Settings(), {}
    except ValidationError as error:
        wrong = {_field_name(problem): _explain(problem) for problem in error.errors()}
        settings = Settings(**{name: Settings.model_fields[name].get_default() for name in wrong})
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        return Settings.model_construct(), {".env": f".env cannot be read: {why}"}
    missing = {name: text for name, text in _find_missing(settings, wrong.keys()) if name not in wrong}
    return settings, wrong | missing


def unreadable(problems: Mapping[str, str]) -> Mapping[str, str]:
    """Return the `problems` without those that only say that a setting is missing."""
    return {name: text for name, text in problems.items() if not text.startswith(f"{name.upper()} is missing")}


_OTHERS = re.compile("POSTGRES_PASSWORD|PPLX_.+|.+_PROXY|SSL_CERT_(FILE|DIR)")
"""Names in `.env` that Docker Compose, the MCP server or a library reads."""


def unknown_names() -> dict[str, str | None]:
    """Return the unknown names in `.env`, each with the name that is probably meant, or None."""
    known = {str(name).upper() for field, info in Settings.model_fields.items() for name in _names(field, info)}
    try:
        written = {name.upper() for name in DotEnvSettingsSource(Settings).env_vars}
    except (OSError, UnicodeDecodeError):  # Reported by `read_settings`.
        return {}
    return {name: closest_match(name, known) for name in sorted(written - known) if not _OTHERS.fullmatch(name)}


def _names(field: str, info: FieldInfo) -> list[Any]:
    aliases = info.validation_alias
    return [field, *aliases.choices] if isinstance(aliases, AliasChoices) else [field]


def _find_missing(settings: Settings, wrong: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the fields that a workspace needs and that are not set at all, each with a sentence.

    The fields in `wrong` are set, but have wrong values.
    """
    slack = {
        name
        for name in ("slack_bot_token", "slack_signing_secret", "slack_app_token")
        if name in wrong or getattr(settings, name) is not None
    }
    none = "or none of them to try the app on the local page"
    if oauth := {name for name in OAUTH_FIELDS if name in wrong or getattr(settings, name)}:
        yield from _find_missing_oauth(settings, oauth, slack)
        return
    if slack and "slack_bot_token" not in slack:
        there = listed(sorted(name.upper() for name in slack))
        yield "slack_bot_token", f"SLACK_BOT_TOKEN is missing; set it next to {there} to serve Slack, {none}"
    if slack == {"slack_bot_token"}:
        yield (
            "slack_signing_secret",
            (
                "SLACK_SIGNING_SECRET is missing; set both SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET to serve Slack (in "
                f"development, SLACK_APP_TOKEN works instead), {none}"
            ),
        )


OAUTH_FIELDS = ("slack_oauth_client_id", "slack_oauth_client_secret", "allowed_teams")
"""If any of these settings is set, workspaces install the app by OAuth."""

_OAUTH_NEEDS = {
    "slack_oauth_client_id": "the client id is under Basic Information, App Credentials",
    "slack_oauth_client_secret": "the client secret is under Basic Information, App Credentials",
    "slack_signing_secret": WHERE_TO_FIND["SLACK_SIGNING_SECRET"],
    "allowed_teams": "the ids of the workspaces (T…) and organizations (E…) that may install the app, with commas",
    "encryption_keys": "make a key with `openssl rand -base64 32`",
}


def _find_missing_oauth(settings: Settings, oauth: Set[str], slack: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the missing and contradictory fields of an app that workspaces install by OAuth, each with a sentence."""
    why = listed(sorted(name.upper() for name in oauth))
    for name in ("slack_bot_token", "slack_app_token"):
        if name in slack:
            yield name, f"{name.upper()} is for a single workspace; unset it, or to serve that one, unset {why}"
    for name, how in _OAUTH_NEEDS.items():
        if not getattr(settings, name) and name not in {*oauth, *slack}:
            yield name, f"{name.upper()} is missing; it is needed next to {why}: {how}"


def _field_name(problem: ErrorDetails) -> str:
    return str(problem["loc"][0]).lower()


def _explain(problem: ErrorDetails) -> str:
    field = Settings.model_fields[_field_name(problem)]
    secret = "SecretStr" in str(field.annotation) or _LIKE_A_SECRET.search(str(problem["input"]))
    shown = "" if secret else f" cannot be {problem['input']!r}"
    allowed = str(problem["msg"]).removeprefix("Value error, ").partition(", unable to parse")[0]
    # The message on a secret setting never quotes a value. It is not masked, because masking would hide the beginning
    # that the secret must have, such as "xoxb-".
    if "SecretStr" not in str(field.annotation):
        allowed = " ".join("…" if _LIKE_A_SECRET.search(word) else word for word in allowed.split(" "))
    for theirs, ours in _REPLACEMENTS:
        allowed = re.sub(theirs, ours, allowed)
    return f"{_field_name(problem).upper()}{shown}: {allowed}"
