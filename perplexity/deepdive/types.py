"""The values of a deep dive: stages, their results, the report, and the store that saves them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from perplexity.errors import Attempt, total_cost
from perplexity.scope import N_
from perplexity.types import JSON, Source
from perplexity.wire.json import as_count, as_dollars, as_object, as_objects, as_text, as_texts
from perplexity.wire.sources import load_source
from perplexity.x_posts.types import SENTIMENT_LABELS, Sentiment

_RESULT_NAMES = {"failure": "missing", "sentiment": "moods"}
_REPORT_NAMES = {"stages": "findings", "unused_sources": "others", "dangling": "orphans"}
"""The JSON names of fields that have another name here. They must not change: saved reports and programs use them."""


def load_attempt(saved: Mapping[str, JSON]) -> Attempt:
    """Load a saved attempt."""
    return Attempt(
        provider=as_text(saved.get("provider")),
        seconds=as_dollars(saved.get("seconds")) or 0.0,
        error_class=as_text(saved.get("error_class")) or None,
        summary=as_text(saved.get("summary")) or None,
        cost_usd=as_dollars(saved.get("cost_usd")),
        search_only=saved.get("search_only") is True,
    )


class Stage(StrEnum):
    """The stages, in the order of the report; the first two run concurrently."""

    SITUATION = "situation"
    PULSE = "pulse"
    ANALYSIS = "analysis"

    @property
    def heading(self) -> str:
        """The heading of the stage's section."""
        headings = {"situation": N_("THE SITUATION"), "pulse": N_("THE PUBLIC PULSE"), "analysis": N_("MY ANALYSIS")}
        return headings[self.value]


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """The result of a stage: a text whose markers refer to `sources`, or a sentence on its `failure`.

    `failed` are the attempts of a failed stage. `sentiment` is the sentiment of the posts, None if no posts were
    counted. `stand_in` is the notice above the text if another provider than the first choice wrote it. `provider` is a
    display name, `at` the moment of the result (ISO 8601).
    """

    stage: Stage
    text: str = ""
    sources: tuple[Source, ...] = ()
    sentiment: Sentiment | None = None
    failure: str | None = None
    failed: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()
    stand_in: str = ""
    provider: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None
    at: str = ""

    def as_json(self) -> dict[str, JSON]:
        """Return a value for `from_json`, with the field names of saved stages."""
        return {_RESULT_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stage: Stage, saved: JSON) -> StageResult:
        """Load the value that `as_json` returned; values of unknown form are left out."""
        fields = as_object(saved)
        counts = as_object(fields.get("moods"))
        return cls(
            stage=stage,
            text=as_text(fields.get("text")),
            sources=tuple(load_source(one) for one in as_objects(fields.get("sources"))),
            sentiment=Sentiment(**{label: as_count(counts.get(label)) or 0 for label in SENTIMENT_LABELS})
            if counts
            else None,
            failure=as_text(fields.get("missing")) or None,
            failed=tuple(load_attempt(one) for one in as_objects(fields.get("failed"))),
            notes=as_texts(fields.get("notes")),
            stand_in=as_text(fields.get("stand_in")),
            provider=as_text(fields.get("provider")),
            seconds=as_dollars(fields.get("seconds")) or 0.0,
            cost_usd=as_dollars(fields.get("cost_usd")),
            at=as_text(fields.get("at")),
        )


@dataclass(frozen=True, kw_only=True)
class StageUpdate:
    """The state of a stage: running since `started` on the dive's clock, or finished with `result`."""

    stage: Stage
    started: float
    result: StageResult | None = None


@dataclass(frozen=True, kw_only=True)
class Persona:
    """The voice of the analysis: a name, and instructions on how to write."""

    name: str = "Nikki"
    prompt: str = (
        "You are a warm, sharp and fair-minded news analyst. You speak plainly, in the first person, and say openly "
        "what you are not sure of."
    )


@dataclass(frozen=True, kw_only=True)
class DeepDive:
    """The report. `stages` are in the order of `Stage`; every marker in them is the number of one of the `sources`.

    `unused_sources` counts the pages and posts that were read but not cited, `dangling` the markers without a source
    that were removed. `made_at` is the moment when the report was finished, `seconds` how long it took.
    """

    topic: str
    stages: tuple[StageResult, ...]
    sources: tuple[Source, ...]
    unused_sources: int
    dangling: int
    persona: str
    made_at: datetime
    seconds: float

    def as_json(self) -> dict[str, JSON]:
        """Return the report as a JSON object."""
        fields = asdict(self) | {"stages": [result.as_json() for result in self.stages]}
        return {_REPORT_NAMES.get(name, name): value for name, value in fields.items()}

    @property
    def cost_usd(self) -> float | None:
        """The cost of all stages, None if none is known."""
        return total_cost(result.cost_usd for result in self.stages)

    @property
    def sentiment(self) -> Sentiment | None:
        """The sentiment of the posts, None if none were counted."""
        return next((result.sentiment for result in self.stages if result.sentiment and result.sentiment.total), None)


@dataclass(frozen=True, kw_only=True)
class BackgroundRun:
    """The id of a background run, and the seconds since its stage began."""

    id: str
    age: float


class StageStore(Protocol):
    """Saves paid results, so that a restarted deep dive does not pay for them again.

    `put` and `put_run` raise `RequestCancelled` if the deep dive was cancelled.
    """

    async def get(self, stage: str) -> Mapping[str, JSON] | None:
        """Return the result of a finished stage; None if the stage is not finished."""
        ...

    async def put(self, stage: str, result: Mapping[str, JSON], *, seconds: float, cost_usd: float | None) -> None:
        """Save the result of a finished stage."""
        ...

    async def get_run(self, stage: str) -> BackgroundRun | None:
        """Return a stage's background run, None if none was started."""
        ...

    async def put_run(self, stage: str, run: BackgroundRun) -> None:
        """Save a run that has just started."""
        ...


class NullStageStore:
    """A store that saves nothing, for runs that are not resumed."""

    async def get(self, stage: str) -> Mapping[str, JSON] | None:
        """Return None."""
        return None

    async def put(self, stage: str, result: Mapping[str, JSON], *, seconds: float, cost_usd: float | None) -> None:
        """Discard the result."""

    async def get_run(self, stage: str) -> BackgroundRun | None:
        """Return None."""
        return None

    async def put_run(self, stage: str, run: BackgroundRun) -> None:
        """Discard the run."""
