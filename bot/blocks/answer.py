"""An answer as messages: the text after what changes how it is to be read, then its sources, then how it came about."""

from __future__ import annotations

from collections.abc import Iterator

from bot.blocks import assembling
from bot.blocks.base import Audience, Block, OutgoingMessage
from bot.blocks.elements import context, markdown, notes, notices, section
from bot.blocks.escaping import clean, escape, one_line, shorten
from bot.blocks.grey_line import grey_line, quote
from bot.blocks.marks import hold
from bot.blocks.paging import pages
from bot.blocks.passages import notice, passage_blocks
from bot.blocks.sources import address_of, source_blocks
from perplexity.citations import cite
from perplexity.costs import charged
from perplexity.footer import counted
from perplexity.lengths import shortened
from perplexity.stand_in import stand_in
from perplexity.types import Answer, AnswerKind

EMPTY = "The answer came back empty."
UNSOURCED = "This answer has no sources, so nothing in it can be checked here."


def answer_messages(answer: Answer, *, audience: Audience, asked: str = "") -> tuple[OutgoingMessage, ...]:
    """Render an answer as one message, or as several numbered ones; the last has the sources and the grey line.

    `asked` is the question, which a private answer quotes.
    """
    answer = shortened(answer)
    passages = answer.kind is AnswerKind.PASSAGES and bool(answer.passages)
    if passages:
        body, tail = passage_blocks(answer)
        orphans = 0
    else:
        body, tail, orphans = _written(answer)
    remarks = [context(note) for note in _remarks(answer)]
    above = notices([notice(answer) if passages else stand_in(answer), answer.as_of])
    blocks = [*above, *body, *tail, *remarks, _grey(answer, orphans, audience, asked)]
    summary = counted(len(answer.sources), "source")
    return assembling.messages(blocks, summary=summary, quote=quote(asked, audience))


def _written(answer: Answer) -> tuple[list[Block], list[Block], int]:
    cited = cite(clean(answer.text), answer.sources)
    parts = pages(hold(cited), [address_of(source) for source in cited.sources])
    body = [markdown(part) for part in parts] or [section(EMPTY)]
    return body, source_blocks(cited.sources, cited.others), cited.orphans


def _remarks(answer: Answer) -> Iterator[str]:
    if answer.incomplete is not None:
        reason = escape(shorten(one_line(answer.incomplete), 200))
        yield f":warning: This answer is incomplete: the model stopped early{f' ({reason})' if reason else ''}."
    if not answer.sources and answer.text.strip():
        yield UNSOURCED
    yield from notes(answer.notes)


def _grey(answer: Answer, orphans: int, audience: Audience, asked: str) -> Block:
    removed = f"{counted(orphans, 'reference')} without a source removed" if orphans else ""
    return grey_line(
        answer.provider,
        effort=answer.effort or answer.model,
        seconds=answer.seconds,
        cost_usd=charged(answer.usage.cost_usd, answer.failed),
        also=(removed,),
        audience=audience,
        asked=asked,
    )
