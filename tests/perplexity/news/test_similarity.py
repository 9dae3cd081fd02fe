"""Which two stories are one, by what they say, when and where."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from perplexity.news.headlines import strip_site_name
from perplexity.news.stories import deduplicate, fingerprint, unseen
from perplexity.types import Source
from tests.fakes.stories import is_same, make_story


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        (
            ("Technology news | Reuters", "/technology/"),
            ("Technology news | Reuters", "/technology/2026-11-22/"),
            False,
        ),
        (("World news live: the latest", "/world/"), ("World news live: the latest", "/news/world"), False),
        (("BBC News", "/"), ("BBC News", "/news"), False),
        (("BBC News", "/"), ("BBC News", "/"), True),
        (("Volcano erupts in Iceland", "/world/"), ("Volcano erupts in Iceland", "/news"), True),
        (("Volcano erupts", "/world/volcano-erupts-in-iceland"), ("Volcano erupts", "/2026/11/20/volcano-1"), True),
    ],
)
def test_a_sections_front_is_known_again_by_more_than_its_title(
    before: tuple[str, str], now: tuple[str, str], same: bool
) -> None:
    one, other = (make_story(title, url=f"https://www.reuters.com{path}") for title, path in (before, now))

    assert is_same(one, other) is same


def test_a_front_that_shows_something_else_is_new() -> None:
    front = make_story("Technology news", url="https://a.example/technology", sentence="A chip is out.")

    assert not is_same(front, replace(front, sentence="A phone is out."))
    assert is_same(front, replace(front, date=date(2026, 11, 22)))


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("Quake kills 12 in Chile", "Quake kills 40 in Chile", False),
        ("Quake kills twelve in Chile", "Quake kills 12 in Chile", True),
        ("Stripe raises $2 billion", "Stripe raises $2B", True),
        ("Spain 2:1 Italy", "Spain 2-1 Italy", True),
        ("Oil falls on demand fears", "Oil rises on demand fears", False),
        ("Court suspends finance law", "Court SUSPENDS finance law", True),
        ("Grève à Paris : métro fermé", "Greve a Paris, metro ferme", True),
    ],
)
def test_figures_and_turns_tell_an_update_from_a_copy(before: str, now: str, same: bool) -> None:
    assert is_same(make_story(before), make_story(now, url="https://b.example/2")) is same


@pytest.mark.parametrize(
    ("url", "day", "sentence", "same"),
    [
        ("https://b.example/2", "2026-11-08", "It stands at $400 million.", False),
        ("https://b.example/2", "2026-11-08", "It is $200 million now.", True),
        ("https://b.example/2", "2026-11-08", "Nobody has won on Friday 13.", True),
        ("https://b.example/2", "2026-11-04", "It stands at $400 million.", True),
        ("https://a.example/2", "2026-11-04", "It stands at $400 million.", False),
        ("https://a.example/1", "2026-11-08", "It stands at $400 million.", True),
        ("https://b.example/2", "2026-11-18", "It is $200 million now.", False),
        ("https://a.example/1", "2026-11-18", "It is $200 million now.", True),
    ],
    ids=["figures", "no other", "a name's", "near", "one site", "one page", "weeks", "weeks, one page"],
)
def test_a_headline_that_comes_back_of_another_event_is_new(url: str, day: str, sentence: str, same: bool) -> None:
    before = make_story("Powerball jackpot grows again", day="2026-11-03", sentence="It stands at $200 million.")
    syndicated = Source(number=2, title=before.headline, url="https://c.example/1", date="2026-11-03")
    now = make_story(before.headline, url=url, day=day, sentence=sentence)

    assert is_same(before, now) is is_same(replace(before, others=(syndicated,)), now) is same


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("Some 200 won.", "Some 400 won.", False),
        ("It rains. “Over 40 homes are flooded.”", "It rains. Nearly 90 homes are flooded.", False),
        ("A 40-year-old has won.", "A 72-year-old has won.", False),
        ("S&P 500 is up.", "It rose 2%.", True),
        ("Dax: CAC 40 is down.", "It fell 2%.", True),
        ("Powerball 11 was drawn.", "It is 2 now.", True),
        ("Nobody has won on Friday 13.", "It is 2 now.", True),
        ("Some 200 won.", "Over 200 won.", True),
    ],
)
def test_a_word_at_a_sentences_start_makes_a_number_no_name(before: str, now: str, same: bool) -> None:
    first, later = (
        make_story("Powerball grows again", url=f"https://{site}.example/1", day=day, sentence=sentence)
        for site, day, sentence in (("a", "2026-11-03", before), ("b", "2026-11-08", now))
    )

    assert is_same(first, later) is same


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        ("view?id=1", "view?id=2", False),
        ("article.php?id=1&page=2", "article.php?page=2&id=2", False),
        ("view?id=1", "view?utm_source=rss&id=1&fbclid=x#top", True),
        ("view?b=1&id=1", "view?id=1&b=1", True),
    ],
)
def test_a_page_is_its_address_with_the_number_of_the_article_and_without_what_only_tracks(
    before: str, now: str, same: bool
) -> None:
    one = make_story("Samsung unveils foldable tablet in Seoul", url=f"https://n.example/{before}")
    other = make_story("Samsung recalls foldable tablet in Seoul", url=f"https://n.example/{now}")

    assert is_same(one, other) is same
    assert len(deduplicate([one, other])) == 2 - same


def test_a_page_is_known_again_however_long_its_address_is() -> None:
    one = make_story("EU fines Meta over ads", url=f"https://n.example/view?id=1&b={'x' * 400}", day="2026-11-01")

    assert unseen([replace(one, date=date(2026, 11, 20))], [fingerprint(one)]) == ()


def test_a_short_title_at_an_address_with_the_number_of_an_article_is_no_front() -> None:
    one = make_story("Breaking: fire in Rome", url="https://n.example/view?id=1", sentence="It burns.")

    assert is_same(one, replace(one, sentence="Fire in Rome."))


@pytest.mark.parametrize(
    ("title", "url", "headline"),
    [
        ("Rain falls in Spain - BBC News", "https://www.bbc.co.uk/1", "Rain falls in Spain"),
        ("Rain falls in Spain | The New York Times", "https://nytimes.com/1", "Rain falls in Spain"),
        ("Rain falls in Spain | Weather | AP News", "https://apnews.com/1", "Rain falls in Spain | Weather"),
        ("Rain falls in Spain - and it stays", "https://www.bbc.co.uk/1", "Rain falls in Spain - and it stays"),
        ("BBC News", "https://www.bbc.co.uk/", "BBC News"),
    ],
)
def test_a_headline_loses_the_name_of_its_own_site_and_nothing_else(title: str, url: str, headline: str) -> None:
    assert strip_site_name(title, url) == headline
