"""The categories of news, with their aliases and abbreviations."""

from __future__ import annotations

import pytest

from perplexity.errors import InvalidRequest
from perplexity.news.summary import CATEGORIES, parse_category


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *((name, name) for name in CATEGORIES),
        *((other, name) for name, others in CATEGORIES.items() for other in others),
        (" Tech ", "technology"),
        ("SPORTS", "sports"),
        ("techno", "technology"),
        ("enter", "entertainment"),
        ("poli", "politics"),
    ],
)
def test_a_category_has_aliases_and_abbreviations(typed: str, meant: str) -> None:
    assert parse_category(typed) == meant


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("technologie", "did you mean technology? "),
        ("sprots", "did you mean sports? "),
        ("busines news", "did you mean business? "),
        ("me", ""),
        ("", ""),
        ("weather", ""),
    ],
)
def test_another_word_is_refused_with_the_nearest_name_and_all_that_there_are(typed: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_category(typed)

    listed = "it takes world, business, technology, science, health, sports, entertainment or politics"
    assert (caught.value.field, caught.value.value, caught.value.allowed) == ("category", typed, hint + listed)


def test_no_name_is_that_of_two_categories() -> None:
    names = [name for category, others in CATEGORIES.items() for name in (category, *others)]

    assert len(names) == len(set(names))
