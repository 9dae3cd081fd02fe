"""news_deepdive: the facts of a topic, public posts about it, and an analysis of both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from perplexity.citations import format_result
from perplexity.client import first_variable
from perplexity.deepdive.pipeline import STAGE_SECONDS as STAGE_LIMITS
from perplexity.deepdive.pipeline import DeepDiveRunner, open_deepdive_runner
from perplexity.deepdive.report import render_sections, render_title, stats_line
from perplexity.deepdive.types import DeepDive, NullStageStore, Persona, Stage
from perplexity.errors import InvalidRequest, MissingKey, PerplexityError
from perplexity.fallback import Fallback
from perplexity.notes import no_results_text
from perplexity.providers import PROVIDERS, open_providers
from perplexity.providers.base import OnAttempt, ProviderConfig, log_attempt
from perplexity.steps import Reporting, SteppedPosts
from perplexity.tools.base import Tool, chain_failure_text, failure_text
from perplexity.tools.environment import UsableConfig, exclude_provider, usable_config, variable_error, with_reporting
from perplexity.tools.schemas import object_schema
from perplexity.types import Answer
from perplexity.x_posts.client import build_grok

_XAI_KEYS, _XAI_ADDRESS = ("XAI_API_KEY",), "XAI_BASE_URL"


def usable_deepdive_config(environ: Mapping[str, str]) -> UsableConfig:
    """Return the result of `usable_config`, with the key and address of xAI added if they are valid."""
    usable = usable_config(environ)
    try:
        return replace(usable, config=add_xai(environ, usable.config))
    except InvalidRequest as error:
        return exclude_provider("xai", str(error), usable)


def add_xai(environ: Mapping[str, str], config: ProviderConfig) -> ProviderConfig:
    """Return the configuration with the key and address of xAI; it is unchanged if no key is set.

    Raises InvalidRequest, which names the variable.
    """
    key, address = first_variable(environ, *_XAI_KEYS), first_variable(environ, _XAI_ADDRESS)
    if not key:
        return config
    extended = replace(config, keys={**config.keys, "xai": key}, base_urls={**config.base_urls, "xai": address})
    try:
        build_grok(extended)
    except InvalidRequest as error:
        raise InvalidRequest(variable_error(error, environ, keys=_XAI_KEYS, address=_XAI_ADDRESS)) from None
    return extended


@asynccontextmanager
async def open_deepdive_runner_from_env(
    environ: Mapping[str, str],
    *,
    config: ProviderConfig,
    order: Sequence[str] = (),
) -> AsyncIterator[DeepDiveRunner]:
    """Open the providers and the deep-dive runner on them, and close their connections at the end.

    PERSONA_NAME and PERSONA_PROMPT define the voice of the analysis. Each attempt is logged. Raises InvalidRequest.
    """
    async with (
        open_providers(config, order=order) as providers,
        open_deepdive_runner(
            providers,
            config,
            facts=Fallback(providers, limiter=config.limiter),
            persona=_persona(environ),
            on_attempt=log_attempt,
        ) as runner,
    ):
        yield runner


def with_reporting_services(runner: DeepDiveRunner, on_attempt: OnAttempt | None) -> DeepDiveRunner:
    """Return a copy of the runner whose services report their attempts to `on_attempt`; the default logs them."""
    pulse = runner.posts
    if pulse is not None and (on_attempt is not None or not isinstance(pulse, SteppedPosts)):
        pulse = SteppedPosts(source=pulse, steps=[Reporting(name=pulse.name, on_attempt=on_attempt or log_attempt)])
    facts, synthesis = with_reporting(runner.facts, on_attempt), with_reporting(runner.synthesis, on_attempt)
    return replace(runner, facts=facts, synthesis=synthesis, posts=pulse)


def _persona(environ: Mapping[str, str]) -> Persona:
    usual = Persona()
    return Persona(
        name=first_variable(environ, "PERSONA_NAME") or usual.name,
        prompt=first_variable(environ, "PERSONA_PROMPT") or usual.prompt,
    )


NAME = "news_deepdive"
DESCRIPTION = """\
Investigates a topic in the news for some minutes. Returns a report in three sections: THE SITUATION (the facts, from \
web pages), THE PUBLIC PULSE (what people say in public posts) and MY ANALYSIS (of both), with numbered references.
Use it when depth is wanted; for a quick answer use another tool."""
PARAMETERS = object_schema(
    {"topic": {"type": "string", "description": "What to look into, in a few words"}}, required=["topic"]
)
_WRITERS = {name: spec for name, spec in PROVIDERS.items() if spec.perplexity_models}
"""The services that can write a report, by name. At least one of them must have a key."""
SECONDS = max(STAGE_LIMITS[Stage.SITUATION], STAGE_LIMITS[Stage.PULSE]) + STAGE_LIMITS[Stage.ANALYSIS]


def create_news_deepdive_tool(runner: DeepDiveRunner, *, on_attempt: OnAttempt | None = None) -> Tool:
    """Return the tool; its handler takes `topic` and returns the report, its references and its statistics.

    `on_attempt` is called after each attempt; the default logs it.
    """
    return _tool(with_reporting_services(runner, on_attempt))


def _tool(runner: DeepDiveRunner, notes: Sequence[str] = ()) -> Tool:
    """Return the tool; `notes` are part of every result."""

    async def handler(topic: str) -> str:
        try:
            # If this call is cancelled, so is its background run, because nothing could resume it later.
            report = await runner.run(topic, store=NullStageStore(), on_stage=lambda update: None, resumable=False)
        except PerplexityError as error:
            return chain_failure_text(NAME, error, seconds=SECONDS, nothing=no_results_text(topic), notes=notes)
        return "\n\n".join([format_result(as_answer(report)), stats_line(report), *notes])

    return Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=handler)


def as_answer(report: DeepDive) -> Answer:
    """Return the report as an answer whose text is the title and the three sections."""
    providers = dict.fromkeys(result.provider for result in report.stages if result.provider)
    text = f"{render_title(report)}\n\n{render_sections(report)}"
    return Answer(text=text, sources=report.sources, provider=", ".join(providers))


async def _run(topic: str) -> str:
    """Ask the services whose keys are set, and close every connection at the end."""
    try:
        usable = usable_deepdive_config(os.environ)
        if not _WRITERS.keys() & usable.config.keys:
            variables = " or ".join(spec.key_variables[0] for spec in _WRITERS.values())
            raise MissingKey(" ".join([f"there is none; set {variables}", *usable.notes]))
        async with open_deepdive_runner_from_env(os.environ, config=usable.config) as runner:
            return await _tool(runner, usable.notes).handler(topic)
    except PerplexityError as error:
        return failure_text(NAME, error, seconds=SECONDS)


TOOL = Tool(name=NAME, description=DESCRIPTION, parameters=PARAMETERS, handler=_run)
"""The tool, which uses the services whose keys are set in the environment at each call."""
