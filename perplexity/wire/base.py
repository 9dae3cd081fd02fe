"""The protocols of a wire, and what wires share. No function here does I/O.

A wire turns a question into the body of a request, a response into an answer, and a service's events into events of
this library. A new wire is a module next to this one that implements these protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar, Protocol

from perplexity.filters import Filters
from perplexity.models import Target
from perplexity.types import JSON, Answer, Event, Question


class StreamReader(Protocol):
    """Reads one stream."""

    run_id: str | None
    """The id with which the run can be cancelled; None if unknown."""

    ended: bool
    """Whether the terminal event was read."""

    cost_usd: float | None
    """The latest cost in dollars that the service reported, also if the stream failed or broke off; None if unknown."""

    def feed(self, event: Mapping[str, JSON]) -> list[Event]:
        """Return this library's events for an event of the service. Raises PerplexityError if the event is an error."""
        ...

    def finish(self) -> list[Event]:
        """Return the last events of a stream that the service closed; none unless the answer is complete."""
        ...


class Wire(Protocol):
    """A format of the requests and responses for answers, at one path of one service.

    `supports_runs` says whether a run may continue at the service without a connection and be resumed by its id;
    `takes_tools`, whether a model may be given tools in addition to its search; `takes_files`, whether it may be given
    files; `takes_effort`, whether a request names an effort instead of a model.
    """

    path: str
    """The path of the requests for answers."""

    provider: str
    """The display name."""

    supports_runs: ClassVar[bool] = False
    takes_effort: ClassVar[bool] = False
    takes_tools: ClassVar[bool] = False
    takes_files: ClassVar[bool] = False

    def check(self, question: Question) -> None:
        """Raise InvalidRequest for a question that this wire cannot carry."""
        ...

    def should_stream(self, target: Target, *, seconds: float) -> bool:
        """Return whether to read the answer from a stream, because a connection without data could be cut.

        `seconds` is the time limit of the answer.
        """
        ...

    def build(self, question: Question, target: Target, *, stream: bool) -> dict[str, JSON]:
        """Return the request's body for a checked question. Raises InvalidRequest for one that no body can express."""
        ...

    def emits_thinking(self, question: Question, target: Target) -> bool:
        """Return whether the text begins with the model's thinking. Raises as `build` does."""
        return False

    def notes(self, question: Question) -> tuple[str, ...]:
        """Return sentences for the asker about options that were ignored or followed in another way."""
        ...

    def read(self, body: Mapping[str, JSON]) -> Answer:
        """Return the answer of a finished run. Raises the error of a failed run, or MalformedResponse."""
        ...

    def progress(self, body: Mapping[str, JSON]) -> list[Event]:
        """Return the searches and sources that a run has so far; `body` is the state of the run."""
        return []

    def reader(self) -> StreamReader:
        """Return a reader for one stream."""
        ...


def common_filters(filters: Filters) -> dict[str, JSON]:
    """Return the filters that all of Perplexity's APIs name alike, by these names; days are written MM/DD/YYYY."""
    wanted = {
        "search_recency_filter": filters.recency,
        "search_domain_filter": list(filters.domains),
        "search_after_date_filter": _american(filters.after),
        "search_before_date_filter": _american(filters.before),
    }
    return {name: value for name, value in wanted.items() if value}


def _american(day: date | None) -> str | None:
    # `strftime` is not used, because its %Y has no leading zeros on some systems.
    return None if day is None else f"{day.month:02}/{day.day:02}/{day.year:04}"
