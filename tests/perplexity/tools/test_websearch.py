"""websearch: the chain as a tool; its specification is tests/data/specs/search-fallback-and-news.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from perplexity.errors import BillingError, ConnectionFailed, InvalidRequest
from perplexity.fallback import Fallback
from perplexity.tools import TOOLS, Failure, create_websearch_tool
from perplexity.tools.environment import build_chain, config_from_env
from perplexity.tools.fallback_search import SECONDS, TOOL
from perplexity.types import Answer, Question
from tests.fakes.duckduckgo import FakeDuckDuckGo, PointDdgsAt
from tests.fakes.perplexity import KEY, FakePerplexity, json_reply
from tests.fakes.ports import free_port
from tests.fakes.provider import FakeProvider
from tests.perplexity.tools.conftest import HITS

SPEC = (Path(__file__).parents[2] / "data" / "specs" / "search-fallback-and-news.md").read_text("utf-8")
NO_MONEY = json_reply({"error": {"message": "No.", "type": "insufficient_quota"}}, status=401)


def test_the_tool_is_the_documents() -> None:
    written = SPEC[SPEC.index("WebSearchTool(session, args)") : SPEC.index("GetNewsSummaryTool\n\nGetNews")]

    assert f"powers the {TOOL.name} and" in SPEC
    assert re.findall(r"Parameters: \{(\w+): string\}", written) == list(TOOL.parameters["properties"])
    assert f"Timeout: {SECONDS:g} seconds" in written


async def test_an_answer_has_its_references_and_who_served_it() -> None:
    told = await create_websearch_tool(FakeProvider("Perplexity"))(query="why")

    assert told == (
        "<result>\nIt is so [1].\n</result>\n\n"
        "<references>\n- [1] A page (N/A) [https://example.com/1]\n</references>\n\n"
        "Answered by Perplexity."
    )


async def test_an_answer_by_another_says_why_it_was_not_the_first() -> None:
    dry = FakeProvider("Perplexity", error=BillingError("no"))
    away = FakeProvider("OpenRouter", error=ConnectionFailed("no"))

    told = await create_websearch_tool(Fallback([dry, away, FakeProvider("Brave")]))(query="why")

    first = "Perplexity is out of credit and OpenRouter could not be reached; this answer is from Brave.\n\n<result>"
    assert told.startswith(first)
    assert told.endswith("\n\nAnswered by Brave.")


async def test_a_question_has_a_minute_of_which_others_get_their_share() -> None:
    first, second = FakeProvider("Perplexity", error=ConnectionFailed("no")), FakeProvider("Brave")

    await create_websearch_tool(build_chain([first, second], seconds=SECONDS))(query="why")

    asked = [question.seconds for provider in (first, second) for question in provider.questions]
    assert asked == pytest.approx([60.0 - 8.0, 60.0], abs=1.0)


async def test_notes_of_the_service_are_shown() -> None:
    class Noting(FakeProvider):
        async def answer(self, question: Question) -> Answer:
            return replace(await super().answer(question), notes=("It left something out.",))

    told = await create_websearch_tool(Noting("Perplexity"))(query="why")

    assert told.endswith("\n\nAnswered by Perplexity. It left something out.")


async def test_if_all_providers_fail_each_is_named() -> None:
    both = [FakeProvider("Perplexity", error=BillingError("no")), FakeProvider("Brave", error=ConnectionFailed("no"))]

    told = await create_websearch_tool(Fallback(both))(query="why")

    assert told == "[websearch failed: Perplexity is out of credit; Brave could not be reached]"
    assert isinstance(told, Failure)


async def test_a_refused_question_is_explained() -> None:
    provider = FakeProvider("Perplexity", error=InvalidRequest("it is not allowed"))

    told = await create_websearch_tool(provider)(query="x")

    assert told == "[websearch API refused the request: it is not allowed]"


async def test_an_empty_query_is_explained_without_a_call() -> None:
    provider = FakeProvider("Perplexity")

    told = await create_websearch_tool(provider)(query=" ")

    assert told == "[websearch API refused the request: query: '' is not allowed; it must hold some text]"
    assert provider.questions == []


async def test_without_providers_the_error_says_so() -> None:
    assert await create_websearch_tool(Fallback([]))(query="x") == "[websearch failed: no service is configured]"


async def test_the_keys_of_the_environment_say_who_is_asked(services: FakePerplexity) -> None:
    told = await TOOL(query="python")

    assert told.startswith("<result>\nExample answer with a claim.[1]")
    assert told.endswith("Answered by Perplexity.")
    assert [request.path for request in services.requests] == ["/v1/agent"]


async def test_without_a_key_duckduckgo_returns_passages_with_a_note(point_ddgs_at: PointDdgsAt) -> None:
    async with FakeDuckDuckGo(HITS) as fake:
        point_ddgs_at(fake.url)

        told = await TOOL(query="python threads")

    assert "Free threads are here." in told
    assert told.endswith("Passages, word for word and by no model, found by DuckDuckGo.")


async def test_a_first_choice_that_cannot_is_stood_in_for(services: FakePerplexity) -> None:
    services.script("/v1/agent", NO_MONEY)

    told = await TOOL(query="python threads")

    assert told.startswith("Perplexity is out of credit; these are pages from DuckDuckGo, quoted word for word.\n")


MALFORMED = [
    ("BRAVE_API_KEY", "two words", "BRAVE_API_KEY: it must be ASCII letters, digits and signs without spaces"),
    (
        "OPENROUTER_API_KEY",
        "schlüssel",
        "OPENROUTER_API_KEY: it must be ASCII letters, digits and signs without spaces",
    ),
    ("OPEN_TIMEOUT", "soon", "OPEN_TIMEOUT: 'soon' is not allowed; it takes a number of seconds above 0"),
    ("CA_BUNDLE", "none.pem", "CA_BUNDLE: 'none.pem' is not allowed; it takes the path of a PEM file"),
]


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize("malformed", MALFORMED, ids=[variable for variable, *_ in MALFORMED])
@pytest.mark.parametrize("name", ["websearch", "news_summary"])
async def test_a_malformed_variable_is_named_and_the_others_serve(
    malformed: tuple[str, str, str], name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    variable, value, said = malformed
    monkeypatch.setenv(variable, value)
    (tool,) = [tool for tool in TOOLS if tool.name == name]

    told = await tool(**({"query": "python"} if name == "websearch" else {"category": "technology"}))

    assert not isinstance(told, Failure)
    assert told.startswith("<result>")
    assert said in told
    if variable not in {"OPEN_TIMEOUT", "CA_BUNDLE"}:
        assert value not in told + caplog.text
    assert ("environment.malformed", variable) in [(r.message, vars(r).get("setting")) for r in caplog.records]


@pytest.mark.usefixtures("services")
@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PERPLEXITY_API_KEY", "two words", "PERPLEXITY_API_KEY: it must be ASCII letters"),
        (
            "PERPLEXITY_BASE_URL",
            "http://example.com",
            "PERPLEXITY_BASE_URL: its value is not allowed; it must be an https",
        ),
        ("PERPLEXITY_API", "both", "PERPLEXITY_API: 'both' is not allowed; it takes agent or sonar"),
    ],
)
async def test_perplexity_is_left_out_if_its_own_variable_is_malformed(
    variable: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)

    told = await TOOL(query="python")

    assert "found by DuckDuckGo." in told
    assert said in told
    assert told.endswith("; perplexity is not used.")


async def test_if_all_fail_the_malformed_one_is_named_too(
    point_ddgs_at: PointDdgsAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "two words")
    async with FakeDuckDuckGo() as fake:
        point_ddgs_at(fake.url)

    told = await TOOL(query="python")

    assert isinstance(told, Failure)
    assert told.startswith("[websearch failed: DuckDuckGo could not be reached. BRAVE_API_KEY: it must be ASCII")
    assert "two words" not in told


async def test_an_outage_of_all_is_a_failure(point_ddgs_at: PointDdgsAt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERPLEXITY_API_KEY", KEY)
    monkeypatch.setenv("PERPLEXITY_BASE_URL", f"http://127.0.0.1:{free_port()}")
    async with FakeDuckDuckGo() as fake:
        point_ddgs_at(fake.url)

    told = await TOOL(query="python")

    assert told.startswith("[websearch failed: Perplexity could not be reached; DuckDuckGo ")


@pytest.mark.parametrize(
    ("environ", "keys"),
    [
        ({}, {}),
        ({"PPLX_API_KEY": KEY}, {"perplexity": KEY}),
        ({"PERPLEXITY_API_KEY": f" {KEY}\n", "BRAVE_API_KEY": " "}, {"perplexity": KEY}),
        ({"OPENROUTER_API_KEY": "or", "BRAVE_API_KEY": "br"}, {"openrouter": "or", "brave": "br"}),
    ],
)
def test_the_environment_is_read_as_it_is(environ: dict[str, str], keys: dict[str, str]) -> None:
    setup = config_from_env({**environ, "BRAVE_BASE_URL": "http://127.0.0.1:1", "OPENROUTER_BASE_URL": ""})

    assert (setup.keys, setup.base_urls) == (keys, {"brave": "http://127.0.0.1:1"})
