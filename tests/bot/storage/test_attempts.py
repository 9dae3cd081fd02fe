"""The attempts table, on a real Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.model.admin import ProviderStats
from bot.storage.calls import ADMIN_ISSUES, AttemptStore, TimedAttempt
from bot.storage.questions import Pool, connection_pool
from perplexity.errors import Attempt
from perplexity.fallback import CIRCUIT_OPEN

NOW = datetime.now(UTC)


def attempt_hours_ago(
    hours: float, provider: str = "One", *, seconds: float = 1.0, error: str | None = None
) -> TimedAttempt:
    attempt = Attempt(
        provider=provider, seconds=seconds, kind="answer", error_class=error, cost_usd=None if error else 0.5
    )
    return TimedAttempt(at=NOW - timedelta(hours=hours), attempt=attempt)


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with connection_pool(database) as pool:
        yield pool


@pytest.fixture
def attempts(pool: Pool) -> AttemptStore:
    return AttemptStore(pool)


async def test_figures_are_of_the_last_day_and_the_most_asked_comes_first(attempts: AttemptStore) -> None:
    fast = [attempt_hours_ago(1, seconds=seconds) for seconds in (1.0, 2.0, 3.0, 4.0, 5.0)]
    await attempts.write(
        [
            attempt_hours_ago(25, "Two"),
            attempt_hours_ago(1, "Two", error="ServerError"),
            *fast,
            attempt_hours_ago(2, error="TimedOut"),
        ]
    )

    assert await attempts.stats() == (
        ProviderStats(provider="One", asked=6, answered=5, p50=3.0, p95=4.8),
        ProviderStats(provider="Two", asked=1, answered=0),
    )


@pytest.mark.parametrize("error", [CIRCUIT_OPEN, "InvalidRequest", "RequestCancelled", "Withdrawn"])
async def test_what_was_not_asked_or_was_no_fault_of_the_provider_is_left_out(
    attempts: AttemptStore, error: str
) -> None:
    await attempts.write([attempt_hours_ago(1), attempt_hours_ago(1, error=error)])

    assert [one.asked for one in await attempts.stats()] == [1]


@pytest.mark.parametrize(
    ("history", "trouble"),
    [
        ([attempt_hours_ago(3), attempt_hours_ago(2, error="AuthenticationError")], {"One": "AuthenticationError"}),
        ([attempt_hours_ago(3, error="AuthenticationError"), attempt_hours_ago(2)], {}),
        (
            [attempt_hours_ago(3, error="BillingError"), attempt_hours_ago(2, error="ServerError")],
            {"One": "BillingError"},
        ),
        (
            [attempt_hours_ago(3, error="AuthenticationError"), attempt_hours_ago(2, error="BillingError")],
            {"One": "BillingError"},
        ),
        ([attempt_hours_ago(30, error="AuthenticationError")], {}),
        ([attempt_hours_ago(2, error="ServerError")], {}),
        ([], {}),
    ],
)
async def test_trouble_lasts_until_the_provider_answers(
    attempts: AttemptStore, history: list[TimedAttempt], trouble: dict[str, str]
) -> None:
    await attempts.write(history)

    assert await attempts.admin_issues() == trouble


async def test_what_is_older_than_a_month_is_forgotten(attempts: AttemptStore) -> None:
    await attempts.write([attempt_hours_ago(24 * 31), attempt_hours_ago(24 * 29, "Two")])
    await attempts.delete_old()

    assert [one.provider for one in await attempts.stats(hours=24 * 40)] == ["Two"]


async def test_what_providers_did_last_is_found_in_the_index(pool: Pool) -> None:
    async with pool.connection() as connection:
        await connection.execute(
            "INSERT INTO attempts (at, provider, kind, seconds, error_class)"
            " SELECT now() - n * interval '1 second', 'P' || n % 5, 'answer', 1, CASE n % 7 WHEN 0 THEN 'TimedOut' END"
            " FROM generate_series(1, 20000) n"
        )
        await connection.execute("ANALYZE attempts")
        rows = await (await connection.execute(f"EXPLAIN {ADMIN_ISSUES}", {"hours": 24})).fetchall()
    plan = "\n".join(row["QUERY PLAN"] for row in rows)

    assert "attempts_last" in plan
    assert "Seq Scan" not in plan
