"""Which page an address leads to, and whether that page is an article or the front of a section."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from perplexity.urls import safe_url

_TRACKING = re.compile(
    r"(?:utm|at|mc|guce|pk|mtm|hsa|vero|stm)_\w+|[a-z]*clid|gclsrc|gbraid|wbraid|_ga|_gl|igshid|igsh|mkt_tok|s_cid|s_kwcid"
    r"|ref|ref_src|ref_url|referrer|referer|source|src|cmp|cmpid|msclkid|ocid|ncid|icid|ito|smid|smtyp|xtor|spm|taid|partner"
    r"|guccounter|traffic_source|sr_share|share|shared|rss|feed|__twitter_impression|amp|outputtype",
    re.IGNORECASE,
)
"""Parameters that track the reader and do not identify the page."""


@lru_cache(maxsize=8192)
def canonical_url(url: str) -> str:
    """Return the address without its fragment and its tracking parameters; the others may identify the article."""
    address = (safe_url(url) or url).partition("#")[0]
    path, _, query = address.partition("?")
    kept = sorted(part for part in query.split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0]))
    return f"{path}?{'&'.join(kept)}" if kept else path


def path_segments(url: str) -> tuple[str, ...] | None:
    """Return the segments of an address's path, or None if a numeric parameter names the page or it is malformed."""
    try:
        parts = urlsplit(canonical_url(url))
    except ValueError:
        return None
    return None if re.search(r"\d", parts.query) else tuple(filter(None, parts.path.split("/")))


_GENERIC_TITLE = re.compile(
    r"\b(?:news|headlines|latest|live|breaking|updates|front page|homepage|nachrichten|schlagzeilen|aktuell"
    r"|actualités?|noticias|notizie|notícias)\b",
    re.IGNORECASE,
)
_SECTION = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?(?:\.html?)?")
"""One word, or two: `technology`, `middle-east`. An article's segment has a number or more words."""
_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?(?:/\d\d?){0,2}")
_MAX_GENERIC_WORDS = 2


def is_section_page(title: str, address: str) -> bool:
    """Return whether a page with this title and address is the front of a section, not an article.

    Both must say so: a model may write its own headline for a story and cite a section page for it.
    """
    return _is_generic_title(title) and _is_section_url(address)


def _is_generic_title(title: str) -> bool:
    return len(title.split()) <= _MAX_GENERIC_WORDS or bool(_GENERIC_TITLE.search(title))


def _is_section_url(address: str) -> bool:
    parts = path_segments(address)
    if parts is None:
        return False
    path = _DATE.sub("", "/".join(parts))
    return all(_SECTION.fullmatch(part) for part in path.split("/") if part)
