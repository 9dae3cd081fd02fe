"""Defines the search filters as options shared by the commands, and parses their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from bot.blocks.escaping import escape
from bot.commands.base import Option, ValueKind
from bot.commands.parsing import Arguments, abbreviate, inline_code
from bot.errors import UsageError
from bot.model.message import Audience
from bot.translation import N_, figures, number
from bot.translation import gettext as _
from perplexity.errors import InvalidRequest
from perplexity.filters import (
    Filters,
    parse_country,
    parse_day,
    parse_domains,
    parse_languages,
    parse_mode,
    parse_recency,
    validate,
)
from perplexity.news.summary import CATEGORIES, parse_category

R = TypeVar("R")

_NAMES = tuple(CATEGORIES)
_SENTENCE_STARTS = re.compile(r"(?:^|(?<=\? ))\w")
_LENGTH = re.compile(r"(\d+) characters")
_LIMIT = re.compile(r"[\d,]+$")


def category_argument(word: str) -> str:
    """Return the news category that a word names. Raises UsageError if the word is empty or names no category."""
    if not word:
        raise UsageError(_("Which category?") + f" {_categories()}")
    try:
        return parse_category(word)
    except InvalidRequest as error:
        hint, asked, __ = (error.allowed or "").partition("? ")
        meant = _("Did you mean {name}?").format(name=hint.rpartition(" ")[2]) + " " if asked else ""
        unknown = _("“{word}” isn’t a category.").format(word=abbreviate(word))
        raise UsageError(f"{unknown} {meant}{_categories()}") from None


def _categories() -> str:
    return _("Choose from: {names} and {last}.").format(names=", ".join(_NAMES[:-1]), last=_NAMES[-1])


RECENCY = Option(
    name="--recency",
    value="|".join((N_("hour"), N_("day"), N_("week"), N_("month"), N_("year"))),
    help=N_("Only pages as new as this"),
    kind=ValueKind.CHOICE,
    label=N_("How new"),
)
DOMAIN = Option(
    name="--domain",
    value="a.com,-b.com",
    help=N_("Only these sites or, each with a `-`, all but these; at most 20"),
    label=N_("Sites"),
)
LANG = Option(
    name="--lang", value="en,de", help=N_("Pages in these languages, two letters each"), label=N_("Languages")
)
COUNTRY = Option(
    name="--country", value="DE", help=N_("Pages relevant in this country, two letters"), label=N_("Country")
)
AFTER = Option(
    name="--after",
    value="YYYY-MM-DD",
    help=N_("Only pages from after this day; not with `--recency`"),
    kind=ValueKind.DATE,
    label=N_("After"),
)
BEFORE = Option(
    name="--before",
    value="YYYY-MM-DD",
    help=N_("Only pages from before this day; not with `--recency`"),
    kind=ValueKind.DATE,
    label=N_("Before"),
)
MODE = Option(
    name="--mode",
    value="|".join((N_("web"), N_("academic"), N_("sec"))),
    help=N_("The web, scholarly papers, or filings with the SEC"),
    kind=ValueKind.CHOICE,
    label=N_("Where to search"),
)
PUBLIC = Option(
    name="--public",
    help=N_("Show the answer to everyone here; otherwise only you see it"),
    label=N_("Show it to everyone here"),
)
PRIVATE = Option(
    name="--private",
    help=N_("Only you see the answer, whatever your settings say"),
    label=N_("Only I see it"),
)

FILTERS = (RECENCY, DOMAIN, LANG, COUNTRY, AFTER, BEFORE)


def parse_filters(arguments: Arguments) -> Filters:
    """Parse the filters. Raises InvalidRequest for an invalid value or combination."""
    recency, country = arguments.one(RECENCY.name), arguments.one(COUNTRY.name)
    after, before, mode = arguments.one(AFTER.name), arguments.one(BEFORE.name), arguments.one(MODE.name)
    return validate(
        Filters(
            recency=None if recency is None else parse_recency(recency),
            domains=parse_domains(arguments.many(DOMAIN.name)),
            languages=parse_languages(arguments.many(LANG.name), name="lang"),
            country=None if country is None else parse_country(country),
            after=None if after is None else parse_day("after", after),
            before=None if before is None else parse_day("before", before),
            mode=None if mode is None else parse_mode(mode),
        )
    )


def filter_options(filters: Filters) -> Iterator[str]:
    """Yield the options that set these filters."""
    values = (
        (RECENCY, filters.recency),
        (DOMAIN, ",".join(filters.domains)),
        (LANG, ",".join(filters.languages)),
        (COUNTRY, filters.country),
        (AFTER, filters.after),
        (BEFORE, filters.before),
        (MODE, filters.mode),
    )
    # After an equals sign, a value that begins with a dash is not an option.
    yield from (f"{option.name}={value}" for option, value in values if value)


def write_command(options: Iterable[str], typed: str, *, parse: Callable[[str], R], meaning: R) -> str | None:
    """Return the text of a command with these options and the `typed` text.

    `parse` returns `meaning` for this text. Return None if no such text can be written.
    """
    given = " ".join(options)
    # After two dashes, a text that looks like an option is text.
    for dashes in ("", "-- "):
        line = escape(f"{given} {dashes}{typed}".strip())
        with suppress(UsageError):
            if parse(line) == meaning:
                return line
    return None


def parse_visibility(arguments: Arguments) -> dict[str, bool]:
    """Return whether the options ask for a `public` or `private` answer. Raises UsageError if they ask for both."""
    public, private = PUBLIC.name in arguments.options, PRIVATE.name in arguments.options
    if public and private:
        raise UsageError(contradiction(PUBLIC.name, PRIVATE.name), option=PRIVATE.name)
    return {"public": public, "private": private}


def visibility_options(*, public: bool, private: bool) -> list[str]:
    """Return the option for this visibility; no option if the answer is neither `public` nor `private`."""
    return [option.name for option, given in ((PUBLIC, public), (PRIVATE, private)) if given]


def audience_for(*, public: bool) -> Audience:
    """Return the audience of an answer to a slash command: everyone in the channel if `public`, else the asker."""
    return Audience.CHANNEL if public else Audience.ASKER


def capitalize_sentences(allowed: str) -> str:
    """Return a text with a capital at the start and after a question; `allowed` is the text of an InvalidRequest."""
    return _SENTENCE_STARTS.sub(lambda match: match[0].upper(), allowed)


@contextmanager
def usage_errors(text: str) -> Iterator[None]:
    """Convert an InvalidRequest, whose fields have the options' names, to a UsageError.

    `text` is what the text after the options is, such as "a question"; this function translates it.
    """
    try:
        yield
    except InvalidRequest as error:
        is_text = error.field in {"query", "prompt"}
        raise UsageError(_problem(error, text), option="" if is_text else f"--{error.field}") from None


def _problem(error: InvalidRequest, text: str) -> str:
    allowed = capitalize_sentences(error.allowed or str(error))
    if error.field in {"query", "prompt"}:
        length = _LENGTH.fullmatch(error.value or "")
        longest = _LIMIT.search(allowed)
        if length and longest:
            most = figures(longest[0])
            long = _("That’s {length} characters; {text} takes up to {most}.")
            return long.format(length=number(int(length[1])), text=_(text), most=most)
        return _("That text is empty. Add {text}.").format(text=_(text))
    return value_not_allowed(f"--{error.field}", inline_code(error.value or ""), allowed=allowed)


def contradiction(option: str, other: str, why: str = "") -> str:
    """Return the sentence that two options cannot be used together."""
    if why:
        return _("`{option}` and `{other}` contradict each other: {why}.").format(option=option, other=other, why=why)
    return _("`{option}` and `{other}` contradict each other.").format(option=option, other=other)


def value_not_allowed(option: str, value: str, *, allowed: str) -> str:
    """Return the text that an option cannot have a value; `allowed` is a sentence without its full stop."""
    return _("`{option}` cannot be {value}. {allowed}.").format(option=option, value=value, allowed=allowed)
