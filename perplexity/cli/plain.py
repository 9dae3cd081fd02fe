"""Answers and results as plain text, for pipes and files. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perplexity.citations import cite
from perplexity.cli.lines import heading, last_line
from perplexity.cli.printable import on_one_line, printable
from perplexity.footer import counted
from perplexity.quoting import told
from perplexity.types import Answer, AnswerKind, SearchResults, Source


def answer_text(answer: Answer, remarks: Sequence[str], above: Sequence[str] = ()) -> str:
    """Return the lines `above`, the answer as Markdown, its sources numbered as its markers are, and who served."""
    text, listed, others = shown(answer)
    sources = [f"{number}. {_titled(source)}" for number, source in enumerate(listed, 1)]
    more = [counted(others, "more source")] if others else []
    listing = "\n".join(["Sources:", *sources, *more]) if listed else ""
    parts = [*above, printable(text), listing, *remarks, last_line(answer)]
    return "\n\n".join(filter(None, parts)) + "\n"


def results_text(
    results: SearchResults, remarks: Sequence[str], above: Sequence[str] = (), *, nothing: str = "No pages were found."
) -> str:
    """Return the lines `above`, the pages, each with its number, title, address and what it says, and who served.

    `nothing` stands in for the pages if there are none.
    """
    pages = ["\n".join(_page(number, source)) for number, source in enumerate(results.results, 1)]
    return "\n\n".join([*above, *(pages or [nothing]), *remarks, last_line(results)]) + "\n"


def shown(answer: Answer) -> tuple[str, tuple[Source, ...], int]:
    """Return the text, its markers numbered by first use, the sources they stand for, and how many others there are.

    Without a marker all sources are listed. Passages keep their numbers, and all their sources are listed; a page's own
    `[1]` is ‹1›.
    """
    if answer.kind is AnswerKind.PASSAGES:
        return told(answer), answer.sources, 0
    cited = cite(answer.text, answer.sources)
    return (cited.text, cited.sources, len(cited.others)) if cited.sources else (cited.text, answer.sources, 0)


def _page(number: int, source: Source) -> Iterator[str]:
    yield f"{number}. {_titled(source)}"
    if snippet := on_one_line(source.snippet):
        yield f"   {snippet}"


def _titled(source: Source) -> str:
    return f"{' · '.join(filter(None, heading(source)))}\n   {on_one_line(source.url)}"
