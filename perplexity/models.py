"""Which model, effort and time limit a question gets. A new Sonar name is a line in `SONAR`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from perplexity.errors import InvalidRequest
from perplexity.formatting import did_you_mean

Effort = Literal["fast", "low", "medium", "high", "xhigh"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

SONAR: dict[str, Effort | None] = {
    "sonar": "fast",
    "sonar-pro": "fast",
    "sonar-reasoning": None,
    "sonar-reasoning-pro": None,
    "sonar-deep-research": "high",
}
"""The effort that replaces each Sonar model; None is the effort that reasoning is set to.

https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview
"""

WITHOUT_SCHEMA = frozenset({"sonar", "sonar-reasoning", "sonar-deep-research"})
"""The Sonar names that never took a JSON schema; efforts and `vendor/model` names all may."""

ALLOWED = f"it takes {', '.join([*SONAR, *EFFORTS])} or vendor/model, such as openai/gpt-6-luna"

_RETIRED = re.compile(r"llama-3\.1-sonar-\w+-128k-(?:online|chat)")
"""The names of Sonar's first models, which people still write."""

_VENDOR_MODEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}/[a-z0-9][a-z0-9._:-]{0,126}")


@dataclass(frozen=True, kw_only=True)
class Target:
    """Who answers: an effort, or a pinned `vendor/model`, whose `effort` then says only how long it may take.

    `name` is what was asked for; `reasons` whether a pinned model shall think first.
    """

    effort: Effort
    model: str | None = None
    reasons: bool = False
    name: str = ""

    @property
    def background(self) -> bool:
        """Whether it takes minutes, so that it runs in the background and can be resumed."""
        return self.effort in {"high", "xhigh"}

    @property
    def slow(self) -> bool:
        """Whether it may pass the minute after which idle connections are cut."""
        return self.effort not in {"fast", "low"}


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Seconds that one call may take, retries included, by what is asked.

    An answer whose text is handed on while it is written may take up to `total`: the others are the limits to its first
    text, and between two texts.
    """

    search: float = 10.0
    answer: float = 30.0
    reasoning: float = 60.0
    deep: float = 600.0
    total: float = 300.0

    def for_effort(self, effort: Effort) -> float:
        """Return the seconds for an answer of this effort."""
        return {"fast": self.answer, "low": self.answer, "medium": self.reasoning}.get(effort, self.deep)


def resolve(model: str | None, *, reasoning: bool = False, reasoning_effort: Effort = "medium") -> Target:
    """Return who answers. A named model or effort wins over `reasoning`, which alone means `reasoning_effort`.

    Raises InvalidRequest for an unknown name; the error suggests the nearest known one.
    """
    if model is None:
        return Target(effort=reasoning_effort if reasoning else "fast")
    name = model.strip().lower()
    sonar = _RETIRED.sub("sonar", name.removeprefix("perplexity/"))
    # Of the Sonar models only `perplexity/sonar` can be pinned.
    name = sonar if sonar in SONAR and name != "perplexity/sonar" else name
    if name in SONAR:
        return Target(effort=SONAR[name] or reasoning_effort, name=name)
    for effort in EFFORTS:
        if name == effort:
            return Target(effort=effort, name=name)
    if _VENDOR_MODEL.fullmatch(name):
        return Target(effort="medium", model=name, reasons=reasoning, name=name)
    raise InvalidRequest.for_field("model", model, _allowed(name))


def check_schema(target: Target) -> None:
    """Raise InvalidRequest when a JSON schema is asked of a model that takes none."""
    if target.name in WITHOUT_SCHEMA:
        raise InvalidRequest.for_field(
            "model", target.name, "a JSON schema takes sonar-pro, sonar-reasoning-pro or an effort"
        )


def _allowed(name: str) -> str:
    return f"{did_you_mean(name.removeprefix('perplexity-'), [*SONAR, *EFFORTS])}{ALLOWED}"


@dataclass(frozen=True, kw_only=True)
class FallbackTimeouts(Timeouts):
    """Seconds for the whole chain, by what is asked.

    A provider leaves `reserve_per_provider` seconds for each provider after it, but gets at least `minimum` while there
    is time.
    """

    search: float = 20.0
    answer: float = 45.0
    reasoning: float = 90.0
    deep: float = 660.0
    reserve_per_provider: float = 8.0
    minimum: float = 2.0

    def share(self, left: float, *, behind: int) -> float:
        """Return the seconds that a provider with `behind` others after it may use of those that are left."""
        return max(left - self.reserve_per_provider * behind, min(left, self.minimum))
