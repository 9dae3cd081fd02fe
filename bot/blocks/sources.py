"""Renders sources, search results and news summaries: number, linked title, site and date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bot.blocks.elements import (
    context,
    link,
    longest,
    notes_block,
    question_line,
    quote_question,
    section,
    warning_blocks,
)
from bot.blocks.escaping import escape, neutralize, one_line, shorten
from bot.blocks.markdown.render import LEFT_TO_RIGHT, runs_right_to_left
from bot.blocks.messages import pack
from bot.model.message import Audience, Block, OutgoingMessage
from bot.translation import day
from bot.translation import gettext as _
from perplexity.filters import Filters, in_words
from perplexity.formatting import format_iso_date
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary, news_stand_in
from perplexity.notes import fallback_notice, news_of
from perplexity.types import Query, SearchResults, Source
from perplexity.urls import hostname, safe_url

_LONGEST_TITLE = 120
_SITE = 60
_ADDRESS = 200
_ESCAPED_ADDRESS = 2_200
MAX_SITES = 3


def source_line(cited: Sequence[Source], others: Sequence[Source] = ()) -> list[Block]:
    """Return a line with linked sites of the first sources, and the number of further sources.

    `others` are sources that were read but not cited. They count as further sources; their sites are shown only if no
    source is cited.
    """
    sites: dict[str, Source] = {}
    for source in cited or others:
        if len(sites) < MAX_SITES:
            sites.setdefault(_site(source), source)
    more = len(cited) + len(others) - len(sites)
    # No-break spaces keep the number from beginning a line.
    rest = f"\N{NO-BREAK SPACE}·\N{NO-BREAK SPACE}+{more}" if more else ""
    # If long addresses leave no space for three links, fewer sites are linked.
    versions = (" · ".join(_site_links(sites.values(), linked=linked)) for linked in range(MAX_SITES, -1, -1))
    return [context(longest(f"{version}{rest}" for version in versions))] if sites else []


def source_titles(cited: Sequence[Source], others: Sequence[Source] = ()) -> str:
    """Return the numbered titles of the cited sources, one per line, below a heading; empty without any source.

    If no source is cited, the titles of the `others` are listed without numbers.
    """
    named = [f"[{number}] {_title(source)}" for number, source in enumerate(cited, 1)] or [*map(_title, others)]
    return "\n".join([_("Sources:"), *named]) if named else ""


def _site(source: Source) -> str:
    return shorten(hostname(source.url) or one_line(source.title) or one_line(source.url) or _("untitled"), _SITE)


def _site_links(sources: Iterable[Source], *, linked: int) -> Iterator[str]:
    """Yield the sites of sources, the first ones as links."""
    for place, source in enumerate(sources):
        address = link_url(source) if place < linked else None
        yield link(address, _site(source)) if address else escape(neutralize(_site(source)))


def link_url(source: Source) -> str | None:
    """Return the URL to link, None if it is unsafe or too long once escaped."""
    address = safe_url(source.url)
    return address if address is not None and len(escape(address)) <= _ESCAPED_ADDRESS else None


def _title(source: Source) -> str:
    return shorten(
        one_line(source.title) or hostname(source.url) or one_line(source.url) or _("untitled"), _LONGEST_TITLE
    )


def linked_title(source: Source) -> str:
    """Return the title as mrkdwn, linked if the URL may be linked; otherwise the URL follows as text.

    If the title looks like an address on another site, only the name of the page's own site is linked.
    """
    title = _title(source)
    address = link_url(source)
    if address and _names_another_site(title, address):
        return f"{link(address, hostname(address))} · {escape(neutralize(title))}"
    if address:
        return link(address, title)
    return " · ".join(filter(None, (escape(title), escape(neutralize(shorten(one_line(source.url), _ADDRESS))))))


_ADDRESS_AS_TITLE = re.compile(r"\W*(?:[a-z][a-z0-9+.-]*:)?(?://|\\\\)|\W*(?=www\.)", re.IGNORECASE)


def _names_another_site(title: str, address: str) -> bool:
    """Return whether a title looks like an address on another site than its page; no link may have such a title."""
    match = _ADDRESS_AS_TITLE.match(title)
    return match is not None and hostname(f"https://{title[match.end() :].partition(' ')[0]}") != hostname(address)


def site_and_date(source: Source) -> str:
    """Return the site and the date, as far as they are known, as mrkdwn."""
    # A host needs no escaping.
    known = " · ".join(filter(None, (hostname(source.url), day(format_iso_date(source.date)))))
    return f"{LEFT_TO_RIGHT}{known}" if known and runs_right_to_left(source.title) else known


_SNIPPET = 350
_FILTERS = 600


def results_messages(
    results: SearchResults, *, query: Query, audience: Audience, shown_before: int = 0
) -> tuple[OutgoingMessage, ...]:
    """Render the results in the provider's order, or suggest another search if there are none.

    `shown_before` results were listed earlier, so the numbers continue after them.
    """
    quote = quote_question(query.text, audience)
    blocks = [*question_line(query.text, audience), *result_blocks(results, query=query, shown_before=shown_before)]
    return pack(blocks, quote=quote)


def result_blocks(results: SearchResults, *, query: Query, shown_before: int = 0) -> list[Block]:
    """Return the blocks that `results_messages` shows below the line with the query."""
    filters = describe_filters(query.filters)
    numbered = enumerate(results.results, shown_before + 1)
    entries = [block for number, source in numbered for block in _entry(number, source)]
    above = [context(" · ".join(filters))] if filters and entries else []
    body = entries or [section(_nothing_more(shown_before, ", ".join(filters)))]
    return [*warning_blocks([fallback_notice(results)]), *above, *body, *notes_block(results.notes)]


def _nothing_more(shown_before: int, filters: str) -> str:
    if shown_before:
        return _("There are no more results. Other words may find other pages.")
    if filters:
        return _("No results. Try it without the filters ({filters}) or in other words.").format(filters=filters)
    return _("No results. Try it in other words.")


def _entry(number: int, source: Source) -> list[Block]:
    """Return a result: its linked title and its excerpt, and a small line with its site and its date."""
    title, place = f"*{number}.  {linked_title(source)}*", site_and_date(source)
    snippets = (escape(shorten(one_line(source.snippet), _SNIPPET // share)) for share in (1, 2, 4, 8))
    said = section(longest("\n".join(filter(None, (title, snippet))) for snippet in (*snippets, "")))
    return [said, *([context(place)] if place else [])]


def describe_filters(filters: Filters) -> list[str]:
    """Return each filter in words, as mrkdwn."""
    return [shorten(escape(text), _FILTERS) for text in in_words(filters)]


_SENTENCE = 350
_TOPIC = 200
_OTHER_SITES = 5


def news_messages(summary: NewsSummary, *, filters: Filters) -> tuple[OutgoingMessage, ...]:
    """Render the stories in order below a line with their category, topic and filters."""
    entries = [block for number, story in enumerate(summary.stories, 1) for block in story_blocks(number, story)]
    above = [_header(summary, filters), *warning_blocks([news_stand_in(summary)])]
    blocks = [*above, *entries, *notes_block(summary.notes)]
    return pack(blocks)


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
    more = [_("{count} more").format(count=len(shown) - _OTHER_SITES)] if len(shown) > _OTHER_SITES else []
    return _("also: {sites}").format(sites=", ".join([*shown[:_OTHER_SITES], *more])) if shown else ""


def _site_link(place: str, source: Source, *, linked: bool) -> str:
    address = link_url(source) if linked else None
    return link(address, place) if address else escape(place)


def _join(*parts: str) -> str:
    return " · ".join(filter(None, parts))
