"""The list of checks and the order of the report. To add a check of the core, add a line to `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot.doctor import database, local, providers, slack, workspaces
from bot.doctor.checks import DATABASE_HINT, Check, Context, Finding, run_checks, settings_findings
from bot.manifest import Offers
from bot.settings import Settings
from perplexity.providers import PROVIDERS

_BUG = "Please report this as a bug."

_FALLBACK_ADDRESSES = {f"{name}_base_url" for name in PROVIDERS if name != "perplexity"}
_AGENT = {"agent_base_url", "agent_api_key", "openrouter_api_key"}
_OAUTH = {"slack_oauth_client_id", "allowed_teams", "encryption_keys", "public_url"}

CHECKS = (
    Check(".env", local.check_env_file, seconds=1, hint=_BUG),
    Check("Commands", local.check_command_names, needs={"command_prefix"}, seconds=1, hint=_BUG),
    Check("Database", database.check_database, needs={"database_url"}, hint=DATABASE_HINT, blocks=True),
    Check("Slack", slack.check_slack, needs={"slack_bot_token", "slack_api_url"}, seconds=6),
    Check("Socket Mode", slack.check_socket_mode, needs={"slack_app_token", "slack_api_url"}, seconds=6),
    Check("Perplexity", providers.check_perplexity, needs={"perplexity_api_key", "perplexity_base_url"}, seconds=6),
    Check("Fallback", providers.check_fallback, needs=_FALLBACK_ADDRESSES, seconds=6),
    Check("Posts on X", providers.check_x_posts, needs={"xai_api_key", "xai_base_url"}, seconds=6),
    Check("Agent", local.check_agent, needs=_AGENT, seconds=1, hint=_BUG),
    Check("Recently", database.check_recent_errors, hint=DATABASE_HINT),
    Check("Late events", database.check_events, hint=DATABASE_HINT),
    Check("Retention", database.check_retention, needs={"retention_days"}, hint=DATABASE_HINT),
    Check("Limits", database.check_limits, hint=DATABASE_HINT),
    Check("Admins", slack.check_admins, needs={"slack_bot_token", "slack_api_url", "admin_user_ids"}, seconds=10),
    Check("Shortcuts", slack.check_shortcuts, hint=DATABASE_HINT),
    Check("Workspace", slack.check_installation, hint=DATABASE_HINT),
    Check("Workspaces", workspaces.check_workspaces, needs=_OAUTH, seconds=10, hint=DATABASE_HINT),
    Check("Port", local.check_port, needs={"port"}, seconds=3, hint="Check HOST."),
)

ORDER = (
    ".env", "Commands", "Database", "Slack", "Socket Mode", "Perplexity", "Fallback", "Posts on X", "Agent", "Recently",
    "Late events", "Audit log", "Retention", "Budgets", "Limits", "Admins", "Shortcuts", "Workspace", "Workspaces",
    "Port",
)  # fmt: skip
"""The titles of checks in the order of the report; other titles follow. All checks run concurrently."""


async def diagnose(
    settings: Settings,
    errors: Mapping[str, str],
    *,
    now: Callable[[], float],
    offers: Offers,
    checks: Sequence[Check] = (),
) -> tuple[Finding, ...]:
    """Return every finding, beginning with the `errors` in the settings; features add `checks`. Raises nothing."""
    places = {title: place for place, title in enumerate(ORDER)}
    ordered = sorted((*CHECKS, *checks), key=lambda check: places.get(check.title, len(ORDER)))
    found = await run_checks(Context(settings=settings, invalid=errors.keys(), now=now, offers=offers), ordered)
    return (*settings_findings(settings, errors), *found)
