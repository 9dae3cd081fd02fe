"""Answers and results as JSON, for programs. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date

from perplexity.cli.printable import escaped
from perplexity.news.deepdive_types import DeepDive
from perplexity.news.summary import NewsSummary
from perplexity.types import Answer, SearchResults


def as_json(value: Answer | SearchResults | NewsSummary | DeepDive) -> str:
    """Return one JSON object on lines of its own: every field by its name, days and moments as ISO 8601 has them."""
    return escaped(json.dumps(asdict(value), ensure_ascii=False, indent=2, default=_iso)) + "\n"


def _iso(moment: date) -> str:
    return moment.isoformat()
