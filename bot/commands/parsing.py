"""How a wrong word is shown to the asker, and what it probably meant.

Slack escapes `& < >` and wraps links and mentions; clients turn `--` into a dash and straight quotes into curly ones.

What does not look like an option is text and stays as it was typed. Text that does look like one is kept by quotes,
backticks, or a `--` of its own before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from bot.blocks.escaping import plain
from bot.commands.base import Option
from bot.errors import UsageError
from perplexity.validation import LONGEST_QUERY


def quoted(value: str) -> str:
    """Return a value as code in mrkdwn: on one line, at most 40 characters, no backtick of its own."""
    return f"`{brief(value)}`"


def brief(value: str) -> str:
    """Return a value on one line, at most 40 characters, without backticks."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in value).split()).replace("`", "'")
    return shown[:39] + "…" if len(shown) > 40 else shown


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that a misspelt word probably means: one that it begins, or the most similar."""
    bare = {choice.removeprefix("--"): choice for choice in choices}
    typed = word.removeprefix("--")
    begun = [choice for choice in bare if len(typed) > 1 and choice.startswith(typed)]
    return next((bare[near] for near in begun or get_close_matches(typed, bare, n=1, cutoff=0.65)), None)


DASHES = "-‐‑‒–—―−﹣－"
LONG_DASHES = "‒–—―"
DOUBLE_QUOTES = '"“”„‟«»＂'
SINGLE_QUOTES = "'‘’‚‛＇"

_OPTION = re.compile(rf"(?:[{DASHES}]{{2}}|[{LONG_DASHES}])[^\W\d_]")
_PHRASE_END = re.compile(rf"[{DOUBLE_QUOTES}]")
_VALUE_END = re.compile(rf"[{SINGLE_QUOTES}](?!\S)")
_BACKTICKS = re.compile("`+")
_SPACES = re.compile(r"\s*")
_ORDINARY = re.compile(rf"[^\s`={DOUBLE_QUOTES}{SINGLE_QUOTES}]*")


@dataclass(frozen=True, kw_only=True)
class Word:
    """A run of characters without a space outside quotes, and where it stands in the text."""

    text: str
    start: int
    end: int


def split(text: str) -> list[Word]:
    """Cut a text into words; a phrase in double quotes or backticks, and a value in quotes, is in one word.

    Only the first `=` of an option opens a value. The time it takes grows with the length of the text and no faster.
    """
    phrases = _Phrases.of(text)
    words: list[Word] = []
    place = 0
    while (start := _passed(_SPACES, text, place)) < len(text):
        place = _end(phrases, start, value=bool(words) and is_long_option(words[-1].text))
        words.append(Word(text=text[start:place], start=start, end=place))
    return words


def is_long_option(word: str) -> bool:
    """Return whether a word is written as an option is, such as `--n` or `—n=5`, whatever its name."""
    return _OPTION.match(word) is not None


@dataclass(frozen=True, kw_only=True)
class _Phrases:
    """A text, and the last places at which a phrase can end, so that each search for an end finds one."""

    text: str
    ticks: dict[int, int]
    """The longest run of backticks from each run on, by the place of the run."""
    double: int
    single: int

    @classmethod
    def of(cls, text: str) -> _Phrases:
        """Look through a text once."""
        ticks: dict[int, int] = {}
        longest = 0
        for run in reversed([match.span() for match in _BACKTICKS.finditer(text)]):
            ticks[run[1]] = longest
            longest = max(longest, run[1] - run[0])
        return cls(text=text, ticks=ticks, double=_last(_PHRASE_END, text), single=_last(_VALUE_END, text))

    def end(self, start: int, *, single: bool) -> int | None:
        """Return the end of the phrase that opens at `start`; None if none opens there or it is never closed."""
        text, sign = self.text, self.text[start]
        if sign == "`":
            after = _passed(_BACKTICKS, text, start)
            closed = self.ticks.get(after, 0) >= after - start
            return text.find(text[start:after], after) + after - start if closed else after
        if sign in DOUBLE_QUOTES and start < self.double and not (start and text[start - 1].isalnum()):
            return _after(_PHRASE_END, text, start + 1)
        if single and sign in SINGLE_QUOTES and start < self.single:
            return _after(_VALUE_END, text, start + 1)
        return None


def _passed(run: re.Pattern[str], text: str, start: int) -> int:
    """Return the end of the run of characters that begins at `start`."""
    match = run.match(text, start)
    return match.end() if match else start


def _last(sign: re.Pattern[str], text: str) -> int:
    return max((match.start() for match in sign.finditer(text)), default=-1)


def _after(sign: re.Pattern[str], text: str, start: int) -> int | None:
    match = sign.search(text, start)
    return match.end() if match else None


def _end(phrases: _Phrases, start: int, *, value: bool) -> int:
    """Return the end of the word that begins at `start`."""
    text = phrases.text
    unopened = _OPTION.match(text, start) is not None
    place, single = start, value
    while place < len(text) and not text[place].isspace():
        if (end := phrases.end(place, single=single)) is None:
            single = unopened and text[place] == "="
            unopened = unopened and not single
            # What is no sign and no space is passed over at once.
            end = place + 1 if single else _passed(_ORDINARY, text, place + 1)
        else:
            single = False
        place = end
    return place


_LONG = re.compile(rf"(?:[{DASHES}]{{2}}|([{LONG_DASHES}]))([^\W\d_][^=]*)(?:=(.*))?", re.DOTALL)
_SHORT = re.compile(rf"(?![{LONG_DASHES}])[{DASHES}]([^\W\d_])(?:=(.*))?", re.DOTALL)
_END = re.compile(rf"[{DASHES}]{{2}}|[{LONG_DASHES}]")
_HELP = frozenset({"help", "?", "-h", "--h", "--help"})

ROOM = 4_000
"""Characters of options that a command takes in addition to its text."""

_LONGEST_HELP = 100
"""Characters; a longer text does not ask for help, so it is not split to find out."""
_MOST_DASHES = 20
"""How many words that begin with a long dash are compared with the names of options."""


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The options of one command; `elsewhere` maps options of other commands to why this one does not take them.

    `longest` is how many characters the text without the options may have.
    """

    options: tuple[Option, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    longest: int = LONGEST_QUERY

    def short(self, name: str) -> Option | None:
        """Return the option whose short form this is, such as `-r`."""
        return next((option for option in self.options if option.short == name), None)

    def long(self, name: str) -> Option | None:
        """Return the option of this name, such as `--n`; the dashes of a short form may be two."""
        return next((o for o in self.options if o.name == name), None) or self.short(name[1:])


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """What was typed: the text, and for each option its values in order (an empty one for a flag)."""

    text: str
    given: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str | None:
        """Return an option's value, None where it was not given. Raises UsageError when it was given two."""
        values = dict.fromkeys(self.given.get(name, ()))
        if len(values) > 1:
            raise UsageError(f"`{name}` is given twice.")
        return next(iter(values), None)

    def many(self, name: str) -> tuple[str, ...]:
        """Return the items of an option that takes a list, commas and repetitions alike."""
        items = ",".join(self.given.get(name, ())).split(",")
        return tuple(item.strip() for item in items if item.strip())


@dataclass(frozen=True, kw_only=True)
class _Typed:
    """One word that is an option: which, the value behind its `=`, and whether it was the short form."""

    option: Option
    value: str | None
    short: bool


@dataclass(frozen=True, kw_only=True)
class _Given:
    """One option with its value and the places of the words that it takes up."""

    typed: _Typed
    value: str
    places: range


def parse_options(text: str, grammar: Grammar) -> Arguments:
    """Read a command's text.

    Raises UsageError for an unknown option, a missing value or a flag with a value, and, before it is read, for a text
    that is too long. An option whose value's form holds a comma takes a list: it may be repeated, and goes on after a
    comma and a space.
    """
    check_length(text, grammar.longest)
    text = plain(text)
    words = split(text)
    given, taken = _read(words, grammar, literal=frozenset())
    if inside := _short_inside(given, taken, len(words)):
        given, taken = _read(words, grammar, literal=inside)
    values: dict[str, list[str]] = {}
    for one in given:
        values.setdefault(one.typed.option.name, []).append(one.value)
    return Arguments(text=_without(text, words, taken), given={name: tuple(listed) for name, listed in values.items()})


def check_length(text: str, longest: int) -> None:
    """Raise UsageError if a text, as Slack sent it, is too long; an HTML entity counts as one character."""
    length = len(text) - 3 * (text.count("&lt;") + text.count("&gt;")) - 4 * text.count("&amp;")
    if length > longest + ROOM:
        raise UsageError(
            f"Your text has {length:,} characters. The limit is {longest:,}, and {ROOM:,} more for options. "
            "Shorten it and try again."
        )


def asks_for_help(text: str) -> bool:
    """Return whether a command was typed alone or only with a word for help."""
    text = text.strip()
    if len(text) > _LONGEST_HELP:
        return False
    words = [word.text.casefold() for word in split(plain(text))]
    return not words or (len(words) == 1 and re.sub(rf"^[{LONG_DASHES}]", "--", words[0]) in _HELP)


def _read(words: Sequence[Word], grammar: Grammar, *, literal: Collection[int]) -> tuple[list[_Given], set[int]]:
    """Return the options and the places of the words that are no text; words at `literal` are text."""
    given: list[_Given] = []
    taken: set[int] = set()
    place, text_seen, dashes = 0, False, 0
    while place < len(words):
        word = words[place].text
        if not text_seen and _END.fullmatch(word):
            return given, {*taken, place}
        dashes += text_seen and word[0] in LONG_DASHES
        is_text = place in literal or (text_seen and word[0] in LONG_DASHES and dashes > _MOST_DASHES)
        typed = None if is_text else _typed(word, grammar, text_seen=text_seen)
        if typed:
            given.append(_with_value(typed, words, place, grammar))
            taken.update(given[-1].places)
        text_seen = text_seen or typed is None
        place = given[-1].places.stop if typed else place + 1
    return given, taken


def _typed(word: str, grammar: Grammar, *, text_seen: bool) -> _Typed | None:
    """Return the option that a word is, None for text; raise UsageError for an option that does not exist."""
    if short := _SHORT.fullmatch(word):
        known = grammar.short(f"-{short[1].lower()}")
        return _Typed(option=known, value=short[2], short=True) if known else None
    if not (long := _LONG.fullmatch(word)):
        return None
    name = "--" + re.sub(rf"[{DASHES}]", "-", long[2]).lower()
    if known := grammar.long(name):
        return _Typed(option=known, value=long[3], short=False)
    meant = nearest(name, [option.name for option in grammar.options])
    # A dash of typography inside a sentence is more often a dash than an option nobody has heard of.
    if long[1] and text_seen and not meant and name not in grammar.elsewhere:
        return None
    raise UsageError(grammar.elsewhere.get(name) or _unknown(name, meant))


def _unknown(name: str, meant: str | None) -> str:
    known = f"I don’t know the option {quoted(name)}."
    if meant:
        return f"{known} Did you mean `{meant}`?"
    return f"{known} If it belongs to your text, put it in quotes, or type ` -- ` before the text."


def _with_value(typed: _Typed, words: Sequence[Word], place: int, grammar: Grammar) -> _Given:
    option, stop = typed.option, place + 1
    if not option.value:
        if typed.value is not None:
            raise UsageError(f"`{option.name}` takes no value.")
        return _Given(typed=typed, value="", places=range(place, stop))
    value = typed.value
    if value is None and _is_value(words, stop, grammar):
        value, stop = words[stop].text, stop + 1
    pieces = [value or ""]
    while "," in option.value and pieces[-1].endswith(",") and _is_value(words, stop, grammar):
        pieces.append(words[stop].text)
        stop += 1
    value = _unquoted("".join(pieces))
    if not value:
        raise UsageError(f"`{option.name}` needs a value: `{option.value}`.")
    return _Given(typed=typed, value=value, places=range(place, stop))


def _is_value(words: Sequence[Word], place: int, grammar: Grammar) -> bool:
    if place >= len(words):
        return False
    word = words[place].text
    return not (is_long_option(word) or _END.fullmatch(word) or grammar.short(word))


def _unquoted(value: str) -> str:
    quotes = f"{DOUBLE_QUOTES}{SINGLE_QUOTES}`"
    return value[1:-1].strip() if len(value) > 1 and value[0] in quotes and value[-1] in quotes else value


def _short_inside(given: Sequence[_Given], taken: Collection[int], count: int) -> frozenset[int]:
    """Return the places of short options between words of text, where `-r` is a part of what is asked about."""
    text = [place for place in range(count) if place not in taken]
    inside = range(text[0], text[-1]) if text else range(0)
    return frozenset(one.places.start for one in given if one.typed.short and one.places.start in inside)


def _without(text: str, words: Sequence[Word], taken: Collection[int]) -> str:
    """Return the text between the options, spaced as it was typed."""
    runs: list[tuple[int, int]] = []
    for place, word in enumerate(words):
        if place in taken:
            continue
        joins = bool(runs) and place - 1 not in taken
        runs[-1:] = [(runs[-1][0], word.end)] if joins else [*runs[-1:], (word.start, word.end)]
    return " ".join(text[start:end] for start, end in runs)
