"""The values of a check: proposed claims, and claims with a verdict, a quotation and its source."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from perplexity.errors import Attempt
from perplexity.types import JSON, Source
from perplexity.wire.json import as_dollars, as_object, as_objects, as_text, as_texts
from perplexity.wire.sources import load_source


class Verdict(StrEnum):
    """The verdict of the pages on a claim; "disagree" if one page supports the claim and another contradicts it."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    DISAGREE = "disagree"
    UNCLEAR = "unclear"


@dataclass(frozen=True, kw_only=True)
class ProposedClaims:
    """The claims of a message; empty if it contains nothing that can be checked.

    `from_model` says whether a model wrote them; otherwise they are sentences of the message. `may_be_more` is True if
    the message is too long to be read whole, if it has more sentences than are checked, or if a model wrote as many
    claims as it may. `cost_usd` is the sum of all charges, None if none is known. `failed` are the failed attempts,
    without their costs.
    """

    claims: tuple[str, ...]
    from_model: bool = False
    may_be_more: bool = False
    cost_usd: float | None = None
    failed: tuple[Attempt, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CheckedClaim:
    """A claim and its verdict.

    `quote` is text of `source.snippet`, without Markdown and on one line; an unclear claim may have no quotation and no
    source. If pages disagree, `other_quote` and `other_source` say the opposite. `reason` tells the reader why a claim
    is unclear. It is None for other verdicts, and for an unclear claim with a passage that a model picked.
    """

    claim: str
    verdict: Verdict
    quote: str | None = None
    source: Source | None = None
    other_quote: str | None = None
    other_source: Source | None = None
    reason: str | None = None

    @property
    def passages(self) -> tuple[tuple[str, Source], ...]:
        """The quotations with their sources."""
        both = (self.quote, self.source), (self.other_quote, self.other_source)
        return tuple((quote, source) for quote, source in both if quote is not None and source is not None)

    def as_json(self) -> dict[str, JSON]:
        """Return JSON for `from_json`, without the excerpts of the sources."""
        sources = {
            name: None if source is None else asdict(replace(source, snippet=""))
            for name, source in (("source", self.source), ("other_source", self.other_source))
        }
        return asdict(self) | {"verdict": self.verdict.value} | sources

    @classmethod
    def from_json(cls, saved: JSON) -> CheckedClaim:
        """Load the value that `as_json` returned. A verdict that lacks its quotation or source is loaded as unclear."""
        fields = as_object(saved)
        named = as_text(fields.get("verdict"))
        loaded = cls(
            claim=as_text(fields.get("claim")),
            verdict=Verdict(named) if named in set(Verdict) else Verdict.UNCLEAR,
            quote=as_text(fields.get("quote")) or None,
            source=_load_source(fields.get("source")),
            other_quote=as_text(fields.get("other_quote")) or None,
            other_source=_load_source(fields.get("other_source")),
            reason=as_text(fields.get("reason")) or None,
        )
        sound = len(loaded.passages) >= (2 if loaded.verdict is Verdict.DISAGREE else 1)
        return loaded if sound else replace(loaded, verdict=Verdict.UNCLEAR)


@dataclass(frozen=True, kw_only=True)
class CheckedClaims:
    """The claims in their order, each with its verdict.

    `searched_by` and `judged_by` are display names, separated by commas; `judged_by` is empty if no model judged.
    `cost_usd` is the sum of all charges, None if none is known. `notes` are sentences for the reader. `failed` are the
    failed attempts, one for each reason, without their costs.
    """

    claims: tuple[CheckedClaim, ...]
    searched_by: str = ""
    judged_by: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()
    failed: tuple[Attempt, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """Return JSON for `from_json`."""
        return asdict(self) | {"claims": [claim.as_json() for claim in self.claims]}

    @classmethod
    def from_json(cls, saved: JSON) -> CheckedClaims:
        """Load the value that `as_json` returned; the failed attempts are left out."""
        fields = as_object(saved)
        return cls(
            claims=tuple(CheckedClaim.from_json(one) for one in as_objects(fields.get("claims"))),
            searched_by=as_text(fields.get("searched_by")),
            judged_by=as_text(fields.get("judged_by")),
            seconds=as_dollars(fields.get("seconds")) or 0.0,
            cost_usd=as_dollars(fields.get("cost_usd")),
            notes=as_texts(fields.get("notes")),
        )


def _load_source(saved: JSON) -> Source | None:
    fields = as_object(saved)
    return load_source(fields) if fields.get("url") else None
