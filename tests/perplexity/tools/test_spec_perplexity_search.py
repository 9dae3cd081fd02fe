"""The specification of perplexity_search, tests/data/specs/perplexity-provider-and-tool.md, held to the letter.

Names, descriptions, ranges and the shape of a result are read out of the document itself; what an HTTP failure returns
is in shared-http-client.md next to it.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from aiohttp import ClientSession

from perplexity.errors import ServerError
from perplexity.tools import Failure, Tool, create_perplexity_search_tool
from perplexity.tools.perplexity_search import SCHEMA_MODELS, TOOL, encode_failure
from perplexity.types import API
from tests.fakes.perplexity import KEY, FakePerplexity, Fault, fixture, json_reply

SPECS = Path(__file__).parents[2] / "data" / "specs"
SPEC = (SPECS / "perplexity-provider-and-tool.md").read_text("utf-8")
CLIENT_SPEC = (SPECS / "shared-http-client.md").read_text("utf-8")
DSL = SPEC[SPEC.index("tool_name") : SPEC.index("      def call(")]
WRITTEN = re.findall(r"parameter :(\w+)", DSL)
RETURNED = SPEC[SPEC.index("### Tool Return Format") : SPEC.index("## Common Code")]
PATHS: dict[API, str] = {"agent": "/v1/agent", "sonar": "/chat/completions"}
MODELS = ("sonar", "sonar-pro", "sonar-reasoning", "sonar-reasoning-pro", "sonar-deep-research")
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}

each_api = pytest.mark.parametrize("api", PATHS)


def made(fake: FakePerplexity, session: ClientSession, **more: Any) -> Tool:
    async def at_once(_: float) -> None:
        """Wait for nothing."""

    given = {"api_key": KEY, "base_url": fake.base_url, "sleep": at_once, **more}
    return create_perplexity_search_tool(session, **given)


async def result(tool: Tool, **arguments: Any) -> Any:
    return json.loads(await tool(**{"query": "What is new?", **arguments}))


def of_parameter(name: str) -> str:
    """Return what the document says of a parameter."""
    found = re.search(rf"parameter :{name},\n(.*?)\n\n", DSL + "\n\n", re.DOTALL)
    assert found is not None
    return found[1]


def test_the_name_and_the_description_are_the_documents() -> None:
    written = re.search(r'tool_name "(\w+)"\s+tool_description <<~DESC\n(.*?) *DESC\n', DSL, re.DOTALL)
    assert written is not None

    assert (TOOL.name, f"{TOOL.description}\n") == (written[1], dedent(written[2]))


def test_the_parameters_are_the_documents_and_one_for_the_schema() -> None:
    assert list(TOOL.parameters["properties"]) == [*WRITTEN, "response_format"]
    assert TOOL.parameters["required"] == [name for name in WRITTEN if "required: true" in of_parameter(name)]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_parameter_is_as_the_document_has_it(name: str) -> None:
    written, told = of_parameter(name), TOOL.parameters["properties"][name]
    described = re.search(r'description: "(.*)"', written)
    choices = re.search(r"enum: (\[.*\])", written)
    bounds = re.search(r"range: (\d+)\.\.(\d+)", written)
    default = re.search(r"default: (\S+?),?\n", written)
    assert described is not None

    assert f"type: :{told['type']}" in written
    assert told["description"] == described[1]
    assert told.get("enum") == (json.loads(choices[1]) if choices else None)
    assert (told.get("minimum"), told.get("maximum")) == (tuple(map(int, bounds.groups())) if bounds else (None, None))
    assert told.get("default") == (json.loads(default[1]) if default else None)


def test_the_schema_models_are_the_documents() -> None:
    written = re.search(r"SCHEMA_SUPPORTED_MODELS = %w\[(.*?)\]", SPEC, re.DOTALL)
    assert written is not None

    assert list(SCHEMA_MODELS) == written[1].split()


async def test_a_result_has_the_keys_of_the_document_and_its_query(
    fake: FakePerplexity, session: ClientSession
) -> None:
    found = await result(made(fake, session))

    keys = re.findall(r"^  (\w+):", RETURNED, re.MULTILINE)
    assert list(found) == [*keys, "query"]
    assert (found["success"], found["query"]) == (True, "What is new?")
    assert found["content"] == "Example answer with a claim.[1] Another claim — ü.[2]"
    assert found["citations"] == ["https://a.example/1", "https://b.example/2"]
    assert [list(page) for page in found["web_results"]] == [["title", "url", "snippet"]] * 2
    assert found["web_results"][0] == {
        "title": "Example A",
        "url": "https://a.example/1",
        "snippet": "First snippet.",
    }


async def test_citations_are_those_of_the_service(fake: FakePerplexity, session: ClientSession) -> None:
    found = await result(made(fake, session, api="sonar"))

    answered = json.loads(fixture("sonar.200.json"))
    assert answered["choices"][0]["message"]["content"] == f"<think>\nplan\n</think>\n\n{found['content']}"
    assert found["citations"] == answered["citations"]


async def test_the_model_is_the_one_that_answered(fake: FakePerplexity, session: ClientSession) -> None:
    assert (await result(made(fake, session, api="sonar"), model="sonar-pro"))["model"] == "sonar-pro"
    assert (await result(made(fake, session), model="sonar-pro"))["model"] == "openai/gpt-6-luna"


@each_api
@pytest.mark.parametrize("model", MODELS)
async def test_every_model_can_be_asked(fake: FakePerplexity, session: ClientSession, api: API, model: str) -> None:
    found = await result(made(fake, session, api=api), model=model)

    assert found["success"]
    asked = fake.requests[0].json
    efforts = {"sonar": "fast", "sonar-pro": "fast", "sonar-deep-research": "high"}
    named = {"sonar-reasoning": "sonar-reasoning-pro"}
    expected = named.get(model, model) if api == "sonar" else efforts.get(model, "medium")
    assert asked["model" if api == "sonar" else "effort"] == expected


@each_api
@pytest.mark.parametrize("case", [({}, 1000), ({"max_tokens": 100}, 100), ({"max_tokens": 4000.0}, 4000)])
async def test_the_most_tokens_reach_the_service(
    fake: FakePerplexity, session: ClientSession, api: API, case: tuple[dict[str, Any], int]
) -> None:
    given, sent = case

    await result(made(fake, session, api=api), **given)

    field = "max_tokens" if api == "sonar" else "max_output_tokens"
    assert json.dumps(fake.requests[0].json[field]) == str(sent)


async def test_filters_reach_both_services(fake: FakePerplexity, session: ClientSession) -> None:
    filters = {"search_domain_filter": ["github.com", "ruby-lang.org"], "search_recency_filter": "week"}

    await result(made(fake, session, api="agent"), **filters)
    await result(made(fake, session, api="sonar"), **filters)

    agent, sonar = (request.json for request in fake.requests)
    assert agent["tools"] == [{"type": "web_search", "filters": dict(sorted(filters.items(), reverse=True))}]
    assert {name: sonar[name] for name in filters} == filters


@pytest.mark.parametrize("recency", ["hour", "day", "week", "month", "year"])
async def test_every_recency_can_be_asked_for(fake: FakePerplexity, session: ClientSession, recency: str) -> None:
    await result(made(fake, session, api="sonar"), search_recency_filter=recency)

    assert fake.requests[0].json["search_recency_filter"] == recency


@each_api
@pytest.mark.parametrize("model", SCHEMA_MODELS)
@pytest.mark.parametrize("given", [SCHEMA, {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}])
async def test_a_schema_reaches_the_service_bare_or_wrapped(
    fake: FakePerplexity, session: ClientSession, api: API, model: str, given: Any
) -> None:
    await result(made(fake, session, api=api), model=model, response_format=given)

    assert fake.requests[0].json["response_format"]["json_schema"]["schema"] == SCHEMA


async def test_content_by_a_schema_is_left_as_it_came(fake: FakePerplexity, session: ClientSession) -> None:
    body = json.loads(fixture("sonar.200.json"))
    body["choices"][0]["message"]["content"] = '{"years": [7], "best": [1]}'
    fake.script(PATHS["sonar"], json_reply(body))

    found = await result(made(fake, session, api="sonar"), model="sonar-pro", response_format=SCHEMA)

    assert json.loads(found["content"]) == {"years": [7], "best": [1]}


STRICT = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


@pytest.mark.parametrize(
    ("content", "schema", "error"),
    [
        ("It is so.", SCHEMA, "the answer is not JSON"),
        ('```json\n{"answer": "so"}\n```', SCHEMA, "the answer is not JSON"),
        ('{"answer": NaN}', SCHEMA, "the answer is not JSON"),
        ('{"answer": 7}', SCHEMA, "the answer does not fit the schema: answer must be a string, not 7"),
        ("{}", STRICT, "the answer does not fit the schema: answer is missing"),
        ("[" * 100_000, SCHEMA, "the answer is not JSON"),
        ('{"answer": "so"}', STRICT, None),
    ],
)
async def test_content_that_is_not_json_of_the_schema_is_a_failure(
    fake: FakePerplexity, session: ClientSession, content: str, schema: Any, error: str | None
) -> None:
    body = json.loads(fixture("sonar.200.json"))
    body["choices"][0]["message"]["content"] = content
    fake.script(PATHS["sonar"], json_reply(body))

    text = await made(fake, session, api="sonar")(query="q", model="sonar-pro", response_format=schema)

    found = json.loads(text)
    assert (found["success"], isinstance(text, Failure)) == (error is None, error is not None)
    assert found.get("error") == (error and f"Search failed: {error}")


@pytest.mark.parametrize("elsewhere", ["http://127.0.0.1:9/schema", "#/$defs/none", "other.json"])
async def test_a_schema_that_refers_to_what_it_does_not_hold_is_refused(
    fake: FakePerplexity, session: ClientSession, elsewhere: str
) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": elsewhere}}}

    found = await result(made(fake, session), model="sonar-pro", response_format=schema)

    assert "it takes a JSON schema that refers to nothing outside" in found["error"]
    assert fake.requests == []


async def test_json_that_broke_off_is_a_failure_that_says_what_may_help(
    fake: FakePerplexity, session: ClientSession
) -> None:
    body = json.loads(fixture("agent.200.json"))
    body |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    fake.script(PATHS["agent"], json_reply(body), json_reply(body))
    tool = made(fake, session)

    found = await result(tool, model="sonar-pro", response_format=SCHEMA)

    assert found["error"] == "Search failed: the JSON was cut off (max_output_tokens); it may need more max_tokens"
    assert (await result(tool, model="sonar-pro"))["success"]


@pytest.mark.parametrize("model", [name for name in MODELS if name not in SCHEMA_MODELS])
async def test_a_schema_for_another_model_is_refused_in_the_words_of_the_document(
    fake: FakePerplexity, session: ClientSession, model: str
) -> None:
    found = await result(made(fake, session), model=model, response_format=SCHEMA)

    assert found == {
        "success": False,
        "error": "Search failed: JSON schema (response_format) is only supported on sonar-pro, sonar-reasoning-pro. "
        f"Current model: {model}",
        "query": "What is new?",
        "results": [],
    }
    assert fake.requests == []


@pytest.mark.parametrize(
    "given", [{"type": "strng"}, {"type": "json_schema"}, {"type": "json_schema", "json_schema": {"schema": 3}}]
)
async def test_a_schema_that_is_none_is_refused(fake: FakePerplexity, session: ClientSession, given: Any) -> None:
    found = await result(made(fake, session), model="sonar-pro", response_format=given)

    assert found["error"].startswith("Search failed: response_format: ")
    assert "it takes a JSON schema" in found["error"]
    assert fake.requests == []


async def test_a_schema_without_a_bottom_is_refused(fake: FakePerplexity, session: ClientSession) -> None:
    found = await result(made(fake, session), model="sonar-pro", response_format=nested(5_000))

    assert found["error"] == "Search failed: response_format: it is nested too deeply"
    assert fake.requests == []


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


async def test_what_no_text_can_hold_is_made_to_fit(fake: FakePerplexity, session: ClientSession) -> None:
    told = await made(fake, session).run({"query": "\ud800", "model": "\udfff"})

    assert json.loads(told.encode())["success"] is False


def error_reply(status: int, kind: str) -> Fault:
    return json_reply({"error": {"message": "Said so.", "type": kind, "code": status}}, status=status)


@each_api
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (error_reply(401, "invalid_api_key"), "Authentication failed: Said so."),
        (error_reply(401, "insufficient_quota"), "Search failed: Said so."),
        (error_reply(429, "rate_limit_exceeded"), "Rate limit exceeded: Said so."),
        (error_reply(400, "invalid_request"), "Search failed: Said so."),
        (error_reply(500, "server_error"), "Search failed: Said so."),
        (Fault(reset=True), "Search failed: the connection failed (ServerDisconnectedError)"),
        (Fault(chunks=(b"<html>",)), "Search failed: the response is not JSON"),
    ],
)
async def test_a_failure_is_described_by_its_kind(
    fake: FakePerplexity, session: ClientSession, api: API, fault: Fault, error: str
) -> None:
    fake.script(PATHS[api], *[fault] * 3)

    text = await made(fake, session, api=api).run({"query": "What is new?"})

    shape = re.search(r"success: false,\n\s+(\w+).*\n\s+(\w+): query,\n\s+(\w+): \[\]", CLIENT_SPEC)
    assert shape is not None
    assert isinstance(text, Failure)
    assert list(json.loads(text)) == ["success", *shape.groups()]
    assert json.loads(text) == {"success": False, "error": error, "query": "What is new?", "results": []}


@pytest.mark.parametrize("prefix", ["Authentication failed", "Rate limit exceeded", "Search failed"])
def test_the_kinds_of_failure_are_the_documents(prefix: str) -> None:
    assert f'{{ success: false, error: "{prefix}: #{{e.message}}" }}' in SPEC


@pytest.mark.parametrize("fault", [error_reply(429, "rate_limit_exceeded"), error_reply(503, "server_error")])
async def test_transient_errors_are_retried(fake: FakePerplexity, session: ClientSession, fault: Fault) -> None:
    fake.script(PATHS["agent"], fault, fault)

    assert (await result(made(fake, session)))["success"]
    assert len(fake.requests) == 3


async def test_what_will_not_pass_is_not_tried_again(fake: FakePerplexity, session: ClientSession) -> None:
    fake.script(PATHS["agent"], error_reply(401, "invalid_api_key"))

    await result(made(fake, session))

    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"model": "gpt-4o"}, f'model must be {", ".join(MODELS[:-1])} or {MODELS[-1]}, not "gpt-4o"'),
        ({"max_tokens": 99}, "max_tokens must be a whole number from 100 to 4000, not 99"),
        ({"max_tokens": "many"}, 'max_tokens must be a whole number from 100 to 4000, not "many"'),
        (
            {"search_recency_filter": "decade"},
            'search_recency_filter must be hour, day, week, month or year, not "decade"',
        ),
        ({"search_domain_filter": "a.com"}, 'search_domain_filter must be a list, not "a.com"'),
        ({"search_domain_filter": ["a.com", 3]}, "search_domain_filter[1] must be a string, not 3"),
        (
            {"search_domain_filter": ["https://a.com/"]},
            "search_domain_filter: 'https://a.com/' is not allowed; it takes",
        ),
        ({"search_domain_filter": ["a.com", "-b.com"]}, "search_domain_filter: "),
        ({"query": " "}, "query: '' is not allowed; it must hold some text"),
    ],
)
async def test_a_wrong_argument_is_reported_with_its_name_its_value_and_the_allowed_values(
    fake: FakePerplexity, session: ClientSession, arguments: dict[str, Any], told: str
) -> None:
    found = await result(made(fake, session), **arguments)

    assert found["error"].startswith(f"Search failed: {told}")
    assert (found["success"], found["results"]) == (False, [])
    assert fake.requests == []


async def test_a_missing_query_is_null_and_reported(fake: FakePerplexity, session: ClientSession) -> None:
    assert json.loads(await made(fake, session).run({})) == {
        "success": False,
        "error": "Search failed: query is missing",
        "query": None,
        "results": [],
    }


async def test_markers_count_the_citations_whatever_numbers_the_service_gave(
    fake: FakePerplexity, session: ClientSession
) -> None:
    pages = [{"id": n, "title": f"Page {n}", "url": f"https://{n}.example/", "snippet": "s"} for n in (4, 2, 9)]
    message = {"type": "message", "content": [{"type": "output_text", "text": "One.[9] Two.[4][9] None.[5]"}]}
    output = [{"type": "search_results", "results": pages}, message]
    fake.script(PATHS["agent"], json_reply({"id": "resp_1", "status": "completed", "output": output}))

    found = await result(made(fake, session))

    assert found["content"] == "One.[1] Two.[2][1] None."
    assert found["citations"] == ["https://9.example/", "https://4.example/", "https://2.example/"]
    assert [page["url"] for page in found["web_results"]] == found["citations"]


async def test_a_marker_of_no_citation_is_left_out(fake: FakePerplexity, session: ClientSession) -> None:
    body = json.loads(fixture("sonar.200.json"))
    body["choices"][0]["message"]["content"] = "One.[1] None.[99]"
    fake.script(PATHS["sonar"], json_reply(body))

    assert (await result(made(fake, session, api="sonar")))["content"] == "One.[1] None."


@pytest.mark.parametrize("keyless", [False, True])
async def test_abandoned_research_is_cancelled_at_the_service(
    services: FakePerplexity, session: ClientSession, keyless: bool
) -> None:
    services.script("/v1/agent/resp_1", Fault(hang=True))
    tool = TOOL if keyless else made(services, session)
    call = asyncio.ensure_future(result(tool, model="sonar-deep-research"))
    await services.wait_for(2)

    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await services.wait_for(3)

    assert services.cancelled == ["resp_1"]


async def test_a_missing_key_is_an_authentication_that_failed() -> None:
    found = await result(TOOL)

    assert found["error"].startswith("Authentication failed: api_key: there is none; set PERPLEXITY_API_KEY")


async def test_neither_key_nor_query_is_logged(
    fake: FakePerplexity, session: ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    fake.script(PATHS["agent"], error_reply(401, "invalid_api_key"))

    await result(made(fake, session), query="a private matter")

    assert not any(word in caplog.text for word in (KEY, "private"))


@each_api
async def test_sources_outside_the_domains_are_left_out_and_counted(
    api: API, fake: FakePerplexity, session: ClientSession
) -> None:
    told = await result(made(fake, session, api=api), search_domain_filter=["z.example"])

    assert (told["success"], told["citations"], told["web_results"]) == (True, [], [])
    assert "[1]" not in told["content"]
    assert "outside z.example left out" in told["notes"][0]


def test_a_failed_call_says_what_it_cost() -> None:
    error = ServerError("broken")
    error.cost_usd = 0.02

    assert encode_failure(error, query="What is new?").cost_usd == 0.02
