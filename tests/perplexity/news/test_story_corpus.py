"""What is new, by the corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from perplexity.news.stories import Story, fingerprint, unseen
from tests.fakes.stories import make_story

DATA = Path(__file__).parents[2] / "data" / "stories"
FILES = ("tuning", "held_out")
TOLD_AGAIN = {"syndicated", "reworded", "redated"}
NEW = {"update", "lookalike", "recurring", "other"}
LEAST = 0.9


@dataclass(frozen=True, kw_only=True)
class Pair:
    """An earlier story and a new one."""

    kind: str
    language: str
    before: Story
    now: Story


@cache
def corpus(name: str) -> tuple[Pair, ...]:
    rows = map(json.loads, (DATA / f"{name}.jsonl").read_text("utf-8").splitlines())
    return tuple(
        Pair(kind=kind, language=language, before=_story(before), now=_story(now))
        for kind, language, before, now in rows
    )


def _story(row: Sequence[str]) -> Story:
    day, url, headline, sentence = row
    return make_story(headline, url=url, day=day, sentence=sentence)


@pytest.mark.parametrize("name", FILES)
def test_precision_and_recall_of_new(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Compare every new story with all earlier ones, not only with its own pair."""
    seen = [fingerprint(pair.before) for pair in corpus(name)]
    judged = Counter((bool(unseen([pair.now], seen)), pair.kind in NEW) for pair in corpus(name))
    right = judged[True, True]
    precision, recall = right / (right + judged[True, False]), right / (right + judged[False, True])

    with capsys.disabled():
        print(f"\n{name}: {len(seen)} pairs, precision of new {precision:.3f}, recall {recall:.3f}")  # noqa: T201 - the report

    assert min(precision, recall) >= LEAST


def test_the_corpus_is_large_and_mixed() -> None:
    pairs = [pair for name in FILES for pair in corpus(name)]

    assert len(pairs) >= 120
    assert set(Counter(pair.kind for pair in pairs)) == TOLD_AGAIN | NEW
    assert len({pair.language for pair in pairs}) >= 8
    assert not {p.before.headline for p in corpus("tuning")} & {p.before.headline for p in corpus("held_out")}


def test_no_seen_story_is_new() -> None:
    stories = [pair.before for name in FILES for pair in corpus(name)]

    assert unseen(stories, map(fingerprint, stories)) == ()
    assert unseen(stories, []) == tuple(stories)
