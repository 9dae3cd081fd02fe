"""The recorded examples: what a newcomer sees first."""

from __future__ import annotations

import pytest

from perplexity.citations import number_citations
from perplexity.figures import check_figures
from perplexity.formulas import readable
from perplexity.markdown import parse
from tests.fakes.recordings import recorded


@pytest.mark.parametrize("name", ["answer", "table", "news", "situation"])
def test_every_figure_is_in_its_excerpt_and_every_reference_has_a_source(name: str) -> None:
    answer = recorded(name)
    cited = number_citations(answer.text, answer.sources)

    assert [figure for sentence in check_figures(cited) for figure in sentence.not_found] == []
    assert cited.dangling == 0


def test_the_formula_reads_as_text() -> None:
    text = readable(parse(recorded("answer").text)).text

    assert "(700/400)⁴ ≈ 9.4" in text
    assert "I ∝ λ⁻⁴" in text
    assert "\\" not in text
