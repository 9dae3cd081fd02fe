"""Answers and results as JSON, for programs. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict

from perplexity.cli.printable import escaped
from perplexity.types import Answer, SearchResults


def as_json(value: Answer | SearchResults) -> str:
    """Return one JSON object on lines of its own: every field, by its name in `perplexity.types`."""
    return escaped(json.dumps(asdict(value), ensure_ascii=False, indent=2)) + "\n"
