"""`/deepdive`: the facts of a topic, what people say about it, and an analysis of both."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

from bot.blocks.deepdive import begun_message, deepdive_messages, progress_message
from bot.commands.base import Command, Work
from bot.commands.filters import PUBLIC, audience, usage_errors
from bot.commands.parsing import Grammar, parse_options
from bot.errors import UsageError
from bot.model.message import Audience, OutgoingMessage
from perplexity.deepdive.pipeline import Diver
from perplexity.deepdive.types import DeepDive, Stage, Update
from perplexity.notes import nothing_found
from perplexity.validation import parse_query

GRAMMAR = Grammar(
    options=(PUBLIC,),
    elsewhere={
        "--recency": "`--recency` works for `/ask`, `/search` and `/news`: a deep dive looks for the latest there is.",
        "--reasoning": "`--reasoning` works for `/ask` only: a deep dive always takes its time.",
        "--model": "`--model` works for `/ask` only: a deep dive has its own models.",
        "--effort": "`--effort` works for `/ask` only: a deep dive always takes its time.",
    },
)

PACE_SECONDS = 3.0
"""How often the progress is shown at most: https://docs.slack.dev/ai/developing-ai-apps"""


@dataclass(frozen=True, kw_only=True)
class DeepDiveRequest:
    """What to look into, and whether everyone in the channel sees it."""

    topic: str
    public: bool


@dataclass(kw_only=True)
class Board:
    """The latest update of each stage; `changed` is set whenever there is a new one, and when the dive is over."""

    stages: dict[Stage, Update] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, update: Update) -> None:
        """Record an update of the dive."""
        self.stages[update.stage] = update
        self.changed.set()

    @property
    def milestones(self) -> int:
        """How many messages were worth one of a response_url's few uses so far: the start, and each stage that ended.

        The end of the analysis is not one: the report shows it.
        """
        ended = (update.finding is not None for stage, update in self.stages.items() if stage is not Stage.ANALYSIS)
        return 1 + sum(ended)


@dataclass(frozen=True, kw_only=True)
class Dived:
    """The report, and the id by which it can be had as a file; None where it cannot."""

    report: DeepDive
    file: str | None


def parse(text: str) -> DeepDiveRequest:
    """Read what follows `/deepdive`. Raises UsageError."""
    arguments = parse_options(text, GRAMMAR)
    if not arguments.text:
        raise UsageError("Add a topic after the options.")
    with usage_errors("a topic"):
        topic = parse_query(arguments.text)
    return DeepDiveRequest(topic=topic, public=PUBLIC.name in arguments.given)


async def answer(request: DeepDiveRequest, work: Work) -> Dived:
    """Dive, and show how far it has come. Raises PerplexityError; Withdrawn when it is not wanted any more."""
    diver = work.diver or Diver(facts=work.provider, synthesis=work.provider)
    board = Board()
    diving = asyncio.create_task(diver.dive(request.topic, store=work.stages, on_stage=board.note))
    diving.add_done_callback(lambda _: board.changed.set())
    try:
        await _watch(diving, board, request, work)
    finally:
        diving.cancel()
        await asyncio.gather(diving, return_exceptions=True)
    return Dived(report=diving.result(), file=str(work.question) if await work.sends_files() else None)


async def _watch(diving: asyncio.Task[DeepDive], board: Board, request: DeepDiveRequest, work: Work) -> None:
    """Show every change at once, and the seconds at `PACE_SECONDS`, until the dive is over. Raises Withdrawn."""
    shown = work.progress.shown
    await asyncio.sleep(0)
    while not diving.done():
        board.changed.clear()
        clock = monotonic() if work.progress.live else None
        reached = board.milestones
        message = progress_message(
            request.topic,
            board.stages,
            question=str(work.question),
            clock=clock,
            now=datetime.fromtimestamp(work.now(), UTC),
        )
        if await work.progress.show(message, milestone=reached > shown):
            shown = max(shown, reached)
        with suppress(TimeoutError):
            async with asyncio.timeout(PACE_SECONDS):
                await board.changed.wait()


def nothing(request: DeepDiveRequest) -> str:
    """Return what to say when nothing was found."""
    return nothing_found(request.topic)


def who_sees(request: DeepDiveRequest) -> Audience:
    """Return who will see the report."""
    return audience(public=request.public)


def asked(request: DeepDiveRequest) -> str:
    """Return the topic."""
    return request.topic


def placeholder(request: DeepDiveRequest, question: str, public: bool) -> OutgoingMessage:
    """Render what is shown before the dive begins."""
    return begun_message(request.topic, question=question, public=public)


def render(reply: Dived, _: DeepDiveRequest, seen_by: Audience) -> tuple[OutgoingMessage, ...]:
    """Render the report."""
    return deepdive_messages(reply.report, audience=seen_by, file=reply.file)


DEEPDIVE = Command(
    name="deepdive",
    summary="Dig into a topic: the facts, what people say, and an analysis of both",
    usage="[--public] TOPIC",
    options=GRAMMAR.options,
    examples=(
        ("heat pumps in Germany", "a report in three parts, in a few minutes"),
        ("--public the four-day week", "shown to everyone here"),
    ),
    parse=parse,
    audience=who_sees,
    answer=answer,
    render=render,
    nothing_found=nothing,
    asked=asked,
    placeholder=placeholder,
)
