"""Renders sources and search results: number, linked title, site and date."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.blocks import messages
from bot.blocks.elements import (
    context,
    footer,
    join_lines,
    link,
    longest,
    note_lines,
    quote_question,
    section,
    warning_blocks,
)
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.markdown.render import LEFT_TO_RIGHT, neutralize, runs_right_to_left
from bot.model.message import Audience, Block, OutgoingMessage
from perplexity.attempts import cost_with_failures
from perplexity.filters import Filters, in_words
from perplexity.formatting import format_iso_date, pluralize
from perplexity.notes import fallback_notice
from perplexity.types import Query, SearchResults, Source
from perplexity.urls import hostname, safe_url

__all__ = ["format_iso_date", "link_url", "linked_title", "site_and_date", "source_blocks"]

_TITLE = 120
_ADDRESS = 200
_ESCAPED_ADDRESS = 2_200
_LONGEST_ESCAPE = 6
"""What a character becomes at the most: `&amp;` and a joiner."""


def source_blocks(cited: Sequence[Source], others: Sequence[Source]) -> list[Block]:
    """List the cited sources, one line each, and count the others; if none is cited, list all."""
    listed, more = (cited, len(others)) if cited else (others, 0)
    rows = [
        f"{number} {linked_title(source)}{_site_and_date_suffix(source)}" for number, source in enumerate(listed, 1)
    ]
    if not rows:
        return []
    if runs_right_to_left(listed[0].title):
        rows.insert(0, "*Sources*")
    else:
        rows[0] = f"*Sources*  {rows[0]}"
    if more:
        rows.append(pluralize(more, "more source"))
    return [context(text) for text in join_lines(rows)]


def link_url(source: Source) -> str | None:
    """Return the URL to link, None if it is unsafe or too long once escaped."""
    address = safe_url(source.url)
    if address is None or len(address) * _LONGEST_ESCAPE <= _ESCAPED_ADDRESS:
        return address
    return address if len(escape(address)) <= _ESCAPED_ADDRESS else None


def linked_title(source: Source) -> str:
    """Return the title as mrkdwn, linked if the URL is safe; otherwise the URL follows as text."""
    title = shorten(one_line(source.title) or hostname(source.url) or one_line(source.url) or "untitled", _TITLE)
    address = link_url(source)
    if address and _names_another_site(title, address):
        return f"{link(address, hostname(address))} · {escape(neutralize(title))}"
    if address:
        return link(address, title)
    return " · ".join(filter(None, (escape(title), escape(neutralize(shorten(one_line(source.url), _ADDRESS))))))


_ADDRESS_AS_TITLE = re.compile(r"\W*(?:[a-z][a-z0-9+.-]*:)?(?://|\\\\)|\W*(?=www\.)", re.IGNORECASE)


def _names_another_site(title: str, address: str) -> bool:
    """Return whether a title reads as an address of another site than that of its page: no link may say that."""
    match = _ADDRESS_AS_TITLE.match(title)
    return match is not None and hostname(f"https://{title[match.end() :].partition(' ')[0]}") != hostname(address)


def site_and_date(source: Source) -> str:
    """Return the known ones of site and date as mrkdwn."""
    # A host needs no escaping.
    known = " · ".join(filter(None, (hostname(source.url), format_iso_date(source.date))))
    return f"{LEFT_TO_RIGHT}{known}" if known and runs_right_to_left(source.title) else known


def _site_and_date_suffix(source: Source) -> str:
    known = site_and_date(source)
    return f" · {known}" if known else ""


_SNIPPET = 350
_QUERY = 200
_FILTERS = 600


def results_messages(
    results: SearchResults, *, query: Query, audience: Audience, shown_before: int = 0
) -> tuple[OutgoingMessage, ...]:
    """Render the results in the provider's order, or suggest another search if there are none.

    If so many were listed before, these are the next ones, and are numbered so.
    """
    last_line = footer(
        results.provider,
        seconds=results.seconds,
        cost_usd=cost_with_failures(results.cost_usd, results.failed),
        audience=audience,
        question=query.text,
    )
    blocks = [*result_blocks(results, query=query, shown_before=shown_before), last_line]
    return messages.pack(blocks, summary="", quote=quote_question(query.text, audience))


def result_blocks(results: SearchResults, *, query: Query, shown_before: int = 0) -> list[Block]:
    """Render the results without their footer, as in `results_messages`."""
    found = len(results.results)
    entries = [_entry(number, source) for number, source in enumerate(results.results, shown_before + 1)]
    none = _no_more_results(query) if shown_before else _no_results(query)
    body = [_header(found, query, more=shown_before > 0), *entries] if found else [none]
    notes = [context(note) for note in note_lines(results.notes)]
    return [*warning_blocks([fallback_notice(results)]), *body, *notes]


def _header(found: int, query: Query, *, more: bool) -> Block:
    shown = escape(shorten(one_line(query.text), _QUERY))
    heading = f"*{pluralize(found, 'more result' if more else 'result')} for* {shown}"
    return context(" · ".join([heading, *describe_filters(query.filters)]))


def _no_results(query: Query) -> Block:
    shown = escape(shorten(one_line(query.text), _QUERY))
    filters = ", ".join(describe_filters(query.filters))
    advice = f"without the filters ({filters}) or in other words" if filters else "in other words"
    return section(f"No results for “{shown}”. Try it {advice}.")


def _no_more_results(query: Query) -> Block:
    shown = escape(shorten(one_line(query.text), _QUERY))
    return section(f"There are no more results for “{shown}”. Other words may find other pages.")


def _entry(number: int, source: Source) -> Block:
    title, place = f"*{number}.  {linked_title(source)}*", site_and_date(source)
    snippets = (escape(shorten(one_line(source.snippet), _SNIPPET // share)) for share in (1, 2, 4, 8))
    return section(longest("\n".join(filter(None, (title, place, snippet))) for snippet in (*snippets, "")))


def describe_filters(filters: Filters) -> list[str]:
    """Return each filter in words, as mrkdwn."""
    return [shorten(escape(text), _FILTERS) for text in in_words(filters)]
