"""What is one story, and what is new: of whole answers, and for any text."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perplexity.news.stories import Story, deduplicate, fingerprint, unseen
from perplexity.types import Source
from tests.fakes.hostile_text import short, wild
from tests.fakes.stories import is_same, make_story


def test_sites_that_tell_one_story_are_one() -> None:
    first = make_story("Apple unveils M6 chip - Reuters", url="https://reuters.example/1")
    second = make_story("Apple unveils M6 chip", url="https://yahoo.example/1")
    third = make_story("Apple Unveils M6 Chip | MSN", url="https://msn.example/1")
    other = make_story("Google tests ads in Gemini", url="https://msn.example/2")

    merged, alone = deduplicate([first, second, other, third])

    assert merged == replace(first, others=(second.source, third.source))
    assert alone == other


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("OpenAI launches search engine", "OpenAI launches video generator", False),
        ("Microsoft to buy Activision", "Microsoft completes purchase of Activision", False),
        ("Storm Ashley approaches Ireland", "Storm Ashley leaves thousands without power", False),
        ("OpenAI launches search engine to rival Google", "OpenAI unveils search engine, taking on Google", True),
        ("Storm Ashley leaves thousands without power", "Thousands lose power as Storm Ashley hits Ireland", True),
    ],
)
def test_a_subject_and_what_happens_to_many_are_no_event(one: str, other: str, same: bool) -> None:
    first, second = make_story(one, url="https://a.example/1"), make_story(other, url="https://b.example/2")

    assert (len(deduplicate([first, second])) == 1) is same


def test_in_one_answer_undated_copies_on_two_sites_are_one_whatever_figures_they_pick() -> None:
    first = replace(make_story("Bus plunges into ravine in Peru", sentence="40 people died."), date=None)
    copy = replace(first, source=replace(first.source, url="https://b.example/1"), sentence="It fell 200 metres.")
    later = replace(copy, source=replace(first.source, url="https://a.example/2"))

    assert deduplicate([first, copy]) == (replace(first, others=(copy.source,)),)
    assert deduplicate([first, later]) == (first, later)
    assert unseen([copy], [fingerprint(first)]) == (copy,)


def test_a_page_is_named_once_in_a_merged_story() -> None:
    first, again = make_story("Rain falls in Spain"), make_story("Rain falls in Spain")
    shared = Source(number=3, title="Rain", url="https://b.example/")

    (merged,) = deduplicate([replace(first, others=(shared,)), replace(again, others=(shared,))])

    assert merged.others == (shared,)


def test_two_stories_that_share_a_round_up_stay_two() -> None:
    round_up = Source(number=9, title="The week in science", url="https://c.example/")
    first, second = (
        make_story("Rocket lands on a barge"),
        make_story("Whales return to the bay", url="https://b.example/1"),
    )

    found = [replace(first, others=(round_up,)), replace(second, others=(round_up,))]

    assert deduplicate(found) == tuple(found)
    assert unseen(found[1:], [fingerprint(found[0])]) == tuple(found[1:])


def test_a_page_that_several_stories_cite_makes_none_of_them_known_again() -> None:
    both = Source(number=9, title="Whales return to the bay", url="https://c.example/9")
    rocket = replace(make_story("Rocket lands on a barge", url="https://a.example/1"), others=(both,))
    whales = replace(make_story("Whales return to the bay", url="https://b.example/1"), others=(both,))

    assert deduplicate([rocket, whales]) == (rocket, whales)
    assert unseen([whales], [fingerprint(rocket)]) == ()
    assert unseen([whales], [fingerprint(rocket, among=(rocket, whales))]) == (whales,)


def test_a_story_is_known_by_what_its_other_sites_called_it() -> None:
    other = Source(number=2, title="Lava threatens Grindavik harbour", url="https://b.example/", date="2026-11-20")
    before = replace(make_story("Volcano erupts in Iceland"), others=(other,))

    assert (
        unseen([make_story("Lava threatens Grindavik harbour", url="https://c.example/")], [fingerprint(before)]) == ()
    )


stories = st.builds(
    lambda headline, sentence, day, url: Story(
        headline=headline, sentence=sentence, date=day, source=Source(number=1, title=headline, url=url)
    ),
    wild,
    wild,
    st.none() | st.dates(),
    st.sampled_from(["https://a.example/1", "https://b.example/1"]) | short,
)


@given(stories, stories)
@example(make_story("[1]@everyone"), make_story("@everyoneA"))
def test_similarity_is_symmetric_and_survives_saving(one: Story, other: Story) -> None:
    assert is_same(one, one)
    assert is_same(one, other) == is_same(other, one)
    assert len(fingerprint(one)) < 4_000
    assert unseen([one], [json.loads(json.dumps(fingerprint(one)))]) == ()


@given(st.lists(stories, max_size=6))
@settings(max_examples=60, deadline=None)
def test_grouping_loses_no_page(found: list[Story]) -> None:
    together = deduplicate(found)

    pages = {source.url for story in together for source in (story.source, *story.others)}
    assert pages == {story.source.url for story in found}
    assert list(together) == [story for story in together if story.headline in {one.headline for one in found}]


def test_what_is_new_can_be_found_in_two_steps() -> None:
    round_up = Source(number=9, title="The week in science", url="https://c.example/9")
    rocket = replace(make_story("Rocket lands on a barge"), others=(round_up,))
    whales = replace(make_story("Whales return to the bay", url="https://b.example/1"), others=(round_up,))
    lava = make_story("Volcano erupts in Iceland", url="https://b.example/2")
    answer, known = (rocket, whales, lava), fingerprint(rocket)
    since = fingerprint(replace(make_story("The week in science", url="https://d.example/1"), others=(round_up,)))

    first = unseen(answer, [known])

    assert first == (whales, lava)
    assert unseen(first, [since], among=answer) == first == unseen(answer, [known, since])
    assert unseen(first, [fingerprint(lava)], among=answer) == (whales,)
    assert unseen([whales], [since]) == ()
