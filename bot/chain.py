"""The steps around every call of a service, in their fixed order, the outermost first.

1. The rules of the workspace and the channel: sites, models, effort, instructions.
2. Sharing: a question that the app itself offers may get an answer that was given before. This step comes after the
   rules, because an answer depends on the rules.
3. Redaction. It is the last step to change a text, and no command can leave it out.

These steps surround the fallback chain, the agent and the source of posts. The fourth step is further inside:

4. The budget. This step surrounds each paid provider of the chain, so that every attempt counts. It also surrounds the
   source of posts and the agent's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.budgets.ceilings import POSTS, SEARCH
from bot.commands.base import SearchingAgent, Services
from bot.metering import Meter, Metering
from bot.model.question import NO_PREFERENCES, Rules
from bot.preferences import Restricting, excludes_posts
from bot.privacy.redaction import NO_REDACTION, Redactor
from bot.privacy.sent_requests import Redacting
from perplexity.models import Effort
from perplexity.providers import PROVIDERS
from perplexity.providers.base import Provider
from perplexity.steps import Step, SteppedPosts, SteppedProvider, ask
from perplexity.types import Answer, Question
from perplexity.x_posts.types import PostSource


class Chain:
    """The only access to the services: `within` puts the first three steps around each of them."""

    def __init__(
        self, services: Services, *, redactor: Redactor = NO_REDACTION, reasoning_effort: Effort = "medium"
    ) -> None:
        self._services = services
        self._redacting = [Redacting(redactor=redactor)] if redactor.is_set else []
        self._reasoning_effort = reasoning_effort

    def within(self, rules: Sequence[Rules] = NO_PREFERENCES.rules, *, sharing: Sequence[Step] = ()) -> Services:
        """Return the services for a question asked under these rules; `sharing` has the steps that share answers.

        The rules do not apply to `Services.model`: it only reads a given text, which was found within the rules.
        """
        restricting: list[Step] = []
        tools: list[Step] = []
        if rules != NO_PREFERENCES.rules:
            restricting = [Restricting(rules=rules, reasoning_effort=self._reasoning_effort)]
            tools = [Restricting(rules=rules, tool_effort=self._reasoning_effort)]
        inner, dives = self._services, self._services.deepdives
        return Services(
            provider=_with(inner.provider, [*restricting, *sharing, *self._redacting]),
            model=_with(inner.model, self._redacting),
            agent=SteppedAgent(agent=inner.agent, steps=[*tools, *self._redacting]),
            deepdives=replace(
                dives,
                facts=_with(dives.facts, [*restricting, *self._redacting]),
                synthesis=_with(dives.synthesis, [*restricting, *self._redacting]),
                posts=None if excludes_posts(rules) else _posts_with(dives.posts, self._redacting),
            ),
        )


def _with(provider: Provider, steps: Sequence[Step]) -> Provider:
    return SteppedProvider(provider=provider, steps=steps) if steps else provider


def _posts_with(posts: PostSource | None, steps: Sequence[Step]) -> PostSource | None:
    return SteppedPosts(source=posts, steps=steps) if posts is not None and steps else posts


@dataclass(frozen=True, kw_only=True)
class SteppedAgent:
    """An agent with steps around each question, the first one outermost."""

    agent: SearchingAgent
    steps: Sequence[Step]

    async def answer(self, question: Question) -> Answer:
        """Answer within the steps. Raises PerplexityError."""
        return await ask(self.steps, question, self.agent.answer)


def within_budget(provider: Provider, meter: Meter | None, *, reasoning_effort: Effort) -> Provider:
    """Wrap a provider so that its calls are booked; return it unchanged if it needs no key, since it is free then."""
    spec = next((one for one in PROVIDERS.values() if one.title == provider.name), None)
    if meter is None or (spec is not None and not spec.key_variables):
        return provider
    metering = Metering(
        meter=meter,
        name=provider.name,
        effort=SEARCH if provider.search_only else "",
        announced=provider.announces_requests,
        resumes=provider.resumes,
        reasoning_effort=reasoning_effort,
    )
    return SteppedProvider(provider=provider, steps=[metering])


def posts_within_budget(posts: PostSource | None, meter: Meter | None) -> PostSource | None:
    """Wrap the source of posts so that its calls are booked."""
    if posts is None or meter is None:
        return posts
    return SteppedPosts(source=posts, steps=[Metering(meter=meter, name=posts.name, effort=POSTS)])
