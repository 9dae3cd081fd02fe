"""The parts of a kept finding, read back; what is not understood is left out. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perplexity.types import JSON, Attempt, Source
from perplexity.wire.reading import dollars, text, whole


def source(kept: Mapping[str, JSON]) -> Source:
    """Read a source."""
    aliases = kept.get("aliases")
    return Source(
        number=whole(kept.get("number")) or 0,
        title=text(kept.get("title")),
        url=text(kept.get("url")),
        snippet=text(kept.get("snippet")),
        date=text(kept.get("date")) or None,
        last_updated=text(kept.get("last_updated")) or None,
        aliases=tuple(one for one in aliases if whole(one) is not None) if isinstance(aliases, list) else (),
    )


def attempt(kept: Mapping[str, JSON]) -> Attempt:
    """Read who was tried."""
    return Attempt(
        provider=text(kept.get("provider")),
        seconds=dollars(kept.get("seconds")) or 0.0,
        error_class=text(kept.get("error_class")) or None,
        summary=text(kept.get("summary")) or None,
        cost_usd=dollars(kept.get("cost_usd")),
        search_only=kept.get("search_only") is True,
    )
