from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.ask import ASK, SAME_LANGUAGE, AskRequest, parse
from bot.errors import AgentNotSetUp, UsageError, user_message
from bot.model.message import Audience
from perplexity.filters import Filters
from perplexity.types import Message, Question
from tests.fakes.commands import command_context
from tests.fakes.provider import FakeProvider, answer_by
from tests.fakes.rows import row


def request(text: str, *, public: bool = False, agent: bool = False, **question: Any) -> AskRequest:
    messages = (Message(role="user", content=text),)
    return AskRequest(question=Question(messages=messages, **question), public=public, agent=agent)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("what is a payload", request("what is a payload")),
        ("-r why", request("why", reasoning=True)),
        ("why —reasoning —public", request("why", reasoning=True, public=True)),
        ("--model sonar-pro why", request("why", model="sonar-pro")),
        ("--agent why", request("why", agent=True)),
        (
            "--agent --recency day why --public",
            request("why", agent=True, public=True, filters=Filters(recency="day")),
        ),
        ("--model high why", request("why", model="high")),
        *(
            (f"--effort {level} why", request("why", model=level))
            for level in ("fast", "low", "medium", "high", "xhigh")
        ),
        ("why —effort=HIGH", request("why", model="high")),
        ("--effort high --model High why", request("why", model="high")),
        ("-r --effort medium why", request("why", model="medium", reasoning=True)),
        ("--model openai/gpt-6-luna -r why", request("why", model="openai/gpt-6-luna", reasoning=True)),
        ("--model sonar-reasoning-pro -r why", request("why", model="sonar-reasoning-pro", reasoning=True)),
        (
            "--recency day --domain a.com --lang de --country DE why",
            request("why", filters=Filters(recency="day", domains=("a.com",), languages=("de",), country="DE")),
        ),
        ("one\n\n  two", request("one\n\n  two")),
        ("what does “git --force” do", request("what does “git --force” do")),
        ("what does chmod -r do", request("what does chmod -r do")),
        ("&lt;b&gt; or <@U1|ann>", request("<b> or @ann")),
    ],
)
def test_options_become_the_request(typed: str, read: AskRequest) -> None:
    assert parse(typed) == read


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("--recenty week why", "I don’t know the option `--recenty`. Did you mean `--recency`?"),
        ("--mode academic why", "`--mode` works for searches only: an answer always comes from the open web."),
        ("why —n 3", "`--n` works for searches only: an answer takes as many sources as it needs."),
        ("--model sonr why", "`--model` cannot be `sonr`. Did you mean sonar? It takes sonar, sonar-pro,"),
        (
            "-r --model sonar why",
            "`--reasoning` and `--model` contradict each other: `sonar` does not reason.",
        ),
        ("-r --model LOW why", "`--reasoning` and `--model` contradict each other: `low` does not reason."),
        ("--agent -r why", "`--agent` and `--reasoning` contradict each other: the agent has a model of its own."),
        (
            "--agent --model high why",
            "`--agent` and `--model` contradict each other: the agent has a model of its own.",
        ),
        (
            "--effort hihg why",
            "`--effort` cannot be `hihg`. Did you mean high? It takes fast, low, medium, high or xhigh.",
        ),
        ("--effort sonar why", "`--effort` cannot be `sonar`. It takes fast, low, medium, high or xhigh."),
        ("--effort why not", "`--effort` cannot be `why`."),
        ("--effort", "`--effort` needs a value: `fast|low|medium|high|xhigh`."),
        ("--effort high --model sonar why", "`--model` and `--effort` contradict each other"),
        ("--effort high --effort low why", "`--effort` is given twice."),
        ("-r --effort low why", "`--reasoning` and `--effort` contradict each other: `low` does not reason."),
        (
            "--agent --effort low why",
            "`--agent` and `--effort` contradict each other: the agent has a model of its own.",
        ),
        ("-r", "Add a question after the options."),
        ("\u200b", "That text is empty. Add a question."),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(typed)

    assert caught.value.problem.startswith(problem)


def test_every_example_of_the_help_parses() -> None:
    for typed, _ in ASK.examples:
        assert ASK.parse(typed).question.text


@given(st.text())
def test_any_text_is_a_request_or_a_usage_error(text: str) -> None:
    try:
        read = parse(text)
    except UsageError:
        return

    assert read.question.text


@pytest.mark.parametrize(("typed", "audience"), [("x", Audience.ASKER), ("x --public", Audience.CHANNEL)])
def test_answers_are_private_unless_asked_otherwise(typed: str, audience: Audience) -> None:
    assert ASK.audience(ASK.parse(typed)) is audience


async def test_it_asks_and_renders_the_answer() -> None:
    provider = FakeProvider("One")
    read = ASK.parse("why")

    reply = await ASK.answer(read, command_context(provider))
    (message,) = ASK.render(reply, read, Audience.ASKER).messages

    assert reply == answer_by("One")
    assert [question.messages for question in provider.questions] == [(SAME_LANGUAGE, *read.question.messages)]
    assert "[[1]](https://example.com/1)" in json.dumps(message.blocks)
    assert message.blocks[0]["elements"][0]["text"] == "“why”"


async def test_a_started_run_is_resumed() -> None:
    provider = FakeProvider("One")

    async def on_run(run_id: str) -> None:
        raise AssertionError(run_id)

    await ASK.answer(
        ASK.parse("why"),
        command_context(provider, row=row(run_id="r1"), on_run=on_run),
    )

    assert [(question.run_id, question.on_run) for question in provider.questions] == [("r1", on_run)]


async def test_with_agent_the_agent_answers() -> None:
    provider, agent = FakeProvider("One"), FakeProvider("Agent")
    read = ASK.parse("--agent --domain a.com why")

    reply = await ASK.answer(read, command_context(provider, agent=agent))

    assert (reply.provider, provider.questions, agent.questions) == ("Agent", [], [read.question])


async def test_without_an_agent_the_error_and_the_log_name_the_setting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = command_context(FakeProvider("One"))

    with pytest.raises(AgentNotSetUp) as caught:
        await ASK.answer(ASK.parse("--agent why"), work)

    assert "ask the app’s admin" in user_message(caught.value)
    assert [(record.msg, vars(record)["setting"]) for record in caplog.records] == [("agent.not_set_up", "AGENT_MODEL")]
