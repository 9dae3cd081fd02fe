"""An answer or search results as a Markdown file, in which only the sources are links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from bot.blocks.answer import EMPTY
from bot.blocks.escaping import clean, one_line, shorten
from bot.blocks.words import utc_minute
from bot.listeners.clicks import markdown_file
from bot.model.message import MarkdownFile
from bot.model.question import Result, SearchPage
from bot.translation import N_, figures, money, ngettext
from bot.translation import gettext as _
from perplexity.citations import number_citations
from perplexity.deepdive.report import close_code, neutralize, neutralize_line, quote_passages, source_line
from perplexity.errors import Attempt, cost_with_failures
from perplexity.formatting import format_dollars, format_duration
from perplexity.notes import fallback_notice
from perplexity.types import Answer, Source, shorten_answer

MAX_HEADING = 200
_UNTITLED = N_("Answer")
"""The heading and the title of a file whose question is empty."""

_WORD_JOINER = "\u2060"


def result_file(result: Result, *, question: str, asked_at: datetime) -> MarkdownFile:
    """Return an answer or search results as a file: the question, the text, its sources, the provider and the time."""
    kind = "search" if isinstance(result, SearchPage) else "answer"
    blocks = _page_blocks(result) if isinstance(result, SearchPage) else _answer_blocks(shorten_answer(result))
    content = (
        "\n\n".join(
            filter(None, [*_question(question), *blocks, _("Asked on {time}").format(time=utc_minute(asked_at))])
        )
        + "\n"
    )
    return markdown_file(question, beginning=kind, title=one_line(question) or _(_UNTITLED), content=content)


def _question(question: str) -> Iterator[str]:
    line = neutralize_line(question) or _(_UNTITLED)
    heading = shorten(line, MAX_HEADING)
    # Number signs at the end would be parsed as the end of the heading.
    yield f"# {heading}{_WORD_JOINER if heading.endswith('#') else ''}"
    if heading != line:
        yield line


def _answer_blocks(answer: Answer) -> Iterator[str]:
    yield from _remarks([fallback_notice(answer), answer.as_of])
    cited = number_citations(clean(quote_passages(answer).text), answer.sources)
    listed, more = (cited.sources, len(cited.others)) if cited.sources else (cited.others, 0)
    numbered = tuple(replace(source, number=place, aliases=()) for place, source in enumerate(listed, 1))
    yield close_code(neutralize(cited.text, numbered).strip("\n")) or EMPTY
    yield from _source_list(numbered, more)
    cut = "" if answer.incomplete is None else _("This answer is incomplete: the model stopped early.")
    yield from _remarks([cut, *answer.notes])
    effort = answer.effort or answer.model or ""
    yield _facts(answer.provider, effort, answer.seconds, answer.usage.cost_usd, answer.failed)


def _page_blocks(page: SearchPage) -> Iterator[str]:
    results = page.results
    yield from _remarks([fallback_notice(results)])
    first = len(page.before) + 1
    for number, source in enumerate(results.results, first):
        excerpt = neutralize_line(source.snippet)
        yield "\n".join(filter(None, (source_line(replace(source, number=number)), f"   {excerpt}" if excerpt else "")))
    yield from _remarks(results.notes)
    yield _facts(results.provider, "", results.seconds, results.cost_usd, results.failed)


def _source_list(sources: Sequence[Source], more: int) -> Iterator[str]:
    if sources:
        rest = [ngettext("({count} more source read.)", "({count} more sources read.)", more)] if more else []
        yield "\n".join([_("Sources:"), "", *map(source_line, sources), *([""] if rest else []), *rest])


def _remarks(sentences: Iterable[str]) -> Iterator[str]:
    yield from (f"_{line}_" for sentence in sentences if (line := neutralize_line(sentence)))


def _facts(provider: str, effort: str, seconds: float, cost_usd: float | None, failed: Sequence[Attempt]) -> str:
    cost = money(format_dollars(cost_with_failures(cost_usd, failed)))
    duration = figures(format_duration(seconds)) if seconds else ""
    parts = (neutralize_line(provider), neutralize_line(effort), duration, cost)
    return " · ".join(filter(None, parts))
