"""Finds the figures of an answer's cited sentences that are missing from the excerpts of their sources.

The rules are this package's own, for English and German; other languages are not checked. No model is asked, and no
function of this package does I/O. A figure is a number, an amount of money or a date.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from perplexity.citations import CitedText
from perplexity.figures.excerpts import Excerpt
from perplexity.figures.find import find_figures
from perplexity.figures.languages import is_known
from perplexity.figures.sentences import Sentence, cited_sentences


@dataclass(frozen=True, kw_only=True)
class CheckedSentence:
    """A sentence that cites sources, without markup and markers.

    `sources` are the numbers of the sources as the reader sees them, from 1. `not_found` are the figures, as they are
    written, that are in no excerpt of these sources. `is_checked` is False if the sentence has a digit, and it or one
    of the excerpts is in a language other than English and German.
    """

    text: str
    sources: tuple[int, ...]
    not_found: tuple[str, ...]
    is_checked: bool = True


_APART = "\n\n\n"
"""The text that is put between two sentences, so that no figure extends over both."""
_DIGIT = re.compile(r"\d")


def check_figures(cited: CitedText) -> tuple[CheckedSentence, ...]:
    """Return the sentences of a text that cite sources, with the figures that are in none of their excerpts.

    A figure counts as found if the excerpt writes it with other separators ("1.2 million" for 1,200,000), in another
    unit of the same kind (1.5 km for 1,500 m), in words, as another form of the same date, or with more digits than the
    sentence. It also counts if it follows from the excerpt: converted to a unit of another system, or, where the
    sentence says so, as a sum, a difference or a share of two of its numbers. A source's title, its date and the date
    in its address count as part of the excerpt.

    A sentence is not checked, and its `not_found` is empty, if it cites a source without an excerpt, or if it or one of
    its excerpts is in a language other than English and German.
    """
    sentences = cited_sentences(cited)
    excerpts = {n: Excerpt(cited.sources[n - 1]) for n in {n for sentence in sentences for n in sentence.sources}}
    searched = [[excerpts[number] for number in sentence.sources] for sentence in sentences]
    starts = [0, *accumulate(len(sentence.text) + len(_APART) for sentence in sentences)]
    missing: list[dict[str, None]] = [{} for _ in sentences]
    foreign = _foreign(sentences, searched)
    for figure in find_figures(_APART.join([sentence.checked for sentence in sentences])):
        index = bisect_right(starts, figure.start) - 1
        known = searched[index]
        if index not in foreign and all(one.is_known for one in known) and not any(map(figure.is_in, known)):
            shown = sentences[index].text[figure.start - starts[index] : figure.end - starts[index]]
            missing[index][shown.strip()] = None
    return tuple(
        CheckedSentence(
            text=sentence.text,
            sources=sentence.sources,
            not_found=tuple(figures),
            is_checked=index not in foreign or not _DIGIT.search(sentence.checked),
        )
        for index, (sentence, figures) in enumerate(zip(sentences, missing, strict=True))
    )


def _foreign(sentences: Sequence[Sentence], searched: Sequence[Sequence[Excerpt]]) -> set[int]:
    """Return the indexes of sentences that are not in English or German, or that cite an excerpt that is not.

    A sentence that is too short to show its language is taken to be in the language of all sentences together.
    """
    known = [is_known(sentence.checked) for sentence in sentences]
    whole = is_known(" ".join([sentence.checked for sentence in sentences])) if None in known else None
    return {
        index
        for index, (mine, excerpts) in enumerate(zip(known, searched, strict=True))
        if (whole if mine is None else mine) is False or any(excerpt.is_foreign for excerpt in excerpts)
    }
