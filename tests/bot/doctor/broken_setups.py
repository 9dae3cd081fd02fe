"""Configurations, each broken in its own way."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

import psycopg

from bot.slack.scopes import SCOPES
from bot.storage.questions import lane_name
from tests.fakes import grok
from tests.fakes.grok import FakeGrok
from tests.fakes.perplexity import KEY, FakePerplexity
from tests.fakes.perplexity import Fault as PerplexityFault
from tests.fakes.ports import free_port
from tests.fakes.service import json_reply
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault, refusal

SIGNING_SECRET = "8f742231b10e8888abcd99eee1285a50"
CANARY = "hunter2"


@dataclass(kw_only=True)
class DoctorSetup:
    """What a configuration meets, and what it is: a whole one, until a case breaks it."""

    slack: FakeSlack
    perplexity: FakePerplexity
    xai: FakeGrok
    database: str
    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.slack.workspace.scopes = [scope.name for scope in SCOPES]
        self.slack.workspace.admins = {"U9"}
        self.env = {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": self.slack.api_url,
            "PERPLEXITY_API_KEY": KEY,
            "PERPLEXITY_BASE_URL": self.perplexity.base_url,
            "DATABASE_URL": self.database,
            "HOST": "127.0.0.1",
            "PORT": str(free_port()),
        }

    def with_xai(self) -> None:
        self.env |= {"XAI_API_KEY": grok.KEY, "XAI_BASE_URL": self.xai.api_url}

    def without(self, *names: str) -> None:
        for name in names:
            del self.env[name]


WELL = '{"ok": true, "user": "web_answers", "team": "Example"}'
Breaking = Callable[[DoctorSetup], None]


def no_settings(setup: DoctorSetup) -> None:
    setup.without(*setup.env)


def malformed(setup: DoctorSetup) -> None:
    setup.env |= {"PORT": "web", "LOG_LEVEL": "loud", "RETRY_ATTEMPTS": "0", "COMMAND_PREFIX": "/x"}
    setup.env |= {"SLACK_API_URL": "http://slack.example/api/", "DATABASE_URL": f"mysql://u:{CANARY}@h/d"}


def swapped_tokens(setup: DoctorSetup) -> None:
    setup.env |= {"SLACK_BOT_TOKEN": f"xapp-{CANARY}", "SLACK_APP_TOKEN": f"xoxb-{CANARY}"}


def half_a_workspace(setup: DoctorSetup) -> None:
    setup.without("SLACK_SIGNING_SECRET")


def unknown_token(setup: DoctorSetup) -> None:
    setup.env |= {"SLACK_BOT_TOKEN": f"xoxb-{CANARY}", "SLACK_SIGNING_SECRET": CANARY}


def uninstalled(setup: DoctorSetup) -> None:
    setup.slack.fail("auth.test", Fault(status=200, body='{"ok": false, "error": "account_inactive"}'))


def scopes(setup: DoctorSetup) -> None:
    setup.slack.workspace.scopes = [
        "chat:write",
        "commands",
        "users:read.email",
        "app_mentions:read",
        "assistant:write",
    ]
    setup.slack.workspace.scopes.append("files:write")


def declined_scopes(setup: DoctorSetup) -> None:
    setup.env["READ_CHANNELS"] = "true"


def files_without_scope(setup: DoctorSetup) -> None:
    setup.env["SEND_FILES"] = "true"


def scopes_without_settings(setup: DoctorSetup) -> None:
    setup.slack.workspace.scopes += ["files:write", "channels:read", "groups:read"]


def follow_ups_without_scopes(setup: DoctorSetup) -> None:
    setup.env["FOLLOW_UPS"] = "always"


def thread_history_without_scopes(setup: DoctorSetup) -> None:
    setup.env["THREAD_HISTORY"] = "capped"
    setup.slack.workspace.scopes.append("channels:history")


def clock_behind(setup: DoctorSetup) -> None:
    setup.slack.fail("auth.test", Fault(status=200, body=WELL, headers=headers_at(seconds=400)))


def clock_drifts(setup: DoctorSetup) -> None:
    setup.slack.fail("auth.test", Fault(status=200, body=WELL, headers=headers_at(seconds=-90)))


def headers_at(*, seconds: int) -> dict[str, str]:
    """Return a `Date` header that many seconds from now, on the second, and the scopes."""
    names = ",".join(scope.name for scope in SCOPES)
    return {"Date": formatdate(time.time() + seconds, usegmt=True), "x-oauth-scopes": names}


def log_in_page(setup: DoctorSetup) -> None:
    setup.slack.fail("auth.test", Fault(status=200, body="<html>Log in</html>"))


def slack_away(setup: DoctorSetup) -> None:
    setup.env["SLACK_API_URL"] = f"http://127.0.0.1:{free_port()}/api/"


def app_token(setup: DoctorSetup) -> None:
    setup.env["SLACK_APP_TOKEN"] = f"xapp-{CANARY}"


def perplexity_key(setup: DoctorSetup) -> None:
    setup.env["PERPLEXITY_API_KEY"] = f"pplx-{CANARY}"


def out_of_credit(setup: DoctorSetup) -> None:
    error = {"error": {"type": "insufficient_quota", "message": f"You exceeded your quota {CANARY}", "code": 401}}
    setup.perplexity.fail("/v1/models", status=401, body=error)


def perplexity_page(setup: DoctorSetup) -> None:
    page = PerplexityFault(status=404, chunks=(b"<html>",), content_type="text/html")
    setup.perplexity.script("/v1/models", page)


def perplexity_away(setup: DoctorSetup) -> None:
    setup.env["PERPLEXITY_BASE_URL"] = f"http://127.0.0.1:{free_port()}"


def database_away(setup: DoctorSetup) -> None:
    setup.env["DATABASE_URL"] = f"postgres://u:{CANARY}@127.0.0.1:{free_port()}/d"


def no_such_database(setup: DoctorSetup) -> None:
    setup.env["DATABASE_URL"] = re.sub(r"dbname=\w+", f"dbname={CANARY}", setup.database)


def wiped_disk(setup: DoctorSetup) -> None:
    setup.without("DATABASE_URL")
    setup.env["DYNO"] = "web.1"


def data_path_is_taken(setup: DoctorSetup) -> None:
    setup.without("DATABASE_URL")
    (setup.folder / "taken").write_text("a file")
    setup.env["DATA_DIR"] = "taken"


def rejected_key(setup: DoctorSetup) -> None:
    with psycopg.connect(setup.database) as connection:
        connection.execute(
            "INSERT INTO attempts (at, provider, kind, seconds, error_class) VALUES "
            "(now() - interval '3 hours', 'Brave', 'search', 1, 'AuthenticationError'), "
            "(now() - interval '2 hours', 'OpenRouter', 'answer', 1, 'BillingError'), "
            "(now() - interval '1 hour', 'DuckDuckGo', 'search', 1, NULL)"
        )


def openrouter_away(setup: DoctorSetup) -> None:
    setup.env |= {"OPENROUTER_API_KEY": f"sk-or-{CANARY}", "OPENROUTER_BASE_URL": f"http://127.0.0.1:{free_port()}"}
    setup.env["BRAVE_API_KEY"] = CANARY


def xai_key(setup: DoctorSetup) -> None:
    setup.with_xai()
    setup.env["XAI_API_KEY"] = f"xai-{CANARY}"


def xai_blocked(setup: DoctorSetup) -> None:
    setup.with_xai()
    setup.xai.script(grok.KEY_PATH, json_reply(grok.about_key(team_blocked=True, name=CANARY)))


def xai_key_info_fails(setup: DoctorSetup) -> None:
    setup.with_xai()
    setup.xai.script(grok.KEY_PATH, grok.error_reply(503, CANARY))


def xai_away(setup: DoctorSetup) -> None:
    setup.with_xai()
    setup.env["XAI_BASE_URL"] = f"http://127.0.0.1:{free_port()}/v1"


def xai_accepts_key(setup: DoctorSetup) -> None:
    setup.with_xai()


def half_an_oauth(setup: DoctorSetup) -> None:
    setup.without("SLACK_BOT_TOKEN")
    setup.env["SLACK_OAUTH_CLIENT_ID"] = "1234.5678"


def wrong_key_ring(setup: DoctorSetup) -> None:
    setup.without("SLACK_BOT_TOKEN")
    setup.env |= {
        "SLACK_OAUTH_CLIENT_ID": "1234.5678",
        "SLACK_OAUTH_CLIENT_SECRET": CANARY,
        "PUBLIC_URL": "https://answers.example.com",
        "ENCRYPTION_KEYS": CANARY,
    }


def malformed_oauth(setup: DoctorSetup) -> None:
    key = base64.b64encode(CANARY.encode() * 4 + b"1234").decode()
    setup.env |= {
        "SLACK_OAUTH_CLIENT_ID": "A012AB3CD",
        "SLACK_OAUTH_CLIENT_SECRET": CANARY,
        "PUBLIC_URL": "http://answers.example.com",
        "ALLOWED_TEAMS": "example.slack.com",
        "ENCRYPTION_KEYS": f"{key},{key}",
    }


def oauth_next_to_a_token(setup: DoctorSetup) -> None:
    setup.env |= {
        "SLACK_OAUTH_CLIENT_ID": "1234.5678",
        "SLACK_OAUTH_CLIENT_SECRET": CANARY,
        "PUBLIC_URL": "https://answers.example.com",
        "ALLOWED_TEAMS": "T012AB3CD",
        "ENCRYPTION_KEYS": base64.b64encode(bytes(32)).decode(),
    }


def malformed_limits(setup: DoctorSetup) -> None:
    setup.env |= {"RETENTION_DAYS": "-1", "BUDGET_USER_DAY_USD": "-2", "BUDGET_CHANNEL_DAY_USD": "0.0000001"}
    setup.env |= {"BUDGET_WORKSPACE_MONTH_USD": "lots", "USER_QUESTIONS_PER_MINUTE": "many"}
    setup.env |= {"AUDIT_KEY": CANARY, "ADMIN_USER_IDS": "@anna", "SECURITY_CONTACT": "security"}


def nothing_to_spend(setup: DoctorSetup) -> None:
    setup.env |= {"BUDGET_USER_DAY_USD": "0"}
    with psycopg.connect(setup.database) as connection:
        connection.execute(
            "INSERT INTO budgets (team_id, scope, subject, amount, user_id) VALUES ('T1', 'workspace', '', 0, 'U9'),"
            " ('T1', 'user', 'U1', 0, 'U9')"
        )


def unknown_admins(setup: DoctorSetup) -> None:
    setup.env["ADMIN_USER_IDS"] = "U06,U07,U08,S06"
    setup.slack.fail("users.info", refusal("user_not_found"))
    setup.slack.workspace.left = {"U07"}


def no_one_to_tell(setup: DoctorSetup) -> None:
    setup.env |= {"BUDGET_WORKSPACE_MONTH_USD": "300"}
    setup.slack.workspace.admins = set()


def bad_pattern(setup: DoctorSetup) -> None:
    setup.env |= {"REDACT": "email, shoes", "REDACT_PATTERNS": "([a-z"}


def texts_kept_too_long(setup: DoctorSetup) -> None:
    with psycopg.connect(setup.database) as connection:
        connection.execute(
            "INSERT INTO questions (id, delivery_key, surface, command, text, team_id, channel_id, user_id, state,"
            " settled_at) SELECT gen_random_uuid(), 'k' || days, 'slash', 'ask', 'why', 'T1', 'C1', 'U1', 'answered',"
            " now() - days * interval '1 day' FROM unnest(ARRAY[29, 30.05, 31, 90]) AS days"
        )


def spent(setup: DoctorSetup) -> None:
    """All spending is paused; a person, two channels and the workspace have used up their budgets; a worker died."""
    setup.env |= {"BUDGET_USER_DAY_USD": "2", "BUDGET_CHANNEL_DAY_USD": "5"}
    with psycopg.connect(setup.database) as connection:
        connection.execute("INSERT INTO spending_pauses (team_id, user_id) VALUES ('T1', 'U9')")
        connection.execute(
            "INSERT INTO budgets (team_id, scope, subject, amount, user_id)"
            " VALUES ('T1', 'workspace', '', 300000000, 'U9')"
        )
        connection.execute(
            "INSERT INTO budget_use (team_id, scope, subject, period, reserved, spent) SELECT 'T1', scope, subject,"
            " CASE scope WHEN 'workspace' THEN date_trunc('month', now() AT TIME ZONE 'UTC')::date"
            " ELSE (now() AT TIME ZONE 'UTC')::date - days END, 0, spent FROM (VALUES ('user', 'U1', 0, 2000000),"
            " ('user', 'U2', 0, 1999999), ('user', 'U3', 1, 2000000), ('channel', 'C1', 0, 5000000),"
            " ('channel', 'C2', 0, 6000000), ('workspace', '', 0, 300250000)) AS used(scope, subject, days, spent)"
        )
        connection.execute(
            "INSERT INTO ledger (id, team_id, channel_id, user_id, provider, effort, reserved, held_at) SELECT"
            " gen_random_uuid(), 'T1', 'C1', 'U1', 'Perplexity', 'fast', 20000, now() - hours * interval '1 hour'"
            " FROM unnest(ARRAY[0.01, 2]) AS hours"
        )


def used_shortcuts(setup: DoctorSetup) -> None:
    with psycopg.connect(setup.database) as connection:
        connection.execute(
            "INSERT INTO last_choices (team_id, user_id, command, options) VALUES ('T1', 'U1', 'ask', '{}')"
        )
        connection.execute("INSERT INTO homes (team_id, user_id) VALUES ('T1', 'U1')")


def events_dropped(setup: DoctorSetup) -> None:
    with psycopg.connect(setup.database) as connection:
        connection.execute("INSERT INTO refused_deliveries (delivery_key) VALUES ('T1:app_rate_limited')")


def other_programs(setup: DoctorSetup) -> None:
    with psycopg.connect(setup.database) as connection:
        connection.execute(
            "INSERT INTO provider_limits (lane, per_minute, source, others, others_at)"
            " VALUES (%s, 50, 'tier', 38, now())",
            (lane_name("Perplexity", "answer", KEY),),
        )


BREAKINGS: Sequence[Breaking] = (
    no_settings,
    malformed,
    swapped_tokens,
    half_a_workspace,
    unknown_token,
    uninstalled,
    scopes,
    declined_scopes,
    files_without_scope,
    scopes_without_settings,
    follow_ups_without_scopes,
    thread_history_without_scopes,
    clock_behind,
    clock_drifts,
    log_in_page,
    slack_away,
    app_token,
    perplexity_key,
    out_of_credit,
    perplexity_page,
    perplexity_away,
    database_away,
    no_such_database,
    wiped_disk,
    data_path_is_taken,
    rejected_key,
    openrouter_away,
    xai_key,
    xai_blocked,
    xai_key_info_fails,
    xai_away,
    xai_accepts_key,
    half_an_oauth,
    wrong_key_ring,
    malformed_oauth,
    oauth_next_to_a_token,
    unknown_admins,
    no_one_to_tell,
    bad_pattern,
    texts_kept_too_long,
    used_shortcuts,
    events_dropped,
    other_programs,
)

OF_BUDGETS: Sequence[Breaking] = (nothing_to_spend, spent)
"""What the checks of budgets find."""

OF_AUDIT_AND_BUDGETS: Sequence[Breaking] = (malformed_limits,)
"""What the checks of both find."""
