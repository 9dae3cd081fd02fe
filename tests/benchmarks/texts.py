"""Texts of one kind each, as answers may be: prose, code, formulas, tables and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

_WORDS = (
    "the",
    "wheel",
    "of",
    "a",
    "package",
    "is",
    "built",
    "once",
    "and",
    "installed",
    "many",
    "times",
    "which",
    "tools",
)
_CJK = "車輪は一度だけ作られ何度も使われるので時間の半分が節約できる新しい道具は古いものより速い"
_ACCENTED = ("Äpfel", "und", "Öl", "für", "größere", "Häuser", "kosten", "„mehr“", "–", "weiß", "man’s", "à", "d’été")
_EMOJI = ("😀", "🎉", "👍🏽", "❤️", "🚀", "👩‍💻", "🇩🇪", "✅")
_ARABIC = ("تبنى", "الحزمة", "مرة", "واحدة", "وتثبت", "مرات", "كثيرة", "وهذا", "يوفر", "نصف", "الوقت")


def text_of(kind: str, length: int, *, number: int = 0) -> str:
    """Return Markdown of about so many characters; another `number` gives another text."""
    random, make = Random(f"{kind} {length} {number}"), KINDS[kind]  # noqa: S311 - no secret depends on it
    pieces: list[str] = []
    while sum(map(len, pieces)) < length:
        pieces.append(make(random))
    return "\n\n".join(pieces)


def _words(random: Random, least: int = 8, most: int = 20) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(least, most)))


def _sentence(random: Random) -> str:
    return f"{_words(random).capitalize()}."


def _prose(random: Random) -> str:
    return " ".join(_sentence(random) for _ in range(4))


def _code(random: Random) -> str:
    lines = [f"    total_{n} = wheel[{n}] * {random.randint(2, 99)}  # {_words(random, 2, 5)}" for n in range(30)]
    return "\n".join(["```python", "def build(wheel):", *lines, "```"])


def _inline_code(random: Random) -> str:
    return " ".join(f"Use `{random.choice(_WORDS)}_{n}()` {_words(random, 1, 4)}.[{n % 8 + 1}]" for n in range(8))


def _formulas(random: Random) -> str:
    n = random.randint(2, 99)
    inline = rf"$x_{{{n}}} = \frac{{a}}{{b_{n}}}$ and \(\alpha + \beta_{n}\)"
    return f"{_sentence(random)} So {inline}:\n\n$$\nE = mc^{n}\n$$"


def _table(random: Random) -> str:
    rows = [f"| {_words(random, 1, 2)} | {random.random():.3f} | [{random.randint(1, 8)}] |" for _ in range(12)]
    return "\n".join(["| Name | Value | Source |", "|---|---|---|", *rows])


def _list(random: Random) -> str:
    return "\n".join(f"- **{_words(random, 1, 2)}**: {_sentence(random)}[{random.randint(1, 8)}]" for _ in range(8))


def _links(random: Random) -> str:
    links = (f"[{_words(random, 1, 3)}](https://site{random.randint(1, 12)}.example/{n})" for n in range(5))
    return f"{', '.join(links)} and https://site{random.randint(1, 12)}.example/path."


def _markers(random: Random) -> str:
    return " ".join(f"{_words(random, 3, 6)} [{random.randint(1, 8)}][{random.randint(1, 8)}]." for _ in range(8))


def _cjk(random: Random) -> str:
    return "".join("".join(random.choices(_CJK, k=30)) + "。" for _ in range(5))


def _emoji(random: Random) -> str:
    return "\n".join(f"- {random.choice(_EMOJI)} {_words(random, 2, 8)}" for _ in range(8))


def _accented(random: Random) -> str:
    return " ".join(random.choices(_ACCENTED, k=60)) + "."


def _arabic(random: Random) -> str:
    return " ".join(random.choices(_ARABIC, k=60)) + "."


def _headings(random: Random) -> str:
    return f"## {_words(random, 2, 5)}\n\n{_sentence(random)}"


KINDS: Mapping[str, Callable[[Random], str]] = {
    "prose": _prose,
    "code": _code,
    "inline code": _inline_code,
    "formulas": _formulas,
    "tables": _table,
    "lists": _list,
    "links": _links,
    "markers": _markers,
    "headings": _headings,
    "accents": _accented,
    "CJK": _cjk,
    "Arabic": _arabic,
    "emoji": _emoji,
}
