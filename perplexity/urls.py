"""Decides which web addresses from outside may become links, in what form, and which of them mean the same page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import SplitResult, quote, urlsplit

from perplexity.filters import MAX_HOST_LENGTH, punycode

MAX_URL_LENGTH = 2000
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?")
# Matches a name that is its own punycode, so that it need not be encoded.
_ASCII_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
_PORTS = {"http": 80, "https": 443}
_STRAY_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})")
# A Markdown renderer decodes an entity such as `&copy;` in an address, too.
_ENTITY = re.compile(r"(&#?\w+);")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Slack would see a mention in an address with `@here`.
_MENTION = re.compile(r"@(?=(?:here|channel|everyone|group))", re.IGNORECASE)


@lru_cache(maxsize=512)
def safe_url(url: str) -> str | None:
    """Return the address in the one form in which it is linked and compared; None if it must stay text.

    An address is linked if it is http or https, has up to 2,000 characters and contains no user name, and no control or
    direction characters. The host is in lower case and punycode, a default port is left out, and characters that could
    end a link early (brackets, quotes, spaces, pipes, letters outside ASCII) are percent-encoded.
    """
    url = url.strip()
    if len(url) > MAX_URL_LENGTH or any(unicodedata.category(c) in _UNSEEN for c in url):
        return None
    try:
        parts = urlsplit(url)
        place = _place(parts)
    except ValueError:
        return None
    if place is None:
        return None
    address = place + _quoted(parts)
    return address if len(address) <= MAX_URL_LENGTH else None


def hostname(url: str) -> str:
    """Return the host to show next to a title, in punycode and without `www.`; empty if there is none."""
    if address := safe_url(url):
        return address.split("/", 3)[2].partition(":")[0].removeprefix("www.")
    try:
        return (_ascii_host(urlsplit(url.strip())) or "").removeprefix("www.")
    except ValueError:
        return ""


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


def is_https_or_loopback(url: str) -> bool:
    """Return whether an address is https, or http to this machine, without user name, query and fragment.

    Names below localhost do not count here: not every system resolves them to itself, and a key must not leave the
    machine unencrypted.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # an unclosed bracket, an invalid port
        return False
    plain = parts.username is None and not parts.query and not parts.fragment and port != 0
    here = is_loopback(host) and not host.removesuffix(".").endswith(".localhost")
    return bool(host) and plain and (parts.scheme == "https" or (parts.scheme == "http" and here))


def strip_secrets(address: str) -> str:
    """Return an address without user name, password, query and fragment, to be shown in a message."""
    scheme, slashes, rest = address.strip().rpartition("://")
    return scheme + slashes + re.split("[?#]", rest.rpartition("@")[2], maxsplit=1)[0]


def _place(parts: SplitResult) -> str | None:
    """Return scheme, host and port; None for anything but a plain web address. Raises ValueError for a bad port."""
    host = _ascii_host(parts)
    if parts.scheme not in _PORTS or host is None or "@" in parts.netloc:
        return None
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _ascii_host(parts: SplitResult) -> str | None:
    name = parts.hostname or ""
    # Long names are rejected here, because encoding takes time in proportion to the square of the length.
    if len(name) > MAX_HOST_LENGTH + 1:
        return None
    host = name if _ASCII_HOST.fullmatch(name) else punycode(name)
    return host if _HOST.fullmatch(host) else None


def _quoted(parts: SplitResult) -> str:
    path = quote(_STRAY_PERCENT.sub("%25", parts.path or "/"), safe="/%:@!$&+,;=~'")
    query = f"?{_part(parts.query)}" if parts.query else ""
    fragment = f"#{_part(parts.fragment)}" if parts.fragment else ""
    return _MENTION.sub("%40", _ENTITY.sub(r"\1%3B", path + query + fragment))


def _part(text: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe="/?%:@!$&+,;=~'")


def add_site_operators(text: str, domains: Sequence[str]) -> str:
    """Return the text followed by the domains as `site:` operators: `(site:a.com OR site:b.com)`, `-site:c.com`.

    DuckDuckGo and Brave read them alike: https://duckduckgo.com/duckduckgo-help-pages/results/syntax,
    https://search.brave.com/help/operators.
    """
    allowed = " OR ".join(f"site:{domain}" for domain in domains if not domain.startswith("-"))
    denied = [f"-site:{domain[1:]}" for domain in domains if domain.startswith("-")]
    wanted = [f"({allowed})" if " OR " in allowed else allowed] if allowed else []
    return " ".join(filter(None, [text, *wanted, *denied]))


_TRACKING = re.compile(
    r"(?:utm|at|mc|guce|pk|mtm|hsa|vero|stm)_\w+|[a-z]*clid|gclsrc|gbraid|wbraid|_ga|_gl|igshid|igsh|mkt_tok|s_cid|s_kwcid"
    r"|ref|ref_src|ref_url|referrer|referer|source|src|cmp|cmpid|msclkid|ocid|ncid|icid|ito|smid|smtyp|xtor|spm|taid|partner"
    r"|guccounter|traffic_source|sr_share|share|shared|rss|feed|__twitter_impression|amp|outputtype",
    re.IGNORECASE,
)
"""Parameters that track the reader and do not identify the page."""


@lru_cache(maxsize=8192)
def canonical_url(url: str) -> str:
    """Return the address without its fragment and tracking parameters; other parameters may identify the article."""
    address = (safe_url(url) or url).partition("#")[0]
    path, _, query = address.partition("?")
    kept = sorted(part for part in query.split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0]))
    return f"{path}?{'&'.join(kept)}" if kept else path


_GENERIC_TITLE = re.compile(
    r"\b(?:news|headlines|latest|live|breaking|updates|front page|homepage|nachrichten|schlagzeilen|aktuell"
    r"|actualités?|noticias|notizie|notícias)\b",
    re.IGNORECASE,
)
_SECTION = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?(?:\.html?)?")
"""Matches a path segment of one or two words, such as `middle-east`; an article's has a number or more words."""
_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?(?:/\d\d?){0,2}")
_MAX_GENERIC_WORDS = 2


def is_section_page(title: str, address: str) -> bool:
    """Return whether a page with this title and address is the front of a section, not an article.

    Both must look like a section's, because a model may write its own headline for a story and cite a section page for
    it.
    """
    is_generic = len(title.split()) <= _MAX_GENERIC_WORDS or bool(_GENERIC_TITLE.search(title))
    return is_generic and _is_section_url(address)


def _is_section_url(address: str) -> bool:
    try:
        parts = urlsplit(canonical_url(address))
    except ValueError:
        return False
    # A number among the parameters names an article.
    if re.search(r"\d", parts.query):
        return False
    path = _DATE.sub("", "/".join(filter(None, parts.path.split("/"))))
    return all(_SECTION.fullmatch(part) for part in path.split("/") if part)
