"""Stories of one page, told in few words."""

from __future__ import annotations

from datetime import date

from perplexity.news.stories import Story, fingerprint, unseen
from perplexity.types import Source


def make_story(
    headline: str, *, url: str = "https://a.example/1", day: str = "2026-11-20", sentence: str = ""
) -> Story:
    """Return a story of one page, which has its headline for a title."""
    return Story(
        headline=headline,
        source=Source(number=1, title=headline, url=url),
        date=date.fromisoformat(day),
        sentence=sentence,
    )


def is_same(one: Story, other: Story) -> bool:
    """Return whether the other is not new where the one was told."""
    return not unseen([other], [fingerprint(one)])
