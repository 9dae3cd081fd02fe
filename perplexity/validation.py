"""Validates queries and conversations before sending, and limits the length of answers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from perplexity.errors import InvalidRequest
from perplexity.filters import validate
from perplexity.scope import say
from perplexity.types import Answer, Message, Query

MAX_ANSWER_LENGTH = 200_000
"""The most characters, about 50,000 tokens: several times the longest research report of any service."""
_NEAR = 1_000
"""A long text is cut at most this many characters before the limit, at the end of a line or else of a word."""


def shorten_text(text: str) -> tuple[str, tuple[str, ...]]:
    """Return at most `MAX_ANSWER_LENGTH` characters of a text, and a note for the reader if the rest was left out."""
    if len(text) <= MAX_ANSWER_LENGTH:
        return text, ()
    ends = (text.rfind(sign, MAX_ANSWER_LENGTH - _NEAR, MAX_ANSWER_LENGTH) for sign in ("\n", " "))
    kept = text[: next((end for end in ends if end > 0), MAX_ANSWER_LENGTH)]
    note = say("This text has {all} characters. Only the first {shown} are shown.")
    return kept, (note.format(all=f"{len(text):,}", shown=f"{len(kept):,}"),)


def shorten_answer(answer: Answer) -> Answer:
    """Return an answer with its text shortened to the limit, with a note if it was longer."""
    text, notes = shorten_text(answer.text)
    return replace(answer, text=text, notes=(*notes, *answer.notes)) if notes else answer


MAX_QUERY_LENGTH = 4_000
"""The most characters of a query: more than anybody searches for, and fewer than a pasted document has."""

MAX_PROMPT_LENGTH = 100_000
"""The most characters of all messages of a question: about 25,000 tokens."""

MAX_RESULTS = 20
MAX_TOKENS_PER_PAGE = 1_000_000

_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")


def parse_query(text: str) -> str:
    """Return a query on one line, without control characters. Raises InvalidRequest if it is empty or too long."""
    return _validate_text("query", text if text.isprintable() else _BREAKS.sub(" ", text), MAX_QUERY_LENGTH)


def parse_max_results(value: int | str, *, name: str = "max_results") -> int:
    """Return the number of requested results, 1 to 20. Raises InvalidRequest, which uses `name` for the value."""
    return _parse_int(name, value, MAX_RESULTS)


def validate_query(query: Query) -> Query:
    """Return the query as it is sent. Raises InvalidRequest for the first invalid part."""
    text, filters, most = parse_query(query.text), validate(query.filters), parse_max_results(query.max_results)
    tokens = _parse_int("max_tokens_per_page", query.max_tokens_per_page, MAX_TOKENS_PER_PAGE)
    if (text, filters, most, tokens) == (query.text, query.filters, query.max_results, query.max_tokens_per_page):
        return query
    return replace(query, text=text, filters=filters, max_results=most, max_tokens_per_page=tokens)


def validate_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a conversation as it is sent: without control characters other than tabs and line breaks.

    Raises InvalidRequest if a turn is empty, the last turn is not the user's, or the turns have more than
    `MAX_PROMPT_LENGTH` characters altogether.
    """
    checked = tuple(_checked_message(message) for message in messages)
    if not checked or checked[-1].role != "user":
        raise InvalidRequest.for_field("prompt", "", say("the last message must be the user's"))
    length = sum(len(message.content) for message in checked)
    if length > MAX_PROMPT_LENGTH:
        raise InvalidRequest.for_field(
            "prompt", f"{length} characters", say("it takes at most {most}").format(most=f"{MAX_PROMPT_LENGTH:,}")
        )
    return checked


def _checked_message(message: Message) -> Message:
    content = _validate_text("prompt", message.content, MAX_PROMPT_LENGTH)
    return message if content == message.content else replace(message, content=content)


def _validate_text(field: str, text: str, longest: int) -> str:
    # A printable text contains no control characters, and only spaces among the invisible ones.
    if text.isprintable():
        text = text.strip()
        shown = bool(text)
    else:
        text = "".join(c for c in text if c in "\t\n" or unicodedata.category(c) not in {"Cc", "Cs"}).strip()
        shown = any(unicodedata.category(c) not in {"Cf", "Zs", "Cc"} for c in text)
    if not shown:
        raise InvalidRequest.for_field(field, "", say("it must hold some text"))
    if len(text) > longest:
        raise InvalidRequest.for_field(
            field, f"{len(text)} characters", say("it takes at most {most}").format(most=f"{longest:,}")
        )
    return text


def _parse_int(field: str, value: int | str, most: int) -> int:
    if type(value) is int and 1 <= value <= most:
        return value
    typed = str(value).strip()
    # `isdecimal` alone accepts the digits of every script, and `int` fails for thousands of digits.
    if not (typed.isascii() and typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= most):
        allowed = say("it takes a whole number from 1 to {most}").format(most=f"{most:,}")
        raise InvalidRequest.for_field(field, value, allowed)
    return int(typed)
