"""Limits the length of answers. Pure."""

from __future__ import annotations

from dataclasses import replace

from perplexity.types import Answer

LONGEST = 200_000
"""Characters, about 50,000 tokens: several times the longest research report of any service."""
_NEAR = 1_000
"""Characters before the limit in which a line, or else a word, may end."""


def within(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with at most `LONGEST` characters, and a sentence for the reader if the rest was left out."""
    if len(text) <= LONGEST:
        return text, ()
    ends = (text.rfind(sign, LONGEST - _NEAR, LONGEST) for sign in ("\n", " "))
    kept = text[: next((end for end in ends if end > 0), LONGEST)]
    told = f"This text has {len(text):,} characters. Only the first {len(kept):,} are shown."
    return kept, (told,)


def shortened(answer: Answer) -> Answer:
    """Return an answer whose text is `within` the limit, with a note if it was longer."""
    text, notes = within(answer.text)
    return replace(answer, text=text, notes=(*notes, *answer.notes)) if notes else answer
