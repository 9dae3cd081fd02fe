"""The services that the settings configure: providers, their fallback chain, the agent, deep dives, Slack."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from bot.budgets import AGENT
from bot.chain import Chain, Meter, PaidCall, posts_within_budget, within_budget
from bot.commands.base import DisabledAgent, SearchingAgent, Services
from bot.commands.routing import slash_commands
from bot.manifest import Offers, manifest
from bot.slack.connection import SlackConnection
from bot.storage.calls import PostgresLimiter
from bot.storage.questions import Lanes, Pool
from perplexity.deepdive.pipeline import open_deepdive_runner
from perplexity.deepdive.types import Persona
from perplexity.errors import Attempt, PerplexityError
from perplexity.fallback import Fallback
from perplexity.limiter import Limiter
from perplexity.models import FallbackTimeouts, Timeouts
from perplexity.providers import PROVIDERS, open_providers, text_generators
from perplexity.providers.base import Provider, ProviderConfig
from perplexity.providers.openrouter import OpenRouter
from perplexity.retry import RetryPolicy
from perplexity.urls import is_loopback

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bot.playground.server import Playground, Prompt
    from bot.settings import Settings

log = logging.getLogger(__name__)

AGENT_MODEL = "Agent"
"""The name of the agent's model in the ledger."""


def open_limiter(settings: Settings, pool: Pool) -> PostgresLimiter:
    """Return the limiter of calls, which all processes on this database share."""
    keys, urls = settings.provider_keys, settings.provider_base_urls
    writers = [
        name for name in settings.provider_order or PROVIDERS if name in {"perplexity", "openrouter"} & keys.keys()
    ]
    return PostgresLimiter(
        pool=pool,
        lanes=Lanes(
            keys={PROVIDERS[name].title: key for name, key in keys.items()},
            addresses={PROVIDERS[name].title: url for name, url in urls.items()},
            limits=settings.limits,
            stand_ins=writers[:-1],
        ),
        wait_seconds=settings.wait_seconds,
    )


@asynccontextmanager
async def open_search_services(
    settings: Settings,
    *,
    on_attempt: Callable[[Attempt], None],
    meter: Meter | None = None,
    limiter: Limiter | None = None,
) -> AsyncIterator[tuple[Sequence[Provider], Chain]]:
    """Open the providers, and the chain that answers questions with them; `on_attempt` is called after each attempt.

    `meter` reserves and settles every call of a paid service, `limiter` keeps calls within the limits of the services.
    """
    config, timeouts = replace(provider_config(settings), limiter=limiter), fallback_timeouts(settings)
    xai = {} if settings.xai_api_key is None else {"xai": settings.xai_api_key.get_secret_value()}
    base_urls = {**config.base_urls, "xai": settings.xai_base_url}
    async with open_providers(config, order=settings.provider_order) as providers:
        booked = [within_budget(one, meter, reasoning_effort=settings.reasoning_effort) for one in providers]
        chain = Fallback(
            booked,
            timeouts=timeouts,
            reasoning_effort=settings.reasoning_effort,
            on_attempt=on_attempt,
            limiter=limiter,
        )
        async with (
            open_deepdive_runner(
                booked,
                replace(config, keys={**config.keys, **xai}, base_urls=base_urls),
                facts=chain,
                persona=persona(settings),
                on_attempt=on_attempt,
                timeouts=FallbackTimeouts(reasoning=settings.reasoning_chain_seconds),
            ) as dives,
            open_agent(settings, provider=chain, on_attempt=on_attempt, meter=meter) as agent,
        ):
            model = Fallback(text_generators(booked), timeouts=timeouts, on_attempt=on_attempt, limiter=limiter)
            deepdives = replace(dives, posts=posts_within_budget(dives.posts, meter))
            services = Services(provider=chain, model=model, deepdives=deepdives, agent=agent)
            yield providers, Chain(services, redactor=settings.redactor, reasoning_effort=settings.reasoning_effort)


@asynccontextmanager
async def open_agent(
    settings: Settings, *, provider: Provider, on_attempt: Callable[[Attempt], None], meter: Meter | None = None
) -> AsyncIterator[SearchingAgent]:
    """Open the agent, whose tools use `provider`; `on_attempt` is called after each run of the agent.

    `meter` reserves and settles each call of the agent's model.
    """
    if settings.missing_agent_setting is not None:
        yield DisabledAgent(missing=settings.missing_agent_setting)
        return
    # Importing `perplexity.agent` takes over a second, so only an app with an agent imports it.
    from perplexity.agent import AgentLimits, ObservedModel, WebAgent, build_model, provider_tools

    model = build_model(
        settings.agent_base_url,
        name=settings.agent_model,
        api_key=settings.agent_key,
        open_timeout=settings.open_timeout,
        ca_bundle=settings.ca_bundle,
    )
    if meter is not None:
        model = ObservedModel(model, around=partial(PaidCall, meter=meter, provider=AGENT_MODEL, effort=AGENT))
    limits = AgentLimits(retries=settings.retry_attempts - 1)
    async with WebAgent(model, provider_tools(provider), limits=limits, on_attempt=on_attempt) as agent:
        yield agent


def persona(settings: Settings) -> Persona:
    """Return the voice of the analyses in deep dives: a name and a prompt."""
    prompt = {"prompt": settings.persona_prompt} if settings.persona_prompt else {}
    return Persona(name=settings.persona_name, **prompt)


def fallback_timeouts(settings: Settings) -> FallbackTimeouts:
    """Return the time limits of the whole chain."""
    return FallbackTimeouts(
        search=settings.search_chain_seconds,
        answer=settings.answer_chain_seconds,
        reasoning=settings.reasoning_chain_seconds,
        deep=settings.deep_provider_seconds + 60,
        total=settings.answer_total_seconds,
    )


def provider_config(settings: Settings) -> ProviderConfig:
    """Return the configuration of the providers."""
    return ProviderConfig(
        keys=settings.provider_keys,
        base_urls=settings.provider_base_urls,
        api=settings.perplexity_api,
        reasoning_effort=settings.reasoning_effort,
        timeouts=Timeouts(
            search=settings.search_provider_seconds,
            answer=settings.answer_provider_seconds,
            reasoning=settings.reasoning_provider_seconds,
            deep=settings.deep_provider_seconds,
        ),
        retry=RetryPolicy(
            attempts=settings.retry_attempts, base=settings.retry_base_seconds, cap=settings.retry_cap_seconds
        ),
        open_timeout=settings.open_timeout,
        ca_bundle=settings.ca_bundle,
    )


async def check_models(providers: Sequence[Provider]) -> None:
    """Log and replace models that OpenRouter no longer serves. If its list cannot be read, all models stay in use."""
    for provider in providers:
        if isinstance(provider, OpenRouter):
            try:
                await provider.check_models()
            except PerplexityError as error:
                log.warning("models.unknown", extra={"provider": provider.name, "error": type(error).__name__})


def slack_connection(settings: Settings, offers: Offers) -> tuple[SlackConnection, Playground | None]:
    """Return the connection to Slack, and the playground, which is None if a workspace is configured.

    If no workspace is configured, create a playground; the connection leads to it instead of Slack.
    """
    if settings.slack_configured:
        slack = SlackConnection(
            bot_token=_secret_value(settings.slack_bot_token),
            signing_secret=_secret_value(settings.slack_signing_secret),
            app_token=_secret_value(settings.slack_app_token),
            api_url=settings.slack_api_url,
            ca_bundle=settings.ca_bundle,
        )
        return slack, None
    from bot.playground.server import Playground

    origin = f"http://127.0.0.1:{settings.port}"
    features: Any = manifest(offers, prefix=settings.command_prefix, url=None)["features"]
    bot_token, signing_secret = f"xoxb-{secrets.token_hex(16)}", load_or_create_secret(Path(settings.data_dir))
    playground = Playground(
        signing_secret=signing_secret,
        bot_token=bot_token,
        origin=origin,
        commands=slash_commands(offers.commands, prefix=settings.command_prefix),
        prompts=_prompts(settings, offers),
        shortcuts=features.get("shortcuts", ()),
        home_tab=features["app_home"]["home_tab_enabled"],
        allow_any_host=not is_loopback(settings.bind_host),
        saved=Path(settings.data_dir) / "playground.json",
    )
    slack = SlackConnection(bot_token=bot_token, signing_secret=signing_secret, api_url=f"{origin}/playground/api/")
    return slack, playground


def load_or_create_secret(folder: Path) -> str:
    """Return the secret saved in a folder; create it if there is none.

    The secret signs the playground's response_urls, which stay valid for half an hour, also after a restart. If the
    folder is not writable, the secret lasts only as long as this process.
    """
    path = folder / "playground.key"
    with suppress(OSError, UnicodeDecodeError):
        saved = path.read_text(encoding="ascii")
        if re.fullmatch(r"[0-9a-f]{64}", saved):
            return saved
    secret = secrets.token_hex(32)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        # A new file, which only this user can read, replaces the old file in one step, so that no file is incomplete.
        with NamedTemporaryFile("w", dir=folder, encoding="ascii", delete=False) as file:
            file.write(secret)
        Path(file.name).replace(path)
    return secret


def _prompts(settings: Settings, offers: Offers) -> tuple[Prompt, ...]:
    """Return the recorded examples of the offered commands, for the playground's page; empty if a key is set."""
    if not settings.keyless:
        return ()
    from bot.playground.examples import EXAMPLES, command_line
    from bot.playground.server import Prompt

    known = {command.name for command in offers.commands}
    return tuple(
        Prompt(label=one.label, line=command_line(one, prefix=settings.command_prefix))
        for one in EXAMPLES
        if one.command in known
    )


def _secret_value(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
