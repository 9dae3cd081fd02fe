"""Keeps the catalogues of translations in step with the code: `python -m tests.house.translations [--check]`.

It reads the texts that are marked in `bot` and `perplexity`, adds new ones to each catalogue without a translation, and
removes those that are gone. With `--check` it changes nothing, and fails if a catalogue would change, or lacks a
translation, or has one with other names in braces than its text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from bot.translation import ENGLISH, LANGUAGES

BOT = Path(__file__).parents[2] / "bot"
KEYWORDS: Mapping[str, Mapping[str, Any]] = {
    "bot": {"_": None, "N_": None, "gettext": None, "ngettext": (1, 2)},
    "perplexity": {"say": None, "N_": None},
}
"""How texts are marked in each package."""
DATED = tuple(f'"{name}'.encode() for name in ("POT-C", "PO-Rev", "Last-T", "Language-Team", "Gen", "Report", "Proj"))
"""How the lines of a header begin that say when and by whom it was written."""

_NAME = re.compile(r"\{[^{}]*\}")


def texts() -> Catalog:
    """Return the texts that are marked in the packages."""
    found = Catalog()
    for package, keywords in KEYWORDS.items():
        for name, _, text, _, _ in extract_from_dir(BOT.parent / package, [("**.py", "python")], keywords=keywords):
            found.add(text, locations=[(f"{package}/{name}", None)])  # type: ignore[list-item]
    return found


def read(language: str) -> Catalog:
    """Return a language's catalogue, empty if there is none yet."""
    try:
        return read_po(BytesIO(path(language).read_bytes()), locale=language)
    except FileNotFoundError:
        return Catalog(locale=language, fuzzy=False)


def path(language: str) -> Path:
    """Return the place of a language's catalogue."""
    return BOT / "locale" / f"{language}.po"


def written(catalogue: Catalog) -> bytes:
    """Return a catalogue as it is saved, brought up to date."""
    catalogue.update(texts(), no_fuzzy_matching=True, update_header_comment=False)
    catalogue.header_comment = ""
    file = BytesIO()
    write_po(file, catalogue, sort_output=True, ignore_obsolete=True, include_lineno=False, width=120)
    return b"".join(line for line in file.getvalue().splitlines(True) if not line.startswith(DATED)).lstrip()


def faults(catalogue: Catalog) -> Iterator[str]:
    """Yield what is wrong with the translations of a catalogue."""
    for message in catalogue:
        for text in _forms(message.string) if message.id else ():
            if not text.strip():
                yield f"not translated: {_forms(message.id)[0]!r}"
            elif {*_NAME.findall(text)} - {"{count}"} != _names(message) - {"{count}"}:
                yield f"other names in braces: {text!r}"


def _names(message: Message) -> set[str]:
    return {name for text in _forms(message.id) for name in _NAME.findall(text)}


def _forms(text: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return [text or ""] if text is None or isinstance(text, str) else list(text)


def main(arguments: list[str]) -> int:
    """Write the catalogues, or check them; return the exit code."""
    failed = False
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        catalogue = read(language)
        new = written(catalogue)
        problems = [*faults(catalogue)]
        if arguments != ["--check"]:
            path(language).write_bytes(new)
            sys.stdout.write(f"bot/locale/{language}.po: {len(problems)} of {len(catalogue)} texts to translate\n")
            continue
        if not path(language).exists() or path(language).read_bytes() != new:
            problems.append("it is not in step with the code: run `make translations`")
        for one in problems or ["every text is translated"]:
            sys.stdout.write(f"bot/locale/{language}.po: {one}\n")
        failed |= bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
