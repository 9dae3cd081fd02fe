"""The agent: a model, tools and limits in, a sourced answer out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from pydantic_ai import Agent, RunContext, capture_run_messages
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from perplexity.agent.conversation import history
from perplexity.agent.faults import explained
from perplexity.agent.notebook import Notebook
from perplexity.agent.outcome import answered, model_cost, stopped
from perplexity.agent.prompt import LAST, instructions
from perplexity.agent.toolset import adapted
from perplexity.attempts import log_attempt
from perplexity.computing import computed
from perplexity.costs import unpriced
from perplexity.domains import keep_answer
from perplexity.errors import PerplexityError, TimedOut
from perplexity.filters import validate
from perplexity.queries import checked_messages
from perplexity.retry import Deadline
from perplexity.tools.base import Tool
from perplexity.types import Answer, Attempt, Question

log: logging.Logger = logging.getLogger(__name__)

NAME = "Agent"

Toolbox = Callable[[Question], Sequence[Tool]]
"""The tools for one question, so that they may keep to its filters."""


@dataclass(frozen=True, kw_only=True)
class AgentLimits:
    """How far one run may go: model calls, tool calls, and seconds for everything together.

    `retries` is how often a call of the model is made again after an error that may pass.
    """

    steps: int = 6
    calls: int = 16
    seconds: float = 120.0
    retries: int = 2


class WebAgent:
    """Answers with a model that calls tools.

    `model` is pydantic-ai's, such as `model_at` makes; it is closed with the agent. `on_attempt` hears how each run
    ended, whose cost is the model's alone; without it each is a line of the log. `clock` only goes forward, `now` gives
    seconds since 1970.
    """

    name = NAME

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox,
        *,
        limits: AgentLimits | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._limits = limits or AgentLimits()
        self._on_attempt = on_attempt or log_attempt
        self._clock, self._now = clock, now
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._model)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    async def answer(self, question: Question) -> Answer:
        """Return the answer, or, of a run that failed or came to its limits, passages of what it had found by then.

        The question's `filters` are for the toolbox to pass on; pages outside their domains are left out here. Its
        `model` and `reasoning` are ignored. Raises any PerplexityError if nothing was found: TimedOut or RunFailed for
        a limit.
        """
        started, notebook = self._clock(), Notebook()
        filters = validate(question.filters)
        question = replace(question, messages=checked_messages(question.messages), filters=filters)
        with capture_run_messages() as messages:
            ended = await self._ended(question, messages, notebook)
        error = ended if isinstance(ended, PerplexityError) else None
        attempt = self._attempt(started, error, cost_usd=model_cost(messages))
        self._on_attempt(attempt)
        if isinstance(ended, Answer):
            return replace(ended, seconds=self._clock() - started)
        answer = await computed(stopped, ended, messages, notebook, question, provider=NAME)
        # What the run's model cost is a part of what the answer cost.
        return replace(answer, failed=unpriced([attempt]), seconds=self._clock() - started)

    async def _ended(
        self, question: Question, messages: Sequence[ModelMessage], notebook: Notebook
    ) -> Answer | PerplexityError:
        """Return the answer, or what the run failed with: a fault of the model, of a tool, or of ours."""
        try:
            text = await self._deadline(question).within(self._run(question, notebook))
            answer = await computed(answered, text, messages, notebook, provider=NAME)
            return await computed(keep_answer, answer, question.filters.domains)
        except TimedOut:
            return TimedOut("the time for the run is over", provider=NAME)
        except PerplexityError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever breaks, what was found by then is worth an answer
            if not isinstance(error, AgentRunError):
                log.error("agent.broke", extra={"error": type(error).__name__})
            return explained(error, provider=NAME, now=self._now())

    async def _run(self, question: Question, notebook: Notebook) -> str:
        tools = self._toolbox(question)
        agent = Agent(
            self._model,
            instructions=[self._instructions(tools), self._nudge],
            model_settings=self._settings,
            tools=[adapted(tool, notebook, most=self._limits.calls) for tool in tools],
            # A call that cannot be read is answered with why; how often is for the steps to bound.
            retries={"tools": self._limits.steps, "output": 1},
        )
        limits = UsageLimits(request_limit=self._limits.steps)
        return (await agent.run(message_history=history(question.messages), usage_limits=limits)).output

    def _attempt(self, started: float, error: PerplexityError | None, *, cost_usd: float | None) -> Attempt:
        return Attempt(
            provider=NAME,
            seconds=self._clock() - started,
            cost_usd=cost_usd,
            error_class=None if error is None else type(error).__name__,
            summary=None if error is None else error.summary,
        )

    def _deadline(self, question: Question) -> Deadline:
        limit = self._limits.seconds
        return Deadline.after(limit if question.seconds is None else min(question.seconds, limit), self._clock)

    def _instructions(self, tools: Sequence[Tool]) -> str:
        today = datetime.fromtimestamp(self._now(), UTC).date()
        return instructions(today=today, steps=self._limits.steps, tools=[tool.name for tool in tools])

    def _nudge(self, context: RunContext[None]) -> str | None:
        return LAST if self._is_last(context) else None

    def _settings(self, context: RunContext[None]) -> ModelSettings:
        settings = ModelSettings(max_retries=self._limits.retries)
        return settings | {"tool_choice": "none"} if self._is_last(context) else settings

    def _is_last(self, context: RunContext[None]) -> bool:
        return context.run_step >= self._limits.steps
