"""Item 13: no text from outside calls anyone or becomes a token of Slack's, on any surface."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.fakes.attacks import ATTACKS, attacks
from tests.fakes.hostile_text import wild
from tests.trust.surfaces import SURFACES, judged, streams

CALLS = attacks("call") | attacks("date") | attacks("order")


def test_the_corpus_is_large_and_has_no_duplicates() -> None:
    assert len(set(ATTACKS.values())) >= 500
    assert len(attacks("order")) >= 100


@pytest.mark.parametrize("name", SURFACES)
def test_no_text_calls_anyone(name: str) -> None:
    assert judged(SURFACES[name], CALLS) == {}


@given(wild)
@settings(max_examples=60, deadline=None)
def test_no_text_calls_anyone_while_it_is_written(text: str) -> None:
    assert [harm for one in streams([text]) for harm in one] == []
