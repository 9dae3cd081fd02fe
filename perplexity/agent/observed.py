"""A model that makes each call within a context manager, and tells the context manager the call's cost or error."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from perplexity.agent.results import response_cost, translate_error
from perplexity.errors import PerplexityError


class ModelCall(Protocol):
    """Records the outcome of a call of the model."""

    def succeeded(self, cost_usd: float | None) -> None:
        """Record the cost of a call in US dollars; None if it is unknown."""
        ...

    def failed(self, error: PerplexityError) -> None:
        """Record the error that ended a call."""
        ...


class ObservedModel(WrapperModel):
    """A model that makes each call within the context manager from `around`. If entering it raises, no call is made."""

    def __init__(self, wrapped: Model, *, around: Callable[[], AbstractAsyncContextManager[ModelCall]]) -> None:
        super().__init__(wrapped)
        self._around = around

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make one call. Raises the errors of the model and of `around`."""
        async with self._around() as call:
            try:
                response = await super().request(messages, model_settings, model_request_parameters)
            except Exception as error:
                call.failed(translate_error(error, provider=self.model_name, now=time.time()))
                raise
            call.succeeded(response_cost(response))
            return response
