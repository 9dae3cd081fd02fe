"""What a provider is: anything that can search and answer. The chain is one too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from perplexity.types import Answer, Event, Kind, Query, Question, SearchResults

BOTH: frozenset[Kind] = frozenset({"search", "answer"})


def writes(provider: Provider) -> bool:
    """Tell whether a model writes the provider's answers; one with a true `search_only` answers with passages."""
    return not getattr(provider, "search_only", False)


def takes_up_runs(provider: Provider) -> bool:
    """Tell whether the provider is one with a true `resumes`: it goes on with a run by the id that it gave."""
    return bool(getattr(provider, "resumes", False))


class Provider(Protocol):
    """A source of search results and answers.

    Every method raises a `PerplexityError`, and nothing else, when it fails. A provider that can only search answers
    with passages (`AnswerKind.PASSAGES`), word for word, never as if a model had written them.
    """

    @property
    def name(self) -> str:
        """The display name, such as "Perplexity"."""
        ...

    @property
    def offers(self) -> frozenset[Kind]:
        """What it can be asked for; the chain passes it over for anything else."""
        ...

    async def search(self, query: Query) -> SearchResults:
        """Return ranked pages, best first, numbered from 1."""
        ...

    async def answer(self, question: Question) -> Answer:
        """Return one sourced answer."""
        ...

    def stream(self, question: Question) -> AsyncIterator[Event]:
        """Yield events while the answer is made; the last one is `Done`."""
        ...
