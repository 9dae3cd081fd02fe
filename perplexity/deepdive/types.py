"""The parts of a kept finding, read back; what is not understood is left out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from perplexity.attempts import Attempt, total_cost
from perplexity.types import JSON, Source
from perplexity.wire.json import as_count, as_dollars, as_object, as_objects, as_text, as_texts
from perplexity.x_posts.types import SENTIMENT_LABELS, Sentiment

_RESULT_NAMES = {"failure": "missing", "sentiment": "moods"}
_REPORT_NAMES = {"stages": "findings", "unused_sources": "others", "dangling": "orphans"}
"""Names of fields in JSON, which is saved and which programs read, if they are not the fields' own."""


def load_source(kept: Mapping[str, JSON]) -> Source:
    """Read a source."""
    aliases = kept.get("aliases")
    return Source(
        number=as_count(kept.get("number")) or 0,
        title=as_text(kept.get("title")),
        url=as_text(kept.get("url")),
        snippet=as_text(kept.get("snippet")),
        date=as_text(kept.get("date")) or None,
        last_updated=as_text(kept.get("last_updated")) or None,
        aliases=tuple(one for one in aliases if as_count(one) is not None) if isinstance(aliases, list) else (),
    )


def load_attempt(kept: Mapping[str, JSON]) -> Attempt:
    """Read who was tried."""
    return Attempt(
        provider=as_text(kept.get("provider")),
        seconds=as_dollars(kept.get("seconds")) or 0.0,
        error_class=as_text(kept.get("error_class")) or None,
        summary=as_text(kept.get("summary")) or None,
        cost_usd=as_dollars(kept.get("cost_usd")),
        search_only=kept.get("search_only") is True,
    )


class Stage(StrEnum):
    """The stages, in the order of the report; the first two run side by side."""

    SITUATION = "situation"
    PULSE = "pulse"
    ANALYSIS = "analysis"

    @property
    def heading(self) -> str:
        """What stands above its section."""
        return {"situation": "THE SITUATION", "pulse": "THE PUBLIC PULSE", "analysis": "MY ANALYSIS"}[self.value]


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """What came of a stage: a text whose markers refer to `sources`, or a sentence on why it is `failure`.

    `failed` are those who were tried where it is missing. `sentiment` are the posts' by number, None where none were
    counted. `stand_in` is the line above the text if another provider than the first choice wrote it. `provider` is
    the display name of who did it, `at` the moment when it was done (ISO 8601).
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
        """Return what `from_json` reads, under the names that saved stages have."""
        return {_RESULT_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, stage: Stage, kept: JSON) -> StageResult:
        """Read what `as_json` wrote; what is not understood is left out."""
        told = as_object(kept)
        moods = as_object(told.get("moods"))
        return cls(
            stage=stage,
            text=as_text(told.get("text")),
            sources=tuple(load_source(one) for one in as_objects(told.get("sources"))),
            sentiment=Sentiment(**{mood: as_count(moods.get(mood)) or 0 for mood in SENTIMENT_LABELS})
            if moods
            else None,
            failure=as_text(told.get("missing")) or None,
            failed=tuple(load_attempt(one) for one in as_objects(told.get("failed"))),
            notes=as_texts(told.get("notes")),
            stand_in=as_text(told.get("stand_in")),
            provider=as_text(told.get("provider")),
            seconds=as_dollars(told.get("seconds")) or 0.0,
            cost_usd=as_dollars(told.get("cost_usd")),
            at=as_text(told.get("at")),
        )


@dataclass(frozen=True, kw_only=True)
class StageUpdate:
    """How a stage stands: at work since `started` on the dive's clock, or finished with `result`."""

    stage: Stage
    started: float
    result: StageResult | None = None


@dataclass(frozen=True, kw_only=True)
class Persona:
    """In whose voice the analysis is: a name, and how they speak."""

    name: str = "Nikki"
    prompt: str = (
        "You are a warm, sharp and fair-minded news analyst. You speak plainly, in the first person, and say openly "
        "what you are not sure of."
    )


@dataclass(frozen=True, kw_only=True)
class DeepDive:
    """The report. Every marker in `stages`, which stand in the order of the stages, is a number of `sources`.

    `unused_sources` counts the pages and posts that were read and are not referred to. `made_at` is when it was
    finished, `seconds` how long it took.
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
        """The dollars of all stages, None where none says what it cost."""
        return total_cost(finding.cost_usd for finding in self.stages)

    @property
    def sentiment(self) -> Sentiment | None:
        """The posts' moods, where any were counted."""
        return next(
            (finding.sentiment for finding in self.stages if finding.sentiment and finding.sentiment.total), None
        )


@dataclass(frozen=True, kw_only=True)
class BackgroundRun:
    """A run in the background by its id, and how many seconds ago the stage was begun that it is for."""

    id: str
    age: float


class StageStore(Protocol):
    """Keeps what is paid for, so that a dive that is begun again pays for nothing twice.

    `put` and `put_run` raise `RequestCancelled` where the dive is not wanted any more.
    """

    async def get(self, stage: str) -> Mapping[str, JSON] | None:
        """Return the result of a finished stage."""
        ...

    async def put(self, stage: str, result: Mapping[str, JSON], *, seconds: float, cost_usd: float | None) -> None:
        """Keep the result of a stage that has finished."""
        ...

    async def get_run(self, stage: str) -> BackgroundRun | None:
        """Return a stage's run in the background, where one was begun."""
        ...

    async def put_run(self, stage: str, run: BackgroundRun) -> None:
        """Keep a run that has just begun to cost money."""
        ...


class NullStageStore:
    """Keeps nothing: for a process that is asked once."""

    async def get(self, stage: str) -> Mapping[str, JSON] | None:
        """Return nothing."""
        return None

    async def put(self, stage: str, result: Mapping[str, JSON], *, seconds: float, cost_usd: float | None) -> None:
        """Forget it."""

    async def get_run(self, stage: str) -> BackgroundRun | None:
        """Return nothing."""
        return None

    async def put_run(self, stage: str, run: BackgroundRun) -> None:
        """Forget it."""
