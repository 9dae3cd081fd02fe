"""Socket Mode: whether the app token opens a connection.

https://docs.slack.dev/reference/methods/apps.connections.open
"""

from __future__ import annotations

from collections.abc import Sequence

from slack_sdk.errors import SlackApiError

from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, well
from bot.doctor.slack import AWAY, NOT_SLACK, client, not_slack, said, unreachable

ABOUT = "Socket Mode"

FIX = (
    "Under Basic Information, App-Level Tokens, make a token with the scope connections:write, and turn Socket Mode "
    "on; or unset SLACK_APP_TOKEN and set SLACK_SIGNING_SECRET."
)


async def check(case: Case) -> Sequence[Finding]:
    """Ask for an address to connect to, and do not connect."""
    token = case.settings.slack_app_token
    if token is None:
        return []
    try:
        await client(case, token).apps_connections_open(app_token=token.get_secret_value())
    except SlackApiError as error:
        return [fault(ABOUT, f"Slack refuses SLACK_APP_TOKEN ({said(error)}).", fix=FIX)]
    except NOT_SLACK:
        return [not_slack(ABOUT)]
    except AWAY as error:
        return [unreachable(ABOUT, error)]
    return [well(ABOUT, "Slack opens connections for SLACK_APP_TOKEN. It is for development, not for production.")]
