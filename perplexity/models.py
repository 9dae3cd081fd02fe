"""Decides on a question's model, effort and time limit. A new Sonar name needs a line in `SONAR`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from perplexity.errors import InvalidRequest
from perplexity.formatting import did_you_mean
from perplexity.scope import say

Effort = Literal["fast", "low", "medium", "high", "xhigh"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

SONAR: dict[str, Effort | None] = {
    "sonar": "fast",
    "sonar-pro": "fast",
    "sonar-reasoning": None,
    "sonar-reasoning-pro": None,
    "sonar-deep-research": "high",
}
"""The effort that replaces each Sonar model; None stands for the configured effort of reasoning.

https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/overview
"""

WITHOUT_SCHEMA = frozenset({"sonar", "sonar-reasoning", "sonar-deep-research"})
"""The Sonar names that never accepted a JSON schema; all efforts and `vendor/model` names may accept one."""

_RETIRED = re.compile(r"llama-3\.1-sonar-\w+-128k-(?:online|chat)")
"""The names of Sonar's first models, which callers still use."""

_VENDOR_MODEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}/[a-z0-9][a-z0-9._:-]{0,126}")


@dataclass(frozen=True, kw_only=True)
class Target:
    """What writes an answer: the model for an effort, or a pinned `vendor/model`.

    `name` is the requested name. `reasons` says whether a pinned model is asked to think first. For a pinned model,
    `effort` only sets the time limit and, if `reasons` is True, how hard the model thinks.
    """

    effort: Effort
    model: str | None = None
    reasons: bool = False
    name: str = ""

    @property
    def background(self) -> bool:
        """Whether the answer takes minutes, so that it runs in the background and can be resumed."""
        return self.effort in {"high", "xhigh"}

    @property
    def slow(self) -> bool:
        """Whether the answer may take longer than the minute after which idle connections are cut."""
        return self.effort not in {"fast", "low"}


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """The time limits of one call in seconds, including retries, by kind of request.

    If an answer's text is passed on while it is written, the answer may take up to `total`; the other limits then apply
    up to its first text, and between two texts.
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
    """Return the model or effort of a question.

    A named model or effort takes precedence over `reasoning`. Without a name, the effort is `reasoning_effort` if
    `reasoning` is True, and otherwise "fast". Raises InvalidRequest for an unknown name; the error suggests the nearest
    known one.
    """
    if model is None:
        return Target(effort=reasoning_effort if reasoning else "fast")
    name = model.strip().lower()
    sonar = _RETIRED.sub("sonar", name.removeprefix("perplexity/"))
    # `perplexity/sonar` is the name of a model that can be pinned. Any other name of a Sonar model stands for an
    # effort.
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
    """Raise InvalidRequest if the model accepts no JSON schema."""
    if target.name in WITHOUT_SCHEMA:
        raise InvalidRequest.for_field(
            "model", target.name, "a JSON schema takes sonar-pro, sonar-reasoning-pro or an effort"
        )


def _allowed(name: str) -> str:
    names = [*SONAR, *EFFORTS]
    allowed = say("it takes {names} or vendor/model, such as openai/gpt-6-luna").format(names=", ".join(names))
    return f"{did_you_mean(name.removeprefix('perplexity-'), names)}{allowed}"


@dataclass(frozen=True, kw_only=True)
class FallbackTimeouts(Timeouts):
    """Time limits of the whole chain in seconds, by kind of request.

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
        """Return the share of the seconds left that a provider with `behind` others after it may use."""
        return max(left - self.reserve_per_provider * behind, min(left, self.minimum))
