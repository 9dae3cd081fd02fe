"""How long an answer may be written: to its first text, between two texts, and in all, by a virtual clock."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from perplexity.client import PerplexityClient
from perplexity.errors import AllProvidersFailed, PerplexityError, TimedOut
from perplexity.fallback import Fallback
from perplexity.providers.perplexity import PerplexityProvider
from perplexity.types import Event, Message, Question, TextDelta
from tests.fakes.answers import beginning, deltas, end
from tests.fakes.perplexity import KEY, FakePerplexity, stream_reply
from tests.fakes.service import Fault
from tests.fakes.time import run_in_virtual_time

QUESTION = Question(messages=(Message(role="user", content="why"),))
TEXT = "Words of an answer. " * 60
WRITTEN = [*beginning(), *deltas(TEXT), end(TEXT)]
"""Its first text is the fourth event, and its end the sixty-fourth."""

Outcome = tuple[str | None, bool, int]


async def ask(kind: str, reply: Fault, question: Question) -> Outcome:
    """Return why a question failed, whether text came, and the full seconds it took."""
    clock, events = asyncio.get_running_loop().time, list[Event]()
    async with (
        FakePerplexity() as perplexity,
        PerplexityProvider(PerplexityClient(KEY, base_url=perplexity.base_url, clock=clock)) as provider,
    ):
        chain, failed = Fallback([provider], clock=clock), None
        perplexity.script("/v1/agent", reply)
        began = clock()
        try:
            if kind == "stream":
                async for event in chain.stream(question):
                    events.append(event)
            else:
                shown = replace(question, on_event=events.append, text_shown=lambda: any(map(is_text, events)))
                await chain.answer(shown if kind == "shown" else question)
        except PerplexityError as error:
            tried = error.attempts if isinstance(error, AllProvidersFailed) else ()
            failed = tried[-1].error_class if tried else type(error).__name__
        return failed, any(map(is_text, events)), int(clock() - began)


def is_text(event: Event) -> bool:
    return isinstance(event, TextDelta)


@pytest.mark.parametrize("kind", ["shown", "stream"])
@pytest.mark.parametrize(
    ("reply", "question", "expected"),
    [
        pytest.param(stream_reply(*WRITTEN, pause=4.0), QUESTION, (None, True, 252), id="longer-than-the-chain-s"),
        pytest.param(stream_reply(*WRITTEN, pause=7.0), QUESTION, ("TimedOut", True, 300), id="in-all"),
        pytest.param(stream_reply(*WRITTEN, pause=11.0), QUESTION, ("TimedOut", False, 30), id="first-text"),
        pytest.param(stream_reply(*WRITTEN[:6], hang=True), QUESTION, ("TimedOut", True, 30), id="between-two"),
        pytest.param(
            stream_reply(*WRITTEN, pause=4.0), replace(QUESTION, seconds=20.0), ("TimedOut", True, 20), id="own-limit"
        ),
        pytest.param(
            stream_reply(*WRITTEN, pause=4.0),
            replace(QUESTION, seconds=20.0, total_seconds=60.0),
            ("TimedOut", True, 60),
            id="own-limits",
        ),
    ],
)
def test_a_writing_answer_goes_on(kind: str, reply: Fault, question: Question, expected: Outcome) -> None:
    failed, has_text, seconds = run_in_virtual_time(ask(kind, reply, question))

    assert (failed, has_text) == expected[:2]
    assert expected[2] <= seconds <= expected[2] + 1


def test_an_answer_that_no_one_watches_has_one_limit() -> None:
    reply = stream_reply(*WRITTEN, pause=4.0)

    failed, _, seconds = run_in_virtual_time(ask("whole", reply, replace(QUESTION, reasoning=True)))

    assert (failed, 60 <= seconds <= 90) == (TimedOut.__name__, True)
