"""The settings of people, channels and workspaces, their precedence, and the changes that the rules make to requests.

Forms and commands are built from the tables of settings. A typed option comes first, then the person's setting, then
the channel's. The workspace's rules outrank everything; the channel's rules outrank everything but the workspace's.
There is no I/O here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Literal, TypeVar

from bot.errors import Refused
from bot.model.question import (
    ADMINS,
    EVERYONE,
    NO_MODELS,
    ChannelSettings,
    PersonSettings,
    Preferences,
    Rules,
    WorkspaceSettings,
)
from bot.translation import N_, number
from bot.translation import gettext as _
from perplexity.domains import DomainPolicy
from perplexity.errors import InvalidRequest
from perplexity.filters import MAX_DOMAINS, NO_FILTERS, Filters, parse_domain, parse_domains, parse_language
from perplexity.models import EFFORTS, Effort, resolve
from perplexity.steps import Call, Replies, Request
from perplexity.types import Answer, Message, Query, Question, Source, validate_messages

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
"""The most characters of a model's name, which is Slack's limit for an option in a form."""

MAX_INSTRUCTIONS = 1_500
"""The most characters of the setting `instructions`."""

MAX_PEOPLE = 50
"""The most people and user groups that the setting `askers` can name."""

_ASKER_ID = re.compile(r"<(?:@|!subteam\^)([UWS][A-Z0-9]{1,20})(?:\|[^<>]*)?>|([UWS][A-Z0-9]{1,20})")
_ON_OFF = {"on": N_("On"), "off": N_("Off")}


@dataclass(frozen=True)
class Setting:
    """One setting: `name` is the typed word, `hint` says what may be typed.

    `parse` reads typed words, and raises InvalidRequest. `choices` are the words that a form offers, with their labels;
    `parse` may accept others. `unset` describes the default, unless the app is configured with another one. Texts are
    translated where they are shown.
    """

    name: str
    label: str
    unset: str
    hint: str = ""
    _: KW_ONLY
    parse: Callable[[str], Value]
    kind: Kind = "text"
    choices: Mapping[str, str] | None = None

    @property
    def field(self) -> str:
        """The attribute that holds the value."""
        return self.name.replace("-", "_")

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
    return Setting(name, label, unset, parse=parse, kind="choice", choices=choices)


def _switch(name: str, label: str) -> Setting:
    return _chosen(name, label, N_("off"), _ON_OFF, parse=_on_off(name))


_MODEL = _chosen("model", N_("How long to think"), N_("quick"), THINK, parse=_model)
_VISIBILITY = _chosen(
    "visibility",
    N_("Who sees answers to commands"),
    N_("only the person who asks"),
    _WHO_SEES,
    parse=_choice("visibility", tuple(_WHO_SEES)),
)
_LANGUAGE = Setting(
    "language",
    N_("Language of answers"),
    N_("same as the question"),
    N_("Two letters, such as en or ja"),
    parse=parse_language,
)
_FOLLOW_UPS = _switch("follow-ups", N_("Replies without a mention are questions"))
_ASKERS = Setting(
    "askers",
    N_("Who may ask"),
    N_("everyone"),
    N_("everyone, admins, or ids of people and user groups"),
    parse=_askers,
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
    Setting("models", N_("Models that may be named"), N_("all"), _MODELS_HINT, parse=_models),
    Setting(
        "allow",
        N_("Only these sites"),
        DOMAINS_UNSET,
        N_("Answers here come from these sites only, such as a.com, b.com"),
        parse=_hosts("allow"),
    ),
    Setting(
        "deny",
        N_("Never these sites"),
        N_("none"),
        N_("Answers here never come from these sites"),
        parse=_hosts("deny"),
    ),
    Setting(
        "instructions",
        N_("Instructions for answers"),
        N_("none"),
        N_("Tone and words of the house"),
        parse=_instructions,
        kind="paragraph",
    ),
)

PERSON = (
    _MODEL,
    _VISIBILITY,
    _LANGUAGE,
    Setting(
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
"""The settings of the whole workspace, set by admins; the settings of a channel can only narrow them."""

Part = Literal["person", "channel", "workspace"]
"""Whose settings: the name of a field of `Preferences`."""

TABLES: Mapping[Part, Sequence[Setting]] = {"person": PERSON, "channel": CHANNEL, "workspace": WORKSPACE}

EFFORT = "effort"
"""Another name for the setting `model`; under this name, the setting takes efforts only."""

SettingsOfPart = TypeVar("SettingsOfPart", PersonSettings, ChannelSettings, WorkspaceSettings)


def find_setting(settings: Sequence[Setting], name: str) -> Setting | None:
    """Return the setting of this name; None if there is none. `effort` and `followups` are other names for settings."""
    word = name.casefold().replace("_", "-")
    word = {EFFORT: "model", "followups": "follow-ups"}.get(word, word)
    return next((one for one in settings if one.name == word), None)


def parse_setting(setting: Setting, name: str, words: str) -> Value:
    """Parse the words typed for a setting, which was typed as `name`. Raises InvalidRequest."""
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


def changes(before: SettingsOfPart, after: SettingsOfPart) -> dict[str, Value | None]:
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


@dataclass(frozen=True, kw_only=True)
class Preferred:
    """The settings that apply where a question has no option; None or empty means the app's own default."""

    model: str | None = None
    public: bool | None = None
    language: str | None = None
    domains: tuple[str, ...] = ()
    max_effort: Effort = EFFORTS[-1]
    """The highest allowed effort."""

    def filters(self, typed: Filters, *, language: bool = False) -> Filters:
        """Return the typed filters, completed by the preferred sites and, if requested, the language."""
        filters = typed if typed.domains else replace(typed, domains=self.domains)
        if language and self.language is not None and not typed.languages:
            filters = replace(filters, languages=(self.language,))
        return filters

    def visible(self, *, public: bool, private: bool) -> bool:
        """Return whether everyone sees the answer to a command; `public` and `private` are its typed options."""
        return public or (self.public is True and not private)


def preferred(preferences: Preferences) -> Preferred:
    """Return the settings for a person in a channel: the person's own as far as the rules allow, then the channel's."""
    person, channel = preferences.person, preferences.channel
    visibility = person.visibility or channel.visibility
    try:
        restrict(replace(NO_FILTERS, domains=person.domains), *preferences.rules)
        domains = person.domains
    except InvalidRequest:
        domains = ()
    return Preferred(
        model=next((one for one in (person.model, channel.model) if one and _may_name(one, preferences.rules)), None),
        public=None if visibility is None else visibility == "public",
        language=person.language or channel.language,
        domains=domains,
        max_effort=effort_cap(preferences.rules).effort,
    )


def may_ask(channel: ChannelSettings, user_id: str, *, is_admin: bool) -> bool:
    """Return whether a person may ask in a channel; an admin always may. Groups in `askers` are not looked up."""
    return channel.askers == EVERYONE or is_admin or (channel.askers != ADMINS and user_id in channel.askers.split())


def restrict(filters: Filters, *rules: Rules) -> Filters:
    """Return the filters, narrowed to the sites that all rules allow and none denies.

    Raises InvalidRequest if no site is left.
    """
    for one in rules:
        filters = _within(filters, one)
    return filters


def _within(filters: Filters, rules: Rules) -> Filters:
    if not (rules.allow or rules.deny):
        return filters
    asked = [domain for domain in filters.domains if not domain.startswith("-")]
    denied = [domain[1:] for domain in filters.domains if domain.startswith("-")]
    denied = list(dict.fromkeys([*rules.deny, *denied, *filters.excluded]))
    if not (asked or rules.allow):
        sent, rest = denied[:MAX_DOMAINS], denied[MAX_DOMAINS:]
        return replace(filters, domains=tuple(f"-{domain}" for domain in sent), excluded=tuple(rest))
    both = _common(asked, rules.allow) if asked and rules.allow else asked or list(rules.allow)
    left = [domain for domain in both if not any(_covers(one, domain) for one in denied)]
    if not left:
        raise InvalidRequest.for_field("domain", ", ".join(asked or rules.allow), _allowed(rules))
    inside = tuple(one for one in denied if any(_covers(domain, one) for domain in left))
    return replace(filters, domains=tuple(left[:MAX_DOMAINS]), excluded=inside)


def _allowed(rules: Rules) -> str:
    if rules.allow:
        only = _("answers in this {place} come from {sites} only")
        return only.format(place=_(rules.place), sites=", ".join(rules.allow))
    never = _("answers in this {place} never come from {sites}")
    return never.format(place=_(rules.place), sites=", ".join(rules.deny))


@dataclass(frozen=True, kw_only=True)
class EffortCap:
    """The highest allowed effort; `why` is the reason, in words that end a sentence."""

    effort: Effort
    why: str = ""

    def allows(self, effort: Effort) -> bool:
        """Return whether an effort is allowed."""
        return EFFORTS.index(effort) <= EFFORTS.index(self.effort)

    def check(self, effort: Effort) -> None:
        """Raise Refused if a required effort is not allowed."""
        if not self.allows(effort):
            refusal = _("This needs the effort {effort}. Here at most {most} is allowed, {reason}.")
            raise Refused(refusal.format(effort=effort, most=self.effort, reason=self.why))


def effort_cap(rules: Iterable[Rules]) -> EffortCap:
    """Return the highest effort that all rules allow.

    With `store_nothing`, the effort is at most medium, since the search service stores answers of background runs.
    """
    caps = [EffortCap(effort=EFFORTS[-1])]
    for one in rules:
        if isinstance(one, WorkspaceSettings) and one.store_nothing:
            caps.append(EffortCap(effort="medium", why=_("since more would be stored at the search service")))
        if one.max_effort is not None:
            why = _("as this {place}’s settings say").format(place=_(one.place))
            caps.append(EffortCap(effort=one.max_effort, why=why))
    return min(caps, key=lambda cap: EFFORTS.index(cap.effort))


_WORDS: Mapping[Effort, str] = {
    "fast": N_("quickly"),
    "low": N_("a little"),
    "medium": N_("longer"),
    "high": N_("much longer"),
    "xhigh": N_("as long as possible"),
}


def _may_name(model: str, rules: Iterable[Rules]) -> bool:
    name = resolve(model).model
    return name is None or all(not one.models or name in one.models for one in rules)


def within_rules(
    question: Question, rules: Sequence[Rules], *, reasoning_effort: Effort = "medium"
) -> tuple[Question, str]:
    """Return a question that keeps the rules, and a note for its answer.

    The note is empty unless the question's effort was lowered. Raises InvalidRequest if the rules do not allow the
    model, or allow none of the sites.
    """
    instructions = (
        Message(role="system", content=f"Tone and words in this {one.place}; keep all citations:\n{one.instructions}")
        for one in rules
        if one.instructions
    )
    messages = (*instructions, *question.messages)
    question = replace(question, filters=restrict(question.filters, *rules), messages=messages)
    if question.model is not None and not _may_name(question.model, rules):
        limits = [set(one.models) for one in rules if one.models]
        allowed = [*sorted(set.intersection(*limits) - {*NO_MODELS}), _("an effort such as fast")]
        names = _("here it takes {names}").format(names=_(" or ").join(allowed))
        raise InvalidRequest.for_field("model", question.model, names)
    target = resolve(question.model, reasoning=question.reasoning, reasoning_effort=reasoning_effort)
    cap = effort_cap(rules)
    if question.run_id is not None or cap.allows(target.effort) or (target.model and not target.reasons):
        return question, ""
    lowered = replace(question, reasoning=False, model=target.model or cap.effort)
    note = _("I thought {how} instead of {wanted}, {reason}.")
    return lowered, note.format(how=_(_WORDS[cap.effort]), wanted=_(_WORDS[target.effort]), reason=cap.why)


def check_narrows(channel: ChannelSettings, workspace: WorkspaceSettings) -> None:
    """Raise InvalidRequest if the workspace allows none of the sites in a channel's `allow`."""
    try:
        restrict(replace(NO_FILTERS, domains=channel.allow), *([workspace] if channel.allow else []))
    except InvalidRequest as error:
        raise InvalidRequest.for_field("allow", error.value or "", error.allowed or "") from None


def _common(asked: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """Return the sites that both lists cover: each site of a list that equals or is inside a site of the other list."""
    narrow = [one for one in asked if any(_covers(wide, one) for wide in allowed)]
    narrow += [one for one in allowed if any(_covers(wide, one) for wide in asked)]
    return list(dict.fromkeys(narrow))


def _covers(wide: str, one: str) -> bool:
    """Return whether the site `one` is the site `wide` or a subdomain of it."""
    return one == wide or one.endswith(f".{wide}")


@dataclass(frozen=True, kw_only=True)
class Restricting:
    """The step that applies the rules to requests; `perplexity.domains` removes results from other sites.

    `tool_effort` is set for an agent: it is the effort with which the agent's tools reason, which the rules must allow.
    """

    rules: Sequence[Rules]
    reasoning_effort: Effort = "medium"
    tool_effort: Effort | None = None

    async def around(self, request: Request, call: Call[Request]) -> Replies:
        """Make the call within the rules, and add a note to the answer if its effort was lowered.

        Raises InvalidRequest or Refused.
        """
        note = ""
        if isinstance(request, Query):
            request = replace(request, filters=restrict(request.filters, *self.rules))
        elif self.tool_effort is None:
            request, note = within_rules(request, self.rules, reasoning_effort=self.reasoning_effort)
        else:
            effort_cap(self.rules).check(self.tool_effort)
            request, __ = within_rules(request, self.rules)
        async with aclosing(call(request)) as replies:
            async for reply in replies:
                yield _with_note(reply, note) if isinstance(reply, Answer) else reply


def _with_note(answer: Answer, note: str) -> Answer:
    return replace(answer, stand_in=" ".join(filter(None, (note, answer.stand_in))))


def are_restricted(rules: Iterable[Rules]) -> bool:
    """Return whether any of the rules allows or denies sites."""
    return any(one.allow or one.deny for one in rules)


def allowed_pages(pages: Sequence[Source], rules: Sequence[Rules]) -> tuple[Source, ...]:
    """Return the pages that the rules allow. Raises InvalidRequest if no site is allowed."""
    allowed, __ = DomainPolicy(restrict(NO_FILTERS, *rules).enforced).split(pages)
    return allowed


def allows_all(pages: Sequence[Source], rules: Sequence[Rules]) -> bool:
    """Return whether the rules allow all of these pages."""
    try:
        return not are_restricted(rules) or len(allowed_pages(pages, rules)) == len(pages)
    except InvalidRequest:
        return not pages


def excludes_posts(rules: Iterable[Rules], host: str = "x.com") -> bool:
    """Return whether the rules exclude posts on X."""
    return any(
        any(_covers(site, host) for site in one.deny)
        or (bool(one.allow) and not any(_covers(site, host) for site in one.allow))
        for one in rules
    )
