"""`tools`: the tools for agents, and their definitions in each protocol."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from perplexity.cli.base import CliCommand, ProcessIO, UsageError
from perplexity.formatting import did_you_mean
from perplexity.sanitize import escape_json, printable_line
from perplexity.tools import TOOLS, Tool
from perplexity.tools.formats import to_anthropic, to_mcp, to_openai_chat, to_openai_responses
from perplexity.types import JSON
from perplexity.wire.json import encode

FORMATS: Mapping[str, Callable[[Tool], dict[str, JSON]]] = {
    "openai": to_openai_chat,
    "responses": to_openai_responses,
    "anthropic": to_anthropic,
    "mcp": to_mcp,
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("tool", nargs="?", metavar="NAME", help="one tool; default: all")
    parser.add_argument("--format", choices=FORMATS, help="the definition for this protocol, as JSON")


def run(parsed: argparse.Namespace, process: ProcessIO) -> None:
    """List the tools, or print the definition of one tool or of all. Raises UsageError for an unknown name."""
    tools = TOOLS if parsed.tool is None else (_find_tool(parsed.tool),)
    if parsed.format is None and parsed.tool is None:
        process.stdout.write("\n".join(_line(tool) for tool in tools) + "\n")
        return
    define = FORMATS[parsed.format] if parsed.format else Tool.spec
    defined = [define(tool) for tool in tools]
    shown = encode(defined if parsed.tool is None else defined[0], indent=2)
    process.stdout.write(escape_json(shown) + "\n")


def _find_tool(name: str) -> Tool:
    known = {tool.name: tool for tool in TOOLS}
    if name not in known:
        raise UsageError(f"unknown tool {name!r}; {did_you_mean(name, known)}choose from {', '.join(known)}")
    return known[name]


def _line(tool: Tool) -> str:
    width = max(len(known.name) for known in TOOLS)
    first, _, _ = printable_line(tool.description).partition(". ")
    return f"{tool.name:<{width}}  {first.removesuffix('.')}."


TOOLS_COMMAND = CliCommand(
    name="tools", summary="list the tools for agents, or print their definitions", add=add, run=run, extras=()
)
