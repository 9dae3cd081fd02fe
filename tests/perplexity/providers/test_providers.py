from __future__ import annotations

import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from subprocess import check_output
from textwrap import dedent
from types import ModuleType

import pytest

from perplexity.errors import BillingError, InvalidRequest
from perplexity.fallback import Fallback
from perplexity.providers import PROVIDERS, build_providers, open_providers
from perplexity.providers.base import ProviderConfig
from perplexity.types import Message, Query, Question
from tests.fakes.provider import FakeProvider

KEYS = {"perplexity": "pplx-test-key", "openrouter": "sk-or-test", "brave": "BSA-test"}


def names(setup: ProviderConfig, *order: str) -> list[str]:
    return [provider.name for provider in build_providers(setup, order=order)]


def test_without_a_key_duckduckgo_is_asked() -> None:
    assert names(ProviderConfig()) == ["DuckDuckGo"]


def test_with_everything_all_are_asked_in_the_list_s_order() -> None:
    everything = ProviderConfig(keys=KEYS)

    assert names(everything) == ["Perplexity", "OpenRouter", "Brave", "DuckDuckGo"]
    assert [name.title() for name in PROVIDERS] == [name.title() for name in names(everything)]


def test_a_setting_changes_the_order_and_leaves_some_out() -> None:
    assert names(ProviderConfig(keys=KEYS), "Brave", " perplexity") == ["Brave", "Perplexity"]
    assert names(ProviderConfig(keys={}), "brave", "duckduckgo") == ["DuckDuckGo"]


@pytest.mark.parametrize("order", [("bing",), ("brave", "Brave")])
def test_an_order_that_cannot_be_is_refused(order: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest, match="perplexity, openrouter, brave, duckduckgo"):
        names(ProviderConfig(keys=KEYS), *order)


async def test_what_was_opened_is_closed() -> None:
    async with open_providers(ProviderConfig(keys=KEYS)) as providers:
        assert len(providers) == 4


def test_a_setup_does_not_show_its_keys() -> None:
    assert "pplx" not in repr(ProviderConfig(keys=KEYS))


ENCYCLOPEDIA = dedent(
    """
    from perplexity.errors import NothingFound
    from perplexity.passages import passages_answer
    from perplexity.providers.base import SEARCH_AND_ANSWER, Diagnosis, Provider, ProviderSpec
    from perplexity.types import SearchResults, Source, as_events

    ARTICLES = {"port": Source(number=1, title="Port", url="https://a.example/port", snippet="A harbour.")}


    class Encyclopedia(Provider):
        name = "Encyclopedia"
        capabilities = SEARCH_AND_ANSWER

        def __init__(self, key):
            self.key = key

        async def search(self, query):
            found = tuple(page for word, page in ARTICLES.items() if word in query.text)
            if not found:
                raise NothingFound("no article", provider=self.name)
            return SearchResults(results=found, provider=self.name)

        async def answer(self, question):
            return passages_answer(await self.search(question), question.text)

        async def stream(self, question):
            for event in as_events(await self.answer(question)):
                yield event


    def build(config):
        return Encyclopedia(config.keys["encyclopedia"]) if "encyclopedia" in config.keys else None


    async def check(config):
        return [Diagnosis(severity="warning", text=config.base_urls["encyclopedia"], fix="Buy more volumes.")]


    SPEC = ProviderSpec(
        title=Encyclopedia.name,
        build=build,
        key_variables=("ENCYCLOPEDIA_API_KEY", "ENCYCLOPEDIA_KEY"),
        base_url_variable="ENCYCLOPEDIA_BASE_URL",
        base_url="https://encyclopedia.example",
        check=check,
    )
    """
)


def module_of(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_a_new_provider_is_one_file_and_one_line_of_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encyclopedia.py").write_text(ENCYCLOPEDIA, encoding="utf-8")
    monkeypatch.setitem(PROVIDERS, "encyclopedia", module_of(tmp_path / "encyclopedia.py").SPEC)
    question = Question(messages=(Message(role="user", content="what is a port"),))

    assert "Encyclopedia" not in names(ProviderConfig())
    async with open_providers(ProviderConfig(keys={"encyclopedia": "a key"}), order=["encyclopedia"]) as providers:
        chain = Fallback([FakeProvider("One", error=BillingError("x")), *providers])
        found, answer = await chain.search(Query(text="port")), await chain.answer(question)
        streamed = [event async for event in chain.stream(question)]

    assert (found.provider, answer.provider, answer.text) == ("Encyclopedia", "Encyclopedia", "A harbour. [1]")
    assert ([a.provider for a in answer.failed], len(streamed)) == (["One"], 3)


EVERYWHERE = """
import asyncio, json, os, time
import encyclopedia
from perplexity.providers import PROVIDERS

PROVIDERS["encyclopedia"] = encyclopedia.SPEC

from bot.doctor import providers as doctor
from bot.doctor.checks import Context
from bot.services import open_search_services
from bot.settings import load_settings
from perplexity.cli.completion import _VALUES as VALUES
from perplexity.cli.options import validate_order
from perplexity.tools.environment import config_from_env


async def main():
    settings = load_settings()
    async with open_search_services(settings, on_attempt=lambda attempt: None) as (_, opened):
        chain = opened.within().provider.name
    findings = await doctor.check_fallback(Context(settings=settings, now=time.time))
    print(json.dumps({
        "key": settings.provider_keys, "address": settings.provider_base_urls["encyclopedia"], "chain": chain,
        "line": "encyclopedia" in VALUES["providers"], "order": validate_order(["Encyclopedia"]),
        "tools": config_from_env(os.environ).keys, "doctor": [[f.severity.name, f.text, f.fix] for f in findings],
    }))


asyncio.run(main())
"""


def test_settings_chain_command_line_tools_and_doctor_read_the_list(tmp_path: Path) -> None:
    (tmp_path / "encyclopedia.py").write_text(ENCYCLOPEDIA, encoding="utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])]),
        "ENCYCLOPEDIA_KEY": "a-key",
        "ENCYCLOPEDIA_BASE_URL": "https://other.example",
        "PROVIDERS": "duckduckgo,encyclopedia",
    }

    told = json.loads(check_output([sys.executable, "-c", EVERYWHERE], cwd=tmp_path, env=environ, text=True))

    assert told == {
        "key": {"encyclopedia": "a-key"},
        "address": "https://other.example",
        "chain": "DuckDuckGo, Encyclopedia",
        "line": True,
        "order": ["encyclopedia"],
        "tools": {"encyclopedia": "a-key"},
        "doctor": [["WARNING", "https://other.example", "Buy more volumes."]],
    }
