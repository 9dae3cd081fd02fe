"""What narrows a search, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

Recency = Literal["hour", "day", "week", "month", "year"]
Mode = Literal["web", "academic", "sec"]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Filters in our own words; each wire writes them its own way.

    `domains`: at most 20 host names without scheme, all allowed ones or all denied ones (leading `-`).
    `languages`: ISO 639-1, lower case. `country`: ISO 3166-1 alpha-2, upper case. `after`, `before`: days, exclusive with
    `recency`.
    """

    recency: Recency | None = None
    domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    country: str | None = None
    after: date | None = None
    before: date | None = None
    mode: Mode | None = None
