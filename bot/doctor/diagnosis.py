"""The list of checks, in the order of the report. A new check of the core is a line in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bot.doctor import admins, database, local, providers, slack, spending, workspaces
from bot.doctor.checks import NETWORK, Check, Context, Finding, run_checks, settings_findings
from bot.manifest import Offers
from bot.settings import Settings
from perplexity.providers import PROVIDERS

_DATABASE = f"{NETWORK} Is the host in DATABASE_URL right?"
_BUG = "Please report this as a bug."

_FALLBACK_ADDRESSES = {f"{name}_base_url" for name in PROVIDERS if name != "perplexity"}
_AGENT = {"agent_base_url", "agent_api_key", "openrouter_api_key"}
_BUDGETS = {"budget_user_day_usd", "budget_channel_day_usd", "budget_workspace_month_usd"}
_OAUTH = {"slack_oauth_client_id", "allowed_teams", "encryption_keys", "public_url"}

CHECKS = (
    Check(local.ENV_FILE, local.check_env_file, seconds=1, hint=_BUG),
    Check(local.COMMAND_NAMES, local.check_command_names, needs={"command_prefix"}, seconds=1, hint=_BUG),
    Check(database.DATABASE, database.check_database, needs={"database_url"}, hint=_DATABASE),
    Check(slack.SLACK, slack.check_slack, needs={"slack_bot_token", "slack_api_url"}, seconds=6),
    Check(slack.SOCKET_MODE, slack.check_socket_mode, needs={"slack_app_token", "slack_api_url"}, seconds=6),
    Check(
        providers.PERPLEXITY, providers.check_perplexity, needs={"perplexity_api_key", "perplexity_base_url"}, seconds=6
    ),
    Check(providers.FALLBACK, providers.check_fallback, needs=_FALLBACK_ADDRESSES, seconds=6),
    Check(providers.X_POSTS, providers.check_x_posts, needs={"xai_api_key", "xai_base_url"}, seconds=6),
    Check(providers.AGENT, providers.check_agent, needs=_AGENT, seconds=1, hint=_BUG),
    Check(database.RECENT_ERRORS, database.check_recent_errors, hint=_DATABASE),
    Check(database.LATE, database.check_events, hint=_DATABASE),
    Check(database.AUDIT, database.check_audit, needs={"audit_key"}, hint=_DATABASE),
    Check(database.RETENTION, database.check_retention, needs={"retention_days"}, hint=_DATABASE),
    Check(spending.BUDGETS, spending.check_budgets, needs=_BUDGETS, hint=_DATABASE),
    Check(spending.LIMITS, spending.check_limits, hint=_DATABASE),
    Check(admins.ADMINS, admins.check_admins, needs={"slack_bot_token", "slack_api_url", "admin_user_ids"}, seconds=10),
    Check(slack.SHORTCUTS, slack.check_shortcuts, hint=_DATABASE),
    Check(slack.INSTALLATION, slack.check_installation, hint=_DATABASE),
    Check(workspaces.WORKSPACES, workspaces.check_workspaces, needs=_OAUTH, seconds=10, hint=_DATABASE),
    Check(local.PORT, local.check_port, needs={"port"}, seconds=3, hint="Check HOST."),
)

ORDER = (*(check.title for check in CHECKS),)
"""The order of the report; checks with other titles follow. They run concurrently."""


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
