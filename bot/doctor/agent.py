"""The agent behind `/ask --agent`: whether all that it needs is set and installed."""

from __future__ import annotations

from collections.abc import Sequence

from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, warning, well
from perplexity.errors import MissingExtra
from perplexity.extras import require

ABOUT = "Agent"


async def check(case: Case) -> Sequence[Finding]:
    """Look at the agent's settings and its extra. Without AGENT_MODEL there is nothing to say."""
    settings = case.settings
    if not settings.agent_model:
        return []
    try:
        require("agent")
    except MissingExtra as error:
        text = "AGENT_MODEL is set, but the extra `agent` is not installed, so the app does not start."
        return [fault(ABOUT, text, fix=f"Install it ({error.command}), or unset AGENT_MODEL.")]
    if settings.agent_lacks is not None:
        text = f"AGENT_MODEL is set, but {settings.agent_lacks} is not, so there is no `/ask --agent`."
        return [warning(ABOUT, text, fix=f"Set {settings.agent_lacks} or OPENROUTER_API_KEY, or unset AGENT_MODEL.")]
    return [well(ABOUT, f"{settings.agent_model} is set up. It was not tried, since that costs.")]
