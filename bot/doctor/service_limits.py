"""The check of the services' limits: how many calls they accept, and whether others use them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from bot.blocks.status import service_line
from bot.doctor.checks import Context, Finding, ok, reading_database, warning
from bot.model.admin import LaneUse
from bot.storage.calls import read_uses
from bot.storage.questions import lane_name
from perplexity.formatting import pluralize
from perplexity.limiter import CallKind
from perplexity.providers import PROVIDERS

LIMITS = "Limits"


@reading_database
async def check_limits(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return a finding for each limit of calls to a service, a warning if other programs use the same key."""
    keys = context.settings.provider_keys
    lanes = [lane_name(PROVIDERS[name].title, kind, key) for name, key in keys.items() for kind in get_args(CallKind)]
    uses = await read_uses(connection, lanes)
    return [_limit_finding(one) for one in uses]


def _limit_finding(use: LaneUse) -> Finding:
    if use.others is None:
        return ok(service_line(use))
    text = f"{service_line(use)} In a minute of that hour {pluralize(use.others, 'call')} came from other programs."
    return warning(text, fix="Stop them, or set PROVIDER_LIMITS to what they leave.")
