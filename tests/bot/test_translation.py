"""Texts in the language of who reads them."""

from __future__ import annotations

import asyncio
import re

import pytest

from bot.listeners.admission import MEMBERS_ONLY
from bot.translation import ENGLISH, LANGUAGES, gettext, language_of, ngettext, number, speaking
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
