"""Replies as plain text or JSON, and the notices, notes and footers around them, safe for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date

from perplexity.citations import format_result, number_citations
from perplexity.claims.types import CheckedClaim, CheckedClaims, Verdict
from perplexity.deepdive.report import report_title
from perplexity.deepdive.types import DeepDive
from perplexity.errors import cost_with_failures
from perplexity.figures import check_figures
from perplexity.formatting import format_dollars, format_duration, format_iso_date, pluralize
from perplexity.news.summary import NewsSummary
from perplexity.notes import fallback_notice
from perplexity.sanitize import answer_text, escape_json, printable, printable_line
from perplexity.types import Answer, AnswerKind, SearchResults, Source
from perplexity.urls import hostname
from perplexity.wire.json import encode

Reply = Answer | SearchResults | NewsSummary | DeepDive | CheckedClaims


def as_json(reply: Reply) -> str:
    """Return an indented JSON object with every field of the reply; days and moments are in ISO 8601.

    `cost_usd` is the sum of all charges, including those of failed attempts; null if none is known.
    """
    title = {"title": report_title(reply.topic)} if isinstance(reply, DeepDive) else {}
    fields = reply.as_json() if isinstance(reply, DeepDive | CheckedClaims) else asdict(reply)
    # The costs of the other replies already include those of failed attempts.
    failed = reply.failed if isinstance(reply, Answer | SearchResults) else ()
    document = title | fields | {"cost_usd": cost_with_failures(reply.cost_usd, failed)}
    return escape_json(encode(document, indent=2, default=_iso)) + "\n"


def _iso(moment: date) -> str:
    return moment.isoformat()


PASSAGES = "No model wrote this: these are passages from the pages, word for word."
"""The note for an answer from a provider that can only search."""

UNSOURCED = "This answer has no sources, so you can’t check it here."


def header(reply: Answer | SearchResults, *, unset: str = "") -> list[str]:
    """Return the notices above a reply.

    `unset` is the variable for the key of the first provider, if that key is missing; otherwise it is empty.
    """
    as_of = reply.as_of if isinstance(reply, Answer) else ""
    return [printable_line(line) for line in (fallback_notice(reply, unset=unset), as_of) if line]


def notes(reply: Answer | SearchResults, *, unset: str = "") -> list[str]:
    """Return the notes below a reply."""
    passages = isinstance(reply, Answer) and reply.kind is AnswerKind.PASSAGES and not (reply.failed or unset)
    cut = [f"The answer is incomplete ({reply.incomplete})."] if isinstance(reply, Answer) and reply.incomplete else []
    unsourced = [UNSOURCED] if isinstance(reply, Answer) and not reply.sources and reply.text.strip() else []
    return [printable_line(line) for line in (*([PASSAGES] if passages else []), *cut, *unsourced, *reply.notes)]


def footer(reply: Answer | SearchResults) -> str:
    """Return the footer: provider, effort or model, seconds, total cost, removed references, figures not found."""
    cost = format_dollars(cost_with_failures(reply.cost_usd, reply.failed))
    parts = [reply.provider, format_duration(reply.seconds), cost]
    if isinstance(reply, Answer):
        parts[1:1] = [reply.effort or reply.model or ""]
        parts += _doubts(reply)
    return printable_line(" · ".join(filter(None, parts)))


def _doubts(answer: Answer) -> tuple[str, ...]:
    """Return notes on removed references, on figures that are in no excerpt, and on unchecked figures."""
    if answer.kind is not AnswerKind.MODEL:
        return ()
    cited = number_citations(answer.text, answer.sources)
    sentences = check_figures(cited)
    missing = sum(len(sentence.not_found) for sentence in sentences)
    unchecked = not all(sentence.is_checked for sentence in sentences)
    return (
        f"{pluralize(cited.dangling, 'reference')} without a source removed" if cited.dangling else "",
        f"{pluralize(missing, 'figure')} not in the excerpts" if missing else "",
        "figures checked in English and German only" if unchecked else "",
    )


def source_heading(source: Source) -> tuple[str, str]:
    """Return a source's title, and its site and day if they are known."""
    title = printable_line(source.title) or hostname(source.url) or printable_line(source.url) or "Untitled"
    return title, " · ".join(filter(None, (hostname(source.url), format_iso_date(source.date))))


def format_answer(answer: Answer, remarks: Sequence[str], above: Sequence[str] = ()) -> str:
    """Return the lines `above`, the answer as Markdown, its numbered sources, the remarks and the footer."""
    text, listed, others = numbered_text(answer)
    sources = [f"{number}. {_source_lines(source)}" for number, source in enumerate(listed, 1)]
    more = [pluralize(others, "more source")] if others else []
    listing = "\n".join(["Sources:", *sources, *more]) if listed else ""
    parts = [*above, printable(text), listing, *remarks, footer(answer)]
    return "\n\n".join(filter(None, parts)) + "\n"


def format_raw(answer: Answer, above: Sequence[str] = (), below: str = "") -> str:
    """Return the lines `above`, the answer as tools return it to models, and the line `below`."""
    return "\n\n".join(filter(None, (" ".join(above), printable(format_result(answer)), below))) + "\n"


def format_results(
    results: SearchResults, remarks: Sequence[str], above: Sequence[str] = (), *, nothing: str = "No pages were found."
) -> str:
    """Return the lines `above`, the numbered pages with title, address and excerpt, the remarks and the footer.

    `nothing` replaces the pages if there are none.
    """
    pages = ["\n".join(_result_lines(number, source)) for number, source in enumerate(results.results, 1)]
    return "\n\n".join([*above, *(pages or [nothing]), *remarks, footer(results)]) + "\n"


def numbered_text(answer: Answer) -> tuple[str, tuple[Source, ...], int]:
    """Return the text with markers numbered by first use, the cited sources, and the number of the other sources.

    If the text has no markers, all sources are returned. Passages keep their numbers, and all their sources are
    returned; a `[1]` in the text of a page becomes ‹1›.
    """
    if answer.kind is AnswerKind.PASSAGES:
        return answer_text(answer), answer.sources, 0
    cited = number_citations(answer.text, answer.sources)
    return (cited.text, cited.sources, len(cited.others)) if cited.sources else (cited.text, answer.sources, 0)


def _result_lines(number: int, source: Source) -> Iterator[str]:
    yield f"{number}. {_source_lines(source)}"
    if snippet := printable_line(source.snippet):
        yield f"   {snippet}"


def _source_lines(source: Source) -> str:
    return f"{' · '.join(filter(None, source_heading(source)))}\n   {printable_line(source.url)}"


_VERDICTS = {
    Verdict.SUPPORTED: "Supported",
    Verdict.CONTRADICTED: "Contradicted",
    Verdict.DISAGREE: "The pages disagree",
    Verdict.UNCLEAR: "See what the page says",
}


def claim_lines(checked: CheckedClaim) -> list[str]:
    """Return lines: a claim's verdict, the claim, the reason if there is one, and quotations with their sources."""
    lines = [_VERDICTS[checked.verdict] if checked.passages else "Unclear", printable_line(checked.claim)]
    if checked.reason is not None:
        lines.append(printable_line(checked.reason))
    for quote, source in checked.passages:
        heading = " · ".join(filter(None, source_heading(source)))
        lines += [f"“{printable_line(quote)}”", heading, printable_line(source.url)]
    return lines
