"""What people write: a long hostile text takes time in proportion to its length, or is refused unread."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks.answer import answer_messages
from bot.blocks.elements import fallback_text, markdown, section
from bot.blocks.escaping import sanitize_message, unescape_slack
from bot.blocks.growing import StreamedText
from bot.blocks.markdown.render import split_markdown
from bot.blocks.markdown.rich_text import rich_text_blocks
from bot.blocks.messages import without_blocks
from bot.blocks.sources import link_url, linked_title, results_messages
from bot.commands.base import Command
from bot.commands.parsing import OptionParser, is_help_request, parse_options, tokenize
from bot.commands.routing import BY_MENTION, route_message, route_slash_command, usage_reply
from bot.errors import UsageError
from bot.features import COMMANDS
from bot.listeners.messages import parse_event
from bot.model.message import Audience, OutgoingMessage
from bot.streaming.live import MAX_BLOCKS, MAX_SIZE
from fake_slack.limits import MAX_TEXT
from fake_slack.request_parsing import zone_of
from perplexity.filters import parse_domain, parse_domains
from perplexity.markdown import parse
from perplexity.types import MAX_PROMPT_LENGTH, MAX_QUERY_LENGTH, Answer, Query, SearchResults, Source
from tests.fakes.linear import SIGNS, WRITTEN, Shape, assert_linear, shapes, some_or_all

BY_NAME = {command.name: command for command in COMMANDS}
LIMITS: Mapping[str, int] = {
    name: MAX_PROMPT_LENGTH if name == "ask" else MAX_QUERY_LENGTH
    for name in ("ask", "search", "news", "deepdive", "watch")
    if name in BY_NAME
}
"""How much text is taken by the commands of this copy of the project."""

BEFORE = {"ask": "", "search": "", "news": "tech ", "deepdive": ""}
"""What may stand before the text of a command."""

WIDE = OptionParser(
    options=tuple({option.name: option for command in COMMANDS for option in command.options}.values()),
    max_length=10_000_000,
)
"""All options of all commands, and no limit."""


def received(text: str) -> object:
    """Read an event, of an app whose id is known and of one whose id is not."""
    event = {"type": "app_mention", "channel": "C1", "user": "U2", "ts": "1.2", "text": text}
    known = {"authorizations": [{"is_bot": True, "user_id": "U1"}]}
    return parse_event({"team_id": "T1", "event": event}), parse_event({"team_id": "T1", "event": event} | known)


def answered(text: str) -> object:
    source = Source(number=1, title=text[:500], url="https://a.example/1")
    return answer_messages(Answer(text=text, sources=(source,), provider="P"), audience=Audience.ASKER)


def found(text: str) -> object:
    sources = (Source(number=1, title=text, url=f"https://a.example/{text[:3000]}", snippet=text),)
    return results_messages(
        SearchResults(results=sources, provider="P"), query=Query(text="q"), audience=Audience.ASKER
    )


def streamed(text: str) -> object:
    sources = (Source(number=1, title=text[:500], url="https://a.example/1"),)
    growing = StreamedText()
    growing.add_sources(sources)
    growing.feed(text)
    pieces = growing.take(), growing.take()
    return pieces, growing.finish(Answer(text=text, sources=sources, provider="P")), growing.take()


def streamed_in_pieces(text: str) -> object:
    """Stream a text in small pieces, in as many messages as it needs."""
    growing = StreamedText()
    for place in range(0, len(text), PIECE):
        growing.feed(text[place : place + PIECE])
        while growing.take():
            if growing.size >= MAX_SIZE or growing.blocks >= MAX_BLOCKS:
                growing.close_message()
    return growing.finish(Answer(text=text, sources=(), provider="P")), growing.take()


READERS: dict[str, Callable[[str], object]] = {
    "split": tokenize,
    "plain": unescape_slack,
    "options": lambda text: parse_options(text, WIDE),
    "option values": lambda text: parse_options(f"--domain {text} --after {text} --n {text} {text}", WIDE),
    "help": is_help_request,
    "route": lambda text: route_slash_command("/pplx", text, COMMANDS),
    "route help": lambda text: route_slash_command("/pplx", f"help {text}", COMMANDS),
    "routed": lambda text: route_message(text, COMMANDS),
    "event": received,
    "searching": lambda text: BY_NAME["ask"].pending_message(BY_NAME["ask"].parse(f"why {text}"), question_id="7"),
    "domain": parse_domain,
    "domains": lambda text: parse_domains(text.split()),
    **{f"parse {command.name}": command.parse for command in COMMANDS},
    "time zone": lambda text: zone_of({"zone": text[:MAX_TEXT]}, "zone"),
    "routed command": lambda text: [
        route_message(f"{name} {text}", COMMANDS) for name in ("ask", "search", "news", "deepdive")
    ],
    "asked": lambda text: [command.parse_question_text(text) for command in COMMANDS],
    "notices": lambda text: [usage_reply(text, BY_NAME[name], BY_MENTION) for name in LIMITS],
}
RENDERERS: dict[str, Callable[[str], object]] = {
    "answer": answered,
    "results": found,
    "split_markdown": lambda text: split_markdown(parse(text), ["https://a.example/1"]),
    "rich text": rich_text_blocks,
    "streamed": streamed,
    "fallback text": lambda text: fallback_text([markdown(text)]),
    "fallback of a section": lambda text: fallback_text([section(text)]),
    "without blocks": lambda text: without_blocks(OutgoingMessage(text="", blocks=(markdown(text), section(text)))),
    "gate": lambda text: sanitize_message(OutgoingMessage(text=text, blocks=(markdown(text), section(text)))),
    "title": lambda text: linked_title(Source(number=1, title=text, url=text)),
    "address": lambda text: link_url(Source(number=1, title="", url=f"http://{text}.com")),
}
RENDERED = [
    *SIGNS,
    *shapes("\ufdd0\ufdd2\ufdef", "a [1]", "[1][9]", "| a | b |\n|---|---|\n", "|a|b|\n|-|-|\n" + "|c\n" * 30),
    *shapes("س a ", "- a س\n", "|a س", "`a` س"),
    *shapes("$x_q$ ", "$$x$$ ", "> $$x$$\n", "\\(a "),
    Shape("|a|b|\n|-|-|\n", "|c\n"), Shape("", "x", "\n|-|\n"), Shape("| a |\n|---|\n", "| b | c "),
    Shape("- ", "- "), Shape("", "> - "), Shape("- a\n", "  - b\n"), Shape("", "> a\n"), Shape("1. a\n", "a\n"),
]  # fmt: skip

SENTENCE = "The first sentence of an answer, which is shown before the rest of it."
PIECE = 50
GROWING = [
    *(Shape(f"{SENTENCE}{between}", sign, ended)
      for between in ("\n", "\n\n") for sign in (">", "> ", " ", "\t", "- ", "=", "|", "[", "``")
      for ended in ("x", "\nx")),
    *(Shape(f"{SENTENCE}\n\n{opened}", sign, ended)
      for opened in ("$$x$$", "$$\n", "```\na\n", "> a\n") for sign in (" ", "\t", ">") for ended in ("x", "\nx")),
    *(Shape(f"{SENTENCE}\n\n{opened}", line)
      for opened, line in (("```\n", "code\n"), ("", "```\n"), ("", "# a\n"), ("", "#"), ("|a|b|\n|-|-|\n", "|c|d|\n"),
                           ("", "`a` "), ("", "` "), ("", "> > > > a\n>\n"), ("", ">" * 50 + " a\n"), ("", "$$\n"))),
]  # fmt: skip
"""Beginnings that may become something else with each further sign, in an answer that is still being written."""

MARKED = [shape for shape in RENDERED if "[" in shape.repeated]
"""What an answer's citations are read from; the rest of its rendering is that of `pages`."""


@some_or_all
@pytest.mark.parametrize("name", READERS)
def test_what_people_write_is_read_in_linear_time(name: str, step: int) -> None:
    for shape in WRITTEN[::step]:
        assert_linear(READERS[name], shape)


@some_or_all
@pytest.mark.parametrize("name", RENDERERS)
def test_what_services_write_is_rendered_in_linear_time(name: str, step: int) -> None:
    # From the size on at which a text is parted, which takes longer than to leave it whole.
    for shape in (MARKED if name == "answer" else RENDERED)[::step]:
        assert_linear(RENDERERS[name], shape, short=11_000, long=33_000)


@some_or_all
def test_what_is_still_being_written_is_read_a_bounded_number_of_times(step: int) -> None:
    for shape in GROWING[::step]:
        assert_linear(streamed_in_pieces, shape)


@pytest.mark.parametrize(
    "work",
    [answered, lambda text: split_markdown(parse(text), ["https://a.example/1"])],
    ids=["answer", "split_markdown"],
)
def test_a_tables_empty_cells_cost_nothing(work: Callable[[str], object]) -> None:
    """Such a table has as many columns as it has rows."""

    def square(text: str) -> object:
        side = len(text) // 6
        return work("\n".join(["|a" * side, "|-" * side, *["|c"] * side]))

    def headed(text: str) -> object:
        side = len(text) // 2
        return work("\n".join([f"|{'a' * side}|b|", "|-|-|", *["|c"] * (side // 3)]))

    for made in (square, headed):
        assert_linear(made, Shape("", "x"), short=11_000, long=33_000)


@given(st.lists(st.sampled_from(SIGNS), min_size=1, max_size=5), st.sampled_from(sorted(BY_NAME)))
@settings(max_examples=60, deadline=None)
def test_any_mixture_is_read_in_linear_time(mixed: list[Shape], name: str) -> None:
    repeated = "".join(shape.repeated for shape in mixed)

    assert_linear(lambda text: parse_options(text, WIDE), Shape("", repeated))
    assert_linear(BY_NAME[name].parse, Shape("", repeated))
    assert_linear(tokenize, Shape("", repeated))


@pytest.mark.parametrize("name", LIMITS)
def test_a_text_that_is_too_long_is_refused_before_it_is_read(name: str) -> None:
    started = time.process_time()

    with pytest.raises(UsageError) as caught:
        BY_NAME[name].parse("='" * 500_000)

    assert time.process_time() - started < 0.05
    assert "1,000,000 characters" in caught.value.problem
    assert f"{LIMITS[name]:,}" in caught.value.problem


@pytest.mark.parametrize("name", [name for name in BEFORE if name in BY_NAME])
def test_a_text_of_the_longest_length_is_taken_with_its_options(name: str) -> None:
    command: Command[Any, Any] = BY_NAME[name]
    text = ("&lt;a&gt; &amp; " * LIMITS[name])[: 16 * (LIMITS[name] // 6)]

    command.parse(f"{BEFORE[name]}{text} --public")


def test_a_mention_that_is_too_long_gets_a_usage_error() -> None:
    shown = usage_reply("a " * 60_000, BY_NAME["ask"], BY_MENTION)

    assert shown is not None
    assert "120,000 characters" in shown.text
    assert "100,000" in shown.text


def test_only_the_first_equals_sign_of_a_word_opens_a_value() -> None:
    first, second = "--a='b c'", "--a==' x"

    assert [word.text for word in tokenize(f"{first} {second}' y")] == [first, "--a=='", "x'", "y"]
