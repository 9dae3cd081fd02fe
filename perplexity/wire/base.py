"""What an answer wire is: a question to a request's body, a response to an answer, events to events. Pure.

A new one is a file next to this that offers these names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from perplexity.models import Target
from perplexity.types import JSON, Answer, Event, Question


class StreamReader(Protocol):
    """Reads one stream. `run_id` is known after the first event, `ended` after the terminal one.

    `cost_usd` is what the service said last that it charges, also in a stream that failed or broke off.
    """

    @property
    def run_id(self) -> str | None:
        """What cancels the run."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the terminal event was read."""
        ...

    @property
    def cost_usd(self) -> float | None:
        """Dollars, as far as they are known; None if the service does not say."""
        ...

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return our events for one of the service's; raise PerplexityError if it reports a failure."""
        ...

    def finish(self) -> list[Event]:
        """Return the last events of a stream that the service closed: none, unless what came was whole."""
        ...


class Wire(Protocol):
    """One way of asking for answers: under which path, and by what name of the service they are known.

    `supports_runs` says whether a run may continue at the service without a connection and be resumed by its id,
    `takes_tools` whether a model may be given tools in addition to its search, and `takes_effort` whether a request
    names an effort instead of a model.
    """

    @property
    def path(self) -> str:
        """Where questions are sent."""
        ...

    @property
    def provider(self) -> str:
        """The display name."""
        ...

    @property
    def supports_runs(self) -> bool:
        """Whether runs can be resumed."""
        ...

    @property
    def takes_effort(self) -> bool:
        """Whether it is asked by effort."""
        ...

    @property
    def takes_tools(self) -> bool:
        """Whether tools are handed on."""
        ...

    def check(self, question: Question) -> None:
        """Raise InvalidRequest for what this wire cannot carry."""
        ...

    def should_stream(self, target: Target, *, seconds: float) -> bool:
        """Return whether an answer that has so many seconds is read from a stream: silent connections are cut."""
        ...

    def build(self, question: Question, target: Target, *, stream: bool) -> dict[str, JSON]:
        """Return the request's body for a checked question. Raises InvalidRequest for one that it cannot write."""
        ...

    def emits_thinking(self, question: Question, target: Target) -> bool:
        """Return whether the text begins with what the model thought. Raises as `build` does."""
        ...

    def notes(self, question: Question) -> tuple[str, ...]:
        """Return sentences for the asker about what was wanted and not done, or done in another way."""
        ...

    def read(self, body: Mapping[str, JSON]) -> Answer:
        """Return the answer of a finished run. Raises RunFailed or MalformedResponse."""
        ...

    def progress(self, body: Mapping[str, JSON]) -> list[Event]:
        """Return what the state of a run says of its searches and sources so far."""
        ...

    def reader(self) -> StreamReader:
        """Return a reader for one stream."""
        ...
