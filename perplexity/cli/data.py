"""Answers and results as JSON, for programs. Pure."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date

from perplexity.cli.printable import escaped
from perplexity.costs import charged
from perplexity.news.deepdive_report import titled
from perplexity.news.deepdive_types import DeepDive
from perplexity.news.summary import NewsSummary
from perplexity.types import Answer, SearchResults
from perplexity.wire.writing import encode


def as_json(value: Answer | SearchResults | NewsSummary | DeepDive) -> str:
    """Return one JSON object on lines of its own: every field by its name, days and moments as ISO 8601 has them.

    `cost_usd` is the sum of all charges, including those of failed attempts; null if none is known.
    """
    title = {"title": titled(value.topic)} if isinstance(value, DeepDive) else {}
    told = title | asdict(value) | {"cost_usd": _charged(value)}
    return escaped(encode(told, indent=2, default=_iso)) + "\n"


def _charged(value: Answer | SearchResults | NewsSummary | DeepDive) -> float | None:
    if isinstance(value, Answer):
        return charged(value.usage.cost_usd, value.failed)
    return charged(value.cost_usd, value.failed) if isinstance(value, SearchResults) else value.cost_usd


def _iso(moment: date) -> str:
    return moment.isoformat()
