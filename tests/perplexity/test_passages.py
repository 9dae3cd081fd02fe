from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.errors import Attempt, NothingFound
from perplexity.passages import (
    MAX_PASSAGE_LENGTH,
    MAX_PASSAGES,
    best_passages,
    bm25_scores,
    passages_answer,
    split_sentences,
    words,
)
from perplexity.types import AnswerKind, Done, Passage, SearchResults, Source, Sources, TextDelta, as_events


def source(number: int, snippet: str, *, title: str = "") -> Source:
    return Source(number=number, title=title, url=f"https://example.com/{number}", snippet=snippet)


SENTENCES = "The sky is blue. Rayleigh scattering bends short waves. Grass is green."
FILLER = " ".join(["Nothing to see here, move along."] * 12)


def test_the_passage_that_fits_best_comes_first_with_its_source() -> None:
    results = [
        source(1, "Grass is green."),
        source(2, "Rayleigh scattering makes the sky blue."),
        source(3, "Cats purr."),
    ]

    found = best_passages(results, "why does rayleigh scattering make the sky blue")

    assert found == (Passage(text="Rayleigh scattering makes the sky blue.", source=2),)


def test_a_passage_is_cut_out_of_a_long_snippet() -> None:
    found = best_passages([source(1, f"{FILLER} Rayleigh scattering it is. {FILLER}")], "rayleigh")

    assert len(found) == 1
    assert "Rayleigh scattering it is." in found[0].text


def test_one_source_gives_two_passages_at_most() -> None:
    long = f"Sky one. {FILLER} Sky two. {FILLER} Sky three. {FILLER}"

    found = best_passages([source(1, long), source(2, "Sky four.")], "sky")

    assert sorted(passage.source for passage in found) == [1, 1, 2]


def test_there_are_five_passages_at_most() -> None:
    assert len(best_passages([source(n, "Blue sky.") for n in range(1, 9)], "sky")) == MAX_PASSAGES


def test_without_a_common_word_the_order_of_the_service_stays() -> None:
    long = f"{FILLER} {FILLER}"

    found = best_passages([source(1, long), source(2, "Zwei."), source(3, "Drei.")], "warum")

    assert [passage.source for passage in found] == [1, 2, 3]


def test_a_result_without_a_snippet_gives_its_title() -> None:
    assert best_passages([source(1, " ", title="The sky")], "sky") == (Passage(text="The sky", source=1),)


def test_the_title_helps_to_find_the_passage() -> None:
    results = [source(1, "It is blue.", title="Sea"), source(2, "It is blue.", title="Sky")]

    assert best_passages(results, "sky blue")[0].source == 2


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (SENTENCES, [SENTENCES]),
        (f"{'a' * 250}. {'b' * 250}. c.", [f"{'a' * 250}.", f"{'b' * 250}. c."]),
        (f"{'空' * 250}。{'海' * 250}。", [f"{'空' * 250}。", f"{'海' * 250}。"]),
        (f"{'a' * 250}\n\n{'b' * 250}", ["a" * 250, "b" * 250]),
        (f"{'a' * 250}.” {'b' * 250}.", [f"{'a' * 250}.”", f"{'b' * 250}."]),
        (f"{'a' * 200}.\n3. {'b' * 250}.", [f"{'a' * 200}.", f"3. {'b' * 250}."]),
        ("word " * 100, [" ".join(["word"] * 80), " ".join(["word"] * 20)]),
        ("x" * 900, ["x" * 400, "x" * 400, "x" * 100]),
        ("", []),
    ],
)
def test_snippets_are_cut_at_sentences_where_they_can_be(text: str, cut: list[str]) -> None:
    assert split_sentences(source(1, text)) == cut


TEXT = st.text(alphabet=st.sampled_from('ab .!?。\n\u3000é"”)'), max_size=1500)


@given(st.lists(TEXT, max_size=4), st.text(max_size=40))
def test_every_passage_is_a_verbatim_part_of_its_source(snippets: list[str], question: str) -> None:
    results = [source(n, snippet, title="A title") for n, snippet in enumerate(snippets, start=1)]

    for passage in best_passages(results, question):
        held = results[passage.source - 1]
        assert passage.text in held.snippet or passage.text in held.title
        assert 0 < len(passage.text) <= MAX_PASSAGE_LENGTH


def test_an_answer_of_passages_says_what_it_is_and_keeps_what_is_known() -> None:
    failed = (Attempt(provider="One", seconds=1.0, error_class="ServerError", summary="is having trouble"),)
    results = SearchResults(
        results=(source(1, "Blue sky."), source(2, "Cats.")),
        provider="Two",
        seconds=0.5,
        cost_usd=0.0,
        notes=("A note.",),
        failed=failed,
    )

    answer = passages_answer(results, "sky")

    assert (answer.kind, answer.text, answer.model) == (AnswerKind.PASSAGES, "Blue sky. [1]", None)
    assert answer.passages == (Passage(text="Blue sky.", source=1),)
    assert (answer.sources, answer.provider, answer.seconds) == (results.results, "Two", 0.5)
    assert (answer.notes, answer.failed, answer.usage.cost_usd) == (("A note.",), failed, 0.0)


@pytest.mark.parametrize("results", [(), (source(1, ""),)])
def test_without_a_text_there_is_no_answer(results: tuple[Source, ...]) -> None:
    with pytest.raises(NothingFound):
        passages_answer(SearchResults(results=results, provider="Two"), "sky")


def test_an_answer_is_streamed_as_sources_text_and_done() -> None:
    answer = passages_answer(SearchResults(results=(source(1, "Blue sky."),), provider="Two"), "sky")

    assert list(as_events(answer)) == [
        Sources(sources=answer.sources),
        TextDelta(text=answer.text),
        Done(answer=answer),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Payloads, PAYLOAD!", ["payload", "payload"]),
        ("searching searched searches", ["search", "search", "search"]),
        ("is a bus", ["is", "a", "bus"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("snake_case 3.14", ["snake", "case", "3", "14"]),
    ],
)
def test_words_are_compared_without_case_and_endings(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_a_rare_word_counts_for_more_than_a_common_one() -> None:
    fits = bm25_scores("blue quokka", ["blue blue", "blue sea", "a quokka"])

    assert fits[2] > fits[0] > fits[1] > 0


def test_small_words_count_only_when_nothing_else_fits() -> None:
    assert bm25_scores("what is the quokka", ["what is the sea", "a quokka"])[0] == 0
    assert bm25_scores("what is the emu", ["what is the sea", "a quokka"])[0] > 0


def test_no_texts_have_no_scores() -> None:
    assert (bm25_scores("x", []), bm25_scores("", ["x"]), bm25_scores("x", [""])) == ([], [0.0], [0.0])
