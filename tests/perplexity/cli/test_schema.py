"""`ask --schema`: a schema that cannot be one is refused, and only JSON that fits comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.command import run_in_process
from tests.fakes.perplexity import FakePerplexity, fixture, sse, stream_reply

SCHEMA = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}


def write_schema(folder: Path, schema: str) -> str:
    """Return the path of a file that holds the schema."""
    path = folder / "schema.json"
    path.write_text(schema)
    return str(path)


def last_event(text: str, **changed: object) -> bytes:
    """Return the last event of an answer with this text."""
    answer = json.loads(fixture("agent.200.json")) | changed
    answer["output"][-1]["content"][0]["text"] = text
    return sse({"type": f"response.{answer['status']}", "response": answer})


async def test_only_the_json_is_on_stdout(tmp_path: Path, fake: FakePerplexity, settings: dict[str, str]) -> None:
    fake.script("/v1/agent", stream_reply(last_event('{"year": 2026}')))

    ended = await run_in_process(
        "ask", "--schema", write_schema(tmp_path, json.dumps(SCHEMA)), "which year?", settings=settings
    )

    assert (ended.code, ended.out) == (0, '{"year": 2026}\n')
    assert "Perplexity · " in ended.err
    assert fake.requests[0].json["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (last_event("The year is 2026."), "the answer is not JSON;"),
        (last_event('{"year": NaN}'), "the answer is not JSON;"),
        (last_event("[" * 100_000), "the answer is not JSON;"),
        (last_event('{"year": "soon"}'), 'does not fit the schema: year must be a whole number, not "soon";'),
        (last_event("{}"), "does not fit the schema: year is missing;"),
        (
            last_event('{"year": 2026}', status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "the JSON was cut off (max_output_tokens);",
        ),
    ],
    ids=["prose", "constant", "deep", "kind", "missing", "incomplete"],
)
async def test_an_answer_that_does_not_fit_is_a_failure(
    tmp_path: Path, event: bytes, told: str, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    fake.script("/v1/agent", *[stream_reply(event)] * 2)
    schema = write_schema(tmp_path, json.dumps(SCHEMA))

    for form in ([], ["--json"]):
        ended = await run_in_process("ask", *form, "--schema", schema, "why", settings=settings)

        assert (ended.code, ended.out) == (1, "")
        assert told in ended.err
        assert ended.err.startswith("python -m perplexity ask: ")
        assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ('{"type": "nope"}', "is not a JSON Schema: 'nope' is not valid"),
        ('{"properties": {"a": 1}}', "is not a JSON Schema: 1 is not of type"),
        ('{"pattern": "("}', "is not a JSON Schema: '(' is not a 'regex'"),
        ("[1]", "is not a JSON Schema: [1] is not of type"),
        ("true", "contains no JSON object"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"not":' * 2_000 + "{}" + "}" * 2_000, "is nested too deeply"),
        ('{"$ref": "#/$defs/a"}', "refers to '/$defs/a', which it does not contain"),
        ('{"items": [{"$ref": "https://a.example/s.json"}]}', "is not a JSON Schema"),
        ('{"items": {"$ref": "https://a.example/s.json"}}', "refers to 'https://a.example/s.json', which it"),
    ],
    ids=lambda value: value[:30],
)
async def test_a_schema_that_is_none_is_refused(
    tmp_path: Path, schema: str, told: str, fake: FakePerplexity, settings: dict[str, str]
) -> None:
    ended = await run_in_process("ask", "--schema", write_schema(tmp_path, schema), "why", settings=settings)

    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert ended.err.count("\n") == 1
    assert fake.requests == []


async def test_a_schema_may_refer_to_itself(tmp_path: Path, fake: FakePerplexity, settings: dict[str, str]) -> None:
    tree = {"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    fake.script("/v1/agent", stream_reply(last_event("[[], [[]]]")), stream_reply(last_event("[[1]]")))
    arguments = ["ask", "--schema", write_schema(tmp_path, json.dumps(tree)), "why"]

    fits, does_not = [await run_in_process(*arguments, settings=settings) for _ in range(2)]

    assert (fits.code, fits.out) == (0, "[[], [[]]]\n")
    assert (does_not.code, "[0][0] must be a list, not 1" in does_not.err) == (1, True)
