"""Reports whether the app was uninstalled, or its token revoked.

No Slack method tells a bot token which events the app is subscribed to; the database has those that came.
"""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import UndefinedTable
from psycopg.rows import dict_row

from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault
from bot.installation import token_hash
from bot.storage.workspaces import REVOKED, UNINSTALLED, closed_state

ABOUT = "Workspace"

_SAID = {
    UNINSTALLED: "The app was uninstalled. It answers no questions; all questions, answers and digests are deleted.",
    REVOKED: "SLACK_BOT_TOKEN was revoked. The app answers no questions, and digests are paused.",
}


async def check(case: Case) -> Sequence[Finding]:
    """Read the app's record; return nothing if it cannot be read, which the database check reports."""
    url, token = case.settings.database_url, case.settings.slack_bot_token
    if url is None or token is None or {"database_url", "slack_bot_token"} & case.wrong:
        return []
    try:
        async with await AsyncConnection.connect(url.get_secret_value(), row_factory=dict_row) as connection:
            state = await closed_state(connection, token_hash(token.get_secret_value()))
    except (OperationalError, UndefinedTable):
        return []
    if state is None:
        return []
    fix = "Install the app again, set SLACK_BOT_TOKEN to the new token, then restart the app."
    return [fault(ABOUT, _SAID[state], fix=fix)]
