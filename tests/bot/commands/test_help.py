"""What the app says about itself: failures, usage, help, and messages without blocks."""

from __future__ import annotations

from typing import cast

import pytest

from bot.blocks import escaping
from bot.blocks.answer import answer_messages
from bot.blocks.examples import LINES
from bot.blocks.messages import failure_message, without_blocks
from bot.commands.ask import ask_command
from bot.commands.help import (
    help_message,
    help_overview,
    options_of,
    text_message,
    usage_message,
)
from bot.commands.routing import mention_line
from bot.errors import UsageError
from bot.features import COMMANDS
from bot.model.message import Audience, OutgoingMessage
from bot.storage.preferences import PreferenceStore
from fake_slack.limits import check_message
from perplexity.types import Answer, AnswerKind, Passage, Source
from tests.fakes.renderer import mentions

ASK = next(command for command in COMMANDS if command.name == "ask")
SENTENCE = "Sorry, no search service answered in time. I’ve kept your question, so you can try again."


def shown_text(message: OutgoingMessage) -> str:
    payload = {"text": message.text, "blocks": list(message.blocks)}

    assert check_message(payload) == []
    assert mentions(payload) == []
    return "\n".join(
        block["text"]["text"] if block["type"] == "section" else block["elements"][0]["text"]
        for block in message.blocks
        if block["type"] != "actions"
    )


def test_a_private_failure_quotes_the_question_first() -> None:
    message = failure_message("No.", reference="r", question_id="q1", question="why <b>")

    assert shown_text(message).splitlines() == ["“why &lt;b&gt;”", "No.", "Reference `r`"]
    assert message.text == "“why &lt;\u2060b&gt;”\nNo.\nReference r"


def test_a_failure_has_a_sentence_a_button_and_a_reference() -> None:
    message = failure_message(SENTENCE, reference="a7f3-19c2", question_id="q1")

    assert shown_text(message) == f"{SENTENCE}\nReference `a7f3-19c2`"
    (button,) = message.blocks[1]["elements"]
    assert (button["action_id"], button["value"], button["text"]["text"]) == ("retry", "q1", "Try again")
    assert message.text == f"{SENTENCE}\nReference a7f3-19c2"


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("ask", "why &lt;b&gt; &amp; <!here>?", "Searching the web for “why &lt;b&gt; &amp; @\u2060here?”"),
        ("ask", "--model sonar-reasoning -r why", "Searching the web for “why”"),
        ("search", "--n 3 a\nb", "Searching the web for “a b”"),
        ("news", "tech --recency week open  source", "Searching the news for “tech open source”"),
        ("ask", "--public why", "Searching the web for “why” has started. The answer is for everyone here."),
        ("status", "", "*One moment…*"),
    ],
)
def test_the_ack_names_the_question_without_its_options(command: str, text: str, expected: str) -> None:
    found = next(one for one in COMMANDS if one.name == command)
    request = found.parse(text)

    assert expected == shown_text(
        found.pending_message(request, question_id="7", public=found.audience(request) is Audience.CHANNEL)
    )


def test_the_ack_shortens_a_long_question() -> None:
    assert len(shown_text(ASK.pending_message(ASK.parse("why " * 500), question_id="7"))) < 200


def test_a_notice_is_escaped() -> None:
    assert shown_text(text_message("a < b @here")) == "a &lt; b @\u2060here"


def test_a_wrong_option_names_the_right_one_and_where_to_read_more() -> None:
    error = UsageError("I don’t know the option `--recenty`. Did you mean `--recency`?")

    lines = shown_text(usage_message(ASK, error, slash="/x-ask")).splitlines()

    assert lines[0] == error.problem
    assert lines[1:] == ["For example: `/x-ask what changed in python 3.14?`"]


def test_all_options_lists_every_option_and_example_as_the_asker_calls_the_command() -> None:
    for command in COMMANDS:
        text = "".join(options_of(COMMANDS, f"{command.name} /pplx {command.name}", admin=False))

        assert all(f"`{f'{option.name} {option.value}'.strip()}`" in text for option in command.options)
        assert all(f"`/pplx {command.name} {arguments}`" in text for arguments, _ in command.examples)


def test_only_admins_read_of_what_admins_do() -> None:
    for_admins = {command.name for command in COMMANDS if command.for_admins}

    assert "status" in for_admins
    for admin in (True, False):
        overview = shown_text(help_overview(COMMANDS, slash="/x-pplx", admin=admin))
        options = "".join(options_of(COMMANDS, "all /x-pplx", admin=admin))
        for command in COMMANDS:
            typed = f"`/x-{command.name}" if command.has_slash_command else f"`/x-pplx {command.name}"
            assert (typed in options) is (admin or not command.for_admins)
            assert command.name not in for_admins or (typed in overview) is admin


@pytest.mark.parametrize(
    ("name", "typed"), [("ask", "@Web Answers question"), ("news", "@Web Answers news …"), ("status", None)]
)
def test_help_says_what_to_type_in_a_thread(name: str, typed: str | None) -> None:
    command = next(command for command in COMMANDS if command.name == name)
    text = shown_text(help_message(command, slash=f"/{name}", in_thread=mention_line(command)))

    said = f"Slack runs no slash commands in threads. Mention me there: `{typed}`"
    assert (said in text) if typed else ("threads" not in text)


@pytest.mark.parametrize("agent", [True, False])
def test_help_lists_the_agent_only_if_one_is_set_up(agent: bool) -> None:
    ask = ask_command(agent=agent, next_questions=False, preferences=cast("PreferenceStore", None))

    assert ("--agent" in "".join(options_of([ask], "ask /ask", admin=False))) is agent
    assert ask.parse("--agent why").agent
    assert all(
        f"`{option}" in "".join(options_of([ask], "ask /ask", admin=False))
        for option in ("--lang", "--effort", "--public")
    )


def test_the_overview_has_at_most_five_lines_and_three_buttons_and_names_the_nearest_command() -> None:
    message = help_overview(COMMANDS, slash="/pplx", unknown="serch`<!here>", closest="search")
    unknown, lines, *buttons = message.blocks

    said = "I don’t know the command `serchˋ&lt;\u2060!here&gt;`. Did you mean `search`?"
    assert unknown["text"]["text"] == said
    assert 4 <= len(lines["text"]["text"].splitlines()) <= 5
    assert [block["elements"][0]["text"]["text"] for block in buttons] == [*list(LINES)[:2], "All options"]
    assert check_message({"text": message.text, "blocks": list(message.blocks)}) == []


def test_a_message_without_blocks_keeps_its_words_and_links() -> None:
    source = Source(number=1, title="One", url="https://one.example/?a=1&b=2")
    bad = Source(number=2, title="Bad", url="javascript:x")
    written = Answer(text="a < b [1] `[1]` [2]", sources=(source, bad), provider="P")
    passages = Answer(
        text="", sources=(source,), provider="P", kind=AnswerKind.PASSAGES, passages=(Passage(text="<q>", source=1),)
    )

    one = "<https://one.example/?a=1&amp;b=2|[1]>"
    assert without_blocks(answer_messages(written, audience=Audience.ASKER)[0]).text.startswith(
        f"a &lt; b {one} `[1]` [2]"
    )
    assert f"&lt;\u2060q&gt; {one}" in without_blocks(answer_messages(passages, audience=Audience.ASKER)[0]).text
    assert without_blocks(failure_message("No.", reference="r", question_id="q")).text == "No.\n\nReference `r`"
    assert without_blocks(OutgoingMessage(text="x")) == OutgoingMessage(text="x")


def test_a_message_without_blocks_makes_no_link_of_code() -> None:
    answer = Answer(text="```[[1]](http://evil.example)\nx\n```", sources=(), provider="P")

    assert "<" not in without_blocks(answer_messages(answer, audience=Audience.ASKER)[0]).text


def test_sanitizing_leaves_plain_text_and_rich_text_unchanged() -> None:
    quote = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_quote", "elements": [{"type": "text", "text": "@here"}]}],
    }
    button = {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "@here"}}]}

    assert escaping.sanitize_message(OutgoingMessage(text="", blocks=(quote, button))) == OutgoingMessage(
        text="…", blocks=(quote, button)
    )


@pytest.mark.parametrize("kind", ["mrkdwn", "markdown"])
def test_sanitizing_breaks_mentions_in_any_block(kind: str) -> None:
    block = {"type": kind, "text": "<!here> @Channel", "verbatim": True, "elements": [{"type": kind, "text": "<@U1>"}]}

    (sealed,) = escaping.sanitize_message(OutgoingMessage(text="<!here>", blocks=(block,))).blocks

    assert sealed == {
        "type": kind,
        "text": "<\u2060!here> @\u2060Channel",
        "verbatim": True,
        "elements": [{"type": kind, "text": "<\u2060@U1>"}],
    }


def test_of_every_command_each_option_is_listed_once_with_the_commands_that_take_it() -> None:
    texts = options_of(COMMANDS, "all /pplx", admin=False)
    [recency] = [text for text in texts if "`--recency hour" in text]

    assert recency.splitlines()[0] == "*Options of* `/search`, `/ask`, `/news`"
    assert "`--domain" in recency
    assert [text for text in texts if "`/ask what changed" in text and "`--" not in text.splitlines()[1]]
