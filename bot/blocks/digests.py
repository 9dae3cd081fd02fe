"""What a digest posts: its new stories, or that there are none; and what its owner is told when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from bot.blocks import assembling
from bot.blocks.base import Audience, Block, OutgoingMessage
from bot.blocks.elements import context, notes, notices, section
from bot.blocks.escaping import code, escape, shorten
from bot.blocks.fallback_text import fallback_text
from bot.blocks.grey_line import dollars, grey_line
from bot.blocks.news import moment, story_block
from bot.blocks.watching import named, title
from bot.digests.base import Digest, Verb, Why
from bot.digests.report import Report, since_in_words
from bot.digests.schedule import moment_in_words
from perplexity.news.telling import news_stand_in

PREFIX = "digest_"
"""The buttons' actions are this and a verb; their value is the digest's id."""

_LABELS = {Verb.RUN: "Run now", Verb.PAUSE: "Pause", Verb.DELETE: "Delete"}
_SURE = "Its posts stay. It cannot be brought back; you can set up another one."


def digest_messages(report: Report) -> tuple[OutgoingMessage, ...]:
    """Render what a run found; nothing where it has nothing to say."""
    if not report.speaks:
        return ()
    if not report.stories or report.summary is None:
        return (_nothing_new(report),)
    entries = [story_block(number, story) for number, story in enumerate(report.stories, 1)]
    remarks = [context(note) for note in notes(report.summary.notes)]
    grey = grey_line(
        report.summary.provider,
        seconds=report.summary.seconds,
        cost_usd=report.summary.cost_usd,
        also=_plan(report),
        audience=Audience.CHANNEL,
    )
    above = notices([news_stand_in(report.summary)])
    blocks = [*above, _header(report), *_late(report), *entries, *remarks, grey, buttons(report.digest.id)]
    return assembling.messages(blocks, summary="")


def failed_message(*, subject: str, digest_id: UUID, sentence: str, reference: str) -> OutgoingMessage:
    """Tell the owner that a run failed; `subject` is what the digest is about, `sentence` says why, both as text."""
    text = f"There is no digest “{title(subject)}” this time. {escape(shorten(sentence, 1_000))}"
    blocks = (section(text), _row(_button(Verb.RUN, digest_id)), context(f"Reference {code(reference)}"))
    return OutgoingMessage(text=f"{text} Reference {code(reference)}", blocks=blocks)


def stopped_message(digest: Digest, *, because: str, call: str) -> OutgoingMessage:
    """Tell the owner that a digest stopped itself; `because` is a sentence."""
    text = f"*{named(digest)} has stopped.* {escape(because)}"
    on = context(f"{code(f'{call} resume {digest.number}')} lets it go on.")
    return OutgoingMessage(text=text, blocks=(section(text), on))


def buttons(digest_id: UUID) -> Block:
    """Return the row of what the owner can do with the digest."""
    return _row(*(_button(verb, digest_id) for verb in _LABELS))


def _header(report: Report) -> Block:
    count = len(report.stories)
    new = f"{count} new stor{'y' if count == 1 else 'ies'}"
    told = " ".join(filter(None, (new, _since(report))))
    return context(f"*{title(report.digest.title)}* · {told} · as of {moment(report.now)}")


def _nothing_new(report: Report) -> OutgoingMessage:
    line = f"*{title(report.digest.title)}* · {' '.join(filter(None, ('Nothing new', _since(report))))}."
    grey = context(escape(" · ".join(filter(None, (*_plan(report), dollars(report.cost_usd))))))
    blocks = (section(line), *_late(report), grey, buttons(report.digest.id))
    return OutgoingMessage(text=fallback_text(blocks), blocks=blocks)


def _since(report: Report) -> str:
    if report.since is None:
        return ""
    return since_in_words(report.since, now=report.now, tz=report.digest.wish.schedule.tz)


def _late(report: Report) -> Iterator[Block]:
    if report.why is Why.LATE:
        tz = report.digest.wish.schedule.tz
        yield context(f"This is late: it was due on {moment_in_words(report.slot, tz=tz)} ({escape(tz.key)}).")


def _plan(report: Report) -> Iterator[str]:
    """Yield when the digest comes by whose clock, and where it still does, when next; not escaped yet."""
    schedule = report.digest.wish.schedule
    yield f"digest {report.digest.number}"
    yield schedule.words_with_zone
    if report.digest.next_at is not None:
        yield f"next on {moment_in_words(report.digest.next_at, tz=schedule.tz)}"


def _row(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def _button(verb: Verb, digest_id: UUID) -> Block:
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": _LABELS[verb]},
        "action_id": f"{PREFIX}{verb}",
        "value": str(digest_id),
    }
    return button | {"style": "danger", "confirm": _confirm()} if verb is Verb.DELETE else button


def _confirm() -> Block:
    """Return the question before a deletion.

    https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
    """
    texts = {"title": "Delete this digest?", "text": _SURE, "confirm": "Delete", "deny": "Keep"}
    return {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
