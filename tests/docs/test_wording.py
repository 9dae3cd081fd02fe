"""The words of this project: phrases and names that read as translated or as riddles do not come back."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.docs.pages import ROOT

PHRASES = (
    r"\bTells? whether\b",
    r"\bwhat (?:came|comes) of\b",
    r"\b(?:came|comes?) to nothing\b",
    r"\bonce more\b",
    r"\ball the same\b",
    r"\b(?:nobody|somebody|whoever|everybody|whomever)\b",
    r"\bis away\b",
    r"\bmend(?:s|ed)?\b",
    r"\bwhat (?:is|was) under way\b",
    r"\btold once\b",
    r"\bas the settings have (?:it|them)\b",
    r"\bstands? (?:there|for nothing|beside|behind|on its own|still|in a|before)\b",
    r"\b(?:Raises?|None|empty|only) where (?:there|it|the|a|none)\b",
)
"""Phrases, each as a regular expression, in any case. In tests, texts from outside and names of users may have them."""

NAMES = (
    *("Addressed", "Announcing", "Answering", "Asked", "Board", "ByDirectMessage", "ByResponseUrl", "CannotLook"),
    *("Choosing", "Desk", "Dialect", "DigestRoom", "Dived", "Diver", "FakeOffice", "Filing", "GrokAtOpenRouter"),
    *("Growing", "InPlace", "Jobs", "Journal", "Leaving", "Letter", "ListAll", "Looked", "Moods", "NoStore"),
    *("NoSuchDigest", "Nobody", "NotThere", "Notebook", "Noticing", "Numbering", "Office", "Patience", "Posting"),
    *("ProviderFigures", "PulseSource", "ReturnsWhenCancelled", "Routed", "SeenStories", "Showing", "Silent"),
    *("SomebodyElses", "StagesOf", "Stopping", "Succession", "Superseded", "Telling", "Ticker", "Ticket"),
    *("ToChannel", "Told", "Toolbox", "TryLater", "Turned", "Watching", "WayClosed", "Wish", "Withdrawn", "Working"),
    *("Cited", "Known", "Segment", "Weights", "WorkspaceOffice"),
    *("cite_each", "defuse", "flattened", "has_marks", "known_of", "release_links", "release_numbers", "seal"),
    *("without_foreign", "without_orphans", "without_strangers"),
)
"""Names of classes and functions that were replaced by the field's words."""

PLACES = ("bot/**/*.py", "perplexity/**/*.py", "tests/**/*.py", "docs/*.md", "tests/*.md", "*.md")
NOT_OURS = ("CHANGELOG.md", "tests/docs/test_wording.py")
QUOTED = re.compile(r'(?<!")"(?!"")[^"]*"(?!")')
"""A string on one line: in tests, data."""


@cache
def lines() -> tuple[tuple[str, str], ...]:
    """Return every line of code and documentation after its place, `path:number`; in tests without their strings."""
    return tuple(
        (f"{path.relative_to(ROOT)}:{number}", QUOTED.sub("", line) if path.is_relative_to(ROOT / "tests") else line)
        for place in PLACES
        for path in sorted(ROOT.glob(place))
        if str(path.relative_to(ROOT)) not in NOT_OURS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
    )


def found(expression: re.Pattern[str]) -> list[str]:
    """Return the lines in which an expression is found."""
    return [f"{place}: {line.strip()}" for place, line in lines() if expression.search(line)]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_not_used(phrase: str) -> None:
    assert found(re.compile(phrase, re.IGNORECASE)) == []


def test_a_replaced_name_is_gone() -> None:
    assert found(re.compile(rf"\b(?:class|import|=|,|\[|\() ?(?:{'|'.join(NAMES)})\b(?=[(\[:,)\]]|$)")) == []
