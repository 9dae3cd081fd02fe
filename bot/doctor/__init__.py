"""Checks of everything the app needs, each with a fix. A new check is a line in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.doctor import (
    admins,
    database,
    local,
    providers,
    slack,
    spending,
    workspaces,
)
from bot.doctor.checks import Check, Context, Finding, run_checks, settings_findings
from bot.settings import Settings
from perplexity.providers import PROVIDERS

_NETWORK = "Check the network, and a proxy or firewall between here and there."

CHECKS = (
    Check(
        title=local.COMMAND_NAMES,
        needs=frozenset({"command_prefix"}),
        run=local.check_command_names,
        seconds=1,
        timeout_hint="Please report this as a bug.",
    ),
    Check(
        title=database.DATABASE,
        needs=frozenset({"database_url"}),
        run=database.check_database,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=slack.SLACK,
        needs=frozenset({"slack_bot_token", "slack_api_url"}),
        run=slack.check_slack,
        seconds=6,
        timeout_hint=_NETWORK,
    ),
    Check(
        title=slack.SOCKET_MODE,
        needs=frozenset({"slack_app_token", "slack_api_url"}),
        run=slack.check_socket_mode,
        seconds=6,
        timeout_hint=_NETWORK,
    ),
    Check(
        title=providers.PERPLEXITY,
        needs=frozenset({"perplexity_api_key", "perplexity_base_url"}),
        run=providers.check_perplexity,
        seconds=6,
        timeout_hint=_NETWORK,
    ),
    Check(
        title=providers.FALLBACK,
        needs=frozenset(f"{name}_base_url" for name in PROVIDERS if name != "perplexity"),
        run=providers.check_fallback,
        seconds=6,
        timeout_hint=_NETWORK,
    ),
    Check(
        title=providers.X_POSTS,
        needs=frozenset({"xai_api_key", "xai_base_url"}),
        run=providers.check_x_posts,
        seconds=6,
        timeout_hint=_NETWORK,
    ),
    Check(
        title=providers.AGENT,
        needs=frozenset({"agent_base_url", "agent_api_key", "openrouter_api_key"}),
        run=providers.check_agent,
        seconds=1,
        timeout_hint="Please report this as a bug.",
    ),
    Check(
        title=database.RECENT_ERRORS,
        needs=frozenset(),
        run=database.check_recent_errors,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=database.LATE,
        needs=frozenset(),
        run=database.check_late_events,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=database.AUDIT,
        needs=frozenset({"audit_key"}),
        run=database.check_audit,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=database.RETENTION,
        needs=frozenset({"retention_days"}),
        run=database.check_retention,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=spending.BUDGETS,
        needs=frozenset({"budget_user_day_usd", "budget_channel_day_usd", "budget_workspace_month_usd"}),
        run=spending.check_budgets,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=admins.ADMINS,
        needs=frozenset({"slack_bot_token", "slack_api_url", "admin_user_ids"}),
        run=admins.check_admins,
        seconds=10,
        timeout_hint=_NETWORK,
    ),
    Check(
        title=slack.SHORTCUTS,
        needs=frozenset(),
        run=slack.check_shortcuts,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=slack.INSTALLATION,
        needs=frozenset(),
        run=slack.check_installation,
        seconds=5,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        title=workspaces.WORKSPACES,
        needs=frozenset({"slack_oauth_client_id", "allowed_teams", "encryption_keys", "public_url"}),
        run=workspaces.check_workspaces,
        seconds=10,
        timeout_hint=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(title=local.PORT, needs=frozenset({"port"}), run=local.check_port, seconds=3, timeout_hint="Check HOST."),
)
"""In the order of the report; they run concurrently."""


async def diagnose(settings: Settings, errors: Mapping[str, str], *, now: Callable[[], float]) -> tuple[Finding, ...]:
    """Return every finding, beginning with the `errors` in the settings. Raises nothing."""
    found = await run_checks(Context(settings=settings, invalid=errors.keys(), now=now), CHECKS)
    return (*settings_findings(settings, errors), *found)
