"""What Prometheus reads on `/metrics`: counts, seconds and dollars; never a name or a text."""

from __future__ import annotations

from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bot.storage.attempts import NOT_COUNTED
from perplexity.attempts import Attempt

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0)


class Metrics:
    """The counters of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._received = Counter(
            "questions_received", "Questions written down", ["command", "surface"], registry=self.registry
        )
        self._settled = Counter("questions_settled", "Questions closed", ["command", "state"], registry=self.registry)
        self._refused = Counter("requests_refused", "Requests turned away", ["status"], registry=self.registry)
        self._ack = Histogram(
            "ack_seconds", "From a request's arrival to its ack", buckets=SECONDS, registry=self.registry
        )
        self._attempts = Counter(
            "provider_attempts", "What providers did", ["provider", "result"], registry=self.registry
        )
        self._provider = Histogram(
            "provider_seconds", "How long providers took", ["provider"], buckets=SECONDS, registry=self.registry
        )
        self._cost = Counter(
            "provider_cost_usd", "Dollars that providers said they charge", ["provider"], registry=self.registry
        )
        self._needs_admin = Gauge(
            "provider_needs_an_admin",
            "1 while a provider refuses the key or is out of credit",
            ["provider"],
            registry=self.registry,
        )

    def received(self, *, command: str, surface: str) -> None:
        """Count a question that was written down."""
        self._received.labels(command, surface).inc()

    def settled(self, *, command: str, state: str) -> None:
        """Count a question that came to its end."""
        self._settled.labels(command, state).inc()

    def refused(self, status: int) -> None:
        """Count a request that the guard turned away."""
        self._refused.labels(str(status)).inc()

    def acked(self, seconds: float) -> None:
        """Record how long an ack took."""
        self._ack.observe(seconds)

    def attempted(self, attempt: Attempt) -> None:
        """Record one provider's attempt: the chain's hook."""
        self._attempts.labels(attempt.provider, attempt.error_class or "ok").inc()
        if attempt.error_class not in NOT_COUNTED:
            self._provider.labels(attempt.provider).observe(attempt.seconds)
        if attempt.cost_usd:
            self._cost.labels(attempt.provider).inc(attempt.cost_usd)

    def set_admin_issues(self, providers: Collection[str]) -> None:
        """Say which providers need an admin now; the process that asked them may be another than this."""
        self._needs_admin.clear()
        for provider in providers:
            self._needs_admin.labels(provider).set(1)

    def page(self) -> bytes:
        """Return the page in Prometheus' text format."""
        return generate_latest(self.registry)
