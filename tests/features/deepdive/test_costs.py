"""What a deep dive cost if stages of it failed: the row and the metrics say what the services charged together."""

from __future__ import annotations

from tests.bot.test_costs import CHAT, Case, assert_same_cost, completion, harness
from tests.bot.worker.test_worker import WorkerHarness

__all__ = ["harness"]

FAILED_STAGES = Case(
    asked="deepdive why",
    order="openrouter brave",
    # Brave is asked for the facts, and again for the analysis, which it cannot write.
    faults={CHAT: (completion(" ", 0.25), completion(" ", 0.125))},
    invoice=0.25 + 0.005 + 0.125 + 0.005,
)


async def test_the_row_and_the_metrics_have_the_same_cost(harness: WorkerHarness, database: str) -> None:
    await assert_same_cost(FAILED_STAGES, harness, database)
