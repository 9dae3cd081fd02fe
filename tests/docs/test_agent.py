"""The page about the agent says what is so: its tools and its limits."""

from __future__ import annotations

from perplexity.agent import AgentLimits, provider_tools
from perplexity.types import Message, Question
from tests.docs.pages import ROOT, rows
from tests.fakes.provider import FakeProvider

PAGE = ROOT / "docs" / "agent.md"
SECTION = "What it may do"


def test_the_tools_and_the_limits_are_the_code_s() -> None:
    tools = provider_tools(FakeProvider("One"))(Question(messages=(Message(role="user", content="why"),)))
    limits = AgentLimits()

    assert [first.strip("`") for first, _ in rows(PAGE, section=SECTION)][: len(tools)] == [t.name for t in tools]
    assert [second for _, second in rows(PAGE, section=SECTION)][len(tools) :] == [
        str(limits.steps),
        str(limits.calls),
        f"{limits.seconds:g} s",
    ]
