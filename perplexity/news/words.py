"""The words of a headline that tell what it is about, in any language. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_WORD = re.compile(r"\d+(?:[.,:-]\d+)*%?|[^\W\d_]+(?:[’'-][^\W_]+)*|[^\W_]+")
_SITE = re.compile(r"\s+[-–—|·»:]\s+[^-–—|·»]{2,40}$")


@dataclass(frozen=True, kw_only=True)
class Words:
    """All words as they are compared, and those of them that are numbers."""

    all: frozenset[str]
    numbers: frozenset[str]


def words_of(headline: str) -> Words:
    """Return a headline's words, without the name of the site behind it."""
    text = unicodedata.normalize("NFKC", _SITE.sub("", headline)).casefold()
    found = frozenset(_WORD.findall(text))
    return Words(all=found, numbers=frozenset(word for word in found if word[0].isdigit()))
