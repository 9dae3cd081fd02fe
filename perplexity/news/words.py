"""The words of a headline that tell what it is about, in any language. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from perplexity.addresses import site

_WORD = re.compile(r"\d+(?:[.,:-]\d+)*%?|[^\W\d_]+(?:[’'-][^\W_]+)*|[^\W_]+")
_SITE = re.compile(r"^(.{12,}\S)\s+[-–—|·»•]\s+([^-–—|·»•]{2,40})$")
_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, kw_only=True)
class Words:
    """All words as they are compared, and those of them that are numbers."""

    all: frozenset[str]
    numbers: frozenset[str]


def words_of(headline: str) -> Words:
    """Return a headline's words."""
    text = unicodedata.normalize("NFKC", headline).casefold()
    found = frozenset(_WORD.findall(text))
    return Words(all=found, numbers=frozenset(word for word in found if word[0].isdigit()))


def without_site(title: str, url: str) -> str:
    """Return a title without the name of its site behind it, such as " - BBC News" of bbc.co.uk."""
    title = " ".join(title.split())
    while (match := _SITE.fullmatch(title)) and _names(match[2], url):
        title = match[1]
    return title


def _names(ending: str, url: str) -> bool:
    """Tell whether the ending is what the site is called: its letters, or their initials, stand in the host's name."""
    host = _LETTERS.sub("", site(url).rpartition(".")[0]).casefold()
    words = [_LETTERS.sub("", word).casefold() for word in ending.split()]
    said, initials = "".join(words), "".join(word[:1] for word in words)
    return bool(host) and (said in host or host in said or (len(initials) > 1 and initials in host) or words[0] in host)
