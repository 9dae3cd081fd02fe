from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks.base import Audience
from bot.commands.ask import ASK, AskRequest, parse
from bot.commands.base import Work
from bot.errors import UsageError
from perplexity.filters import Filters
from perplexity.types import Message, Question
from tests.fakes.office import FakeOffice
from tests.fakes.provider import FakeProvider, answer_by


def request(text: str, *, public: bool = False, **question: Any) -> AskRequest:
    return AskRequest(question=Question(messages=(Message(role="user", content=text),), **question), public=public)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("what is a payload", request("what is a payload")),
        ("-r why", request("why", reasoning=True)),
        ("why —reasoning —public", request("why", reasoning=True, public=True)),
        ("--model sonar-pro why", request("why", model="sonar-pro")),
        ("--model high why", request("why", model="high")),
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
        ("-r", "There is no question behind the options."),
        ("\u200b", "That text cannot be sent: it is empty. It must hold some text."),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(typed)

    assert caught.value.problem.startswith(problem)


def test_every_example_of_the_help_parses() -> None:
    for typed, _ in ASK.examples:
        assert ASK.parse(typed).question.text


@settings(max_examples=200, deadline=None)
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

    reply = await ASK.answer(read, Work(provider=provider, office=FakeOffice(), asker="U1"))
    (message,) = ASK.render(reply, read, Audience.ASKER)

    assert (reply, provider.questions) == (answer_by("One"), [read.question])
    assert "[[1]](https://example.com/)" in json.dumps(message.blocks)
    assert "only visible to you" in json.dumps(message.blocks)


async def test_a_run_that_was_begun_is_handed_on_to_be_resumed() -> None:
    provider = FakeProvider("One")

    async def on_run(run_id: str) -> None:
        raise AssertionError(run_id)

    await ASK.answer(
        ASK.parse("why"), Work(provider=provider, office=FakeOffice(), asker="U1", run_id="r1", on_run=on_run)
    )

    assert [(question.run_id, question.on_run) for question in provider.questions] == [("r1", on_run)]
