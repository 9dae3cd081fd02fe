"""Stories as the text that a model is given, and as plain lines. Pure."""

from __future__ import annotations

from datetime import UTC

from perplexity.addresses import site
from perplexity.costs import unpriced
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary
from perplexity.stand_in import stand_in_for
from perplexity.types import Answer, Source, Usage


def as_answer(summary: NewsSummary) -> Answer:
    """Return the stories as an answer whose sources are theirs, numbered from 1 as they are first named."""
    numbers: dict[str, int] = {}
    sources: list[Source] = []
    for source in (source for story in summary.stories for source in (story.source, *story.others)):
        if source.url not in numbers:
            numbers[source.url] = len(numbers) + 1
            sources.append(Source(number=numbers[source.url], title=source.title, url=source.url, date=source.date))
    return Answer(
        text="\n".join(_line(story, numbers) for story in summary.stories),
        sources=tuple(sources),
        provider=summary.provider,
        usage=Usage(cost_usd=summary.cost_usd),
        seconds=summary.seconds,
        notes=summary.notes,
        failed=unpriced(summary.failed),
    )


def made_at(summary: NewsSummary) -> str:
    """Return when the stories were asked for: "2026-11-21 16:23 UTC"."""
    return f"{summary.made_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def also(story: Story) -> tuple[str, ...]:
    """Return the further sites that tell a story, each once."""
    own = site(story.source.url)
    return tuple(dict.fromkeys(place for other in story.others if (place := site(other.url)) and place != own))


def _line(story: Story, numbers: dict[str, int]) -> str:
    day = f" ({story.date.isoformat()})" if story.date else ""
    marks = "".join(f"[{numbers[source.url]}]" for source in (story.source, *story.others))
    sentence = f": {story.sentence}" if story.sentence else ""
    return f"- {story.headline}{day}{sentence} {marks}"


def news_stand_in(summary: NewsSummary, *, unset: str = "") -> str:
    """Return the line to be shown above news of another provider than the first choice, or an empty string."""
    return stand_in_for(summary.failed, f"this news is from {summary.provider}", unset=unset)
