from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from perplexity.tools import TOOLS, Tool
from perplexity.tools.formats import to_anthropic, to_mcp, to_openai_chat, to_openai_responses
from tests.fakes.command import run_in_process

Defined = Callable[[Tool], dict[str, Any]]


async def test_every_tool_is_listed_on_a_line_of_its_own() -> None:
    ended = await run_in_process("tools")

    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert [tool.name for tool in TOOLS] == [line.split()[0] for line in lines]
    assert all(line.endswith(".") for line in lines)


@pytest.mark.parametrize(
    ("form", "defined"),
    [
        ("openai", to_openai_chat),
        ("responses", to_openai_responses),
        ("anthropic", to_anthropic),
        ("mcp", to_mcp),
    ],
)
async def test_a_tool_or_all_are_defined_for_a_protocol(form: str, defined: Defined) -> None:
    one = await run_in_process("tools", TOOLS[0].name, "--format", form)
    all_of_them = await run_in_process("tools", "--format", form)

    assert json.loads(one.out) == defined(TOOLS[0])
    assert json.loads(all_of_them.out) == [defined(tool) for tool in TOOLS]


async def test_without_a_protocol_a_tool_is_described_as_it_is() -> None:
    assert json.loads((await run_in_process("tools", TOOLS[-1].name)).out) == TOOLS[-1].spec()
