"""Installing the app by OAuth: Bolt's flow on the app's own routes, for allowed workspaces only.

Bolt's flow (1.30) is changed as follows: the state is single-use, the cookie is for this host only and not sent with
other sites' requests, no part of the request's address reaches Slack's address or the page, codes are not logged, and
the tokens of workspaces that are not allowed are revoked.
https://docs.slack.dev/authentication/installing-with-oauth
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

from aiohttp import encode_basic_auth, web
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth import OAuthStateUtils
from slack_sdk.oauth.installation_store.models.installation import Installation
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.connection import silent_logger
from bot.slack.messages import FAILURES, RouteClosed, classify_error
from bot.storage.database import DATABASE_UNAVAILABLE
from bot.storage.questions import Pool
from bot.workspaces.installations import (
    Installations,
    OAuthGrant,
    RefreshFailed,
    identity_of,
)
from bot.workspaces.registry import is_allowed

log = logging.getLogger(__name__)

INSTALL_PATH = "/slack/install"
REDIRECT_PATH = "/slack/oauth_redirect"
AUTHORIZE_URL = "https://slack.com/oauth/v2/authorize"

COOKIE = "__Host-slack-install"
"""With the prefix `__Host-`, browsers accept the cookie only over https, and from this host alone.

https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
"""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

NOT_INSTALLED = "Not installed"
AGAIN = f"Open {INSTALL_PATH} again to install the app."

_AGAIN: Mapping[str, tuple[int, str]] = {
    "access_denied": (200, "You cancelled the installation."),
    "invalid_browser": (400, "This installation was started in another browser, or too long ago."),
    "invalid_state": (400, "This installation was already completed, or was started too long ago."),
    "missing_code": (400, "Slack sent no code."),
    "invalid_code": (400, "Slack did not accept the installation."),
    "unreachable": (502, "Slack cannot be reached at the moment."),
    "storage_error": (503, "The database cannot be reached at the moment."),
}
"""The reasons to begin an installation again, each with the status of its page and the page's first sentence."""

PAGES: Mapping[str, tuple[int, str, str]] = {
    **{reason: (status, NOT_INSTALLED, f"{why} {AGAIN}") for reason, (status, why) in _AGAIN.items()},
    "not_allowed": (
        403,
        "Not allowed here",
        (
            "The operator of this app allows other workspaces only, so it has asked Slack to remove it from yours. "
            "Ask the operator to add your workspace’s id to ALLOWED_TEAMS, then install it again."
        ),
    ),
}
"""The pages by reason: status, title and sentences."""

UNKNOWN = (400, NOT_INSTALLED, f"Slack did not complete the installation. {AGAIN}")


class InstallationFailed(Exception):
    """The installation failed; the flow ends with the page for `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class OAuthClient:
    """The app's own credentials at Slack. `client` has no token."""

    client: AsyncWebClient
    client_id: str
    client_secret: str = field(repr=False)

    async def refresh(self, refresh_token: str) -> OAuthGrant:
        """Return the next token for a refresh token, which Slack accepts once. Raises RefreshFailed.

        https://docs.slack.dev/authentication/using-token-rotation
        """
        try:
            answer = await self.access(grant_type="refresh_token", refresh_token=refresh_token)
        except FAILURES as error:
            result = classify_error(error)
            raise RefreshFailed(result.error if isinstance(result, RouteClosed) else None) from None
        granted = OAuthGrant.from_answer(answer)
        if granted is None or granted.refresh_token is None:
            raise RefreshFailed("no_refresh_token")
        return granted

    async def access(self, **arguments: str) -> Mapping[str, Any]:
        """Return the reply of oauth.v2.access. Raises one of `bot.slack.messages.FAILURES`.

        The SDK's own method uses a class that aiohttp deprecates (slack-sdk 3.47).
        """
        credentials = {"Authorization": encode_basic_auth(self.client_id, self.client_secret)}
        answer = await self.client.api_call("oauth.v2.access", data=arguments, headers=credentials)
        return answer.data if isinstance(answer.data, dict) else {}

    async def revoke(self, token: str) -> None:
        """Revoke a token. Raises nothing.

        https://docs.slack.dev/reference/methods/auth.revoke
        """
        try:
            await self.client.auth_revoke(token=token)
        except FAILURES as error:
            log.warning("token.not_revoked", extra={"error": type(error).__name__})


STATE_SECONDS = 600
"""How long an installation may take in the browser."""

KEPT_SECONDS = 2 * STATE_SECONDS
"""How long a used state is kept: longer than it is valid, even if the clocks of two machines differ."""

CLEANED_AT_ONCE = 100
"""How many outdated states are deleted, at most, whenever a state is used; each use adds one row."""

_FORM = re.compile(r"(?P<signed>(?P<ends>[0-9]{1,12})\.[A-Za-z0-9_-]{22})\.(?P<signature>[A-Za-z0-9_-]{43})")

_CONSUME = """
    WITH old AS (
        DELETE FROM oauth_states
        WHERE ctid = ANY(ARRAY(SELECT ctid FROM oauth_states WHERE expires_at < now() LIMIT %(most)s)))
    INSERT INTO oauth_states (state_hash, expires_at) VALUES (%(hash)s, now() + %(seconds)s * interval '1 second')
    ON CONFLICT DO NOTHING RETURNING state_hash
"""


class OAuthStates(AsyncOAuthStateStore):
    """The states of one app: each is valid once, for ten minutes. `secret` is shared by all its processes.

    A state contains the time of its end and a nonce, and both are signed. Anyone may begin an installation, so issuing
    a state writes nothing to the database; only using one does. The SDK's own signed states (3.47) are not used: they
    have no nonce, so two states of the same second are equal. `now` returns seconds since 1970.
    """

    def __init__(self, pool: Pool, *, secret: str, now: Callable[[], float] = time.time) -> None:
        self._pool = pool
        self._key = hmac.digest(secret.encode(), b"oauth state", "sha256")
        self._now = now

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        """Return a new state."""
        signed = f"{int(self._now()) + STATE_SECONDS}.{secrets.token_urlsafe(16)}"
        return f"{signed}.{self._signature(signed)}"

    async def async_consume(self, state: str) -> bool:
        """Return whether a state was issued, is not too old, and was not used before. Raises database errors."""
        found = _FORM.fullmatch(state)
        if found is None or not hmac.compare_digest(found["signature"], self._signature(found["signed"])):
            return False
        if not self._now() < int(found["ends"]):
            return False
        values = {"hash": hashlib.sha256(state.encode()).digest(), "seconds": KEPT_SECONDS, "most": CLEANED_AT_ONCE}
        return await self._pool.fetch_one(_CONSUME, values) is not None

    def _signature(self, signed: str) -> str:
        digest = hmac.digest(self._key, signed.encode(), "sha256")
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


class StateCookie(OAuthStateUtils):
    """The cookie that binds a state to the browser in which the installation began."""

    def build_set_cookie_for_new_state(self, state: str) -> str:
        """Return the value of Set-Cookie. SameSite=Lax allows the cookie when Slack's site redirects to the app."""
        return f"{COOKIE}={state}; Max-Age={STATE_SECONDS}; Path=/; Secure; HttpOnly; SameSite=Lax"

    def build_set_cookie_for_deletion(self) -> str:
        """Return the value of Set-Cookie that deletes the cookie."""
        return f"{COOKIE}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax"


class InstallationFlow(AsyncOAuthFlow):
    """Bolt's flow. Only ids in `allowed` may install the app; `installed` is called with the id after each success."""

    def __init__(
        self,
        slack: OAuthClient,
        *,
        installations: Installations,
        states: OAuthStates,
        scopes: Sequence[str],
        public_url: str,
        allowed: Collection[str],
        installed: Callable[[str], None],
    ) -> None:
        settings = AsyncOAuthSettings(
            client_id=slack.client_id,
            client_secret=slack.client_secret,
            scopes=list(scopes),
            user_scopes=[],
            redirect_uri=f"{public_url}{REDIRECT_PATH}",
            install_path=INSTALL_PATH,
            redirect_uri_path=REDIRECT_PATH,
            install_page_rendering_enabled=False,
            authorization_url=AUTHORIZE_URL,
            installation_store=installations,
            state_store=states,
            state_cookie_name=COOKIE,
            state_expiration_seconds=STATE_SECONDS,
            callback_options=AsyncCallbackOptions(success=_success, failure=_failure),
            logger=silent_logger("slack_bolt.oauth"),
        )
        settings.state_utils = StateCookie(cookie_name=COOKIE, expiration_seconds=STATE_SECONDS)
        super().__init__(settings=settings, client=slack.client, logger=silent_logger("slack_bolt.oauth"))
        self._slack = slack
        self._installations = installations
        self._allowed = allowed
        self._installed = installed

    async def build_authorize_url(self, state: str, request: AsyncBoltRequest) -> str:
        """Return Slack's address, which contains nothing from the request."""
        return str(self.settings.authorize_url_generator.generate(state=state))

    async def handle_callback(self, request: AsyncBoltRequest) -> BoltResponse:
        """Answer the browser's return from Slack. A state is used up by the first return, even after a refusal."""
        state, *_ = request.query.get("state") or [""]
        refused = "error" in request.query
        if refused and self.settings.state_utils.is_valid_browser(state, request.headers):
            await self.settings.state_store.async_consume(state)
        return await super().handle_callback(request)

    async def run_installation(self, code: str) -> Installation:
        """Exchange the code and return the installation. Raises InstallationFailed.

        The token of an installation that is not allowed is revoked.
        """
        try:
            answer = await self._slack.access(code=code, redirect_uri=str(self.settings.redirect_uri))
        except FAILURES as error:
            refused = isinstance(classify_error(error), RouteClosed)
            log.warning("installation.failed", extra={"error": type(error).__name__})
            raise InstallationFailed("invalid_code" if refused else "unreachable") from None
        installation = installation_of(answer)
        if installation is None:
            raise InstallationFailed("invalid_code")
        identity = identity_of(installation)
        if not is_allowed(identity, self._allowed):
            log.warning("installation.not_allowed", extra={"team": identity.id})
            await self._slack.revoke(installation.bot_token or "")
            raise InstallationFailed("not_allowed")
        return installation

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        """Save the installation. Raises InstallationFailed.

        If saving fails, the token is not revoked, since it may belong to an installation that is already saved.
        """
        try:
            await self._installations.async_save(installation)
        except DATABASE_UNAVAILABLE as error:
            log.error("installation.not_saved", extra={"error": type(error).__name__})
            raise InstallationFailed("storage_error") from None
        workspace = identity_of(installation).id
        log.info("installation.saved", extra={"team": workspace})
        self._installed(workspace)


def installation_of(answer: Mapping[str, Any]) -> Installation | None:
    """Parse the reply of oauth.v2.access; None if it names no workspace or contains no bot token.

    https://docs.slack.dev/reference/methods/oauth.v2.access
    """
    granted = OAuthGrant.from_answer(answer)
    team, enterprise = _id(answer.get("team")), _id(answer.get("enterprise"))
    organization = answer.get("is_enterprise_install") is True
    if granted is None or not (enterprise if organization else team):
        return None
    return Installation(
        app_id=_text(answer.get("app_id")),
        enterprise_id=enterprise,
        team_id=team,
        bot_token=granted.token,
        bot_user_id=_text(answer.get("bot_user_id")),
        bot_refresh_token=granted.refresh_token,
        bot_token_expires_in=granted.expires_in,
        user_id="",  # The person who installed the app is not saved.
        is_enterprise_install=organization,
    )


def _id(value: object) -> str | None:
    return _text(value.get("id")) if isinstance(value, Mapping) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


async def _success(arguments: AsyncSuccessArgs) -> BoltResponse:
    return page(200, "Installed", "The app is installed. Go back to Slack, and ask with /ask or a mention.")


async def _failure(arguments: AsyncFailureArgs) -> BoltResponse:
    log.info("installation.refused", extra={"error": arguments.reason if arguments.reason in PAGES else "unknown"})
    return page(*PAGES.get(arguments.reason, UNKNOWN))


def page(status: int, title: str, text: str) -> BoltResponse:
    """Return a page without scripts, styles, links or anything from the request; its response deletes the cookie."""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p></html>"
    )
    cookie = StateCookie().build_set_cookie_for_deletion()
    return BoltResponse(
        status=status, body=body, headers={"Content-Type": "text/html; charset=utf-8", "Set-Cookie": [cookie]}
    )


def routes(flow: InstallationFlow) -> list[web.RouteDef]:
    """Return the two routes of the flow."""

    async def handle(
        request: web.Request, step: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]
    ) -> web.StreamResponse:
        cookies: dict[str, str | Sequence[str]] = {"cookie": request.headers.getall("Cookie", [])}
        try:
            response = await step(AsyncBoltRequest(body="", query=request.query_string, headers=cookies))
        except InstallationFailed as failed:
            response = page(*PAGES[failed.reason])
        except DATABASE_UNAVAILABLE as error:
            log.error("installation.failed", extra={"error": type(error).__name__})
            response = page(*PAGES["storage_error"])
        headers = [(name, value) for name, values in response.headers.items() for value in values]
        return web.Response(status=response.status, body=response.body.encode(), headers=[*headers, *HEADERS.items()])

    return [
        web.get(INSTALL_PATH, partial(handle, step=flow.handle_installation), allow_head=False),
        web.get(REDIRECT_PATH, partial(handle, step=flow.handle_callback), allow_head=False),
    ]
