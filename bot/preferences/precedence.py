"""The precedence of settings: typed options, then the person's, then the channel's.

The workspace's rules outrank everything; the channel's rules outrank everything but the workspace's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from bot.errors import Refused
from bot.model.preferences import ADMINS, EVERYONE, NO_MODELS, ChannelSettings, Preferences, Rules, WorkspaceSettings
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.domains import DomainPolicy
from perplexity.errors import InvalidRequest
from perplexity.filters import MAX_DOMAINS, NO_FILTERS, Filters
from perplexity.models import EFFORTS, Effort, resolve
from perplexity.steps import Call, Replies, Request
from perplexity.types import Answer, Message, Query, Question, Source


@dataclass(frozen=True, kw_only=True)
class Preferred:
    """The settings for the options that a question does not have; None or empty stands for the app's own default."""

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
    """Return whether a person may ask in a channel; an admin always may."""
    return channel.askers == EVERYONE or is_admin or (channel.askers != ADMINS and user_id in channel.askers.split())


def restrict(filters: Filters, *rules: Rules) -> Filters:
    """Return the filters, narrowed to the sites that all rules allow and none denies.

    Raises InvalidRequest if none of the requested sites is left.
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

    With `store_nothing`, this is at most medium, since the search service stores answers of background runs.
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
    """Return a question, changed to keep the rules, and a note for its answer, empty unless its effort was lowered.

    Raises InvalidRequest for a site or a model that is not allowed.
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
    """Return the sites that both lists cover; if a site of one list contains a site of the other, only the narrower."""
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
    """Return whether the rules allow each of some pages."""
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
