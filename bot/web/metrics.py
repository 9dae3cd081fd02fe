"""The metrics that Prometheus reads on `/metrics`: counts, seconds and dollars, no names of people and no texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from bot.model.audit import AuditHealth
from bot.storage.calls import NOT_COUNTED
from perplexity.errors import Attempt

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0)


class Metrics:
    """The counters of one process, in a registry of their own."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, buckets=SECONDS, registry=self.registry)
        self._received = counter("questions_received", "Questions saved", ["command", "surface"])
        self._settled = counter("questions_settled", "Questions closed", ["command", "state"])
        self._refused = counter("requests_refused", "Requests refused", ["status"])
        self._calls_refused = counter(
            "calls_refused", "Calls that a service refused because of its limit", ["provider"]
        )
        self._waiting = gauge("turns_waiting", "Questions that wait for a turn at a service", ["lane"])
        self._waited = histogram("question_waited_seconds", "From a question's arrival to its begin")
        self._events_limited = counter("events_limited", "Minutes in which Slack dropped events of a workspace")
        self._ack = histogram("ack_seconds", "From a request's arrival to its ack")
        self._attempts = counter("provider_attempts", "Attempts of providers", ["provider", "result"])
        self._provider = histogram("provider_seconds", "Seconds that attempts of providers took", ["provider"])
        self._cost = counter("provider_cost_usd", "Dollars charged by providers", ["provider"])
        self._needs_admin = gauge(
            "provider_needs_an_admin", "1 while a provider rejects the key or is out of credit", ["provider"]
        )
        self._provider_changes = gauge(
            "provider_changes", "Lasting changes of a provider, found in the last 7 days", ["provider", "kind"]
        )
        self._audit = gauge("audit_ok", "0 while the audit log is not written")
        self._audit.set(1)
        self._audit_waiting = gauge("audit_waiting_seconds", "Age of the oldest entry that waits to be chained")

    def received(self, *, command: str, surface: str) -> None:
        """Count a saved question."""
        self._received.labels(command, surface).inc()

    def settled(self, *, command: str, state: str) -> None:
        """Count a closed question."""
        self._settled.labels(command, state).inc()

    def refused(self, status: int) -> None:
        """Count a refused request."""
        self._refused.labels(str(status)).inc()

    def events_limited(self) -> None:
        """Count a minute in which Slack dropped events."""
        self._events_limited.inc()

    def call_refused(self, provider: str) -> None:
        """Count a call that a service refused because of its limit."""
        self._calls_refused.labels(provider).inc()

    def waited(self, seconds: float) -> None:
        """Record how long a question waited before it was begun."""
        self._waited.observe(seconds)

    def set_waiting(self, lanes: Mapping[str, int]) -> None:
        """Set how many questions of all processes now wait because of a limit, by service and kind of call."""
        self._waiting.clear()
        for lane, count in lanes.items():
            self._waiting.labels(lane).set(count)

    def acked(self, seconds: float) -> None:
        """Record the seconds from a request's arrival to its acknowledgement."""
        self._ack.observe(seconds)

    def attempted(self, attempt: Attempt) -> None:
        """Record one attempt of a provider."""
        self._attempts.labels(attempt.provider, attempt.error_class or "ok").inc()
        if attempt.error_class not in NOT_COUNTED:
            self._provider.labels(attempt.provider).observe(attempt.seconds)
        if attempt.cost_usd:
            self._cost.labels(attempt.provider).inc(attempt.cost_usd)

    def set_admin_issues(self, providers: Collection[str]) -> None:
        """Set the providers that now need an admin, whichever process has noticed it."""
        self._needs_admin.clear()
        for provider in providers:
            self._needs_admin.labels(provider).set(1)

    def set_provider_changes(self, found: Mapping[tuple[str, str], int]) -> None:
        """Set the number of lasting changes by provider and kind, whichever process has found them."""
        self._provider_changes.clear()
        for (provider, kind), count in found.items():
            self._provider_changes.labels(provider, kind).set(count)

    def set_audit(self, health: AuditHealth) -> None:
        """Set whether the audit log of all processes is written, and how long its oldest unchained entry has waited."""
        self._audit.set(health.ok)
        self._audit_waiting.set(health.waiting_seconds)

    def page(self) -> bytes:
        """Render the page in Prometheus' text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)
