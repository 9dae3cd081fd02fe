"""Checks of the people who receive notices on budgets: those in ADMIN_USER_IDS, or the workspace's admins.

https://docs.slack.dev/reference/methods/users.info
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.doctor.checks import Context, Finding, reading_database, warning
from bot.doctor.slack import CONNECTION_ERRORS, api_error_name, client
from bot.slack.users import USER_GONE_ERRORS, AdminList

ADMINS = "Admins"

_SET = "SELECT EXISTS (SELECT FROM budgets WHERE amount > 0) AS budgets"


async def check_admins(context: Context) -> Sequence[Finding]:
    """Check that Slack knows everyone in ADMIN_USER_IDS, and that someone receives notices on budgets.

    Return nothing if Slack cannot be reached, which the check of Slack reports. Return nothing with OAuth either, since
    an id may then belong to any of many workspaces.
    """
    settings = context.settings
    if settings.slack_bot_token is None:
        return []
    try:
        slack = client(context, settings.slack_bot_token)
        gone = [user for user in settings.admins if await _is_gone(slack, user)]
        groups = [one for one in settings.named_admins if one.startswith("S") and await _is_no_group(slack, one)]
        alone = settings.admins == tuple(gone) and await _has_budgets(context) and not await _has_admins(slack)
    except (*CONNECTION_ERRORS, AttributeError):
        return []
    findings = []
    if gone:
        findings.append(
            warning(
                f"ADMIN_USER_IDS names people without an account in this workspace: {', '.join(gone)}.",
                fix="Correct the ids, or remove them. In a profile, Copy member ID is under More.",
            )
        )
    if groups:
        findings.append(
            warning(
                f"ADMIN_USER_IDS names user groups that this workspace does not have: {', '.join(groups)}.",
                fix="Correct the ids, or remove them. In a group’s profile, Copy group ID is under More.",
            )
        )
    if alone:
        findings.append(
            warning(
                "There are budgets, and no one is told when they are used up: Slack lists no admin of this workspace.",
                fix="Name someone in ADMIN_USER_IDS. If the scope users:read is missing, reinstall the app with it.",
            )
        )
    return findings


async def _is_gone(slack: AsyncWebClient, user: str) -> bool:
    """Return whether Slack says that a person has no account, or a closed one. Raises if Slack cannot be asked."""
    try:
        profile = (await slack.users_info(user=user)).get("user")
    except SlackApiError as error:
        return api_error_name(error) in USER_GONE_ERRORS
    return isinstance(profile, Mapping) and bool(profile.get("deleted"))


async def _is_no_group(slack: AsyncWebClient, group: str) -> bool:
    """Return whether Slack says that there is no such user group. Raises if Slack cannot be asked.

    https://docs.slack.dev/reference/methods/usergroups.users.list
    """
    try:
        await slack.usergroups_users_list(usergroup=group)
    except SlackApiError as error:
        return api_error_name(error) == "no_such_subteam"
    return False


async def _has_admins(slack: AsyncWebClient) -> bool:
    """Return whether Slack lists an admin; True if Slack does not return the list."""
    team = str((await slack.auth_test()).get("team_id", ""))
    return await AdminList(slack).read(team) != []


async def _has_budgets(context: Context) -> bool:
    """Return whether there is a budget, in the settings or in a database that can be read."""
    budgets = context.settings.budgets
    return any((budgets.user, budgets.channel, budgets.workspace)) or bool(await _read_budgets(context))


@reading_database
async def _read_budgets(context: Context, connection: AsyncConnection[DictRow]) -> bool:
    row = await (await connection.execute(_SET)).fetchone()
    return row is not None and bool(row["budgets"])
