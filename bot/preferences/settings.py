"""The settings that there are, each with its words, its values and its place; forms and commands are made of this."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from bot.model.preferences import ADMINS, EVERYONE, ChannelSettings, PersonSettings
from bot.texts import settings as texts
from perplexity.errors import InvalidRequest
from perplexity.filters import parse_domain, parse_domains, parse_language
from perplexity.models import EFFORTS, SONAR, resolve

Value = str | bool | tuple[str, ...]
Kind = Literal["choice", "text", "people"]

MAX_MODEL = 75
"""The longest name of a model, which is an option in a form."""

MAX_PEOPLE = 50
"""The most people who can be named."""

_USER_ID = re.compile(r"<@([UW][A-Z0-9]{1,20})(?:\|[^<>]*)?>|([UW][A-Z0-9]{1,20})")
_ON_OFF = {"on": texts.ON, "off": texts.OFF}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting: `name` is the word that is typed, `field` the attribute that holds it.

    `parse` reads typed words, and raises InvalidRequest. `choices` are the words of a "choice" with their labels.
    `unset` says what applies without a value.
    """

    name: str
    field: str
    label: str
    unset: str
    parse: Callable[[str], Value]
    kind: Kind = "text"
    choices: Mapping[str, str] | None = None
    hint: str = ""

    def words(self, value: Any) -> str:
        """Return a value as it is typed; an empty text if nothing is set."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return ", ".join(value) if isinstance(value, tuple) else str(value or "")

    def load(self, saved: object) -> Value | None:
        """Return a value from JSON; None for one that cannot be used any more."""
        words = ",".join(map(str, saved)) if isinstance(saved, list) else saved
        try:
            return self.parse(self.words(words))
        except InvalidRequest:
            return None


def _choice(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    def parse(words: str) -> str:
        word = words.strip().casefold()
        if word not in choices:
            raise InvalidRequest.for_field(name, words, texts.one_of(choices))
        return word

    return parse


def _on_off(name: str) -> Callable[[str], bool]:
    choose = _choice(name, tuple(_ON_OFF))
    return lambda words: choose(words) == "on"


def _model(words: str) -> str:
    name = words.strip().lower()
    if len(name) > MAX_MODEL:
        raise InvalidRequest.for_field("model", words, texts.at_most(MAX_MODEL))
    resolve(name)
    return name


def _split(words: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", words) if word]


def _domains(words: str) -> tuple[str, ...]:
    domains = parse_domains(_split(words))
    if not domains:
        raise InvalidRequest.for_field("domains", words, texts.HOSTS)
    return domains


def _hosts(name: str) -> Callable[[str], tuple[str, ...]]:
    def parse(words: str) -> tuple[str, ...]:
        if any(parse_domain(word).startswith("-") for word in _split(words)):
            raise InvalidRequest.for_field(name, words, texts.HOSTS_WITHOUT_DASH)
        return _domains(words)

    return parse


def _askers(words: str) -> str:
    """Return who may ask: a word, or user ids with spaces between them."""
    word = words.strip().casefold()
    if word in {EVERYONE, ADMINS}:
        return word
    named = [_USER_ID.fullmatch(one) for one in _split(words)]
    ids = dict.fromkeys(match[1] or match[2] for match in named if match is not None)
    if not named or None in named or len(ids) > MAX_PEOPLE:
        allowed = texts.askers(EVERYONE, ADMINS, most=MAX_PEOPLE)
        raise InvalidRequest.for_field("askers", words, allowed)
    return " ".join(ids)


_EFFORTS = {effort: effort.capitalize() for effort in EFFORTS}
_MODELS = _EFFORTS | {name: name for name in SONAR}
_WHO_SEES = {"private": texts.ONLY_YOU, "public": texts.WHOLE_CHANNEL}


def _chosen(name: str, label: str, unset: str, choices: Mapping[str, str], *, parse: Callable[[str], Value]) -> Setting:
    return Setting(
        name=name, field=name.replace("-", "_"), label=label, unset=unset, parse=parse, kind="choice", choices=choices
    )


def _switch(name: str, label: str) -> Setting:
    return _chosen(name, label, texts.AS_SET_UP, _ON_OFF, parse=_on_off(name))


def _written(name: str, label: str, unset: str, hint: str, *, parse: Callable[[str], Value]) -> Setting:
    return Setting(name=name, field=name, label=label, unset=unset, hint=hint, parse=parse)


_MODEL = _chosen("model", texts.MODEL, texts.MODEL_UNSET, _MODELS, parse=_model)
_VISIBILITY = _chosen(
    "visibility",
    texts.VISIBILITY,
    texts.VISIBILITY_UNSET,
    _WHO_SEES,
    parse=_choice("visibility", tuple(_WHO_SEES)),
)
_LANGUAGE = _written("language", texts.LANGUAGE, texts.LANGUAGE_UNSET, texts.LANGUAGE_HINT, parse=parse_language)
_FOLLOW_UPS = _switch("follow-ups", texts.FOLLOW_UPS)
_ASKERS_HINT = texts.askers_hint(EVERYONE, ADMINS)
_ASKERS = replace(
    _written("askers", texts.ASKERS, EVERYONE, _ASKERS_HINT, parse=_askers),
    kind="people",
    choices={EVERYONE: texts.EVERYONE, ADMINS: texts.ADMINS},
)

PERSON = (
    _MODEL,
    _VISIBILITY,
    _LANGUAGE,
    _written("domains", texts.DOMAINS, texts.DOMAINS_UNSET, texts.DOMAINS_HINT, parse=_domains),
    _FOLLOW_UPS,
)
"""What a person can set."""

CHANNEL = (
    _MODEL,
    _VISIBILITY,
    _LANGUAGE,
    _written("allow", texts.ALLOW, texts.DOMAINS_UNSET, texts.ALLOW_HINT, parse=_hosts("allow")),
    _written("deny", texts.DENY, texts.DENY_UNSET, texts.DENY_HINT, parse=_hosts("deny")),
    _ASKERS,
    _switch("history", texts.HISTORY),
    _FOLLOW_UPS,
    _switch("external", texts.EXTERNAL),
)
"""What a channel's creator and admins can set."""

EFFORT = "effort"
"""Another word for `model`, which takes efforts only."""

S = TypeVar("S", PersonSettings, ChannelSettings)


def find_setting(settings: Sequence[Setting], name: str) -> Setting | None:
    """Return the setting of this name; `effort` is one for the model."""
    word = name.casefold().replace("_", "-")
    if word in {EFFORT, "followups"}:
        word = {EFFORT: "model"}.get(word, "follow-ups")
    return next((one for one in settings if one.name == word), None)


def parse_setting(setting: Setting, name: str, words: str) -> Value:
    """Return the value of typed words; `name` is the word that was typed for it. Raises InvalidRequest."""
    if name.casefold() == EFFORT:
        return _choice(EFFORT, EFFORTS)(words)
    try:
        return setting.parse(words)
    except InvalidRequest as error:
        raise InvalidRequest.for_field(name, error.value or words, error.allowed or "") from None


def load_person(saved: object) -> PersonSettings:
    """Return a person's settings from JSON, without what cannot be used."""
    return PersonSettings(**_load(PERSON, saved))


def load_channel(saved: object) -> ChannelSettings:
    """Return a channel's settings from JSON, without what cannot be used."""
    return ChannelSettings(**_load(CHANNEL, saved))


def _load(settings: Sequence[Setting], saved: object) -> dict[str, Any]:
    known = saved if isinstance(saved, Mapping) else {}
    values = {one.field: one.load(known[one.field]) for one in settings if known.get(one.field) is not None}
    return {name: value for name, value in values.items() if value is not None}


def changes(before: S, after: S) -> dict[str, Value | None]:
    """Return what differs, by field; None for what is not set any more."""
    empty = type(before)()
    return {
        one.name: None if getattr(after, one.name) == getattr(empty, one.name) else getattr(after, one.name)
        for one in fields(after)
        if getattr(before, one.name) != getattr(after, one.name)
    }
