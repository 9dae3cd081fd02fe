"""The tools through the official SDK of MCP: its server offers them as they are exported, its client calls them."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, types
from mcp.server import Server, ServerRequestContext

from perplexity.tools import TOOLS, Tool
from perplexity.tools.formats import reply_mcp, to_mcp
from tests.perplexity.tools.test_exports import CALLS

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])


async def listed(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool.model_validate(to_mcp(tool)) for tool in TOOLS])


async def called(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult.model_validate(await reply_mcp(params.model_dump(), TOOLS))


def connected() -> Client:
    return Client(Server("tools", on_list_tools=listed, on_call_tool=called))


async def test_a_client_can_list_every_tool() -> None:
    async with connected() as client:
        told = (await client.list_tools()).tools

    assert [tool.name for tool in told] == [tool.name for tool in TOOLS]
    assert [tool.input_schema for tool in told] == [tool.parameters for tool in TOOLS]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in told)


@each_tool
@pytest.mark.usefixtures("services")
async def test_a_client_gets_what_the_tool_found(tool: Tool) -> None:
    arguments, beginning = CALLS[tool.name]
    async with connected() as client:
        # The client holds a structured result to the schema that it was told.
        await client.list_tools()
        result = await client.call_tool(tool.name, arguments)

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert content.text.startswith(beginning)
    assert not result.is_error
    assert (result.structured_content is not None) == (tool.output is not None)


@each_tool
async def test_wrong_arguments_are_reported_to_the_client(tool: Tool) -> None:
    async with connected() as client:
        await client.list_tools()
        result = await client.call_tool(tool.name, {"depth": 3})

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert "depth is unknown" in content.text
    assert result.is_error
