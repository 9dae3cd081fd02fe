"""More than four hundred cited sentences, half of them with one figure that was replaced by another one of its kind.

An entry of the corpus is a faithful sentence about an excerpt; `figure` and `swapped` make the other sentence of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest

from perplexity.citations import number_citations
from perplexity.figures import check_figures
from perplexity.types import Source

CORPUS = Path(__file__).parents[2] / "data" / "figures" / "corpus.json"


class Entry(TypedDict, total=False):
    language: str
    excerpt: str
    title: str
    date: str
    url: str
    sentence: str
    figure: str
    swapped: str


def entries() -> list[Entry]:
    found: list[Entry] = json.loads(CORPUS.read_text())
    return found


def not_found(entry: Entry, sentence: str) -> list[str]:
    source = Source(
        number=1,
        title=entry.get("title", ""),
        url=entry.get("url", "https://a.example/"),
        snippet=entry["excerpt"],
        date=entry.get("date"),
    )
    return [figure for one in check_figures(number_citations(f"{sentence} [1]", (source,))) for figure in one.not_found]


def test_the_corpus_has_four_hundred_different_sentences_in_two_languages() -> None:
    corpus = entries()
    sentences = {one["sentence"] for one in corpus} | {swapped(one) for one in corpus}

    assert len(sentences) == 2 * len(corpus) >= 400
    assert min([one["language"] for one in corpus].count(language) for language in ("de", "en")) >= 100


def swapped(entry: Entry) -> str:
    assert entry["figure"] in entry["sentence"]
    return entry["sentence"].replace(entry["figure"], entry["swapped"], 1)


@pytest.mark.parametrize("language", ["en", "de"])
def test_at_least_95_percent_of_the_swaps_are_found(language: str) -> None:
    corpus = [one for one in entries() if one["language"] == language]

    missed = [one for one in corpus if not not_found(one, swapped(one))]

    assert len(missed) <= 0.05 * len(corpus), [swapped(one) for one in missed]


@pytest.mark.parametrize("language", ["en", "de"])
def test_at_most_2_percent_of_the_faithful_sentences_are_flagged(language: str) -> None:
    corpus = [one for one in entries() if one["language"] == language]

    flagged = [one for one in corpus if not_found(one, one["sentence"])]

    assert len(flagged) <= 0.02 * len(corpus), [(not_found(one, one["sentence"]), one["sentence"]) for one in flagged]
