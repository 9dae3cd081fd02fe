"""Recognizes English and German, the languages of the rules for figures."""

from __future__ import annotations

import re

from perplexity.lexicon.common_words import DUTCH, ENGLISH, GERMAN, OTHERS, ROMANCE

_HOME_WORDS = "two three people percent year years said eines jahr jahre jahren prozent millionen milliarden"
_HOME = ENGLISH | GERMAN | set(_HOME_WORDS.split(" "))
_FOREIGN_WORDS = (
    "ans años anni anos jaar år tahun millones milioni miliardi milhões bilhões miljoen miljard miljoner miljarder "
    "millioner milliarder milyon milyar procent"
)
_SHORT_FORMS = {"est", "plus"}
_FOREIGN = (ROMANCE | DUTCH | OTHERS | set(_FOREIGN_WORDS.split(" "))) - _HOME - _SHORT_FORMS
_WORD = re.compile(r"[^\W\d_]+(?!\.\w)")
_IN_A_NAME = re.compile(r"(?<=[^\W\d_]) (?:del?|della|di|da|do|du|la|le|van|von|el|al|y)(?: la| den| der)?(?= [A-Z])")
_OTHER_LETTER = re.compile(r"[à-ãå-õø-ûý-ɏḀ-ỿ]")
_OTHER_SCRIPT = re.compile("[\u0374-\u03bb\u03bd-\u1dff\u3040-\ufaff\uff66-\uffdc]")
"""Matches a letter of a script other than Latin, except μ, which is in units such as "μm"."""
_MOST = 4_000
"""The most characters of a text that are examined."""
_FEW = 10
"""A text with this many lower-case words of four or more letters is foreign if no word is common English or German."""


def is_known(text: str) -> bool | None:
    """Return whether a text is in English or German; None if too few of its words show its language."""
    text = _IN_A_NAME.sub("", text[:_MOST])
    words = _WORD.findall(text)
    small = [word for word in words if word.islower()]
    home = sum(word in _HOME for word in small) + (bool(words) and not words[0].islower() and words[0].lower() in _HOME)
    foreign = sum(len(word) > 1 and (word in _FOREIGN or _OTHER_LETTER.search(word) is not None) for word in small)
    others = len(_OTHER_SCRIPT.findall(text))
    if others > 1 and 3 * others >= sum(map(len, words)) - others:
        return False
    if home or foreign or sum(len(word) > 3 for word in small) >= _FEW:
        return home > foreign
    return None
