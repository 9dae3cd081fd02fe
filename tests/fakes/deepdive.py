"""Deep dives on given services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perplexity.deepdive.pipeline import DeepDiveRunner
from perplexity.deepdive.types import DeepDive, StageStore, StageUpdate


async def run_deepdive(
    topic: str,
    *,
    store: StageStore,
    on_stage: Callable[[StageUpdate], None] = lambda update: None,
    resumable: bool = True,
    **services: Any,
) -> DeepDive:
    """Run a deep dive and return its report."""
    return await DeepDiveRunner(**services).run(topic, store=store, on_stage=on_stage, resumable=resumable)
