"""Looks at everything the app needs, and says what is wrong and how to fix it. A new check is a line in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.doctor import (
    database,
    local,
    providers,
    slack,
)
from bot.doctor.checks import Case, Check, Finding, configuration_findings, examine
from bot.settings import Settings

_NETWORK = "Check the network, and a proxy or firewall between here and there."

CHECKS = (
    Check(
        about=local.COMMAND_NAMES,
        needs=frozenset({"command_prefix"}),
        run=local.check_command_names,
        seconds=1,
        late="Please report this as a bug.",
    ),
    Check(
        about=database.DATABASE,
        needs=frozenset({"database_url"}),
        run=database.check_database,
        seconds=5,
        late=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        about=slack.SLACK,
        needs=frozenset({"slack_bot_token", "slack_api_url"}),
        run=slack.check_slack,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=slack.SOCKET_MODE,
        needs=frozenset({"slack_app_token", "slack_api_url"}),
        run=slack.check_socket_mode,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=providers.PERPLEXITY,
        needs=frozenset({"perplexity_api_key", "perplexity_base_url"}),
        run=providers.check_perplexity,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=providers.FALLBACK,
        needs=frozenset({"openrouter_base_url", "brave_base_url"}),
        run=providers.check_fallback,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=providers.X_POSTS,
        needs=frozenset({"xai_api_key", "xai_base_url"}),
        run=providers.check_x_posts,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=providers.AGENT,
        needs=frozenset({"agent_base_url", "agent_api_key", "openrouter_api_key"}),
        run=providers.check_agent,
        seconds=1,
        late="Please report this as a bug.",
    ),
    Check(
        about=database.RECENT_ERRORS,
        needs=frozenset(),
        run=database.check_recent_errors,
        seconds=5,
        late=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        about=slack.INSTALLATION,
        needs=frozenset(),
        run=slack.check_installation,
        seconds=5,
        late=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(about=local.PORT, needs=frozenset({"port"}), run=local.check_port, seconds=3, late="Check HOST."),
)
"""In the order of the report; they run side by side."""


async def diagnose(settings: Settings, faults: Mapping[str, str], *, now: Callable[[], float]) -> tuple[Finding, ...]:
    """Return every finding: first `faults`, which reading the settings brought up. Raises nothing."""
    found = await examine(Case(settings=settings, wrong=faults.keys(), now=now), CHECKS)
    return (*configuration_findings(settings, faults), *found)
