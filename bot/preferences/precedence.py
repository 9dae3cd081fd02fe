"""Which setting outranks which: what is typed, then the person's, then the channel's.

The rules of the workspace outrank all, and those of the channel all but these.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.model.preferences import ADMINS, EVERYONE, ChannelSettings, Preferences, Rules, WorkspaceSettings
from perplexity.domains import DomainPolicy
from perplexity.errors import InvalidRequest
from perplexity.filters import MAX_DOMAINS, NO_FILTERS, Filters
from perplexity.providers.base import ForwardingProvider
from perplexity.types import Answer, Event, Query, Question, SearchResults, Source


@dataclass(frozen=True, kw_only=True)
class Preferred:
    """The settings of a question that does not say otherwise; None, or empty, for the app's own default."""

    model: str | None = None
    public: bool | None = None
    language: str | None = None
    domains: tuple[str, ...] = ()

    def filters(self, typed: Filters, *, language: bool = False) -> Filters:
        """Return the typed filters with the preferred sites, and if asked for the language, for what is not typed."""
        filters = typed if typed.domains else replace(typed, domains=self.domains)
        if language and self.language is not None and not typed.languages:
            filters = replace(filters, languages=(self.language,))
        return filters

    def visible(self, *, public: bool, private: bool) -> bool:
        """Return whether everyone sees the answer to a command with these options."""
        return public or (self.public is True and not private)


def preferred(preferences: Preferences) -> Preferred:
    """Return what applies to a person in a channel: the person's settings within the rules, then defaults."""
    person, channel = preferences.person, preferences.channel
    visibility = person.visibility or channel.visibility
    try:
        restrict(replace(NO_FILTERS, domains=person.domains), *preferences.rules)
        domains = person.domains
    except InvalidRequest:
        domains = ()
    return Preferred(
        model=person.model or channel.model,
        public=None if visibility is None else visibility == "public",
        language=person.language or channel.language,
        domains=domains,
    )


def may_ask(channel: ChannelSettings, user_id: str, *, is_admin: bool) -> bool:
    """Return whether a person may ask in a channel."""
    return channel.askers == EVERYONE or is_admin or (channel.askers != ADMINS and user_id in channel.askers.split())


def restrict(filters: Filters, *rules: Rules) -> Filters:
    """Return the filters within the sites of all rules: at most what is allowed, and nothing of what is denied.

    Raises InvalidRequest if no site is left that was asked for.
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
        return f"answers in this {rules.place} come from {', '.join(rules.allow)} only"
    return f"answers in this {rules.place} never come from {', '.join(rules.deny)}"


def check_narrows(channel: ChannelSettings, workspace: WorkspaceSettings) -> None:
    """Raise InvalidRequest if the workspace allows none of the sites that a channel is to allow."""
    try:
        restrict(replace(NO_FILTERS, domains=channel.allow), *([workspace] if channel.allow else []))
    except InvalidRequest as error:
        raise InvalidRequest.for_field("allow", error.value or "", error.allowed or "") from None


def _common(asked: Sequence[str], allowed: Sequence[str]) -> list[str]:
    """Return the sites that are in both lists, of two the narrower one."""
    narrow = [one for one in asked if any(_covers(wide, one) for wide in allowed)]
    narrow += [one for one in allowed if any(_covers(wide, one) for wide in asked)]
    return list(dict.fromkeys(narrow))


def _covers(wide: str, one: str) -> bool:
    """Return whether all pages of a site are pages of another one."""
    return one == wide or one.endswith(f".{wide}")


class AnswersWithin(Protocol):
    """Answers questions."""

    async def answer(self, question: Question) -> Answer:
        """Return one answer."""
        ...


@dataclass(frozen=True, kw_only=True)
class RestrictedAgent:
    """An agent that keeps to the rules of where it is asked."""

    agent: AnswersWithin
    rules: Sequence[Rules]

    async def answer(self, question: Question) -> Answer:
        """Return an answer from the sites of the rules. Raises PerplexityError."""
        return await self.agent.answer(replace(question, filters=restrict(question.filters, *self.rules)))


@dataclass(frozen=True, kw_only=True)
class RestrictedProvider(ForwardingProvider):
    """A provider that keeps to the rules: `perplexity.domains` enforces the sites on what comes back."""

    rules: Sequence[Rules]

    async def search(self, query: Query) -> SearchResults:
        """Return pages of the sites of the rules. Raises PerplexityError."""
        return await self.provider.search(replace(query, filters=restrict(query.filters, *self.rules)))

    async def answer(self, question: Question) -> Answer:
        """Return an answer from the sites of the rules. Raises PerplexityError."""
        return await self.provider.answer(self._within(question))

    def stream(self, question: Question) -> AsyncIterator[Event]:
        """Yield the events of an answer from the sites of the rules. Raises PerplexityError."""
        return self.provider.stream(self._within(question))

    def _within(self, question: Question) -> Question:
        return replace(question, filters=restrict(question.filters, *self.rules))


def are_restricted(rules: Iterable[Rules]) -> bool:
    """Return whether there are rules for sites."""
    return any(one.allow or one.deny for one in rules)


def allowed_pages(pages: Sequence[Source], rules: Sequence[Rules]) -> tuple[Source, ...]:
    """Return the pages that the rules allow, with their numbers.

    Raises InvalidRequest if no site is allowed.
    """
    allowed, _ = DomainPolicy(restrict(NO_FILTERS, *rules).enforced).split(pages)
    return allowed


def allows_all(pages: Sequence[Source], rules: Sequence[Rules]) -> bool:
    """Return whether the rules allow each of some pages."""
    try:
        return not are_restricted(rules) or len(allowed_pages(pages, rules)) == len(pages)
    except InvalidRequest:
        return not pages


def excludes_posts(rules: Iterable[Rules], host: str = "x.com") -> bool:
    """Return whether posts on X may not be shown."""
    return any(
        any(_covers(site, host) for site in one.deny)
        or (bool(one.allow) and not any(_covers(site, host) for site in one.allow))
        for one in rules
    )
