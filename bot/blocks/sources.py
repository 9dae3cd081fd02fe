"""Renders sources and search results: number, linked title, site and date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bot.blocks import messages
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
from bot.model.message import Audience, Block, OutgoingMessage
from bot.translation import day
from bot.translation import gettext as _
from perplexity.filters import Filters, in_words
from perplexity.formatting import format_iso_date
from perplexity.notes import fallback_notice
from perplexity.types import Query, SearchResults, Source
from perplexity.urls import hostname, safe_url

__all__ = ["format_iso_date", "link_url", "linked_title", "site_and_date", "source_line"]

_LONGEST_TITLE = 120
_SITE = 60
_ADDRESS = 200
_ESCAPED_ADDRESS = 2_200
_LONGEST_ESCAPE = 6
"""The most characters of one escaped character: `&amp;` and a joiner."""


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
    # Long addresses leave no space for three links.
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
    if address is None or len(address) * _LONGEST_ESCAPE <= _ESCAPED_ADDRESS:
        return address
    return address if len(escape(address)) <= _ESCAPED_ADDRESS else None


def _title(source: Source) -> str:
    return shorten(
        one_line(source.title) or hostname(source.url) or one_line(source.url) or _("untitled"), _LONGEST_TITLE
    )


def linked_title(source: Source) -> str:
    """Return the title as mrkdwn, linked if the URL is safe; otherwise the URL follows as text."""
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
    return messages.pack(blocks, quote=quote)


def result_blocks(results: SearchResults, *, query: Query, shown_before: int = 0) -> list[Block]:
    """Render the results below the line with the query, as in `results_messages`."""
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
