"""No `repr` shows a token: it may end in a trace or a message."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re

import pytest
from aiohttp import ClientSession
from pydantic import SecretStr

import bot
import perplexity
from bot.features import OFFERS
from bot.services import open_search_services, slack_connection
from bot.settings import Settings
from bot.slack.connection import web_client

_SECRET = re.compile(r"token$|secret|password|credential|authorization|^(\w+_)?keys?$|^response_url$")
_NOT_SECRET = frozenset({"delivery_key"})
_WORDS = frozenset({"bot.commands.parsing._ParsedOption.token"})
"""Fields with words of a command."""


def classes() -> list[type]:
    """Return every dataclass of both packages."""
    modules = [
        importlib.import_module(found.name)
        for package in (bot, perplexity)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not found.name.endswith("__main__")
    ]
    values = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    return [value for value in values if dataclasses.is_dataclass(value)]


def test_no_dataclass_prints_a_field_that_may_contain_a_token() -> None:
    found = classes()
    shown = [
        f"{one.__module__}.{one.__name__}.{field.name}"
        for one in found
        if one.__module__.split(".")[0] in {"bot", "perplexity"}
        for field in dataclasses.fields(one)
        if field.repr and _SECRET.search(field.name) and field.name not in _NOT_SECRET
    ]

    assert len(found) > 100
    assert set(shown) <= _WORDS


@pytest.mark.parametrize("real", [True, False])
async def test_objects_with_tokens_do_not_print_them(real: bool) -> None:
    secret = SecretStr("SECRET-1")
    settings = Settings(  # type: ignore[call-arg]  # the providers declare their fields
        slack_bot_token=SecretStr("xoxb-SECRET-1") if real else None,
        slack_signing_secret=secret if real else None,
        slack_app_token=SecretStr("xapp-SECRET-1") if real else None,
        perplexity_api_key=secret,
        openrouter_api_key=secret,
        brave_api_key=secret,
        xai_api_key=secret,
        agent_api_key=secret,
    )
    slack, playground = slack_connection(settings, OFFERS)
    async with ClientSession() as session, open_search_services(settings, on_attempt=lambda _: None) as services:
        client = web_client(slack.bot_token, api_url=slack.api_url, session=session)
        text = "".join(map(repr, (settings, slack, playground, client, services, *services[0])))

    for hidden in ("SECRET-1", slack.bot_token, slack.signing_secret):
        assert str(hidden) not in text
