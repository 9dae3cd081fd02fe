"""Translates the texts that people read, by gettext with one catalogue for each language in `bot/locale`.

A text is marked where it is written: by `_("…")`, or by `N_("…")` for a constant, which `_` then translates where it is
shown. A name in braces marks a part that varies: `_("Saved in {channel}.").format(channel=channel)`. A text without a
translation stays English. The language belongs to the scope of the current task, and the tasks that it starts inherit
the scope.

https://docs.python.org/3/library/gettext.html https://babel.pocoo.org/en/latest/messages.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from babel.dates import format_date, get_month_names
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, get_decimal_symbol, get_group_symbol

from bot.model.membership import current_scope
from perplexity import scope
from perplexity.formatting import MONTHS

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de")
"""The languages of texts. Each but English has a catalogue, whose file has the language's name."""


def language_of(locale: str | None) -> str:
    """Return the language for a locale such as de-DE; English if there is no catalogue for it."""
    language = (locale or "").replace("_", "-").partition("-")[0].lower()
    return language if language in LANGUAGES else ENGLISH


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Set the language of texts until the end of the block."""
    with scope.within(replace(current_scope(), language=language, say=gettext, day=day)):
        yield


def speak(language: str) -> None:
    """Set the language of texts for the current task, and for the tasks that it starts from now on."""
    scope.enter(replace(current_scope(), language=language, say=gettext, day=day))


@cache
def catalogue(language: str) -> NullTranslations:
    """Return the catalogue of a language. Reading it takes some time, so the app reads all of them as it starts."""
    if language == ENGLISH:
        return NullTranslations()
    compiled = BytesIO()
    with files("bot").joinpath("locale", f"{language}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)


def gettext(text: str) -> str:
    """Return a text in the language of the current task."""
    return catalogue(current_scope().language).gettext(text) if text else ""


def ngettext(one: str, many: str, count: int, **names: object) -> str:
    """Return the singular or plural text for `count` things in the current task's language; `{count}` is the number."""
    text = catalogue(current_scope().language).ngettext(one, many, count)
    return text.format(count=number(count), **names)


def N_(text: str) -> str:  # noqa: N802  # gettext's own name, by which tools find texts
    """Return a text as it is; `gettext` translates it where it is shown."""
    return text


def number(value: float) -> str:
    """Return a number with the separators of the current task's language."""
    return format_decimal(value, locale=current_scope().language)


def figures(text: str) -> str:
    """Replace the separators of an English text, such as "1,234.5 s", by those of the current task's language."""
    language = current_scope().language
    return text.translate(str.maketrans(",.", get_group_symbol(language) + get_decimal_symbol(language)))


def money(text: str) -> str:
    """Translate an English amount, such as "$2.50", "under $0.0001" or "free", to the current task's language."""
    under, is_amount, amount = text.partition("$")
    if not is_amount:
        return gettext("free") if text else ""
    amount = gettext("${amount}").format(amount=figures(amount))
    return gettext("under {amount}").format(amount=amount) if under else amount


def percent(share: float) -> str:
    """Return a share from 0 to 1 in whole percent, as the current task's language writes it."""
    return gettext("{percent}%").format(percent=f"{share * 100:.0f}")


def day(text: str) -> str:
    """Translate an English day or month, such as "7 Oct 2025" or "Oct 2025", to the current task's language."""
    names = dict(zip(MONTHS, get_month_names("abbreviated", locale=current_scope().language).values(), strict=True))
    words = [names.get(one, one) for one in text.split()]
    if len(words) < 3:
        return " ".join(words)
    return gettext("{day} {month} {year}").format(day=words[0], month=words[1], year=words[2])


def dated(value: date, pattern: str) -> str:
    """Return a date by one of CLDR's patterns, such as "d MMMM", in the current task's language."""
    return format_date(value, pattern, locale=current_scope().language)


def listing(words: Sequence[str]) -> str:
    """Join words as a sentence of the current task's language does: "A", "A and B", "A, B and C"."""
    if len(words) < 2:
        return "".join(words)
    return gettext("{words} and {last}").format(words=", ".join(words[:-1]), last=words[-1])
