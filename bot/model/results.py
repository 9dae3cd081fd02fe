"""The saved data of an answer or of search results, for the buttons below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from bot.model.question import RECORDED
from perplexity.deepdive.types import load_attempt
from perplexity.types import Answer, AnswerKind, Passage, SearchResults, Usage
from perplexity.wire.json import as_count, as_dollars, as_object, as_objects, as_text, as_texts
from perplexity.wire.sources import load_source


@dataclass(frozen=True, kw_only=True)
class SearchPage:
    """Search results; `before` are the addresses of the results on earlier pages."""

    results: SearchResults
    before: tuple[str, ...] = ()


Result = Answer | SearchPage
"""A value that is saved."""


@dataclass(frozen=True, kw_only=True)
class KeptResult:
    """An answer or search results, and their question; `text` is the typed text, including options.

    `limits` says in words which pages were searched, such as "past week". `asked_at` is a time of the database's wall
    clock. `channel_id` is the channel in which the question was asked.
    """

    question_id: UUID
    command: str
    text: str
    result: Result
    asked_at: datetime
    limits: tuple[str, ...] = ()
    channel_id: str = ""

    @property
    def is_recorded(self) -> bool:
        """Whether the result is a recorded example, not the reply of a service."""
        reply = self.result.results if isinstance(self.result, SearchPage) else self.result
        return reply.provider == RECORDED


def dump_result(result: object, *, limits: Sequence[str]) -> dict[str, Any] | None:
    """Return a result as JSON values, with its `limits`; None for a kind that is not saved."""
    match result:
        case Answer():
            return {"answer": asdict(result), "limits": list(limits)}
        case SearchPage():
            return {"page": asdict(result), "limits": list(limits)}
    return None


def load_result(saved: Mapping[str, Any] | None) -> Result | None:
    """Parse a value that `dump_result` returned; return None for None, and for a kind of result that is not known.

    Fields of an unknown form are left out.
    """
    if saved is None:
        return None
    if "answer" in saved:
        return _load_answer(as_object(saved["answer"]))
    if "page" not in saved:
        return None
    page = as_object(saved["page"])
    return SearchPage(results=_load_results(as_object(page.get("results"))), before=as_texts(page.get("before")))


def _load_results(fields: Mapping[str, Any]) -> SearchResults:
    return SearchResults(
        results=tuple(load_source(one) for one in as_objects(fields.get("results"))),
        provider=as_text(fields.get("provider")),
        seconds=as_dollars(fields.get("seconds")) or 0.0,
        cost_usd=as_dollars(fields.get("cost_usd")),
        notes=as_texts(fields.get("notes")),
        failed=tuple(load_attempt(one) for one in as_objects(fields.get("failed"))),
    )


def _load_answer(fields: Mapping[str, Any]) -> Answer:
    usage = as_object(fields.get("usage"))
    passages = as_objects(fields.get("passages"))
    return Answer(
        text=as_text(fields.get("text")),
        sources=tuple(load_source(one) for one in as_objects(fields.get("sources"))),
        provider=as_text(fields.get("provider")),
        kind=AnswerKind.PASSAGES if fields.get("kind") == AnswerKind.PASSAGES else AnswerKind.MODEL,
        passages=tuple(
            Passage(text=as_text(one.get("text")), source=as_count(one.get("source")) or 0) for one in passages
        ),
        model=as_text(fields.get("model")) or None,
        effort=as_text(fields.get("effort")) or None,
        reasoning=as_text(fields.get("reasoning")) or None,
        queries=as_texts(fields.get("queries")),
        incomplete=fields["incomplete"] if isinstance(fields.get("incomplete"), str) else None,
        usage=Usage(
            input_tokens=as_count(usage.get("input_tokens")),
            output_tokens=as_count(usage.get("output_tokens")),
            reasoning_tokens=as_count(usage.get("reasoning_tokens")),
            searches=as_count(usage.get("searches")),
            cost_usd=as_dollars(usage.get("cost_usd")),
        ),
        seconds=as_dollars(fields.get("seconds")) or 0.0,
        id=as_text(fields.get("id")) or None,
        notes=as_texts(fields.get("notes")),
        failed=tuple(load_attempt(one) for one in as_objects(fields.get("failed"))),
        as_of=as_text(fields.get("as_of")),
        attachments=as_count(fields.get("attachments")) or 0,
        stand_in=as_text(fields.get("stand_in")),
    )
