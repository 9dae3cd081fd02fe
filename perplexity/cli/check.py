"""`check`: the claims of a text, each with a verdict and with quotations from web pages, if there are any."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import UTC, datetime

from perplexity.claims.check import check_claims
from perplexity.claims.propose import MAX_CLAIMS, MAX_MESSAGE, propose_claims
from perplexity.claims.types import CheckedClaim, CheckedClaims
from perplexity.cli.base import CliCommand, CommandFailed, ProcessIO
from perplexity.cli.options import add_options, add_text, parse_filters, parse_providers, read_input
from perplexity.cli.output import claim_lines, format_raw
from perplexity.cli.progress import ProgressLine
from perplexity.cli.services import missing_key_variable, open_chains
from perplexity.cli.writing import open_screen, write_reply
from perplexity.errors import total_cost
from perplexity.filters import Filters
from perplexity.formatting import format_dollars, format_duration, pluralize
from perplexity.notes import fallback_sentence
from perplexity.sanitize import one_line, printable_line
from perplexity.types import Answer, Source

NOTHING_TO_CHECK = "This text states nothing that could be checked."
VERBATIM = "Quotations are word for word from the pages’ excerpts."
MAY_BE_MORE = f"Only {MAX_CLAIMS} claims and {MAX_MESSAGE:,} characters of a text are read: there may be more."
OWN_SENTENCES = "No model proposed the claims: they are sentences of the text."


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text(parser, "text", "what to check")
    add_options(parser)


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """Check the claims of a text and write them. Raises UsageError, CommandFailed or PerplexityError."""
    filters, order = parse_filters(parsed), parse_providers(parsed)
    text = read_input(parsed.text, process.stdin, expected="text")
    checked = process.signals.run(_check(text, filters, process, order))
    missing = missing_key_variable(process, order)
    by = checked.judged_by or checked.searched_by
    first = [fallback_sentence(checked.failed, f"this was checked with {by}", unset=missing)] if by else []
    first = [printable_line(line) for line in first if line]
    quoted = [VERBATIM] if any(one.quote for one in checked.claims) else []
    remarks = [printable_line(note) for note in (*quoted, *checked.notes)]
    if (screen := open_screen(parsed, process, first)) is not None:
        screen.print_claims(checked.claims, remarks, _footer(checked))
        return
    plain = "\n\n".join([*first, *_paragraphs(checked), *remarks, _footer(checked)]) + "\n"
    write_reply(checked, parsed, process, plain=lambda: plain, raw=_raw(checked, first))


async def _check(text: str, filters: Filters, process: ProcessIO, order: tuple[str, ...]) -> CheckedClaims:
    progress, done = ProgressLine.for_process(process), set[int]()
    async with open_chains(process, order) as (search, model), progress.running("Looking for claims"):
        proposed = await propose_claims(text, model=model)
        if not proposed.claims:
            raise CommandFailed(NOTHING_TO_CHECK)
        of = pluralize(len(proposed.claims), "claim")
        progress.show(f"Checking {of}")

        def on_checked(place: int, checked: CheckedClaim) -> None:
            done.add(place)
            progress.show(f"Checked {len(done)} of {of}")

        today = datetime.now(UTC).date()
        checked = await check_claims(
            proposed.claims, search=search, model=model, today=today, filters=filters, on_checked=on_checked
        )
    own = ((OWN_SENTENCES, not proposed.from_model), (MAY_BE_MORE, proposed.may_be_more))
    return replace(
        checked,
        notes=(*(note for note, is_due in own if is_due), *checked.notes),
        cost_usd=total_cost([proposed.cost_usd, checked.cost_usd]),
    )


def _paragraphs(checked: CheckedClaims) -> list[str]:
    """Return a paragraph for each claim."""
    found = []
    for number, one in enumerate(checked.claims, 1):
        verdict, claim, *rest = claim_lines(one)
        found.append("\n   ".join([f"{number}. {verdict}: {claim}", *rest]))
    return found


def _footer(checked: CheckedClaims) -> str:
    parts = (checked.searched_by, checked.judged_by, format_duration(checked.seconds), format_dollars(checked.cost_usd))
    return printable_line(" · ".join(filter(None, parts)))


def _raw(checked: CheckedClaims, first: list[str]) -> str:
    """Return the claims as text for a model, with numbered sources."""
    sources: dict[str, Source] = {}
    lines = []
    for one in checked.claims:
        said = f"- {one.verdict.value}: {one_line(one.claim)}"
        for quote, page in one.passages:
            source = sources.setdefault(page.url, replace(page, number=len(sources) + 1))
            said += f" “{one_line(quote)}” [{source.number}]"
        lines.append(f"{said} ({one.reason})" if one.reason else said)
    answer = Answer(text="\n".join(lines), sources=tuple(sources.values()), provider=checked.judged_by)
    return format_raw(answer, first)


CHECK = CliCommand(name="check", summary="check the claims of a text against quotations from the web", add=add, run=run)
