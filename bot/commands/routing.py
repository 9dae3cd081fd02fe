"""Finds the command that a slash command or a message means, recognises small talk, and chooses a question's lane."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from bot.blocks.escaping import unescape_slack
from bot.blocks.examples import LINES
from bot.commands.ask import ASK
from bot.commands.base import ROOT_COMMAND, Command
from bot.commands.help import help_message, help_overview, text_message, usage_message
from bot.commands.parsing import PRIVATE, PUBLIC, is_help_request
from bot.errors import UsageError
from bot.model.message import OutgoingMessage, SuggestedPrompt
from bot.model.question import NewQuestion
from bot.storage.questions import Lanes
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.formatting import closest_match
from perplexity.limiter import CallKind
from perplexity.providers.base import Provider


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """A slash command as Slack lists it; `name` has the slash."""

    name: str
    usage_hint: str
    description: str


@dataclass(frozen=True, kw_only=True)
class RoutedCommand:
    """The command that a typed slash command means, and the text for it.

    `command` is None if the reply is the list of commands. `unknown` is then the typed word if it names no command, and
    `closest` is the name of a command that this word resembles; otherwise both are None. `help` is whether the user
    asks for the command's help. `rest` is the text for the command; `slash` is the command as the user typed it, such
    as `/x-ask` or `/pplx ask`.
    """

    command: Command[Any, Any] | None
    help: bool = False
    rest: str = ""
    slash: str
    unknown: str | None = None
    closest: str | None = None


def route_slash_command(name: str, text: str, commands: Sequence[Command[Any, Any]]) -> RoutedCommand:
    """Return the command that a slash command means; `name` may have any prefix, such as `x-` in `/x-ask`."""
    bare = name.strip().casefold()
    if command := _match_suffix(bare, commands):
        return RoutedCommand(command=command, help=is_help_request(text), rest=text, slash=name.strip())
    return _route_subcommand(name.strip(), text, commands)


def slash_commands(commands: Sequence[Command[Any, Any]], *, prefix: str = "") -> tuple[SlashCommand, ...]:
    """Return the slash commands of the manifest, `/pplx` last, each name with the prefix."""
    umbrella = SlashCommand(
        name=f"/{prefix}{ROOT_COMMAND}", usage_hint="help", description="Help, digests, your settings"
    )
    own = (
        SlashCommand(name=f"/{prefix}{command.name}", usage_hint=command.example, description=command.summary)
        for command in commands
        if command.has_slash_command
    )
    return (*own, umbrella)


def _match_suffix(name: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    """Return the command whose name is the end of `name`; the longest name wins. None if no name fits."""
    fitting = [command for command in commands if command.has_slash_command and name.endswith(command.name)]
    return max(fitting, key=lambda command: len(command.name), default=None)


def _route_subcommand(slash: str, text: str, commands: Sequence[Command[Any, Any]]) -> RoutedCommand:
    first, rest = _first_word(text)
    if command := _find_command(first, commands):
        helped = is_help_request(rest) and (bool(rest.strip()) or not command.runs_without_arguments)
        return RoutedCommand(command=command, help=helped, rest=rest, slash=f"{slash} {command.name}")
    if not is_help_request(first):
        meant = closest_match(first.casefold(), [command.name for command in commands])
        return RoutedCommand(command=None, slash=slash, unknown=first, closest=meant)
    if command := _find_command(_first_word(rest)[0], commands):
        return RoutedCommand(command=command, help=True, slash=f"{slash} {command.name}")
    return RoutedCommand(command=None, slash=slash)


def _find_command(word: str, commands: Sequence[Command[Any, Any]]) -> Command[Any, Any] | None:
    return next((command for command in commands if command.name == word.casefold().removeprefix("/")), None)


def _first_word(text: str) -> tuple[str, str]:
    first, *rest = text.strip().split(maxsplit=1) or [""]
    return first, "".join(rest)


APP_NAME = "Web Answers"
"""The app's name in the manifest, which people mention."""


def route_message(text: str, commands: Sequence[Command[Any, Any]]) -> tuple[str, str]:
    """Return the name of the command that a message means, and the text for it.

    If the first word is the name of a slash command, this command gets the rest of the message, provided that it can
    parse the rest or that the rest asks for help. Otherwise, or without a rest, the whole message is a question for
    `/ask`. If `/ask` cannot parse the message either, the named command gets the rest, and reports what is wrong.
    """
    name, *more = text.split(maxsplit=1) or [""]
    rest = "".join(more)
    command = _find_command(name, commands)
    if command is None or not command.has_slash_command or not rest:
        return ASK.name, text
    if is_help_request(rest) or _parses(command, rest) or not _parses(ASK, text):
        return command.name, rest
    return ASK.name, text


EXAMPLES = (
    SuggestedPrompt(N_("What changed this week?"), N_("What changed this week in open source databases?")),
    SuggestedPrompt(N_("Compare two things"), N_("Compare PostgreSQL and MySQL for full-text search.")),
    SuggestedPrompt(N_("Read the news"), "news technology"),
)
"""The prompts that the app suggests to people who have not asked much yet."""

_OFFERED = frozenset({*LINES.values(), *(prompt.message for prompt in EXAMPLES)})


def is_offered(command: str, text: str) -> bool:
    """Return whether a question is, word for word, one that the app itself offers by a button or as a prompt."""
    said = text if command == ASK.name else f"{command} {text}"
    return any(said in {one, _(one)} for one in _OFFERED)


def _parses(command: Command[Any, Any], text: str) -> bool:
    try:
        command.parse(text)
    except UsageError:
        return False
    return True


NEW_CONVERSATION = "new"
"""A direct message with this text, and nothing else, starts a new conversation."""


def begins_conversation(text: str) -> bool:
    """Return whether a direct message only asks for a new conversation."""
    return text.strip().casefold() == NEW_CONVERSATION


BY_MENTION = f"@{APP_NAME}"
IN_DIRECT_MESSAGE = ""
"""What people type before the command in a message: the first in a channel, the second in a direct message."""


def mention_line(command: Command[Any, Any]) -> str | None:
    """Return the line to type in a thread instead of a slash command; None if a mention cannot run the command."""
    if not command.has_slash_command:
        return None
    typed = _("question") if command.name == ASK.name else f"{command.name} …"
    return f"{BY_MENTION} {typed}"


def usage_reply(
    text: str, command: Command[Any, Any], prefix: str, *, umbrella: str = f"/{ROOT_COMMAND}"
) -> OutgoingMessage | None:
    """Return the reply to a message that is not a valid question; None for a question.

    Such a message asks for help, only begins a new conversation, or has a usage error.

    `prefix` is `BY_MENTION` or `IN_DIRECT_MESSAGE`; `umbrella` is the slash command under which every command can be
    typed.
    """
    # Everyone in the conversation sees an answer to a message, so the help leaves these options out.
    shown = command.without(PUBLIC).without(PRIVATE)
    slash = prefix if command.name == ASK.name else f"{prefix} {command.name}".strip()
    if is_help_request(text):
        helped = help_overview((), slash=umbrella) if command.name == ASK.name else help_message(shown, slash=slash)
        return replace(helped, private=True)
    if prefix == IN_DIRECT_MESSAGE and begins_conversation(text):
        return text_message(_("This is a new conversation. What would you like to know?"))
    try:
        command.parse(text)
    except UsageError as error:
        return replace(usage_message(shown, error, slash=slash), private=True)
    return None


def is_talk(command: str, text: str) -> bool:
    """Return whether a message to the app asks nothing: an empty mention, a greeting, thanks."""
    said = unescape_slack(text).strip()
    return command == ASK.name and (not said or (not is_help_request(said) and is_small_talk(said)))


FIRST_CALLS: Mapping[str, CallKind] = {
    "ask": "answer",
    "check": "answer",
    "deepdive": "answer",
    "digest": "answer",
    "news": "answer",
    "search": "search",
}
"""Maps the name of a command to the kind of its first request to a service."""


def first_lane(question: NewQuestion, *, providers: Sequence[Provider], lanes: Lanes, shares: bool) -> str | None:
    """Return the lane (see `Lanes`) of a question's first call for the current workspace; None if there is no lane.

    With `shares`, answers to questions that the app itself offers are shared. Such a question may need no call, so its
    lane is None. If a call is needed after all, the call waits while a worker answers the question.
    """
    kind = None if shares and is_offered(question.command, question.text) else FIRST_CALLS.get(question.command)
    first = next((one for one in providers if kind in one.capabilities), None)
    return lanes.lane(first.name, kind) if first is not None and kind is not None else None


MAX_TALK_LENGTH = 150
"""A longer text is never small talk."""

_SIGNS = re.compile(
    r"""<[@!][^<>]*>  # mentions
    | :[\w'+-]+:(?::skin-tone-\d:)?  # emoji as Slack writes them
    | [\u2600-\u27bf\u2b50\u2b55\U0001f31e-\U0001f320\U0001f388-\U0001f38b\U0001f44a-\U0001f450]
    | [\U0001f48b-\U0001f49f\U0001f4aa\U0001f4af\U0001f525\U0001f600-\U0001f64f\U0001f680\U0001f90c-\U0001f92f]
    | [\U0001f970-\U0001f97a\U0001fae0-\U0001faf8\U0001f3fb-\U0001f3ff\u200d\ufe0e\ufe0f]  # hands, hearts, faces
    | <3 | (?<!\w)[:;=]-?[)(dp](?!\w) | \^_*\^""",
    re.VERBOSE,
)
_PUNCTUATION = re.compile(r"[\s.,!?¡¿;:…~‐‑–—\-\"“”„‟«»‹›()*_&、。・「」『』〜|]+")
_APOSTROPHES = re.compile(r"[’‘'´`ʼ]")
_LATIN_ACCENTS = re.compile(r"[\u0300-\u036f]")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NOT_HEARD = re.compile(r"[ーうっッゥぁぃぅぇぉ]")
"""Characters that people add or leave out at will: おはよー is おはよう."""

LONG_WORD = 5
"""The length in letters above which a word is recognised even if one of its vowels is missing."""

JAPANESE = "ja"


@dataclass(frozen=True, kw_only=True)
class _Language:
    """The phrases of a language, which have at most `longest` words.

    Those in `alone` are small talk by themselves; those in `around` may be added to small talk. `typos` maps misspelled
    words to `words`. The values of `stretched` are words, and the keys are the same words with each run of a letter
    reduced to one. `joint` is the text between the words of a phrase.
    """

    alone: frozenset[str]
    around: frozenset[str]
    longest: int
    words: frozenset[str] = frozenset()
    typos: Mapping[str, str] = field(default_factory=dict)
    stretched: Mapping[str, str] = field(default_factory=dict)
    joint: str = " "

    def consists_of(self, words: Sequence[str], *, said: bool) -> bool:
        """Return whether the words are a sequence of phrases of the language.

        `said` is whether other signs already show that the text is small talk, such as an exclamation mark. Unless they
        do, at least one of the phrases must be in `alone`.
        """
        reached = {0: said}
        for start in range(len(words)):
            if start not in reached:
                continue
            for end in range(start + 1, min(start + self.longest, len(words)) + 1):
                phrase = self.joint.join(words[start:end])
                if phrase in self.alone or phrase in self.around:
                    reached[end] = reached.get(end, False) or reached[start] or phrase in self.alone
        return reached.get(len(words), False)

    def correct(self, word: str) -> str:
        """Return the intended word for one with a typo or stretched letters; any other word is returned unchanged.

        A word whose first letter is stretched is not recognised.
        """
        if word in self.words:
            return word
        meant = self.stretched.get(_squeeze(word), "")
        if meant and len(meant) < len(word) and word[:2] != 2 * meant[0]:
            return meant
        return self.typos.get(word, word)


def is_small_talk(text: str) -> bool:
    """Return whether a text is nothing but small talk, in one language."""
    if len(text) > MAX_TALK_LENGTH:
        return False
    bare, signs = _SIGNS.subn(" ", unicodedata.normalize("NFKC", text).casefold())
    words = _words(bare)
    said = "?" not in bare and (signs > 0 or "!" in bare)
    if not words:
        return said and signs > 0
    if any(not word.isalpha() for word in words):
        return False
    if _JAPANESE.search(bare):
        return _languages()[JAPANESE].consists_of(list(_heard("".join(words))), said=said)
    return any(
        language.consists_of([language.correct(word) for word in words], said=said)
        for language in _languages().values()
    )


def small_talk_kind(text: str) -> str:
    """Return the kind of small talk: `thanks`, `goodbye` or `greeting`; empty for any other small talk.

    If the text is of several kinds, return the first in this order.
    """
    said = unicodedata.normalize("NFKC", text).casefold()
    return next((kind for kind, words in _lists()["kinds"].items() if re.search(words, said, re.VERBOSE)), "")


def _words(text: str) -> list[str]:
    """Return the words of a text without accents, apostrophes and punctuation."""
    bare = _LATIN_ACCENTS.sub("", unicodedata.normalize("NFD", _APOSTROPHES.sub("", text)))
    return _PUNCTUATION.sub(" ", unicodedata.normalize("NFC", bare)).split()


def _heard(text: str) -> str:
    return _squeeze(_NOT_HEARD.sub("", text))


def _squeeze(word: str) -> str:
    """Return a word with each run of a letter reduced to one."""
    return re.sub(r"(.)\1+", r"\1", word)


@cache
def _lists() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / "small_talk.toml").read_text("utf-8"))


@cache
def _languages() -> Mapping[str, _Language]:
    shared = _lists()["everywhere"]
    lists = {name: own for name, own in _lists().items() if own is not shared and name != "kinds"}
    return {
        name: _language(*(_phrases(f"{shared[kind]},{own.get(kind, '')}") for kind in ("alone", "around", "mistyped")))
        for name, own in lists.items()
    } | {JAPANESE: _japanese(*(_phrases(f"{shared[kind]},{lists[JAPANESE][kind]}") for kind in ("alone", "around")))}


def _phrases(listed: str) -> list[list[str]]:
    return [_words(phrase.casefold()) for phrase in listed.split(",") if phrase.strip()]


def _language(alone: Sequence[list[str]], around: Sequence[list[str]], mistyped: Sequence[list[str]]) -> _Language:
    words = sorted({word for phrase in (*alone, *around) for word in phrase}, key=len, reverse=True)
    return _Language(
        alone=frozenset(map(" ".join, alone)),
        around=frozenset(map(" ".join, around)),
        typos={typo: word for (word,) in mistyped for typo in _typos(word) if typo not in words},
        stretched={_squeeze(word): word for word in words if len(word) > 1},
        words=frozenset(words),
        longest=max(map(len, (*alone, *around))),
    )


def _japanese(*phrases: Sequence[list[str]]) -> _Language:
    """Return the phrases of Japanese. It is written without spaces, so each character counts as a word."""
    alone, around = (frozenset(_heard("".join(words)) for words in listed) for listed in phrases)
    return _Language(alone=alone, around=around, longest=max(map(len, alone | around)), joint="")


def _typos(word: str) -> Iterable[str]:
    """Yield each form of a word with two neighbouring letters exchanged.

    If the word is longer than `LONG_WORD`, also yield each form without one vowel. The first and the last letter are
    never left out.
    """
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if len(word) > LONG_WORD:
        yield from (word[:place] + word[place + 1 :] for place in range(1, len(word) - 1) if word[place] in "aeiou")
