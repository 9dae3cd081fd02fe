"""Whether a page is the front of a site or of a section, whose title says nothing of what stands there today. Pure."""

from __future__ import annotations

import re

from perplexity.news.pages import sections

_STANDING = re.compile(
    r"\b(?:news|headlines|latest|live|breaking|updates|front page|homepage|nachrichten|schlagzeilen|aktuell"
    r"|actualités?|noticias|notizie|notícias)\b",
    re.IGNORECASE,
)
_SECTION = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?(?:\.html?)?")
"""One word, or two: `technology`, `middle-east`. An article's part of an address has a number or more words."""
_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?(?:/\d\d?){0,2}")
_FEW_WORDS = 2


def is_front(title: str, address: str) -> bool:
    """Tell whether a page that is called so, at this address, is a front and no article.

    Both must say so: a model may tell a story in its own headline and cite a front for it.
    """
    return _standing(title) and _leads_to_a_section(address)


def _standing(title: str) -> bool:
    return len(title.split()) <= _FEW_WORDS or bool(_STANDING.search(title))


def _leads_to_a_section(address: str) -> bool:
    parts = sections(address)
    if parts is None:
        return False
    path = _DATE.sub("", "/".join(parts))
    return all(_SECTION.fullmatch(part) for part in path.split("/") if part)
