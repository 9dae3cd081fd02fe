"""Recorded examples for a playground without a key: four prompts whose answers are replayed and labelled as recorded.

A recording has the service's own events with their times, which are processed like those of any answer. The recordings
are not a provider of the chain, so they answer no other question, and they are not offered with a key or in a real
Slack.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bot.blocks.elements import context
from bot.commands.base import Command, CommandContext, Progress, Reply, Stats
from bot.errors import NoKey
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import RECORDED, AnswerButtons, SearchPage
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.errors import AllProvidersFailed, ConnectionFailed, NothingFound, RequestKind, StreamTruncated, TimedOut
from perplexity.fallback import CIRCUIT_OPEN
from perplexity.providers.base import Provider
from perplexity.threads import run_in_thread
from perplexity.types import JSON, Answer, Done, Event, Query, Question, SearchResults
from perplexity.wire.agent import PROVIDER, Agent
from perplexity.x_posts.grok import XaiWire
from perplexity.x_posts.parsing import validate_response
from perplexity.x_posts.types import PostSummary

RECORDED_LABEL = N_("Recorded example, not a live answer")

OFFLINE = N_(
    "I’m offline. Ask “Why is the sky blue?” for a recorded example. "
    "For live answers, set `PERPLEXITY_API_KEY` in the file `.env` and restart me."
)

RECORDINGS = Path(__file__).parent / "recordings"

Pause = Callable[[float], Awaitable[None]]
"""A function that waits for some seconds."""

_UNREACHABLE = frozenset({ConnectionFailed.__name__, TimedOut.__name__, CIRCUIT_OPEN})
"""The names of the error classes that show that a service could not be reached."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One prompt: the label of its button, and the command and the text that it sends.

    `recording` is the name of the answer's file; it is empty for a deep dive, which has a file for each stage. `at` is
    the time of the recording.
    """

    label: str
    command: str
    text: str
    recording: str = ""
    at: datetime


EXAMPLES = tuple(
    Example(**one | {"at": datetime.fromisoformat(one["at"])})
    for one in json.loads((RECORDINGS / "examples.json").read_text(encoding="utf-8"))
)


def command_line(example: Example, *, prefix: str = "") -> str:
    """Return the slash command that a person would type for an example; command names begin with `prefix`."""
    return f"/{prefix}{example.command} {example.text}"


def with_examples(
    commands: Sequence[Command[Any, Any]], *, plain: Sequence[Command[Any, Any]], pause: Pause = asyncio.sleep
) -> tuple[Command[Any, Any], ...]:
    """Return the commands, changed to replay the examples, and to ask for a key if no service can be reached.

    The `plain` commands answer the examples, since they need no store or other part of the process.
    """
    recorded = {command.name: command for command in plain}
    return tuple(_with_examples(command, recorded.get(command.name, command), pause=pause) for command in commands)


def _with_examples(command: Command[Any, Any], recorded: Command[Any, Any], *, pause: Pause) -> Command[Any, Any]:
    own = [(command.parse(example.text), example) for example in EXAMPLES if example.command == command.name]

    def meant(request: Any) -> Example | None:
        same = (example for asked, example in own if _plain(replace(request, public=asked.public)) == _plain(asked))
        return next(same, None)

    async def answer(request: Any, context: CommandContext) -> Any:
        example = meant(request) if own else None
        if example is not None:
            return await recorded.answer(request, _replay_context(example, context, pause=pause))
        try:
            return await command.answer(request, context)
        except AllProvidersFailed as error:
            if all(attempt.error_class in _UNREACHABLE for attempt in error.attempts):
                raise NoKey(error.attempts, sentence=_(OFFLINE)) from error
            raise

    def render(result: Any, request: Any, audience: Audience) -> Reply:
        reply = command.render(result, request, audience)
        if not own or meant(request) is None:
            return reply
        return replace(reply, messages=tuple(map(_label, reply.messages)), stats=Stats(provider=RECORDED))

    def buttons(result: Any, request: Any) -> AnswerButtons | None:
        below = command.buttons(result, request) if command.buttons else None
        return below and replace(below, deeper=False)  # A recording cannot think longer.

    def keep(result: Any) -> object:
        return _mark(command.keep(result))

    # A recorded answer is shown as a whole, since its label is above its text.
    ending, below = (None if own else command.ending), (buttons if command.buttons else None)
    return replace(command, answer=answer, render=render, ending=ending, buttons=below, keep=keep)


def _plain(value: Any) -> Any:
    """Return a request's values for comparison, each text as a list of words without case and punctuation."""
    if isinstance(value, str):
        return re.findall(r"\w+", value.casefold())
    if is_dataclass(value):
        return [_plain(getattr(value, one.name)) for one in fields(value) if one.compare]
    return [*map(_plain, value)] if isinstance(value, (tuple, list)) else value


def _replay_context(example: Example, context: CommandContext, *, pause: Pause) -> CommandContext:
    """Return the context, changed to use the recording instead of the services, and its time as the current time."""
    recorded = partial(RecordedProvider, pause=pause)
    return replace(
        context,
        services=replace(
            context.services,
            provider=recorded(recording=example.recording),
            deepdives=DeepDiveRunner(
                facts=recorded(recording="situation"),
                synthesis=recorded(recording="analysis"),
                posts=RecordedPostSource(recording="pulse", pause=pause),
                persona=context.services.deepdives.persona,
                now=lambda: example.at,
            ),
        ),
        now=example.at.timestamp,
        progress=_LabelledProgress(context.progress),
    )


def _label(message: OutgoingMessage) -> OutgoingMessage:
    """Return the message with the label at the start of its blocks and its text."""
    label = _(RECORDED_LABEL)
    return replace(message, text=f"{label}: {message.text}", blocks=(context(f"*{label}*"), *message.blocks))


def _mark(kept: object) -> object:
    """Return the data to save; add the label to a recorded answer or page, so that each copy shows it."""
    label = _(RECORDED_LABEL)
    match kept:
        case Answer(provider=provider) if provider == RECORDED:
            return replace(kept, stand_in=label)
        case SearchPage(results=SearchResults(provider=provider) as results) if provider == RECORDED:
            return replace(kept, results=replace(results, notes=(label, *results.notes)))
    return kept


@dataclass(frozen=True)
class _LabelledProgress:
    """Shows labelled messages through `inner`."""

    inner: Progress

    @property
    def editable(self) -> bool:
        """Whether the message can be changed often."""
        return self.inner.editable

    @property
    def milestones_shown(self) -> int:
        """How many milestones were shown before."""
        return self.inner.milestones_shown

    @property
    def response_url_uses(self) -> int:
        """The number of uses of the response_url so far."""
        return self.inner.response_url_uses

    async def update(self, message: OutgoingMessage, *, milestone: bool) -> bool | None:
        """Show the message with the label. Raises RequestCancelled."""
        return await self.inner.update(_label(message), milestone=milestone)


@dataclass(frozen=True, kw_only=True)
class RecordedProvider(Provider):
    """A provider that answers every question with one recording, at the recorded pace."""

    recording: str
    pause: Pause = asyncio.sleep
    name: str = PROVIDER
    capabilities: frozenset[RequestKind] = frozenset({"answer"})

    async def search(self, query: Query) -> SearchResults:
        """Raise NothingFound: no search is recorded."""
        raise NothingFound("no search is recorded", provider=self.name)

    async def answer(self, question: Question) -> Answer:
        """Return the recorded answer."""
        return await anext(event.answer async for event in self.stream(question) if isinstance(event, Done))

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the recorded answer's events at their times. Raises StreamTruncated for a recording without an end."""
        reader = Agent().reader()
        async for at, wired in _replay(self.recording, pause=self.pause):
            for event in reader.feed(wired):
                if isinstance(event, Done):
                    usage = replace(event.answer.usage, cost_usd=None)
                    recorded = replace(event.answer, provider=RECORDED, model=None, queries=(), usage=usage)
                    yield Done(answer=replace(recorded, seconds=at))
                    return
                yield event
        raise StreamTruncated("the recording has no end", provider=self.name)


@dataclass(frozen=True, kw_only=True)
class RecordedPostSource:
    """A source of posts that replays one recording."""

    recording: str
    pause: Pause = asyncio.sleep
    name: str = XaiWire.name

    async def summarize(self, topic: str, *, since: date, until: date, seconds: float) -> PostSummary:
        """Return the recorded posts."""
        return await anext(
            replace(validate_response(XaiWire().read(body)), seconds=at, cost_usd=None)
            async for at, body in _replay(self.recording, pause=self.pause)
        )


async def _replay(recording: str, *, pause: Pause) -> AsyncGenerator[tuple[float, Mapping[str, JSON]], None]:
    """Yield the recorded events at the recorded pace, each with the seconds since the beginning."""
    passed = 0.0
    text = await run_in_thread((RECORDINGS / f"{recording}.jsonl").read_text, encoding="utf-8")
    for one in text.splitlines():
        came = json.loads(one)
        await pause(came["at"] - passed)
        passed = came["at"]
        yield passed, came["event"]
