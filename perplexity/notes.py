"""Sentences about an answer or a search: no results, another provider, another model, a cut text."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.attempts import Attempt, attempt_reasons
from perplexity.errors import AllProvidersFailed, NothingFound, PerplexityError
from perplexity.filters import Filters, in_words
from perplexity.sanitize import one_line
from perplexity.types import Answer, AnswerKind, Question, SearchResults

_LONGEST_QUERY = 200
_LONGEST_FILTERS = 600


def is_empty_result(error: PerplexityError) -> bool:
    """Return whether an error only says that there are no results: every provider that was asked found none."""
    if isinstance(error, AllProvidersFailed):
        return {attempt.error_class for attempt in error.attempts} == {NothingFound.__name__}
    return isinstance(error, NothingFound)


def with_reasons(sentence: str, error: PerplexityError) -> str:
    """Return a sentence on missing results with the providers' reasons, such as pages left out."""
    return " ".join([sentence, *_reasons(error)])


def no_results_text(text: str, filters: Filters | None = None) -> str:
    """Return "Nothing was found for “heat pumps” (past day). Try other words or fewer filters."""
    narrowed = format_filters(filters or Filters())
    return f"Nothing was found for “{format_query(text)}”{narrowed}. {_advice(narrowed, 'other words')}"


def no_news_text(category: str, topic: str, filters: Filters) -> str:
    """Return "No technology news about “chips” was found (past day). Try another topic or a longer period."""
    about = f" about “{format_query(topic)}”" if topic.strip() else ""
    narrowed, news = format_filters(filters), f"{category} news".lstrip()
    return f"No {news}{about} was found{narrowed}. Try another topic, a longer period or fewer filters."


def format_query(text: str) -> str:
    """Return the query on one line, shortened."""
    line = one_line(text)
    return line if len(line) <= _LONGEST_QUERY else line[: _LONGEST_QUERY - 1].rstrip() + "…"


def format_filters(filters: Filters) -> str:
    """Return the filters as " (past day, only a.example)", or an empty string if there are none."""
    words = ", ".join(in_words(filters))
    words = words if len(words) <= _LONGEST_FILTERS else words[: _LONGEST_FILTERS - 1] + "…"
    return f" ({words})" if words else ""


def _reasons(error: PerplexityError) -> list[str]:
    if isinstance(error, AllProvidersFailed):
        failed = error.attempts
    else:
        failed = (Attempt(provider=error.provider or "The service", seconds=0.0, summary=error.summary),)
    reasons = attempt_reasons(one for one in failed if one.summary not in (None, NothingFound.summary))
    return [f"{reason}." for reason in reasons]


def _advice(narrowed: str, other: str) -> str:
    return f"Try {other} or fewer filters." if narrowed else f"Try {other}."


NO_MODEL = "No answer model is configured."


def fallback_notice(reply: Answer | SearchResults, *, unset: str = "") -> str:
    """Return the line for a reply of another provider than the first choice, or an empty string.

    `unset` is the variable whose lack kept the first choice from being asked.
    """
    own = reply.stand_in if isinstance(reply, Answer) else ""
    return " ".join(filter(None, (own, _stand_in(reply, unset=unset))))


def agent_fallback_notice(read: Answer | SearchResults) -> str:
    """Return the line for an agent's answer if one of its tools had to use another provider's pages or answer."""
    what = "an answer" if isinstance(read, Answer) and read.kind is AnswerKind.MODEL else "pages"
    return fallback_sentence(read.failed, f"the agent read {what} from {read.provider}")


def _stand_in(reply: Answer | SearchResults, *, unset: str) -> str:
    if isinstance(reply, SearchResults):
        return fallback_sentence(reply.failed, _source("these are pages", reply.provider, reply.failed), unset=unset)
    if reply.kind is AnswerKind.MODEL:
        return fallback_sentence(reply.failed, _source("this answer is", reply.provider, reply.failed), unset=unset)
    pages = f"{_source('these are pages', reply.provider, reply.failed)}, quoted word for word"
    line = fallback_sentence(reply.failed, pages, unset=unset)
    return f"{line} {NO_MODEL}" if line and _only_searched(reply.failed) else line


def fallback_sentence(failed: Sequence[Attempt], what: str, *, unset: str = "") -> str:
    """Return "Perplexity could not be reached; these are pages from DuckDuckGo.", with `what` as its end."""
    why = [f"{unset} is not set"] if unset else []
    why += attempt_reasons(failed)
    return f"{join_clauses(why)}; {what}." if why else ""


def join_clauses(clauses: Sequence[str]) -> str:
    """Return clauses as one: "a, b and c"."""
    return f"{', '.join(clauses[:-1])} and {clauses[-1]}" if len(clauses) > 1 else "".join(clauses)


def _source(what: str, provider: str, failed: Sequence[Attempt]) -> str:
    """Return the origin of a reply. For an agent that failed, it is the pages that the agent had found."""
    own = any(attempt.provider == provider for attempt in failed)
    return f"{what} that it had found" if own else f"{what} from {provider}"


def _only_searched(failed: Sequence[Attempt]) -> bool:
    return all(attempt.search_only for attempt in failed)


DEFAULT_MODEL = "sonar"
"""The model that the tools request if their caller names none."""

_LENGTHS = frozenset({"length", "max_tokens", "max_output_tokens"})
"""The services' names of the reason that a model reached its length limit."""


def answer_notes(answer: Answer, question: Question | None = None) -> tuple[str, ...]:
    """Return the answer's notes, with sentences if it was cut or if another model than the requested one answered."""
    notes = [_cut(answer, question), _other_model(answer, question), *answer.notes]
    return tuple(filter(None, notes))


def _cut(answer: Answer, question: Question | None) -> str:
    if answer.incomplete is None:
        return ""
    if answer.incomplete in _LENGTHS:
        limit = f" of {question.max_tokens:,}" if question and question.max_tokens else ""
        return f"The answer is incomplete: it was cut off at max_tokens{limit}."
    return f"The answer is incomplete: the model stopped early ({answer.incomplete})."


def _other_model(answer: Answer, question: Question | None) -> str:
    """Return a sentence if another model answered; none if a note says so already or if it is the default model."""
    named, model = question.model if question else None, answer.model
    if not named or not model or named == DEFAULT_MODEL or _plain(named) == _plain(model):
        return ""
    return "" if any(_plain(model) in note for note in answer.notes) else f"{named} was asked for; {model} answered."


def _plain(model: str) -> str:
    return model.strip().lower().removeprefix("perplexity/")
