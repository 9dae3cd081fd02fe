"""Which page an address leads to, whatever a link adds to it. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from perplexity.urls import linkable

_TRACKING = re.compile(
    r"(?:utm|at|mc|guce|pk|mtm|hsa|vero|stm)_\w+|[a-z]*clid|gclsrc|gbraid|wbraid|_ga|_gl|igshid|igsh|mkt_tok|s_cid|s_kwcid"
    r"|ref|ref_src|ref_url|referrer|referer|source|src|cmp|cmpid|msclkid|ocid|ncid|icid|ito|smid|smtyp|xtor|spm|taid|partner"
    r"|guccounter|traffic_source|sr_share|share|shared|rss|feed|__twitter_impression|amp|outputtype",
    re.IGNORECASE,
)
"""Names of parameters that say where a reader came from, and not which page it is."""


@lru_cache(maxsize=8192)
def canonical_url(url: str) -> str:
    """Return the address without its fragment and the parameters that only track; others may name the article."""
    address = (linkable(url) or url).partition("#")[0]
    path, _, query = address.partition("?")
    kept = sorted(part for part in query.split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0]))
    return f"{path}?{'&'.join(kept)}" if kept else path


def path_segments(url: str) -> tuple[str, ...] | None:
    """Return the parts of an address's path, None where a parameter with a number names the page, or it is broken."""
    try:
        parts = urlsplit(canonical_url(url))
    except ValueError:
        return None
    return None if re.search(r"\d", parts.query) else tuple(filter(None, parts.path.split("/")))


_STANDING = re.compile(
    r"\b(?:news|headlines|latest|live|breaking|updates|front page|homepage|nachrichten|schlagzeilen|aktuell"
    r"|actualités?|noticias|notizie|notícias)\b",
    re.IGNORECASE,
)
_SECTION = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?(?:\.html?)?")
"""One word, or two: `technology`, `middle-east`. An article's part of an address has a number or more words."""
_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?(?:/\d\d?){0,2}")
_FEW_WORDS = 2


def is_section_page(title: str, address: str) -> bool:
    """Tell whether a page that is called so, at this address, is a front and no article.

    Both must say so: a model may tell a story in its own headline and cite a front for it.
    """
    return _standing(title) and _leads_to_a_section(address)


def _standing(title: str) -> bool:
    return len(title.split()) <= _FEW_WORDS or bool(_STANDING.search(title))


def _leads_to_a_section(address: str) -> bool:
    parts = path_segments(address)
    if parts is None:
        return False
    path = _DATE.sub("", "/".join(parts))
    return all(_SECTION.fullmatch(part) for part in path.split("/") if part)
