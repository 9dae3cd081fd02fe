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
    r"\bstands? for\b",
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
QUOTED = re.compile(r'(?<!")"(?!"")[^"\n]*"(?!")')
"""A string on one line: in tests, data."""


REPLACED = re.compile(rf"\b(?:class|def|import)\s+(?:{'|'.join(NAMES)})\b|\b(?:{'|'.join(NAMES)})\(")
"""A replaced name that is defined, imported or called."""


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Return every file of code and documentation with its path; in tests without their strings."""
    return tuple(
        (str(path.relative_to(ROOT)), QUOTED.sub("", text) if path.is_relative_to(ROOT / "tests") else text)
        for place in PLACES
        for path in sorted(ROOT.glob(place))
        if str(path.relative_to(ROOT)) not in NOT_OURS
        for text in [path.read_text("utf-8")]
    )


def found(expression: re.Pattern[str]) -> list[str]:
    """Return where an expression is found, as `path:line: text`."""
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in texts()
        for match in expression.finditer(text)
    ]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_not_used_even_across_lines(phrase: str) -> None:
    assert found(re.compile(phrase.replace(" ", r"\s+"), re.IGNORECASE)) == []


def test_a_replaced_name_is_gone() -> None:
    assert found(REPLACED) == []


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("class Desk:", True),
        ("async def seal(text: str) -> str:", True),
        ("from bot.desk import Desk", True),
        ("return [seal(text)]", True),
        ("sealed = Deskjet(seal_of(text))", False),
        ("the seal of a letter", False),
        ("class DeskOptions:", False),
    ],
)
def test_a_name_is_found_if_it_is_defined_imported_or_called(line: str, replaced: bool) -> None:
    assert (REPLACED.search(line) is not None) == replaced
