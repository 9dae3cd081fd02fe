"""The titles of pages, without what the site adds to them. Pure."""

from __future__ import annotations

import re

from perplexity.addresses import site
from perplexity.news.stopwords import STOPWORDS
from perplexity.news.words import LONGEST

_SITE = re.compile(r"^(.{8,}\S)(?:\s+[-–—|·»•:]\s+|：|\s*[|｜]\s*|(?<=\w)-)([^-–—|·»•：]{2,40})$")
_LETTERS = re.compile(r"[\W_]+")
_SHORTEST_NAME = 3


def without_site(title: str, url: str) -> str:
    """Return a title without the name of its site behind it, such as " - BBC News" of bbc.co.uk."""
    title = " ".join(title.split())
    while len(title) <= LONGEST and (match := _SITE.fullmatch(title)) and _names(match[2], url):
        title = match[1]
    return title


def _names(ending: str, url: str) -> bool:
    """Tell whether the ending is what the site is called: its letters, its initials or a word of it are the host's."""
    host = _LETTERS.sub("", site(url).rpartition(".")[0]).casefold()
    words = [_LETTERS.sub("", word).casefold() for word in ending.split()]
    said, initials = "".join(words), "".join(word[:1] for word in words)
    telling = [word for word in words if len(word) >= _SHORTEST_NAME and word not in STOPWORDS]
    return bool(host) and (
        said in host
        or host in said
        or (len(initials) >= _SHORTEST_NAME and initials in host)
        or any(word in host for word in telling)
    )
