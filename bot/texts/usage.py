"""What a person reads who typed a command: its help, and what is wrong with what was typed.

A name such as `option` is shown as code here; a `value` of the person's comes as code already. What commands and
options are for is in their own tables (`bot/commands`).
"""

from __future__ import annotations

from collections.abc import Sequence

EVERY_COMMAND = "Every command under one name"
NO_COMMANDS = "There are no commands."
OPTIONS = "*Options*"
EXAMPLES = "*Examples*"

A_QUESTION = "a question"
A_SEARCH = "a search"
A_TOPIC = "a topic"
A_CLAIM = "a claim"
"""What the text after the options is, in `text_too_long` and `text_empty`."""

QUESTION_MISSING = "Add a question after the options."
SEARCH_MISSING = "Add what to search for after the options."
TOPIC_MISSING = "Add a topic after the options."
CLAIMS_MISSING = "Add what to check."

UNREADABLE = "I can’t read these words as options and text. Write them differently."

ASK_MODE = "`--mode` works for searches only: an answer always comes from the open web."
ASK_NUMBER = "`--n` works for searches only: an answer takes as many sources as it needs."
SEARCH_REASONING = "`--reasoning` works for answers only: a search lists pages."
SEARCH_MODEL = "`--model` works for answers only: a search lists pages."
SEARCH_EFFORT = "`--effort` works for answers only: a search lists pages."
NEWS_AFTER = "`--after` doesn’t work for news: use `--recency` to set how new the stories must be."
NEWS_BEFORE = "`--before` doesn’t work for news: use `--recency` to set how new the stories must be."
NEWS_MODE = "`--mode` works for searches only: news always comes from the open web."
NEWS_NUMBER = "`--n` works for searches only: news lists five to eight stories if there are that many."
DEEPDIVE_RECENCY = "`--recency` works for `/ask`, `/search` and `/news`: a deep dive looks for the latest there is."
DEEPDIVE_REASONING = "`--reasoning` works for `/ask` only: a deep dive always takes its time."
DEEPDIVE_MODEL = "`--model` works for `/ask` only: a deep dive has its own models."
DEEPDIVE_EFFORT = "`--effort` works for `/ask` only: a deep dive always takes its time."
WATCH_RECENCY = "`--recency` is not for digests: each lists what is new since the last one."
WATCH_PUBLIC = "`--public` is not for digests: they are posted where you set them up."
"""Options that only other commands have, each with its command."""

AGENTS_OWN_MODEL = "the agent has a model of its own"
BOTH_HOW_LONG = "both say how long to think"
"""Why options contradict each other, in `contradiction`."""


def does_not_reason(model: str) -> str:
    """Return why `--reasoning` contradicts a model, which comes as code, in `contradiction`."""
    return f"{model} does not reason"


def contradiction(option: str, other: str, why: str = "") -> str:
    """Return that two options cannot be used together."""
    return f"`{option}` and `{other}` contradict each other{f': {why}' if why else ''}."


def given_twice(option: str) -> str:
    """Return that an option has two values."""
    return f"`{option}` is given twice."


def takes_no_value(option: str) -> str:
    """Return that an option is a flag."""
    return f"`{option}` takes no value."


def needs_value(option: str, form: str) -> str:
    """Return that an option's value is missing; `form` is such as "hour|day"."""
    return f"`{option}` needs a value: `{form}`."


def quotes_in_value(option: str, value: str) -> str:
    """Return that a value has quotes of every kind."""
    return f"`{option}` cannot be {value}. Leave out the quotes."


def value_not_allowed(option: str, value: str, *, allowed: str) -> str:
    """Return that an option cannot have a value; `allowed` is one or two sentences without the last full stop."""
    return f"`{option}` cannot be {value}. {allowed}."


def effort_not_allowed(option: str, value: str, *, meant: str | None, efforts: Sequence[str]) -> str:
    """Return which efforts there are; `meant` is the one that a value resembles."""
    hint = f"Did you mean {meant}? " if meant else ""
    return f"`{option}` cannot be {value}. {hint}It takes {', '.join(efforts[:-1])} or {efforts[-1]}."


def out_of_range(option: str, *, most: int) -> str:
    """Return that a number must be from 1 to `most`."""
    return f"`{option}` must be between 1 and {most}."


def unknown_option(name: str, *, closest: str | None) -> str:
    """Return that there is no such option; `name` comes as code, `closest` is the option that it resembles."""
    known = f"I don’t know the option {name}."
    if closest:
        return f"{known} Did you mean `{closest}`?"
    return f"{known} If it belongs to your text, put it in quotes, or type ` -- ` before the text."


def too_long(length: int, *, most: int, options: int) -> str:
    """Return that all that was typed is too long; so many characters more are allowed for options."""
    return (
        f"Your text has {length:,} characters. The limit is {most:,}, and {options:,} more for "
        "options. Shorten it and try again."
    )


def text_too_long(length: int, text: str, *, most: str) -> str:
    """Return that the text after the options is too long, which is such as `A_QUESTION`."""
    return f"That’s {length:,} characters; {text} takes up to {most}."


def text_empty(text: str) -> str:
    """Return that there is no text after the options, which is such as `A_QUESTION`."""
    return f"That text is empty. Add {text}."


def category_missing(categories: Sequence[str]) -> str:
    """Return which categories of news there are."""
    return f"Which category? {_choose_from(categories)}"


def unknown_category(word: str, *, meant: str, categories: Sequence[str]) -> str:
    """Return that there is no such category; `meant` is one that it resembles, or empty."""
    hint = f"Did you mean {meant}? " if meant else ""
    return f"“{word}” isn’t a category. {hint}{_choose_from(categories)}"


def _choose_from(categories: Sequence[str]) -> str:
    return f"Choose from: {', '.join(categories[:-1])} and {categories[-1]}."


def no_text(name: str) -> str:
    """Return that a command takes no text."""
    return f"Type `{name}` without any text after it."


def usage_line(line: str) -> str:
    """Return how a command is used; `line` is code."""
    return f"*Usage*  {line}"


def help_shows_all(line: str) -> str:
    """Return what to type for the whole help; `line` is code."""
    return f"{line} shows everything with examples"


def help_shows_options(line: str) -> str:
    """Return what to type for the help of one command; `line` is code."""
    return f"{line} shows every option with examples"


def mention_in_threads(line: str) -> str:
    """Return what to type in a thread; `line` is code."""
    return f"Slack runs no slash commands in threads. Mention me there: {line}"


def unknown_command(word: str, *, closest: str | None) -> str:
    """Return that there is no such command; both come as code, `closest` is one that it resembles."""
    return f"I don’t know the command {word}.{f' Did you mean {closest}?' if closest else ''}"
