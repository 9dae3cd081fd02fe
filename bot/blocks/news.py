"""Renders a news summary: the request, then the stories."""

from __future__ import annotations

from dataclasses import replace

from bot.blocks import messages
from bot.blocks.elements import context, link, longest, notes_block, section, warning_blocks
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.sources import describe_filters, format_iso_date, link_url, linked_title
from bot.model.message import Block, OutgoingMessage
from bot.translation import day
from bot.translation import gettext as _
from perplexity.filters import Filters
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary, news_stand_in
from perplexity.notes import news_of
from perplexity.types import Source
from perplexity.urls import hostname

_SENTENCE = 350
_TOPIC = 200
_MAX_SITES = 5


def news_messages(summary: NewsSummary, *, filters: Filters) -> tuple[OutgoingMessage, ...]:
    """Render the stories in order below a line with their category, topic and filters."""
    entries = [block for number, story in enumerate(summary.stories, 1) for block in story_blocks(number, story)]
    above = [_header(summary, filters), *warning_blocks([news_stand_in(summary)])]
    blocks = [*above, *entries, *notes_block(summary.notes)]
    return messages.pack(blocks)


def story_blocks(number: int, story: Story) -> list[Block]:
    """Return a story: its linked headline and one sentence, and a small line with its site, date and other sites."""
    headline = f"*{number}.  {linked_title(replace(story.source, title=story.headline))}*"
    sentence = escape(shorten(one_line(story.sentence), _SENTENCE))
    place = _site_and_date(story)
    places = (_join(place, _other_sites(story, linked=True)), _join(place, _other_sites(story, linked=False)), place)
    said = longest(("\n".join(filter(None, (headline, sentence))), headline))
    return [section(said), *([context(longest(places))] if place else [])]


def _header(summary: NewsSummary, filters: Filters) -> Block:
    topic = escape(shorten(one_line(summary.topic), _TOPIC))
    news = news_of(summary.category)
    return context(_join(f"*{news[:1].upper()}{news[1:]}*", topic, *describe_filters(filters)))


def _site_and_date(story: Story) -> str:
    shown = day(format_iso_date(story.date.isoformat())) if story.date else ""
    return _join(escape(hostname(story.source.url)), shown)


def _other_sites(story: Story, *, linked: bool) -> str:
    """Return the other sites with the story, without duplicates."""
    places = {hostname(source.url): source for source in reversed(story.others)}
    places.pop(hostname(story.source.url), None)
    places.pop("", None)
    shown = [_site_link(place, source, linked=linked) for place, source in reversed(places.items())]
    more = [_("{count} more").format(count=len(shown) - _MAX_SITES)] if len(shown) > _MAX_SITES else []
    return _("also: {sites}").format(sites=", ".join([*shown[:_MAX_SITES], *more])) if shown else ""


def _site_link(place: str, source: Source, *, linked: bool) -> str:
    address = link_url(source) if linked else None
    return link(address, place) if address else escape(place)


def _join(*parts: str) -> str:
    return " · ".join(filter(None, parts))
