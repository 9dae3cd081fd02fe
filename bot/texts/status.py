"""`/pplx status` for admins: how the search services do, and what people think of the answers."""

from __future__ import annotations

NO_REQUESTS = "There were no requests to search services in the last 24 hours."
SERVICES = "*Search services*  in the last 24 hours"

REJECTS_KEY = "does not accept the configured key"
OUT_OF_CREDIT = "is out of credit"
NEEDS_ADMIN = "needs an admin"

RATINGS = "*What people think of the answers*  in the last 30 days"
BAD_ANSWERS = "*Bad answers whose askers let you read the question*"
RATINGS_HEADER = "| Answered by | 👍 | 👎 | Good |"

ANSWERED = "Answered"
ANSWERED_SERIES = "answered"
PERCENT = "Percent"
SECONDS_TO_ANSWER = "Seconds to an answer"
SECONDS = "Seconds"
SERVICES_HEADER = "| Service | Answered | p50 | p95 | Cost |"


def spoken(sentences: str) -> str:
    """Return how a notification says it; `sentences` are those of the services."""
    return f"Search services in the last 24 hours: {sentences}"


def service(name: str, *, answered: int, asked: int, p50: str, p95: str, cost: str, trouble: str) -> str:
    """Return how a service does, in words; `trouble` is what an admin must do, empty without any."""
    known = f"{name} answered {answered} of {asked}, p50 {p50}, p95 {p95}, {cost}"
    return f"{known}, {trouble}" if trouble else known


def answered_of(answered: int, asked: int, share: float) -> str:
    """Return how many of a service's questions it answered; `share` is from 0 to 1."""
    return f"{answered} of {asked} ({share:.0%})"


def service_trouble(name: str, trouble: str) -> str:
    """Return what keeps a service from answering until an admin acts."""
    return f"*{name}* {trouble}."
