"""What is said when a search found nothing: what was searched for, how it was narrowed, and what to try. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from perplexity.errors import AllProvidersFailed, NothingFound, PerplexityError
from perplexity.filters import Filters, in_words
from perplexity.quoting import quoted

_LONGEST_QUERY = 200
_LONGEST_FILTERS = 600


def found_nothing(error: PerplexityError) -> bool:
    """Return whether an error only says that there is nothing: every provider that was asked looked and found none."""
    if isinstance(error, AllProvidersFailed):
        return {attempt.error_class for attempt in error.attempts} == {NothingFound.__name__}
    return isinstance(error, NothingFound)


def with_reasons(sentence: str, error: PerplexityError) -> str:
    """Return what is said when nothing was found, with what providers say about why, such as pages left out."""
    return " ".join([sentence, *_reasons(error)])


def nothing_found(text: str, filters: Filters | None = None) -> str:
    """Return "Nothing was found for “heat pumps” (past day). Try other words or fewer filters."""
    narrowed = narrowing(filters or Filters())
    return f"Nothing was found for “{query_in_words(text)}”{narrowed}. {_advice(narrowed, 'other words')}"


def no_news_found(category: str, topic: str, filters: Filters) -> str:
    """Return "No technology news about “chips” was found (past day). Try another topic or a longer period."""
    about = f" about “{query_in_words(topic)}”" if topic.strip() else ""
    narrowed = narrowing(filters)
    return f"No {category} news{about} was found{narrowed}. Try another topic, a longer period or fewer filters."


def query_in_words(text: str) -> str:
    """Return what was searched for on one line, shortened."""
    line = quoted(text)
    return line if len(line) <= _LONGEST_QUERY else line[: _LONGEST_QUERY - 1].rstrip() + "…"


def narrowing(filters: Filters) -> str:
    """Return the filters as " (past day, only a.example)", or an empty string if there are none."""
    words = ", ".join(in_words(filters))
    words = words if len(words) <= _LONGEST_FILTERS else words[: _LONGEST_FILTERS - 1] + "…"
    return f" ({words})" if words else ""


def _reasons(error: PerplexityError) -> Iterator[str]:
    if isinstance(error, AllProvidersFailed):
        said = [(attempt.provider, attempt.summary) for attempt in error.attempts]
    else:
        said = [(error.provider or "The service", error.summary)]
    for provider, summary in said:
        if summary not in (None, NothingFound.summary):
            yield f"{provider} {summary}."


def _advice(narrowed: str, other: str) -> str:
    return f"Try {other} or fewer filters." if narrowed else f"Try {other}."
