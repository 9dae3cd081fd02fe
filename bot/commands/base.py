"""What a command is: text in, request, reply, messages out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.blocks.base import Audience, OutgoingMessage
from perplexity.providers.base import Provider

Request = TypeVar("Request")
Reply = TypeVar("Reply")


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option as the asker may write it: `--recency`, its value's form (empty for a flag) and what it does."""

    name: str
    value: str = ""
    help: str
    short: str = ""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a command may use to answer: the provider, and the background run to resume or to record."""

    provider: Provider
    run_id: str | None = None
    on_run: Callable[[str], Awaitable[None]] | None = None


@dataclass(frozen=True, kw_only=True)
class Command(Generic[Request, Reply]):
    """One command.

    `name` has no slash. `summary` is its line in Slack's own list, `usage` what follows the name, `examples` are pairs
    of arguments and what they do. `parse` is pure and raises `UsageError`; the worker calls it again. `audience` says
    who will see the answer to a request behind a slash; `render` is told who sees it where it is shown.
    """

    name: str
    summary: str
    usage: str
    options: tuple[Option, ...]
    examples: tuple[tuple[str, str], ...]
    parse: Callable[[str], Request]
    audience: Callable[[Request], Audience]
    answer: Callable[[Request, Work], Awaitable[Reply]]
    render: Callable[[Reply, Request, Audience], tuple[OutgoingMessage, ...]]
