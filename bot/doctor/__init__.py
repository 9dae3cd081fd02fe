"""Looks at everything the app needs, and says what is wrong and how to fix it. A new check is a line in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.doctor import agent, database, installation, lately, naming, others, port, posts, provider, slack, socket
from bot.doctor.configuration import configuration_findings
from bot.doctor.examining import Case, Check, examine
from bot.doctor.report import Finding
from bot.settings import Settings

_NETWORK = "Check the network, and a proxy or firewall between here and there."

CHECKS = (
    Check(
        about=naming.ABOUT,
        needs=frozenset({"command_prefix"}),
        run=naming.check,
        seconds=1,
        late="Please report this as a bug.",
    ),
    Check(
        about=database.ABOUT,
        needs=frozenset({"database_url"}),
        run=database.check,
        seconds=5,
        late=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        about=slack.ABOUT,
        needs=frozenset({"slack_bot_token", "slack_api_url"}),
        run=slack.check,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=socket.ABOUT,
        needs=frozenset({"slack_app_token", "slack_api_url"}),
        run=socket.check,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=provider.ABOUT,
        needs=frozenset({"perplexity_api_key", "perplexity_base_url"}),
        run=provider.check,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=others.ABOUT,
        needs=frozenset({"openrouter_base_url", "brave_base_url"}),
        run=others.check,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=posts.ABOUT,
        needs=frozenset({"xai_api_key", "xai_base_url"}),
        run=posts.check,
        seconds=6,
        late=_NETWORK,
    ),
    Check(
        about=agent.ABOUT,
        needs=frozenset({"agent_base_url", "agent_api_key", "openrouter_api_key"}),
        run=agent.check,
        seconds=1,
        late="Please report this as a bug.",
    ),
    Check(
        about=lately.ABOUT,
        needs=frozenset(),
        run=lately.check,
        seconds=5,
        late=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(
        about=installation.ABOUT,
        needs=frozenset(),
        run=installation.check,
        seconds=5,
        late=f"{_NETWORK} Is the host in DATABASE_URL right?",
    ),
    Check(about=port.ABOUT, needs=frozenset({"port"}), run=port.check, seconds=3, late="Check HOST."),
)
"""In the order of the report; they run side by side."""


async def diagnose(settings: Settings, faults: Mapping[str, str], *, now: Callable[[], float]) -> tuple[Finding, ...]:
    """Return every finding: first `faults`, which reading the settings brought up. Raises nothing."""
    found = await examine(Case(settings=settings, wrong=faults.keys(), now=now), CHECKS)
    return (*configuration_findings(settings, faults), *found)
