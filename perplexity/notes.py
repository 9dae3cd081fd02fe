"""Sentences about an answer or a search: no results, another provider, another model, a cut text."""

from __future__ import annotations

from collections.abc import Sequence

from perplexity.errors import AllProvidersFailed, Attempt, NothingFound, PerplexityError, attempt_reasons
from perplexity.filters import Filters, in_words
from perplexity.sanitize import one_line
from perplexity.scope import N_, say
from perplexity.types import Answer, AnswerKind, Question, SearchResults

_LONGEST_QUERY = 200
_LONGEST_FILTERS = 600


def is_empty_result(error: PerplexityError) -> bool:
    """Return whether an error only says that there are no results: every provider that was asked found none."""
    if isinstance(error, AllProvidersFailed):
        return {attempt.error_class for attempt in error.attempts} == {NothingFound.__name__}
    return isinstance(error, NothingFound)


def with_reasons(sentence: str, error: PerplexityError) -> str:
    """Return `sentence`, which says that nothing was found, followed by the reasons that the providers gave."""
    if isinstance(error, AllProvidersFailed):
        failed = error.attempts
    else:
        failed = (Attempt(provider=error.provider or say("The service"), seconds=0.0, summary=error.summary),)
    reasons = attempt_reasons(one for one in failed if one.summary not in (None, NothingFound.summary))
    return " ".join([sentence, *(f"{reason}." for reason in reasons)])


def no_results_text(text: str, filters: Filters | None = None) -> str:
    """Return a text such as: Nothing was found for “heat pumps” (past day). Try other words or fewer filters."""
    narrowed = format_filters(filters or Filters())
    if narrowed:
        said = say("Nothing was found for “{query}”{filters}. Try other words or fewer filters.")
    else:
        said = say("Nothing was found for “{query}”. Try other words.")
    return said.format(query=format_query(text), filters=narrowed)


def no_news_text(category: str, topic: str, filters: Filters) -> str:
    """Return a text that says that no news was found, and suggests what to change.

    For example: No technology news about “chips” was found (past day). Try another topic, a longer period or fewer
    filters.
    """
    if topic.strip():
        said = say("No {news} about “{topic}” was found{filters}.")
    else:
        said = say("No {news} was found{filters}.")
    named = said.format(news=news_of(category), topic=format_query(topic), filters=format_filters(filters))
    return f"{named} {say('Try another topic, a longer period or fewer filters.')}"


def news_of(category: str) -> str:
    """Return "technology news" for a category, "news" without one."""
    return say(_NEWS[category]) if category in _NEWS else f"{category} news".lstrip()


_NEWS = {
    "": N_("news"),
    "world": N_("world news"),
    "business": N_("business news"),
    "technology": N_("technology news"),
    "science": N_("science news"),
    "health": N_("health news"),
    "sports": N_("sports news"),
    "entertainment": N_("entertainment news"),
    "politics": N_("politics news"),
}


def format_query(text: str) -> str:
    """Return the query on one line, shortened."""
    line = one_line(text)
    return line if len(line) <= _LONGEST_QUERY else line[: _LONGEST_QUERY - 1].rstrip() + "…"


def format_filters(filters: Filters) -> str:
    """Return the filters as " (past day, only a.example)", or an empty string if there are none."""
    words = ", ".join(in_words(filters))
    words = words if len(words) <= _LONGEST_FILTERS else words[: _LONGEST_FILTERS - 1] + "…"
    return f" ({words})" if words else ""


NO_MODEL = N_("No answer model is configured.")


def fallback_notice(reply: Answer | SearchResults, *, unset: str = "") -> str:
    """Return the line that says why the first choice of provider did not reply.

    The line begins with the answer's own `stand_in`, if any; it is empty if there is nothing to say. `unset` is the
    environment variable whose absence kept the first choice from being asked.
    """
    own = reply.stand_in if isinstance(reply, Answer) else ""
    return " ".join(filter(None, (own, _stand_in(reply, unset=unset))))


def agent_fallback_notice(read: Answer | SearchResults) -> str:
    """Return a line that says why an agent read the pages or the answer of another provider.

    The line is empty if no provider failed before `read`.
    """
    is_answer = isinstance(read, Answer) and read.kind is AnswerKind.MODEL
    said = say("the agent read an answer from {provider}") if is_answer else say("the agent read pages from {provider}")
    return fallback_sentence(read.failed, said.format(provider=read.provider))


def _stand_in(reply: Answer | SearchResults, *, unset: str) -> str:
    # If the provider of the reply is among the failed ones, it is an agent that failed, and the reply is made of the
    # pages that the agent had found before.
    own = any(attempt.provider == reply.provider for attempt in reply.failed)
    if isinstance(reply, SearchResults):
        what = say("these are pages that it had found") if own else say("these are pages from {provider}")
    elif reply.kind is AnswerKind.MODEL:
        what = say("this answer is that it had found") if own else say("this answer is from {provider}")
    elif own:
        what = say("these are pages that it had found, quoted word for word")
    else:
        what = say("these are pages from {provider}, quoted word for word")
    line = fallback_sentence(reply.failed, what.format(provider=reply.provider), unset=unset)
    passages = isinstance(reply, Answer) and reply.kind is not AnswerKind.MODEL
    only_searched = all(attempt.search_only for attempt in reply.failed)
    return f"{line} {say(NO_MODEL)}" if line and passages and only_searched else line


def fallback_sentence(failed: Sequence[Attempt], what: str, *, unset: str = "") -> str:
    """Return a sentence that says which services failed, and why, and ends with `what`; empty if none did.

    An example is "Perplexity could not be reached; these are pages from DuckDuckGo." If `unset` names a variable,
    "… is not set" is the first reason.
    """
    why = [say("{variable} is not set").format(variable=unset)] if unset else []
    why += attempt_reasons(failed)
    return f"{join_clauses(why)}; {what}." if why else ""


def join_clauses(clauses: Sequence[str]) -> str:
    """Return clauses as one: "a, b and c"."""
    if len(clauses) < 2:
        return "".join(clauses)
    return say("{words} and {last}").format(words=", ".join(clauses[:-1]), last=clauses[-1])


DEFAULT_MODEL = "sonar"
"""The model that the tools request if their caller names none."""

_LENGTHS = frozenset({"length", "max_tokens", "max_output_tokens"})
"""The words by which services report that a model reached its length limit."""


def answer_notes(answer: Answer, question: Question | None = None) -> tuple[str, ...]:
    """Return the answer's notes, with sentences if it was cut or if another model than the requested one answered."""
    notes = [_cut(answer, question), _other_model(answer, question), *answer.notes]
    return tuple(filter(None, notes))


def _cut(answer: Answer, question: Question | None) -> str:
    if answer.incomplete is None:
        return ""
    if answer.incomplete in _LENGTHS:
        if question and question.max_tokens:
            said = say("The answer is incomplete: it was cut off at max_tokens of {most}.")
            return said.format(most=f"{question.max_tokens:,}")
        return say("The answer is incomplete: it was cut off at max_tokens.")
    return say("The answer is incomplete: the model stopped early ({reason}).").format(reason=answer.incomplete)


def _other_model(answer: Answer, question: Question | None) -> str:
    """Return a sentence if another model than the requested one answered; otherwise empty.

    Also empty if a note already names the model, or if the default model was requested.
    """
    named, model = question.model if question else None, answer.model
    if not named or not model or named == DEFAULT_MODEL or _plain(named) == _plain(model):
        return ""
    said = say("{named} was asked for; {model} answered.").format(named=named, model=model)
    return "" if any(_plain(model) in note for note in answer.notes) else said


def _plain(model: str) -> str:
    return model.strip().lower().removeprefix("perplexity/")
