"""Which page an address leads to, whatever a link adds to it. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from perplexity.addresses import linkable

_TRACKING = re.compile(
    r"(?:utm|at|mc|guce|pk|mtm|hsa|vero|stm)_\w+|[a-z]*clid|gclsrc|gbraid|wbraid|_ga|_gl|igshid|igsh|mkt_tok|s_cid|s_kwcid"
    r"|ref|ref_src|ref_url|referrer|referer|source|src|cmp|cmpid|msclkid|ocid|ncid|icid|ito|smid|smtyp|xtor|spm|taid|partner"
    r"|guccounter|traffic_source|sr_share|share|shared|rss|feed|__twitter_impression|amp|outputtype",
    re.IGNORECASE,
)
"""Names of parameters that say where a reader came from, and not which page it is."""


@lru_cache(maxsize=8192)
def page_of(url: str) -> str:
    """Return the address without its fragment and the parameters that only track; others may name the article."""
    address = (linkable(url) or url).partition("#")[0]
    path, _, query = address.partition("?")
    kept = sorted(part for part in query.split("&") if part and not _TRACKING.fullmatch(part.partition("=")[0]))
    return f"{path}?{'&'.join(kept)}" if kept else path


def sections(url: str) -> tuple[str, ...] | None:
    """Return the parts of an address's path, None where a parameter with a number names the page, or it is broken."""
    try:
        parts = urlsplit(page_of(url))
    except ValueError:
        return None
    return None if re.search(r"\d", parts.query) else tuple(filter(None, parts.path.split("/")))
