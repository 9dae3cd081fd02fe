"""A question passes few files: whoever follows it through the code can hold them in his head."""

from __future__ import annotations

from tests.driver import Driver
from tests.house.trace import trace

TO_ACK, TO_ANSWER = 20, 65
"""How many files at most: `python -m tests.house.trace` finds 19 and 62, and a busy machine one or two more."""


async def test_a_question_passes_few_files(harness: Driver) -> None:
    passed = await trace(harness)

    assert len(passed.acknowledging) <= TO_ACK, sorted(passed.acknowledging)
    assert len(passed.answering) <= TO_ANSWER, sorted(passed.answering)
