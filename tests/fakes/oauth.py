"""Slack's side of OAuth: codes, tokens of several workspaces, token rotation, revocation."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

CLIENT_ID = "1234567890.0987654321"
CLIENT_SECRET = "0123456789abcdef0123456789abcdef"

TOKEN_SECONDS = 43_200
"""How long a token is valid with token rotation. https://docs.slack.dev/authentication/using-token-rotation"""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A bot token and where it is valid. `expires_at` is a time of Slack's clock, None without token rotation."""

    token: str
    team: str | None
    enterprise: str | None = None
    organization: bool = False
    bot_user: str = "U0APP"
    refresh_token: str | None = None
    expires_at: float | None = None

    @property
    def id(self) -> str:
        return (self.enterprise if self.organization else self.team) or ""

    def as_app(self) -> dict[str, Any]:
        """Return what auth.test says about the app."""
        return {
            "team_id": self.team or self.enterprise,
            "enterprise_id": self.enterprise,
            "is_enterprise_install": self.organization,
            "user_id": self.bot_user,
            "bot_id": f"B{self.id}",
        }


@dataclass(kw_only=True)
class OAuthServer:
    """The codes and tokens of one app.

    `rotates` is whether its tokens expire; `replays` counts refresh tokens that were used twice.
    """

    now: Callable[[], float]
    rotates: bool = False
    codes: dict[str, Grant] = field(default_factory=dict)
    tokens: dict[str, Grant] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Errors by grant type: `authorization_code` or `refresh_token`."""
    replays: int = 0
    redirects: list[str | None] = field(default_factory=list)
    _made: int = 0

    def code(
        self, team: str | None = "T1", *, enterprise: str | None = None, organization: bool = False, bot: str = "U0APP"
    ) -> str:
        """Return a code, as after a person's consent in a workspace or for an organization."""
        code = f"code-{len(self.codes)}-{self._made}"
        grant = Grant(
            token="",
            team=None if organization else team,
            enterprise=enterprise,
            organization=organization,
            bot_user=bot,
        )
        self.codes[code] = grant
        return code

    def valid(self, token: str) -> Grant | None:
        """Return what a token is for, None if it is none or has expired."""
        grant = self.tokens.get(token)
        return None if grant is None or self._has_expired(grant) else grant

    def error(self, token: str) -> str:
        """Return why a token that is not valid is refused."""
        return "token_expired" if token in self.tokens else "token_revoked" if token in self.revoked else "invalid_auth"

    def access(self, arguments: Mapping[str, Any], *, authorization: str) -> dict[str, Any]:
        """Answer oauth.v2.access."""
        expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if authorization != f"Basic {expected}":
            return {"ok": False, "error": "bad_client_secret"}
        kind = str(arguments.get("grant_type") or "authorization_code")
        if kind in self.refused:
            return {"ok": False, "error": self.refused[kind]}
        return self._refresh(str(arguments.get("refresh_token"))) if kind == "refresh_token" else self._code(arguments)

    def revoke(self, token: str) -> dict[str, Any]:
        """Answer auth.revoke."""
        if self.tokens.pop(token, None) is None:
            return {"ok": False, "error": "invalid_auth"}
        self.revoked.append(token)
        return {"ok": True, "revoked": True}

    def _code(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.redirects.append(arguments.get("redirect_uri"))
        grant = self.codes.pop(str(arguments.get("code")), None)
        return {"ok": False, "error": "invalid_code"} if grant is None else self._answer(self._issue(grant))

    def _refresh(self, refresh_token: str) -> dict[str, Any]:
        grant = next((one for one in self.tokens.values() if one.refresh_token == refresh_token), None)
        if grant is None:
            self.replays += 1
            return {"ok": False, "error": "invalid_refresh_token"}
        self.tokens[grant.token] = replace(grant, refresh_token=None)
        return self._answer(self._issue(grant))

    def _issue(self, grant: Grant) -> Grant:
        self._made += 1
        made = replace(
            grant,
            token=f"xoxb-{grant.id}-{self._made}",
            refresh_token=f"xoxe-1-{grant.id}-{self._made}" if self.rotates else None,
            expires_at=self.now() + TOKEN_SECONDS if self.rotates else None,
        )
        self.tokens[made.token] = made
        return made

    def _answer(self, grant: Grant) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "ok": True,
            "app_id": "A1",
            "token_type": "bot",
            "access_token": grant.token,
            "bot_user_id": grant.bot_user,
            "scope": "chat:write,commands",
            "team": None if grant.team is None else {"id": grant.team, "name": grant.team},
            "enterprise": None if grant.enterprise is None else {"id": grant.enterprise, "name": grant.enterprise},
            "is_enterprise_install": grant.organization,
            "authed_user": {"id": "U1"},
        }
        if grant.expires_at is not None:
            answer |= {"refresh_token": grant.refresh_token, "expires_in": TOKEN_SECONDS}
        return answer

    def _has_expired(self, grant: Grant) -> bool:
        return grant.expires_at is not None and grant.expires_at <= self.now()
