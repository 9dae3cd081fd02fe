"""Small talk: messages to the app that ask nothing, such as a greeting or thanks. Pure."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MAX_LENGTH = 150
"""A longer text is never small talk."""

_SIGNS = re.compile(
    r"""<[@!][^<>]*>  # mentions
    | :[\w'+-]+:(?::skin-tone-\d:)?  # emoji as Slack writes them
    | [\u2600-\u27bf\u2b50\u2b55\U0001f31e-\U0001f320\U0001f388-\U0001f38b\U0001f44a-\U0001f450]
    | [\U0001f48b-\U0001f49f\U0001f4aa\U0001f4af\U0001f525\U0001f600-\U0001f64f\U0001f680\U0001f90c-\U0001f92f]
    | [\U0001f970-\U0001f97a\U0001fae0-\U0001faf8\U0001f3fb-\U0001f3ff\u200d\ufe0e\ufe0f]  # hands, hearts, faces
    | <3 | (?<!\w)[:;=]-?[)(dp](?!\w) | \^_*\^""",
    re.VERBOSE,
)
_PUNCTUATION = re.compile(r"[\s.,!?¡¿;:…~‐‑–—\-\"“”„‟«»‹›()*_&、。・「」『』〜|]+")
_APOSTROPHES = re.compile(r"[’‘'´`ʼ]")
_LATIN_ACCENTS = re.compile(r"[\u0300-\u036f]")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NOT_HEARD = re.compile(r"[ーうっッゥぁぃぅぇぉ]")
"""Characters that people add or leave out at will: おはよー is おはよう."""

LONG_WORD = 5
"""A longer word is recognised even if one of its vowels is missing."""

JAPANESE = "ja"


@dataclass(frozen=True, kw_only=True)
class _Language:
    """The phrases of a language, which have at most `longest` words.

    Those in `alone` are small talk by themselves; those in `around` may be added to small talk. `typos` maps misspelled
    words to `words`. `stretched` maps each word, with every run of the same letter reduced to one, to the word itself.
    """

    alone: frozenset[str]
    around: frozenset[str]
    longest: int
    words: frozenset[str] = frozenset()
    typos: Mapping[str, str] = field(default_factory=dict)
    stretched: Mapping[str, str] = field(default_factory=dict)
    joint: str = " "

    def consists_of(self, words: Sequence[str], *, said: bool) -> bool:
        """Return whether the words are, one after the other, phrases of the language.

        `said` is whether other signs already show that the text is small talk, such as an exclamation mark. Unless they
        do, at least one of the phrases must be in `alone`.
        """
        reached = {0: said}
        for start in range(len(words)):
            if start not in reached:
                continue
            for end in range(start + 1, min(start + self.longest, len(words)) + 1):
                phrase = self.joint.join(words[start:end])
                if phrase in self.alone or phrase in self.around:
                    reached[end] = reached.get(end, False) or reached[start] or phrase in self.alone
        return reached.get(len(words), False)

    def correct(self, word: str) -> str:
        """Return the word that a typo or stretched letters stand for; any other word is returned unchanged.

        A word whose first letter is stretched is not recognised.
        """
        if word in self.words:
            return word
        meant = self.stretched.get(_squeeze(word), "")
        if meant and len(meant) < len(word) and word[:2] != 2 * meant[0]:
            return meant
        return self.typos.get(word, word)


def is_small_talk(text: str) -> bool:
    """Return whether a text is small talk from beginning to end, in one language; a request never is."""
    if len(text) > MAX_LENGTH:
        return False
    bare, signs = _SIGNS.subn(" ", unicodedata.normalize("NFKC", text).casefold())
    words = _words(bare)
    said = "?" not in bare and (signs > 0 or "!" in bare)
    if not words:
        return said and signs > 0
    if any(not word.isalpha() for word in words):
        return False
    if _JAPANESE.search(bare):
        return _languages()[JAPANESE].consists_of(list(_heard("".join(words))), said=said)
    return any(
        language.consists_of([language.correct(word) for word in words], said=said)
        for language in _languages().values()
    )


def small_talk_kind(text: str) -> str:
    """Return the kind of small talk: thanks, a goodbye or a greeting, in this order; empty for another kind."""
    said = unicodedata.normalize("NFKC", text).casefold()
    return next((kind for kind, words in _lists()["kinds"].items() if re.search(words, said, re.VERBOSE)), "")


def _words(text: str) -> list[str]:
    """Return the words of a text without accents, apostrophes and punctuation."""
    bare = _LATIN_ACCENTS.sub("", unicodedata.normalize("NFD", _APOSTROPHES.sub("", text)))
    return _PUNCTUATION.sub(" ", unicodedata.normalize("NFC", bare)).split()


def _heard(text: str) -> str:
    return _squeeze(_NOT_HEARD.sub("", text))


def _squeeze(word: str) -> str:
    """Return a word with each run of a letter reduced to one."""
    return re.sub(r"(.)\1+", r"\1", word)


@cache
def _lists() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / "small_talk.toml").read_text("utf-8"))


@cache
def _languages() -> Mapping[str, _Language]:
    shared = _lists()["everywhere"]
    lists = {name: own for name, own in _lists().items() if own is not shared and name != "kinds"}
    return {
        name: _language(*(_phrases(f"{shared[kind]},{own.get(kind, '')}") for kind in ("alone", "around", "mistyped")))
        for name, own in lists.items()
    } | {JAPANESE: _japanese(*(_phrases(f"{shared[kind]},{lists[JAPANESE][kind]}") for kind in ("alone", "around")))}


def _phrases(listed: str) -> list[list[str]]:
    return [_words(phrase.casefold()) for phrase in listed.split(",") if phrase.strip()]


def _language(alone: Sequence[list[str]], around: Sequence[list[str]], mistyped: Sequence[list[str]]) -> _Language:
    words = sorted({word for phrase in (*alone, *around) for word in phrase}, key=len, reverse=True)
    return _Language(
        alone=frozenset(map(" ".join, alone)),
        around=frozenset(map(" ".join, around)),
        typos={typo: word for (word,) in mistyped for typo in _typos(word) if typo not in words},
        stretched={_squeeze(word): word for word in words if len(word) > 1},
        words=frozenset(words),
        longest=max(map(len, (*alone, *around))),
    )


def _japanese(*phrases: Sequence[list[str]]) -> _Language:
    """Return a language that is written without spaces: its words are characters."""
    alone, around = (frozenset(_heard("".join(words)) for words in listed) for listed in phrases)
    return _Language(alone=alone, around=around, longest=max(map(len, alone | around)), joint="")


def _typos(word: str) -> Iterable[str]:
    """Yield each form of a word with two neighbouring letters exchanged or, if it is long, with one vowel left out."""
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if len(word) > LONG_WORD:
        yield from (word[:place] + word[place + 1 :] for place in range(1, len(word) - 1) if word[place] in "aeiou")
