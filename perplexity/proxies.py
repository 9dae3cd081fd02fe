"""The proxy that the environment names for an address: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.

The HTTP library could look itself, but then it reads the user's .netrc too, and an entry there for the service's host
makes it refuse our own Authorization header.

An address on this machine never has a proxy, whatever the environment says: a proxy elsewhere could not reach it, and
would be handed the key.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from perplexity.errors import ConnectionFailed

HTTP = ("http", "https")
"""The kinds of proxy that the HTTP library can use."""


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for an address; None if there is none, or its host goes without or is loopback.

    Raises ConnectionFailed, which names the variable, for a proxy of a kind that cannot be used.
    """
    parts = urlsplit(url)
    if not parts.hostname or is_loopback(parts.hostname) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies()
    name = parts.scheme if proxies.get(parts.scheme) else "all"
    return checked_proxy(f"{name.upper()}_PROXY", proxies.get(name))


def is_loopback(host: str) -> bool:
    """Return whether a host name or address means this machine: localhost, names below it, 127.0.0.0/8 and ::1.

    https://www.rfc-editor.org/rfc/rfc6761#section-6.3
    """
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def check_proxies() -> None:
    """Raise ConnectionFailed for a proxy that cannot be used, for whichever address: some libraries open them all."""
    proxies = getproxies()
    if "*" in [host.strip() for host in proxies.get("no", "").split(",")]:
        return
    for name in (*HTTP, "all"):
        checked_proxy(f"{name.upper()}_PROXY", proxies.get(name))


def checked_proxy(variable: str, proxy: str | None) -> str | None:
    """Return a proxy's address; an empty one is none, one without a kind is http's.

    Raises ConnectionFailed, which holds no part of the address: a password may stand in it.
    """
    if proxy is None or not proxy.strip():
        return None
    address = proxy.strip() if "://" in proxy else f"http://{proxy.strip()}"
    if not _can_be_used(address):
        allowed = ", ".join(f"{kind}://host:port" for kind in HTTP)
        failed = ConnectionFailed(f"{variable}: its value is not allowed; it takes {allowed}, or nothing")
        failed.sent = False
        raise failed
    return address


def _can_be_used(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme in HTTP and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, a bracket that is not closed
        return False
