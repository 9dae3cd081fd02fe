"""The OAuth states of installations that begin in a browser; they are signed, and saved only when they are used."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from bot.storage.questions import Pool

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
