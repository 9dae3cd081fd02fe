"""Texts in the language of who reads them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest

from bot.listeners.intake import MEMBERS_ONLY
from bot.translation import (
    ENGLISH,
    LANGUAGES,
    day,
    figures,
    gettext,
    language_of,
    listing,
    money,
    ngettext,
    number,
    percent,
    speaking,
)
from perplexity.formatting import listed
from tests.house.translations import faults, read


@pytest.mark.parametrize(
    ("locale", "language"),
    [("de-DE", "de"), ("de_AT", "de"), ("DE", "de"), ("en-US", "en"), ("ja-JP", "en"), ("", "en"), (None, "en")],
)
def test_a_locale_has_a_language__english_if_there_is_no_catalogue(locale: str | None, language: str) -> None:
    assert language_of(locale) == language


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != ENGLISH])
def test_every_text_is_translated_with_the_same_names(language: str) -> None:
    assert [*faults(read(language))] == []


def test_a_text_without_a_translation_stays_english() -> None:
    with speaking("de"):
        assert gettext("Nobody has translated {this}.") == "Nobody has translated {this}."
        assert ngettext("{count} thing", "{count} things", 1234) == "1.234 things"
        assert gettext("") == ""


def test_the_language_ends_with_its_block_and_goes_to_tasks() -> None:
    async def said() -> str:
        return gettext(MEMBERS_ONLY)

    async def both() -> list[str]:
        with speaking("de"):
            task = asyncio.create_task(said())
        return [await task, await said()]

    german, english = asyncio.run(both())
    assert (bool(re.search("Mitglied", german)), english) == (True, MEMBERS_ONLY)


def test_numbers_are_written_as_in_the_language() -> None:
    assert number(1234567.5) == "1,234,567.5"
    with speaking("de"):
        assert number(1234567.5) == "1.234.567,5"


@pytest.mark.parametrize(
    ("write", "english", "german"),
    [
        (figures, "1,234.5 s", "1.234,5 s"),
        (money, "$1,234.50", "1.234,50\xa0$"),
        (money, "under $0.0001", "unter 0,0001\xa0$"),
        (money, "free", "kostenlos"),
        (money, "", ""),
        (day, "7 Oct 2025", "7. Okt. 2025"),
        (day, "Mar 2025", "März 2025"),
        (day, "2025", "2025"),
        (day, "", ""),
    ],
)
def test_what_is_written_in_english_is_written_as_in_the_language(
    write: Callable[[str], str], english: str, german: str
) -> None:
    assert write(english) == english
    with speaking("de"):
        assert write(english) == german


@pytest.mark.parametrize(
    ("words", "german"), [([], ""), (["A"], "A"), (["A", "B"], "A und B"), (["A", "B", "C"], "A, B und C")]
)
def test_words_are_a_list_in_a_sentence(words: list[str], german: str) -> None:
    assert listing(words) == german.replace("und", "and") == listed(words)
    with speaking("de"):
        assert listing(words) == german


def test_a_share_is_in_whole_percent() -> None:
    assert [percent(share) for share in (0, 0.125, 0.295, 1)] == [f"{share:.0%}" for share in (0, 0.125, 0.295, 1)]
    with speaking("de"):
        assert percent(0.295) == "30\xa0%"
        assert ngettext("{count} of {all} page", "{count} of {all} pages", 2, all=3) == "2 of 3 pages"
