"""Signs a request the way Slack does.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import urlencode

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def form_body(fields: Mapping[str, str]) -> bytes:
    """Encode form fields as Slack sends them."""
    return urlencode(fields).encode()


def signed_headers(body: bytes, *, secret: str, now: float, content_type: str = FORM) -> dict[str, str]:
    """Return the headers of a signed body, a form unless it is said otherwise; `now` is seconds since 1970."""
    timestamp = str(int(now))
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": content_type,
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": f"v0={digest}",
        "User-Agent": "Slackbot 1.0 (playground)",
    }
