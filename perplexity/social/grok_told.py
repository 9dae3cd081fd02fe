"""What a service that has Grok is asked and says: what a new way to Grok has to offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from perplexity.errors import PerplexityError
from perplexity.types import JSON
from perplexity.wire.errors import Dialect


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a response says, of which nothing is believed yet.

    `written` is the model's own text. `annotated` are the addresses that the service annotates it with, `named` all
    those that the service, and not the model, says it came across. `fetched` is how many posts it read, None where it
    does not say. `incomplete` says why the model stopped early (None: it finished).
    """

    written: str
    annotated: tuple[str, ...]
    named: tuple[str, ...]
    fetched: int | None
    incomplete: str | None
    provider: str
    model: str | None
    cost_usd: float | None


class GrokWire(Protocol):
    """A way to Grok: the address, the request, and what the answers mean. Pure."""

    @property
    def name(self) -> str:
        """The display name, such as "Grok" or "Grok at OpenRouter"."""
        ...

    @property
    def base_url(self) -> str:
        """Where the service usually is."""
        ...

    @property
    def path(self) -> str:
        """What is posted to."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How the service names errors."""
        ...

    def build(self, topic: str, *, since: date, until: date) -> dict[str, JSON]:
        """Return the request's body. Both days are included."""
        ...

    def read(self, body: Mapping[str, JSON]) -> Told:
        """Return what a response says. Raises what its error says, RunFailed or MalformedResponse."""
        ...

    def understood(self, error: PerplexityError) -> PerplexityError:
        """Return what an error of this service means, in the service's name."""
        ...
