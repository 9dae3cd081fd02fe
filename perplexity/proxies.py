"""The proxy that the environment names for an address: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.

The HTTP library could look itself, but then it reads the user's .netrc too, and an entry there for the service's host
makes it refuse our own Authorization header.

An address on this machine never has a proxy, whatever the environment says: a proxy elsewhere could not reach it, and
would be handed the key.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from perplexity.errors import ConnectionFailed

HTTP = ("http", "https")
"""The kinds of proxy that the HTTP library can use."""

ProxyFor = Callable[[str], str | None]
"""Returns the address of the proxy for an address, such as `proxy_for`. Raises ConnectionFailed."""


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for an address; None if there is none, or its host goes without or is loopback.

    Raises ConnectionFailed, which names the variable, for a proxy of a kind that cannot be used.
    """
    return checked_proxy(*named_proxy(url))


def named_proxy(url: str, *, own: tuple[str, str] | None = None, https_by_http: bool = False) -> tuple[str, str]:
    """Return the variable that names the proxy for an address, and its value as it is; an empty one for no proxy.

    `own` is a program's own variable with its value: it precedes the others, and NO_PROXY does not apply to it. With
    `https_by_http` an https address without a proxy takes that of HTTP_PROXY.
    """
    parts = urlsplit(url)
    if not parts.hostname or is_loopback(parts.hostname):
        return "", ""
    if own is not None and own[1].strip():
        return own
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return "", ""
    proxies = getproxies()
    names = [parts.scheme, "all", *(["http"] if https_by_http else [])]
    name = next((name for name in names if proxies.get(name, "").strip()), "all")
    return f"{name.upper()}_PROXY", proxies.get(name, "")


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
