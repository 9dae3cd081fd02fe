"""Who may come in: pages from elsewhere in the browser must not reach a server on this machine.

https://owasp.org/www-community/attacks/CSRF and https://en.wikipedia.org/wiki/DNS_rebinding
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

SAFE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def is_loopback(host: str) -> bool:
    """Tell whether a Host header names this machine by loopback; a rebound name never does."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name.endswith(".localhost") or ip_address(name).is_loopback
    except ValueError:
        return False


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Tell whether a request comes from the page itself, by what the browser says and no script can change."""
    site = headers.get("Sec-Fetch-Site")
    if site is not None and site != "same-origin":
        return False
    return bool(headers.get("Host")) and urlsplit(headers.get("Origin", "")).netloc == headers["Host"]
