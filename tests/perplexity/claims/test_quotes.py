"""A quotation in a page: found if every word is the page's, however it is set, and not found otherwise."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from perplexity.claims.quotes import MAX_QUOTE, PageText, Quotation, prepare

WORDS = st.lists(
    st.one_of(
        st.text(alphabet="abcdefghijklmnopqrstuvwxyzäöüßéñABCDEFGØПривет", min_size=1, max_size=9),
        st.from_regex(r"[1-9][0-9]{0,4}(?:[.,][0-9]{1,3})?", fullmatch=True),
        st.sampled_from(["it's", "well-known", "Moon", "not", "the", "$5", "50%", "R&D", "naïve", "“quoted”", "(so)"]),
    ),
    min_size=6,
    max_size=14,
)
SPACES = st.sampled_from([" ", "  ", "\n", "\u00a0", "\u202f", "\t", " \n "])
DRESSES = st.sampled_from(
    ["{}", "**{}**", "_{}_", "`{}`", "[{}](https://a.example/x)", "{}[1]", "\u200b{}\u00ad", "<b>{}</b>"]
)
OTHERS = (("'", "’"), ('"', "“"), ("“", '"'), ("”", "»"), ("-", "‑"), ("-", "–"), ("é", "e\u0301"), ("ä", "a\u0308"))


def find(quote: str, text: str) -> tuple[Quotation, ...]:
    return PageText(prepare(text)).find(quote)


def sentence_of(words: list[str]) -> str:
    return f"Zz {' '.join(words)} end"


def page_of(sentence: str) -> str:
    return f"This comes before it. {sentence}. That comes after it."


@given(words=WORDS, data=st.data())
def test_a_sentence_of_the_page_is_found_however_it_is_set(words: list[str], data: st.DataObject) -> None:
    quote = sentence = sentence_of(words)
    for one, other in OTHERS:
        if data.draw(st.booleans()):
            quote = quote.replace(one, other)
    quote = re.sub(" ", lambda _: data.draw(SPACES), quote)
    # A number that is a link is a page's own marker.
    dresses = [
        DRESSES.filter(lambda dress: "](" not in dress) if word.isdecimal() else DRESSES for word in sentence.split()
    ]
    dressed = " ".join(data.draw(dress).format(word) for dress, word in zip(dresses, sentence.split(), strict=True))

    assert find(quote, page_of(sentence))
    assert find(f"“{sentence}…”", page_of(sentence))
    assert find(sentence, page_of(re.sub(" ", lambda _: data.draw(SPACES.filter(lambda s: "\n" not in s)), sentence)))
    assert find(sentence, page_of(dressed))


@given(words=WORDS, data=st.data())
@example(words=["the", "tower", "is", "330", "metres", "tall"], data=None)
def test_with_any_one_word_changed_it_is_not_found(words: list[str], data: st.DataObject | None) -> None:
    sentence = sentence_of(words)
    tokens = sentence.split()
    places = range(len(tokens)) if data is None else [data.draw(st.integers(0, len(tokens) - 1))]
    for place in places:
        other = "324" if data is None else data.draw(WORDS)[0]
        assume(re.findall(r"\w+", other.casefold()) != re.findall(r"\w+", tokens[place].casefold()))
        changed = [*tokens[:place], other, *tokens[place + 1 :]]

        assert not find(" ".join(changed), page_of(sentence))


@given(words=WORDS, data=st.data())
def test_with_a_word_left_out_or_added_inside_it_is_not_found(words: list[str], data: st.DataObject) -> None:
    sentence = sentence_of(words)
    tokens = sentence.split()
    place = data.draw(st.integers(1, len(tokens) - 2))
    without = [*tokens[:place], *tokens[place + 1 :]]
    # A word among its like may be the one that is left.
    assume(" ".join(without) not in sentence)

    assert not find(" ".join(without), page_of(sentence))
    assert not find(" ".join([*tokens[:place], "not", "Zq", *tokens[place:]]), page_of(sentence))


TOWER = (
    "The tower is 330 metres (1,083 ft) tall. It was not built in 1989, but from 1887 to 1889. A re-entry is non-fatal."
)


@pytest.mark.parametrize(
    "quote",
    [
        "The tower is 330 metres (1,083 ft) tall.",
        "The tower is 330 metres (1,083 ft) tall",
        "“The tower is 330 metres (1,083 ft) tall.”",
        "...The tower is 330 metres (1,083 ft) tall...",
        "the tower is 330 metres (1,083 ft) tall"[4:],
        "It was not built in 1989, but from 1887 to 1889.",
        "The tower is 330 metres (1,083 ft) tall. It was not built in 1989, but from 1887 to 1889.",
    ],
)
def test_found(quote: str) -> None:
    assert find(quote, TOWER)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "tower",
        "the tower is 330 metres (1,083 ft) tall.",
        "The tower is 33 metres (1,083 ft) tall.",
        "The tower is 330 metres (1.083 ft) tall.",
        "The tower is 330 metres 1,083 ft tall.",
        "The tower is 330 metres … tall.",
        "The tower is 330 metres [1,083 ft] tall.",
        "It was built in 1989, but from 1887 to 1889.",
        "The tower is tall. It was not built in 1989",
        "fatal. And more of this kind",
        "entry is non-fatal. The tower",
        "is 330 metres (1,083 ft) tal",
        "he tower is 330 metres (1,083 ft) tall.",
        "083 ft) tall. It was not built in 1989",
        "tall. It was not built in 1989, but from 1887 to 1889. A re-entry is",
        "The tower\nis not 330 metres (1,083 ft) tall.",
        "\u0430\u0430\u0430\u0430 \u0430\u0430\u0430\u0430 \u0430\u0430\u0430\u0430 \u0430\u0430\u0430\u0430",
    ],
)
def test_not_found(quote: str) -> None:
    assert not find(quote, TOWER)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("fatal accident happened in Oslo", "A non-fatal accident happened in Oslo."),
        ("a report of an accident that was non", "It is a report of an accident that was non-fatal."),
        ("t allowed to swim here", "You aren't allowed to swim here."),
        ("2 is a robot of the film", "R2D2 is a robot of the film."),
        ("the value of this thing is 330", "So the value of this thing is 330k today."),
    ],
)
def test_a_part_of_a_word_is_no_word(quote: str, text: str) -> None:
    assert not find(quote, text)


def test_a_dash_between_two_clauses_joins_no_words() -> None:
    assert find("The tower is 330 metres tall", "The tower is 330 metres tall—about as tall as a mast.")


def test_what_is_shown_is_the_whole_sentence_of_the_page_without_its_markup() -> None:
    page = "Intro.\n\n- **It is false** that the [Moon](https://a.example) is made of\ncheese.[12] More. ## End"
    (found,) = find("the Moon is made of cheese", page)

    assert found.quote == "It is false that the Moon is made of cheese."
    assert PageText(page).neighbors(found.places[0]) == ("Intro.", "More. ## End")


@pytest.mark.parametrize(
    ("text", "quote", "sentence"),
    [
        (
            "Dr. Smith of the U.S. army said that it is so. Yes.",
            "army said that it is",
            "Dr. Smith of the U.S. army said that it is so.",
        ),
        (
            "Am 5. Mai 1949 wurde der Rat gegründet. Ja.",
            "wurde der Rat gegründet",
            "Am 5. Mai 1949 wurde der Rat gegründet.",
        ),
        (
            "Is it? The version is 3.14 and it is stable! No.",
            "The version is 3.14 and it",
            "The version is 3.14 and it is stable!",
        ),
        (
            "Mythos:\n* Die Erde ist eine flache Scheibe\n* Zwei",
            "Die Erde ist eine flache",
            "Die Erde ist eine flache Scheibe",
        ),
        ("塔高330米。埃菲尔铁塔位于法国巴黎。完。", "埃菲尔铁塔位于法国", "埃菲尔铁塔位于法国巴黎。"),
    ],
)
def test_sentences(text: str, quote: str, sentence: str) -> None:
    assert [found.quote for found in find(quote, text)] == [sentence]


def test_of_a_sentence_that_is_too_long_the_quoted_part_is_shown() -> None:
    long = f"It begins here and {'goes on and ' * 60}says that the tower is tall."
    (found,) = find("says that the tower is tall", long)

    assert found.quote == "says that the tower is tall"
    assert len(PageText(long).sentence(found.places[0])) > MAX_QUOTE


def test_each_place_is_found() -> None:
    twice = find(
        "the Moon is made of cheese",
        "Some say the Moon is made of cheese. It is false that the Moon is made of cheese.",
    )

    assert [one.quote[:5] for one in twice] == ["Some ", "It is"]


@given(st.text(), st.text())
def test_no_text_breaks_it(quote: str, text: str) -> None:
    find(quote, text)
    page = PageText(prepare(text))
    assert page.plain(0, len(page.text)) == page.plain(0, len(page.text) + 5)
