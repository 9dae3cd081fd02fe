"""What the check does with sentences that it was not written for: `tests/data/figures/unseen.README.md` says whose.

`python -m pytest tests/perplexity/figures/test_unseen.py -s` prints the counts by languages and by kind of swap.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypedDict

from perplexity.citations import number_citations
from perplexity.figures import check_figures
from perplexity.types import Source

UNSEEN = Path(__file__).parents[2] / "data" / "figures" / "unseen.jsonl"


class Swap(TypedDict):
    sentence: str
    figure: str
    kind: str


class Pair(TypedDict):
    id: str
    language: str
    excerpt_language: str
    sentence: str
    excerpt: str
    swaps: list[Swap]


class Result(NamedTuple):
    """What a pair's sentences were found to be; a swap is its kind and whether it was found."""

    pair: Pair
    flagged: list[str]
    swaps: list[tuple[Swap, bool]]


def not_found(sentence: str, excerpt: str) -> list[str]:
    source = Source(number=1, title="", url="https://a.example/", snippet=excerpt)
    return [figure for one in check_figures(number_citations(f"{sentence} [1]", (source,))) for figure in one.not_found]


@cache
def results() -> dict[str, list[Result]]:
    """Return the results by group of languages: "en", "de", and "other" for any other or two different ones."""
    found: dict[str, list[Result]] = {"en": [], "de": [], "other": []}
    for line in UNSEEN.read_text().splitlines():
        pair: Pair = json.loads(line)
        swaps = [(swap, bool(not_found(swap["sentence"], pair["excerpt"]))) for swap in pair["swaps"]]
        result = Result(pair, not_found(pair["sentence"], pair["excerpt"]), swaps)
        language = pair["language"] if pair["language"] == pair["excerpt_language"] else "other"
        found[language if language in found else "other"].append(result)
    return found


def shares(group: str) -> tuple[float, float]:
    """Return which share of the faithful sentences is flagged, and which of the swaps is found, by kind printed."""
    of_group = results()[group]
    lines: list[str] = []
    kinds, found = Counter[str](), Counter[str]()
    for half in ("odd", "even"):
        pairs = [one for one in of_group if int(one.pair["id"][-1]) % 2 == (half == "odd")]
        swaps = [swap for one in pairs for swap in one.swaps]
        kinds.update(swap["kind"] for swap, _ in swaps)
        found.update(swap["kind"] for swap, is_found in swaps if is_found)
        flagged = sum(bool(one.flagged) for one in pairs)
        caught = sum(is_found for _, is_found in swaps)
        lines.append(f"{group} {half}: flagged {flagged} of {len(pairs)}, found {caught} of {len(swaps)}")
    lines.append(", ".join(f"{kind} {found[kind]}/{count}" for kind, count in kinds.most_common()))
    sys.stdout.write("\n".join([*lines, ""]))
    all_of_them = [swap for one in of_group for swap in one.swaps]
    return (
        sum(bool(one.flagged) for one in of_group) / len(of_group),
        sum(is_found for _, is_found in all_of_them) / len(all_of_them),
    )


def test_english() -> None:
    """The aim of 2 % is not reached: 7 %, and 12 % in the half that was not read when the rules were written."""
    flagged, found = shares("en")

    assert flagged <= 0.07
    assert found >= 0.95


def test_german() -> None:
    flagged, found = shares("de")

    assert flagged <= 0.06
    assert found >= 0.9


def test_other_languages_are_not_checked() -> None:
    flagged, _ = shares("other")

    assert flagged == 0
