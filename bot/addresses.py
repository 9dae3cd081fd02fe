"""Which addresses a key may be sent to."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_safe(url: str) -> bool:
    """Tell whether an address is https to anywhere, or http to this machine; and nothing but an address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # a bracket that is not closed, a port that is none
        return False
    plain = parts.username is None and not parts.query and not parts.fragment and port != 0
    return bool(host) and plain and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))
