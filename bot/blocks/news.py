"""Renders a news summary: one entry for each story, and the time of the request."""

from __future__ import annotations

from dataclasses import replace

from bot.blocks import messages
from bot.blocks.elements import context, footer, link, longest, note_lines, quote_question, section, warning_blocks
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.sources import describe_filters, format_iso_date, link_url, linked_title
from bot.blocks.words import moment
from bot.model.message import Audience, Block, OutgoingMessage
from perplexity.filters import Filters
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary, news_stand_in
from perplexity.types import Source
from perplexity.urls import hostname

_SENTENCE = 350
_TOPIC = 200
_MAX_SITES = 5


def news_messages(
    summary: NewsSummary, *, filters: Filters, audience: Audience, question: str = ""
) -> tuple[OutgoingMessage, ...]:
    """Render the stories in order, with the time and the filters of the summary.

    `question` is what was asked for, which private news quote.
    """
    entries = [story_block(number, story) for number, story in enumerate(summary.stories, 1)]
    notes = [context(note) for note in note_lines(summary.notes)]
    last_line = footer(
        summary.provider,
        seconds=summary.seconds,
        cost_usd=summary.cost_usd,
        audience=audience,
        question=question,
    )
    blocks = [*warning_blocks([news_stand_in(summary)]), _header(summary, filters), *entries, *notes, last_line]
    return messages.pack(blocks, summary="", quote=quote_question(question, audience))


def story_block(number: int, story: Story) -> Block:
    """Return the block of one story: linked headline, site, date, other sites with it, and one sentence."""
    headline = f"*{number}.  {linked_title(replace(story.source, title=story.headline))}*"
    place, sentence = _site_and_date(story), escape(shorten(one_line(story.sentence), _SENTENCE))
    linked, named = (_join(place, _other_sites(story, linked=linked)) for linked in (True, False))
    # If long URLs leave no space, drop the least important part first.
    versions = (
        [headline, linked, sentence],
        [headline, named, sentence],
        [headline, place, sentence],
        [headline, place],
    )
    return section(longest("\n".join(filter(None, parts)) for parts in (*versions, [headline])))


def _header(summary: NewsSummary, filters: Filters) -> Block:
    topic = escape(shorten(one_line(summary.topic), _TOPIC))
    parts = [
        f"*{summary.category.capitalize()} news*",
        topic,
        *describe_filters(filters),
        f"as of {moment(summary.made_at)}",
    ]
    return context(" · ".join(filter(None, parts)))


def _site_and_date(story: Story) -> str:
    shown = format_iso_date(story.date.isoformat()) if story.date else ""
    return _join(escape(hostname(story.source.url)), shown)


def _other_sites(story: Story, *, linked: bool) -> str:
    """Return the other sites with the story, without duplicates."""
    places = {hostname(source.url): source for source in reversed(story.others)}
    places.pop(hostname(story.source.url), None)
    places.pop("", None)
    shown = [_site_link(place, source, linked=linked) for place, source in reversed(places.items())]
    more = [f"{len(shown) - _MAX_SITES} more"] if len(shown) > _MAX_SITES else []
    return f"also: {', '.join([*shown[:_MAX_SITES], *more])}" if shown else ""


def _site_link(place: str, source: Source, *, linked: bool) -> str:
    address = link_url(source) if linked else None
    return link(address, place) if address else escape(place)


def _join(*parts: str) -> str:
    return " · ".join(filter(None, parts))
