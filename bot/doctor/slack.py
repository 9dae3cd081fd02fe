"""Slack: the bot token, its scopes, the signing secret, and by the way the clock.

https://docs.slack.dev/reference/methods/auth.test
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import SecretStr
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from bot.delivery.chat import FAILURES
from bot.delivery.posting import error_name
from bot.doctor.clock import clock_findings
from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, warning, well
from bot.scopes import HISTORIES, SCOPES, Scope
from bot.workspace import web_client
from perplexity.errors import ConnectionFailed

ABOUT = "Slack"

AWAY = (*FAILURES, ConnectionFailed)
"""Errors of a missing connection, or of a proxy that cannot be used."""

NOT_SLACK = (SlackClientError, AttributeError)
"""Errors of the SDK if an answer is not Slack's; the rest of `AWAY` means that there is no connection."""

_REINSTALL = "Copy the token once more from OAuth & Permissions; if that does not help, reinstall the app there."
_MEANINGS = {
    "invalid_auth": "Slack does not know SLACK_BOT_TOKEN (invalid_auth).",
    "not_authed": "Slack saw no token (not_authed).",
    "account_inactive": "The app was removed from the workspace (account_inactive).",
    "token_revoked": "SLACK_BOT_TOKEN was revoked (token_revoked).",
    "token_expired": "SLACK_BOT_TOKEN has expired (token_expired).",
}


async def check(case: Case) -> Sequence[Finding]:
    """Ask Slack who the token is."""
    token = case.settings.slack_bot_token
    if token is None:
        return [well(ABOUT, "No bot token is set: the app serves its local page instead of a workspace.")]
    secret = list(_signing_secret(case.settings.slack_signing_secret))
    try:
        response = await client(case, token).auth_test()
    except SlackApiError as error:
        headers = getattr(error.response, "headers", {})
        return [_refused(error), *secret, *clock_findings(headers, now=case.now())]
    except NOT_SLACK:
        return [not_slack(ABOUT), *secret]
    except AWAY as error:
        return [unreachable(ABOUT, error), *secret]
    who = well(ABOUT, f"The token is @{response.get('user')}'s in the workspace {response.get('team')}.")
    return [who, *_scopes(response.headers), *secret, *clock_findings(response.headers, now=case.now())]


def client(case: Case, token: SecretStr) -> AsyncWebClient:
    """Return a client that tries once. Raises ConnectionFailed if the proxy cannot be used."""
    return web_client(token.get_secret_value(), api_url=case.settings.slack_api_url)


def unreachable(about: str, error: Exception) -> Finding:
    """Say that there was no connection."""
    text = f"Slack cannot be reached ({type(error).__name__})."
    return fault(about, text, fix="Check the network, a proxy (HTTPS_PROXY) and SLACK_API_URL.")


def not_slack(about: str) -> Finding:
    """Say that something else than Slack answered."""
    text = "Something answered in Slack's place, and not as Slack does."
    return fault(about, text, fix="Check SLACK_API_URL, and whether a proxy wants a log-in.")


def said(error: SlackApiError) -> str:
    """Return Slack's name for what is wrong, or the status of an answer that has none."""
    data = getattr(error.response, "data", None)
    name = data.get("error") if isinstance(data, Mapping) else None
    status = getattr(error.response, "status_code", "unknown")
    return error_name(name) or f"status {status}"


def _refused(error: SlackApiError) -> Finding:
    name = said(error)
    if name.startswith("status"):
        return not_slack(ABOUT)
    if name == "ratelimited":
        return warning(ABOUT, "Slack wants fewer calls just now (ratelimited).", fix="Try again in a minute.")
    return fault(ABOUT, _MEANINGS.get(name, f"Slack refuses SLACK_BOT_TOKEN ({name})."), fix=_REINSTALL)


def _scopes(headers: Mapping[str, str]) -> Iterator[Finding]:
    """Compare the token's scopes with the manifest's."""
    told = next((value for name, value in headers.items() if name.lower() == "x-oauth-scopes"), None)
    if told is None:
        yield warning(
            ABOUT, "Slack did not tell the token's scopes.", fix="Compare OAuth & Permissions with manifest.yml."
        )
        return
    has = {scope.strip() for scope in told.split(",")} - {""}
    absent = [scope for scope in SCOPES if scope.name not in has]
    missing = [scope for scope in absent if not scope.optional]
    if missing:
        yield fault(
            ABOUT,
            f"Scopes are missing. {_losses(missing)}",
            fix="Add them under OAuth & Permissions, then reinstall the app.",
        )
    if unused := sorted(has - {scope.name for scope in SCOPES} - set(HISTORIES)):
        text = f"The token may do more than the app needs: {', '.join(unused)}."
        yield warning(
            ABOUT, text, fix="Remove these scopes under OAuth & Permissions, unless you added them on purpose."
        )
    if not missing:
        yield well(ABOUT, "The token has every scope that the app needs.")
    if declined := [scope for scope in absent if scope.optional]:
        yield well(ABOUT, f"Not given, as these are optional: {_losses(declined)}")


def _losses(scopes: Sequence[Scope]) -> str:
    return " ".join(f"{scope.name}: {scope.without}" for scope in scopes)


def _signing_secret(secret: SecretStr | None) -> Iterator[Finding]:
    """Look at the secret's shape; whether it is the right one shows with the first request."""
    if secret is not None and not re.fullmatch(r"[0-9a-f]{32}", secret.get_secret_value()):
        text = "SLACK_SIGNING_SECRET does not look like one: Slack's have 32 digits from 0-9 and a-f."
        yield warning(ABOUT, text, fix="Copy it once more from Basic Information, App Credentials.")
