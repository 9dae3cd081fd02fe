"""Who may come in: pages from elsewhere in the browser must not reach a server on this machine.

https://owasp.org/www-community/attacks/CSRF and https://en.wikipedia.org/wiki/DNS_rebinding
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from multidict import CIMultiDictProxy

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

SAFE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Return whether a Host header names this machine by loopback; a rebound name never does."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name.endswith(".localhost") or ip_address(name).is_loopback
    except ValueError:
        return False


def is_same_origin(headers: CIMultiDictProxy[str], *, scheme: str) -> bool:
    """Return whether a request comes from the page itself, according to headers that no script can change.

    Whole origins are compared: scheme, host and port. `scheme` is that of the request.
    https://html.spec.whatwg.org/multipage/browsers.html#same-origin
    """
    hosts, origins = headers.getall("Host", []), headers.getall("Origin", [])
    if headers.getall("Sec-Fetch-Site", ["same-origin"]) != ["same-origin"] or (len(hosts), len(origins)) != (1, 1):
        return False
    own = _origin(f"{scheme}://{hosts[0]}")
    return own is not None and _origin(origins[0]) == own


def is_from_browser(headers: Mapping[str, str]) -> bool:
    """Return whether a browser sent a request for a page; a program such as the app sends none of these headers."""
    return "Origin" in headers or any(name.lower().startswith("sec-fetch-") for name in headers)


def may_follow(headers: CIMultiDictProxy[str]) -> bool:
    """Return whether the stream may be read: by the page itself, or by a program that is not a browser."""
    return headers.getall("Sec-Fetch-Site", ["none"]) in (["none"], ["same-origin"])


def _origin(text: str) -> tuple[str, str, int] | None:
    """Read an origin; None for `null` and for an address with more than scheme, host and port."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not parts.hostname or port is None or text != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        return None
    return parts.scheme, parts.hostname, port
