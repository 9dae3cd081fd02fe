"""Checks of Slack: the tokens, their scopes, the signing secret, the installation, the clock and the admins.

The events that the app is subscribed to are not checked: no method of Slack lists them.

https://docs.slack.dev/authentication/verifying-requests-from-slack
https://docs.slack.dev/reference/methods/auth.test
https://docs.slack.dev/reference/methods/apps.connections.open
https://docs.slack.dev/reference/methods/users.info
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.doctor.checks import Context, Finding, failure, ok, reading_database, skipped, warning
from bot.listeners.installation import token_hash
from bot.slack.connection import web_client
from bot.slack.messages import FAILURES, error_name
from bot.slack.scopes import CHANNEL_SCOPES, FILE_SCOPES, HISTORIES, SCOPES, Features, OAuthScope
from bot.slack.users import USER_GONE_ERRORS, AdminList
from bot.storage.installation import REVOKED, UNINSTALLED, closed_state, other_installation
from fake_slack.workspace import TEAM_ID
from perplexity.errors import ConnectionFailed

CLOCK = "Clock"

WARN_SKEW = 60
FAULT_SKEW = 240
"""The difference between the clocks, in seconds, above which the finding is a warning, or an error.

From 300 seconds on, the app refuses every request from Slack as too old.
"""


def clock_findings(headers: Mapping[str, str], *, now: float) -> Iterator[Finding]:
    """Compare `now`, in seconds since 1970, with the `Date` header of a response; yield nothing without one. Pure."""
    try:
        skew = now - parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError:
        return
    # The header counts whole seconds, so the difference is rounded.
    direction = "fast" if skew > 0 else "slow"
    text = f"This machine's clock is about {round(abs(skew), -1):.0f} seconds {direction}, compared with Slack's."
    if abs(skew) > FAULT_SKEW:
        fix = "Set the clock (NTP): from 300 seconds on, every request from Slack is refused as too old."
        yield failure(text, fix=fix, title=CLOCK)
    elif abs(skew) > WARN_SKEW:
        yield warning(text, fix="Set the clock (NTP) before it drifts further.", title=CLOCK)
    else:
        yield ok("This machine's clock agrees with Slack's.", title=CLOCK)


_CLOSED = {
    UNINSTALLED: "The app was uninstalled. It answers no questions; all questions, answers and digests are deleted.",
    REVOKED: "SLACK_BOT_TOKEN was revoked. The app answers no questions, and digests are paused.",
}


@reading_database
async def check_installation(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return a finding if the app was uninstalled, or its token was revoked.

    Return a finding, too, if Slack is not set up although the database belongs to a workspace, since the local page
    must not answer its questions.
    """
    if {"slack_bot_token", "slack_oauth_client_id"} & context.invalid:
        return []
    token = context.settings.slack_bot_token
    if not context.settings.slack_configured:
        if (team := await other_installation(connection, TEAM_ID)) is None:
            return []
        text = f"The database is that of a workspace ({team}), and no Slack token is set: the app does not start."
        fix = "Set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET, or have DATABASE_URL name another database."
        return [failure(text, fix=fix)]
    state = None if token is None else await closed_state(connection, token_hash(token.get_secret_value()))
    if state is None:
        return []
    fix = "Install the app again, set SLACK_BOT_TOKEN to the new token, then restart the app."
    return [failure(_CLOSED[state], fix=fix)]


_USED = "SELECT EXISTS (SELECT FROM last_choices) AS shortcuts, EXISTS (SELECT FROM homes) AS home"


@reading_database
async def check_shortcuts(context: Context, connection: AsyncConnection[DictRow]) -> Sequence[Finding]:
    """Return findings on whether people have used the shortcuts and the Home tab.

    No method of Slack says whether the app has shortcuts and a Home tab.
    """
    if not context.settings.slack_configured:
        return []
    there = await (await connection.execute(_USED)).fetchone() or {}
    shortcuts = ", ".join(f"“{name}”" for _, name, *_ in context.offers.shortcuts)
    names = {"shortcuts": f"the shortcuts {shortcuts}", "home": "the Home tab"}
    used = [name for key, name in names.items() if there.get(key)]
    unused = [name for name in names.values() if name not in used]
    findings = [ok(f"People have used {', '.join(used)}.")] if used else []
    if unused:
        text = (
            f"Not used yet: {', '.join(unused)}. Slack does not say whether the app has them: if they are missing "
            "there, compare App Manifest in its settings with `python -m bot manifest`."
        )
        findings.append(skipped(text))
    return findings


CONNECTION_ERRORS = (*FAILURES, ConnectionFailed)
"""Errors of a call: no connection, an unusable proxy, an answer that is not Slack's, or an error that Slack names."""

INVALID_ANSWERS = (SlackClientError, AttributeError)
"""The `CONNECTION_ERRORS` that the SDK raises if something other than Slack answers."""

_REINSTALL = "Copy the token again from OAuth & Permissions. If that does not help, reinstall the app there."
_MEANINGS = {
    "invalid_auth": "Slack does not know SLACK_BOT_TOKEN (invalid_auth).",
    "not_authed": "Slack received no token (not_authed).",
    "account_inactive": "The app was removed from the workspace (account_inactive).",
    "token_revoked": "SLACK_BOT_TOKEN was revoked (token_revoked).",
    "token_expired": "SLACK_BOT_TOKEN has expired (token_expired).",
}


async def check_slack(context: Context) -> Sequence[Finding]:
    """Check the bot token, its scopes, the signing secret and the clock."""
    token = context.settings.slack_bot_token
    if token is None and not context.settings.oauth_configured:
        return [ok("No bot token is set: the app serves its local page instead of a workspace.")]
    secret = list(_signing_secret(context.settings.slack_signing_secret))
    try:
        slack = client(context, token)
        # With OAuth, each workspace has a token of its own. https://docs.slack.dev/reference/methods/api.test
        response = await (slack.api_test() if token is None else slack.auth_test())
    except CONNECTION_ERRORS as error:
        if token is None or not isinstance(error, SlackApiError):
            return [no_answer(error), *secret]
        headers = getattr(error.response, "headers", {})
        return [_refused_token(error), *secret, *clock_findings(headers, now=context.now())]
    found = [ok("Slack can be reached.")]
    if token is not None:
        who = ok(f"The token belongs to @{response.get('user')} in the workspace {response.get('team')}.")
        found = [who, *_scopes(response.headers, Features.from_settings(context.settings))]
    return [*found, *secret, *clock_findings(response.headers, now=context.now())]


def client(context: Context, token: SecretStr | None) -> AsyncWebClient:
    """Return a client that tries once. Raises ConnectionFailed if the proxy cannot be used."""
    settings, word = context.settings, token.get_secret_value() if token is not None else None
    return web_client(word, api_url=settings.slack_api_url, ca_bundle=settings.ca_bundle)


def no_answer(error: Exception) -> Finding:
    """Return a finding that there is no connection, or that something other than Slack answered."""
    if isinstance(error, INVALID_ANSWERS):
        text = "Something other than Slack answered."
        return failure(text, fix="Check SLACK_API_URL, and whether a proxy requires a login.")
    text = f"Slack cannot be reached ({type(error).__name__})."
    return failure(text, fix="Check the network, a proxy (HTTPS_PROXY), certificates (CA_BUNDLE) and SLACK_API_URL.")


def api_error_name(error: SlackApiError) -> str:
    """Return Slack's name of an error, or the HTTP status, such as "status 502", if the answer names no error."""
    data = getattr(error.response, "data", None)
    name = data.get("error") if isinstance(data, Mapping) else None
    status = getattr(error.response, "status_code", "unknown")
    return error_name(name) or f"status {status}"


def _refused_token(error: SlackApiError) -> Finding:
    name = api_error_name(error)
    if name.startswith("status"):
        return no_answer(error)
    if name == "ratelimited":
        return warning("Slack is limiting the rate of calls (ratelimited).", fix="Try again in a minute.")
    text = _MEANINGS.get(name, f"Slack refuses SLACK_BOT_TOKEN ({name}).")
    return failure(text, fix=_REINSTALL, blocks=name in _MEANINGS)


OF_SETTINGS = {
    "SEND_FILES": {scope.name for scope in FILE_SCOPES},
    "READ_CHANNELS": {scope.name for scope in CHANNEL_SCOPES},
}
"""The scopes that the app needs only for a setting, by the name of this setting."""


def _scopes(headers: Mapping[str, str], features: Features) -> Iterator[Finding]:
    """Compare the token's scopes with the manifest's."""
    has = granted_scopes(headers)
    if has is None:
        yield warning(
            "Slack did not say which scopes the token has.", fix="Compare OAuth & Permissions with manifest.yml."
        )
        return
    missing = [scope for scope in SCOPES if scope.name not in has and not scope.optional]
    if missing:
        yield failure(
            f"Scopes are missing. {missing_features(missing)}",
            fix="Add them under OAuth & Permissions, then reinstall the app.",
        )
    if unused := sorted(has - {scope.name for scope in features.scopes} - set(HISTORIES)):
        text = f"The token may do more than the app needs: {', '.join(unused)}."
        fix = "Remove these scopes under OAuth & Permissions, unless you added them on purpose."
        for setting, scopes in OF_SETTINGS.items():
            if of_setting := sorted(scopes & set(unused)):
                fix += f" {setting}=true uses {' and '.join(of_setting)}."
        yield warning(text, fix=fix)
    absent = [scope for scope in features.scopes if scope.name not in has and scope not in missing]
    if wanted := [scope for scope in absent if not scope.optional]:
        yield warning(
            f"A setting needs more scopes. {missing_features(wanted)}",
            fix="Replace the app's manifest by what `python -m bot manifest` prints, then reinstall the app.",
        )
    if not (missing or wanted):
        yield ok("The token has every scope that the app needs.")
    if declined := [scope for scope in absent if scope.optional]:
        yield ok(f"Not granted, but optional: {missing_features(declined)}")


def granted_scopes(headers: Mapping[str, str]) -> frozenset[str] | None:
    """Return the scopes of the token used for a call, from the reply's headers; None if they do not say."""
    granted = next((value for name, value in headers.items() if name.lower() == "x-oauth-scopes"), None)
    return None if granted is None else frozenset(scope.strip() for scope in granted.split(",")) - {""}


def missing_features(scopes: Sequence[OAuthScope]) -> str:
    """Return text that says, for each of these scopes, what does not work without it."""
    return " ".join(f"{scope.name}: {scope.without}" for scope in scopes)


def _signing_secret(secret: SecretStr | None) -> Iterator[Finding]:
    """Check the secret's form; only the first request shows whether it is the right secret."""
    if secret is not None and not re.fullmatch(r"[0-9a-f]{32}", secret.get_secret_value()):
        text = "SLACK_SIGNING_SECRET has the wrong form: Slack's have 32 digits from 0-9 and a-f."
        yield warning(text, fix="Copy it again from Basic Information, App Credentials.")


FIX = (
    "Under Basic Information, App-Level Tokens, make a token with the scope connections:write, and turn Socket Mode "
    "on; or unset SLACK_APP_TOKEN and set SLACK_SIGNING_SECRET."
)


async def check_socket_mode(context: Context) -> Sequence[Finding]:
    """Ask Slack for the address of a connection, without connecting. Return nothing without SLACK_APP_TOKEN."""
    token = context.settings.slack_app_token
    if token is None:
        return []
    try:
        await client(context, token).apps_connections_open(app_token=token.get_secret_value())
    except SlackApiError as error:
        name = api_error_name(error)
        return [failure(f"Slack refuses SLACK_APP_TOKEN ({name}).", fix=FIX, blocks=name in _MEANINGS)]
    except CONNECTION_ERRORS as error:
        return [no_answer(error)]
    text = "Slack accepts SLACK_APP_TOKEN. Socket Mode is for development, not for production."
    return [ok(text)]


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
    except CONNECTION_ERRORS:
        return []
    return list(_admin_findings(", ".join(gone), ", ".join(groups), alone=alone))


def _admin_findings(gone: str, groups: str, *, alone: bool) -> Iterator[Finding]:
    if gone:
        text = f"ADMIN_USER_IDS names people without an account in this workspace: {gone}."
        yield warning(text, fix="Correct the ids, or remove them. In a profile, Copy member ID is under More.")
    if groups:
        text = f"ADMIN_USER_IDS names user groups that this workspace does not have: {groups}."
        yield warning(text, fix="Correct the ids, or remove them. In a group’s profile, Copy group ID is under More.")
    if alone:
        text = "There are budgets, and no one is told when they are used up: Slack lists no admin of this workspace."
        fix = "Name someone in ADMIN_USER_IDS. If the scope users:read is missing, reinstall the app with it."
        yield warning(text, fix=fix)


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
