"""Which setting outranks which: what is typed, then the person's, then the channel's; a channel's sites outrank all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.model.preferences import ADMINS, EVERYONE, ChannelSettings, Preferences
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
    """Return what applies to a person in a channel: the person's settings within the channel's rules, then defaults."""
    person, channel = preferences.person, preferences.channel
    visibility = person.visibility or channel.visibility
    try:
        restrict(replace(NO_FILTERS, domains=person.domains), channel)
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


def restrict(filters: Filters, channel: ChannelSettings) -> Filters:
    """Return the filters within a channel's sites: at most what is allowed, and nothing of what is denied.

    Raises InvalidRequest if no site is left that was asked for.
    """
    if not (channel.allow or channel.deny):
        return filters
    asked = [domain for domain in filters.domains if not domain.startswith("-")]
    denied = [domain[1:] for domain in filters.domains if domain.startswith("-")]
    denied = list(dict.fromkeys([*channel.deny, *denied, *filters.excluded]))
    if not (asked or channel.allow):
        sent, rest = denied[:MAX_DOMAINS], denied[MAX_DOMAINS:]
        return replace(filters, domains=tuple(f"-{domain}" for domain in sent), excluded=tuple(rest))
    both = _common(asked, channel.allow) if asked and channel.allow else asked or list(channel.allow)
    left = [domain for domain in both if not any(_covers(one, domain) for one in denied)]
    if not left:
        raise InvalidRequest.for_field("domain", ", ".join(asked or channel.allow), _allowed(channel))
    inside = tuple(one for one in denied if any(_covers(domain, one) for domain in left))
    return replace(filters, domains=tuple(left[:MAX_DOMAINS]), excluded=inside)


def _allowed(channel: ChannelSettings) -> str:
    if channel.allow:
        return f"answers in this channel come from {', '.join(channel.allow)} only"
    return f"answers in this channel never come from {', '.join(channel.deny)}"


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
    """An agent that keeps to a channel's sites."""

    agent: AnswersWithin
    channel: ChannelSettings

    async def answer(self, question: Question) -> Answer:
        """Return an answer from the channel's sites. Raises PerplexityError."""
        return await self.agent.answer(replace(question, filters=restrict(question.filters, self.channel)))


@dataclass(frozen=True, kw_only=True)
class RestrictedProvider(ForwardingProvider):
    """A provider that keeps to a channel's sites: `perplexity.domains` enforces them on what comes back."""

    channel: ChannelSettings

    async def search(self, query: Query) -> SearchResults:
        """Return pages of the channel's sites. Raises PerplexityError."""
        return await self.provider.search(replace(query, filters=restrict(query.filters, self.channel)))

    async def answer(self, question: Question) -> Answer:
        """Return an answer from the channel's sites. Raises PerplexityError."""
        return await self.provider.answer(self._within(question))

    def stream(self, question: Question) -> AsyncIterator[Event]:
        """Yield the events of an answer from the channel's sites. Raises PerplexityError."""
        return self.provider.stream(self._within(question))

    def _within(self, question: Question) -> Question:
        return replace(question, filters=restrict(question.filters, self.channel))


def are_restricted(channel: ChannelSettings) -> bool:
    """Return whether a channel has rules for sites."""
    return bool(channel.allow or channel.deny)


def allowed_pages(pages: Sequence[Source], channel: ChannelSettings) -> tuple[Source, ...]:
    """Return the pages that a channel's sites allow, with their numbers.

    Raises InvalidRequest if no site is allowed.
    """
    allowed, _ = DomainPolicy(restrict(NO_FILTERS, channel).enforced).split(pages)
    return allowed


def allows_all(pages: Sequence[Source], channel: ChannelSettings) -> bool:
    """Return whether a channel's sites allow each of some pages."""
    try:
        return not are_restricted(channel) or len(allowed_pages(pages, channel)) == len(pages)
    except InvalidRequest:
        return not pages


def excludes_posts(channel: ChannelSettings, hosts: Iterable[str] = ("x.com",)) -> bool:
    """Return whether posts on X may not be shown in a channel."""
    denied = any(_covers(one, host) for one in channel.deny for host in hosts)
    return denied or (bool(channel.allow) and not any(_covers(one, host) for one in channel.allow for host in hosts))
