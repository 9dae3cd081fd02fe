"""Search results as messages: one compact entry each."""

from __future__ import annotations

from bot.blocks import assembling
from bot.blocks.base import Audience, Block, OutgoingMessage
from bot.blocks.elements import context, notes, notices, section
from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.grey_line import grey_line, quote
from bot.blocks.sources import place_and_day, titled
from perplexity.costs import charged
from perplexity.filters import Filters, in_words
from perplexity.stand_in import stand_in
from perplexity.types import Query, SearchResults, Source

_SNIPPET = 350
_QUERY = 200
_FILTERS = 600


def results_messages(results: SearchResults, *, query: Query, audience: Audience) -> tuple[OutgoingMessage, ...]:
    """Render results in the provider's order, or say that there are none and what to try."""
    found = len(results.results)
    entries = [_entry(number, source) for number, source in enumerate(results.results, 1)]
    body = [_header(found, query), *entries] if found else [_nothing(query)]
    remarks = [context(note) for note in notes(results.notes)]
    grey = grey_line(
        results.provider,
        seconds=results.seconds,
        cost_usd=charged(results.cost_usd, results.failed),
        audience=audience,
        asked=query.text,
    )
    blocks = [*notices([stand_in(results)]), *body, *remarks, grey]
    return assembling.messages(blocks, summary="", quote=quote(query.text, audience))


def _header(found: int, query: Query) -> Block:
    shown = escape(shorten(one_line(query.text), _QUERY))
    return context(" · ".join([f"*{found} result{'' if found == 1 else 's'} for* {shown}", *said(query.filters)]))


def _nothing(query: Query) -> Block:
    narrowed = said(query.filters)
    advice = f"without the filters ({', '.join(narrowed)}) or in other words" if narrowed else "in other words"
    shown = escape(shorten(one_line(query.text), _QUERY))
    return section(f"No results for “{shown}”. Try it {advice}.")


def _entry(number: int, source: Source) -> Block:
    snippet = escape(shorten(one_line(source.snippet), _SNIPPET))
    return section("\n".join(filter(None, (f"*{number}.  {titled(source)}*", place_and_day(source), snippet))))


def said(filters: Filters) -> list[str]:
    """Return each filter in words, as mrkdwn."""
    return [shorten(escape(text), _FILTERS) for text in in_words(filters)]
