"""The list of settings, each with its words, values and place; forms and commands are built from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from bot.model.preferences import ADMINS, EVERYONE, NO_MODELS, ChannelSettings, PersonSettings, WorkspaceSettings
from bot.translation import N_, number
from bot.translation import gettext as _
from perplexity.errors import InvalidRequest
from perplexity.filters import MAX_DOMAINS, parse_domain, parse_domains, parse_language
from perplexity.models import EFFORTS, resolve
from perplexity.types import Message, validate_messages

DOMAINS_UNSET = N_("the whole web")
SAVED = N_("Saved.")
NOT_MANAGER = N_("Only the person who created this channel, and admins, can change its settings.")
CREATOR_UNKNOWN = N_(
    "Slack doesn’t let me read who created this channel, so only admins can change its settings. "
    "An admin can give me the scope `channels:read`, or `groups:read` for private channels."
)
NOT_ADMIN = N_("Only admins of this workspace can see and change its settings.")

Value = str | bool | tuple[str, ...]
Kind = Literal["choice", "text", "paragraph", "people"]

MAX_MODEL = 75
"""The most characters of a model's name, since the name is an option in a form."""

MAX_INSTRUCTIONS = 1_500
"""The most characters of instructions."""

MAX_PEOPLE = 50
"""The most people who can be named."""

_ASKER_ID = re.compile(r"<(?:@|!subteam\^)([UWS][A-Z0-9]{1,20})(?:\|[^<>]*)?>|([UWS][A-Z0-9]{1,20})")
_ON_OFF = {"on": N_("On"), "off": N_("Off")}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: `name` is the typed word, `field` the attribute that holds it.

    `parse` reads typed words, and raises InvalidRequest. `choices` are the words that a setting of the kind "choice"
    takes, with their labels. `unset` describes the default, unless the app is configured with another one. Texts are
    translated where they are shown.
    """

    name: str
    field: str
    label: str
    unset: str
    parse: Callable[[str], Value]
    kind: Kind = "text"
    choices: Mapping[str, str] | None = None
    hint: str = ""

    def default(self, defaults: Mapping[str, str]) -> str:
        """Return the words for the value that applies if the setting is not set."""
        return defaults.get(self.field, self.unset)

    def words(self, value: Any) -> str:
        """Return a value as a person would type it; an empty text if nothing is set."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return ", ".join(value) if isinstance(value, tuple) else str(value or "")

    def load(self, saved: object) -> Value | None:
        """Return a value from JSON; None for a value that `parse` no longer accepts."""
        words = ",".join(map(str, saved)) if isinstance(saved, list) else saved
        try:
            return self.parse(self.words(words))
        except InvalidRequest:
            return None


def _choice(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    def parse(words: str) -> str:
        word = words.strip().casefold()
        if word not in choices:
            raise InvalidRequest.for_field(name, words, one_of(choices))
        return word

    return parse


def _on_off(name: str) -> Callable[[str], bool]:
    choose = _choice(name, tuple(_ON_OFF))
    return lambda words: choose(words) == "on"


def _model(words: str) -> str:
    name = words.strip().lower()
    if len(name) > MAX_MODEL:
        raise InvalidRequest.for_field("model", words, _characters(MAX_MODEL))
    resolve(name)
    return name


def _models(words: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_split(words.lower())))
    if names != NO_MODELS and not (names and all("/" in name and resolve(name).model for name in names[:MAX_DOMAINS])):
        raise InvalidRequest.for_field(
            "models", words, _("it takes names such as openai/gpt-6-luna, separated by commas, or none")
        )
    return names[:MAX_DOMAINS]


def _instructions(words: str) -> str:
    text = validate_messages([Message(role="user", content=words)])[0].content
    if len(text) > MAX_INSTRUCTIONS:
        raise InvalidRequest.for_field("instructions", f"{len(text)} characters", _characters(MAX_INSTRUCTIONS))
    return text


def _characters(most: int) -> str:
    return _("it takes at most {most} characters").format(most=number(most))


def _split(words: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", words) if word]


def _domains(words: str) -> tuple[str, ...]:
    domains = parse_domains(_split(words))
    if not domains:
        raise InvalidRequest.for_field("domains", words, _("it takes host names such as a.com, separated by commas"))
    return domains


def _hosts(name: str) -> Callable[[str], tuple[str, ...]]:
    def parse(words: str) -> tuple[str, ...]:
        if any(parse_domain(word).startswith("-") for word in _split(words)):
            raise InvalidRequest.for_field(name, words, _("it takes host names without a -"))
        return _domains(words)

    return parse


def _askers(words: str) -> str:
    """Return who may ask: `EVERYONE`, `ADMINS`, or ids of people and then of user groups, separated by spaces."""
    word = words.strip().casefold()
    if word in {EVERYONE, ADMINS}:
        return word
    named = [_ASKER_ID.fullmatch(one) for one in _split(words)]
    ids = dict.fromkeys(match[1] or match[2] for match in named if match is not None)
    if not named or None in named or len(ids) > MAX_PEOPLE:
        allowed = _("it takes {words}, or at most {count} ids such as U012AB3CD or S012AB3CD")
        words_allowed = f"{EVERYONE}, {ADMINS}"
        raise InvalidRequest.for_field("askers", words, allowed.format(words=words_allowed, count=MAX_PEOPLE))
    return " ".join(sorted(ids, key=lambda one: one.startswith("S")))


THINK: Mapping[str, str] = {"fast": N_("Quick"), "medium": N_("Longer"), "high": N_("Much longer")}
"""The efforts that forms offer, with the titles shown; other efforts and models have to be typed."""

_WHO_SEES = {"private": N_("Only you"), "public": N_("Everyone in the channel")}


def _chosen(name: str, label: str, unset: str, choices: Mapping[str, str], *, parse: Callable[[str], Value]) -> Setting:
    return Setting(
        name=name, field=name.replace("-", "_"), label=label, unset=unset, parse=parse, kind="choice", choices=choices
    )


def _switch(name: str, label: str) -> Setting:
    return _chosen(name, label, N_("off"), _ON_OFF, parse=_on_off(name))


def _written(name: str, label: str, unset: str, hint: str, *, parse: Callable[[str], Value]) -> Setting:
    return Setting(name=name, field=name, label=label, unset=unset, hint=hint, parse=parse)


_MODEL = _chosen("model", N_("How long to think"), N_("quick"), THINK, parse=_model)
_VISIBILITY = _chosen(
    "visibility",
    N_("Who sees answers to commands"),
    N_("only the person who asks"),
    _WHO_SEES,
    parse=_choice("visibility", tuple(_WHO_SEES)),
)
_LANGUAGE = _written(
    "language",
    N_("Language of answers"),
    N_("same as the question"),
    N_("Two letters, such as en or ja"),
    parse=parse_language,
)
_FOLLOW_UPS = _switch("follow-ups", N_("Replies without a mention are questions"))
_ASKERS_HINT = N_("everyone, admins, or ids of people and user groups")
_ASKERS = replace(
    _written("askers", N_("Who may ask"), N_("everyone"), _ASKERS_HINT, parse=_askers),
    kind="people",
    choices={EVERYONE: N_("Everyone"), ADMINS: N_("Admins")},
)

_FILES = N_("Images and PDFs in questions are sent to the search service")
_MODELS_HINT = N_("Takes names such as openai/gpt-6-luna, separated by commas, or none")
_LIMITS = (
    _chosen(
        "max-effort",
        N_("How long to think at most"),
        N_("as long as asked"),
        THINK,
        parse=_choice("max-effort", EFFORTS),
    ),
    _written("models", N_("Models that may be named"), N_("all"), _MODELS_HINT, parse=_models),
    _written(
        "allow",
        N_("Only these sites"),
        DOMAINS_UNSET,
        N_("Answers here come from these sites only, such as a.com, b.com"),
        parse=_hosts("allow"),
    ),
    _written(
        "deny",
        N_("Never these sites"),
        N_("none"),
        N_("Answers here never come from these sites"),
        parse=_hosts("deny"),
    ),
    replace(
        _written(
            "instructions",
            N_("Instructions for answers"),
            N_("none"),
            N_("Tone and words of the house"),
            parse=_instructions,
        ),
        kind="paragraph",
    ),
)

PERSON = (
    _MODEL,
    _VISIBILITY,
    _LANGUAGE,
    _written(
        "domains",
        N_("Sites to search"),
        DOMAINS_UNSET,
        N_("Such as a.com, b.com; or each with a - to leave it out"),
        parse=_domains,
    ),
    _FOLLOW_UPS,
)
"""The settings of a person."""

CHANNEL = (
    _MODEL,
    _VISIBILITY,
    _LANGUAGE,
    *_LIMITS,
    _ASKERS,
    _switch("history", N_("Questions in a thread include what others wrote there")),
    _FOLLOW_UPS,
    _switch("external", N_("Guests and people from other organizations may ask")),
    _chosen("files", _FILES, N_("as in the workspace"), _ON_OFF, parse=_on_off("files")),
)
"""The settings of a channel, set by its creator and admins."""

WORKSPACE = (
    *_LIMITS,
    _switch("store-nothing", N_("Store nothing at the search service")),
    _switch("files", _FILES),
)
"""The settings of the whole workspace, set by admins; a channel's can only narrow them."""

Part = Literal["person", "channel", "workspace"]
"""Whose settings: the name of a field of `Preferences`."""

TABLES: Mapping[Part, Sequence[Setting]] = {"person": PERSON, "channel": CHANNEL, "workspace": WORKSPACE}

EFFORT = "effort"
"""Another word for `model`, which takes efforts only."""

S = TypeVar("S", PersonSettings, ChannelSettings, WorkspaceSettings)


def find_setting(settings: Sequence[Setting], name: str) -> Setting | None:
    """Return the setting of this name; `effort` is another name for the model's."""
    word = name.casefold().replace("_", "-")
    if word in {EFFORT, "followups"}:
        word = {EFFORT: "model"}.get(word, "follow-ups")
    return next((one for one in settings if one.name == word), None)


def parse_setting(setting: Setting, name: str, words: str) -> Value:
    """Return the value of typed words; `name` is the typed word for the setting. Raises InvalidRequest."""
    if name.casefold() == EFFORT:
        return _choice(EFFORT, EFFORTS)(words)
    try:
        return setting.parse(words)
    except InvalidRequest as error:
        raise InvalidRequest.for_field(name, error.value or words, error.allowed or "") from None


def load_person(saved: object) -> PersonSettings:
    """Return a person's settings from JSON, without unusable values."""
    return PersonSettings(**_load(PERSON, saved))


def load_channel(saved: object) -> ChannelSettings:
    """Return a channel's settings from JSON, without unusable values."""
    return ChannelSettings(**_load(CHANNEL, saved))


def load_workspace(saved: object) -> WorkspaceSettings:
    """Return a workspace's settings from JSON, without unusable values."""
    return WorkspaceSettings(**_load(WORKSPACE, saved))


def _load(settings: Sequence[Setting], saved: object) -> dict[str, Any]:
    known = saved if isinstance(saved, Mapping) else {}
    values = {one.field: one.load(known[one.field]) for one in settings if known.get(one.field) is not None}
    return {name: value for name, value in values.items() if value is not None}


def changes(before: S, after: S) -> dict[str, Value | None]:
    """Return the new values of changed settings, by field; None for settings that were removed."""
    empty = type(before)()
    return {
        one.name: None if getattr(after, one.name) == getattr(empty, one.name) else getattr(after, one.name)
        for one in fields(after)
        if getattr(before, one.name) != getattr(after, one.name)
    }


def one_of(words: Sequence[str]) -> str:
    """Return a sentence that says which words a setting accepts; there must be at least two."""
    return _("it takes {first} or {last}").format(first=", ".join(words[:-1]), last=words[-1])
