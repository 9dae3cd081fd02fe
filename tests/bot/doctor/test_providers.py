"""What the doctor says of OpenRouter's models that are gone: what goes with them, and what to do."""

from __future__ import annotations

import time

import pytest
from pydantic import SecretStr

from bot.doctor import providers
from bot.doctor.checks import Context, Severity
from bot.settings import Settings
from tests.fakes import grok
from tests.fakes.openrouter import KEY, MODELS, FakeOpenRouter

GROK = "x-ai/grok-4.3"


async def fix_for(model: str, *, xai: bool) -> str:
    """Return what is to be done when this model alone is gone."""
    async with FakeOpenRouter(models=dict.fromkeys({*MODELS} - {model}, None)) as server:
        settings = Settings().model_copy(
            update={
                "openrouter_api_key": SecretStr(KEY),
                "openrouter_base_url": server.base_url,
                "xai_api_key": SecretStr(grok.KEY) if xai else None,
            }
        )
        warned, well = await providers.check_fallback(Context(settings=settings, now=time.time))
    assert (warned.severity, warned.text) == (Severity.WARNING, f"OpenRouter no longer serves {model}.")
    assert well.severity is Severity.OK
    return str(warned.fix)


@pytest.mark.parametrize(
    ("model", "xai", "told", "not_told"),
    [
        (GROK, False, ("no posts", "no analysis", "XAI_API_KEY"), ()),
        (GROK, True, ("no analysis",), ("posts", "XAI_API_KEY")),
        ("perplexity/sonar", False, ("take openrouter out of PROVIDERS",), ("deep dive",)),
        ("perplexity/sonar-pro", False, ("Nothing is to be done",), ("deep dive",)),
    ],
)
async def test_options_of_a_model_are_noted(
    model: str, xai: bool, told: tuple[str, ...], not_told: tuple[str, ...]
) -> None:
    fix = await fix_for(model, xai=xai)

    assert [word for word in told if word not in fix] == []
    assert [word for word in not_told if word in fix] == []
