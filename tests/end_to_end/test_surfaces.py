"""What people see around an answer: the placeholder, which goes or stays true, and the question in private answers."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from tests.driver import Driver, asked_in
from tests.fakes.news_answers import text_reply
from tests.fakes.perplexity import fixture, json_reply
from tests.fakes.shown import texts_in
from tests.fakes.slack import Fault, Post
from tests.rare import one_in

STORIES = "Chip plant opens in Dresden | 2026-11-20 | It opened on Friday. [1][2]"
BROKEN = json_reply({"error": {"type": "x", "message": "no"}}, status=500)


def count_deletions(harness: Driver) -> int:
    return sum(bool(body.get("delete_original")) for way, body in harness.slack.calls if way == "response_url")


def lines(post: Post) -> list[str]:
    """Return the small grey texts of a message."""
    blocks = post.payload.get("blocks") or []
    return [block["elements"][0]["text"] for block in blocks if block["type"] == "context"]


def long_answer(words: int) -> Any:
    body = json.loads(fixture("agent.200.json"))
    paragraphs = (" ".join(f"w{n}" for n in range(start, start + 60)) for start in range(0, words, 60))
    body["output"][1]["content"][0]["text"] = "\n\n".join(paragraphs)
    return json_reply(body)


COMMANDS = [
    ("/ask --public --model sonar-pro why", "the web for “why”"),
    ("/search --public --n 3 --recency week python wheels", "the web for “python wheels”"),
    ("/news --public tech --recency week chips", "the news for “tech chips”"),
]


@pytest.mark.parametrize(("typed", "shown"), COMMANDS)
async def test_a_public_answer_removes_the_placeholder_which_shows_no_options_and_stays_true(
    harness: Driver, typed: str, shown: str
) -> None:
    if typed.startswith("/news"):
        harness.perplexity.script("/v1/agent", text_reply(STORIES))
    ack = await harness.ask(typed)
    await harness.wait_until_settled(1)

    assert ack["text"] == f"Searching {shown} has started. The answer is for everyone here."
    assert "--" not in json.dumps(ack)
    (post,) = harness.slack.posts
    assert (post.payload["response_type"], count_deletions(harness)) == ("in_channel", 1)


@pytest.mark.parametrize(
    ("fault", "tries"), [(Fault(status=500), 2), (Fault(status=429), 2), (Fault(status=404, body="used_url"), 1)]
)
async def test_a_deletion_is_tried_again_unless_slack_refuses_it_for_good_and_the_answer_stays(
    harness: Driver, fault: Fault, tries: int
) -> None:
    harness.slack.fail("response_url", Fault(status=200, body="ok", take_message=True), fault)
    await harness.ask("/ask --public why")
    await harness.wait_until_settled(1)

    assert ("Example answer" in harness.slack.posts[0].shown_text, count_deletions(harness)) == (True, tries)
    assert len(harness.slack.posts) == 1


async def test_a_private_answer_takes_the_placeholder_s_place_and_nothing_is_removed(harness: Driver) -> None:
    ack = await harness.ask("/ask --model sonar-pro why")
    await harness.wait_until_settled(1)

    assert ack["text"] == "Searching the web for “why”"
    assert (harness.slack.posts[0].payload["replace_original"], count_deletions(harness)) == (True, 0)


async def test_a_public_answer_of_many_parts_has_every_use_of_the_address(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", long_answer(12_000))
    await harness.ask("/ask --public tell me everything")
    await harness.wait_until_settled(1)

    ways = [post.method for post in harness.slack.posts]
    assert (ways[:5], set(ways[5:]), count_deletions(harness)) == (["response_url"] * 5, {"chat.postMessage"}, 0)


async def test_six_parallel_private_answers_each_begin_with_their_question(harness: Driver) -> None:
    questions = [f"what is the {n}th question about?" for n in range(6)]
    for n, question in enumerate(questions):
        await harness.ask(f"/ask --recency week {question}", trigger=f"t{n}")
    await harness.wait_until_settled(5)
    posts = [post for post in harness.slack.posts if "Example answer" in post.shown_text]

    for post in posts:
        question = questions[int(str(post.payload["token"]).removeprefix("t"))]
        assert lines(post)[0] == f"“{question}”"
    assert len(posts) >= 5


async def test_a_long_question_is_shortened_and_nothing_in_it_mentions_anyone(harness: Driver) -> None:
    await harness.ask("/ask &lt;!here&gt; *why*\n\n" + "and why not " * 40)
    await harness.wait_until_settled(1)
    (post,) = harness.slack.posts

    quoted = lines(post)[0]
    assert re.fullmatch(r"“&lt;\u2060!here&gt; \*why\* and why not .*…”", quoted)
    assert len(quoted) < 100
    assert harness.slack.refusals == []


async def test_every_part_of_a_private_answer_quotes_the_question(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", long_answer(6_000))
    await harness.ask("/ask tell me everything")
    await harness.wait_until_settled(1)

    total = len(harness.slack.posts)
    assert total > 2
    for number, post in enumerate(harness.slack.posts, 1):
        part = f"Part {number} of {total}"
        assert lines(post)[-1] == (f"“tell me everything” · {part}" if number > 1 else part)
    assert lines(harness.slack.posts[0])[0] == "“tell me everything”"


async def assert_quoted(harness: Driver, typed: str, quoted: str) -> None:
    """Ask, and look at what the last message begins with."""
    await harness.ask(typed)
    await harness.wait_until_settled(1)

    first = harness.slack.posts[-1].payload["blocks"][0]
    assert texts_in(first)[0] == quoted
    assert harness.slack.refusals == []


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        ("/search --n 3 python wheels", "“python wheels”"),
        ("/news tech --recency week chips", "*Technology news* · chips · past week"),
        ("/ask --public why", "“why”"),
    ],
)
async def test_searches_news_and_failures_begin_with_it_too(harness: Driver, typed: str, quoted: str) -> None:
    if typed.startswith("/news"):
        harness.perplexity.script("/v1/agent", text_reply(STORIES))
    if "--public" in typed:
        refused = {"error": {"message": "no", "type": "invalid_request"}}
        harness.perplexity.fail("/v1/agent", status=400, body=refused)
    await assert_quoted(harness, typed, quoted)


async def test_what_is_read_below_it_does_not_quote_it(harness: Driver) -> None:
    await harness.mention("why not")
    await harness.wait_until_settled(1)
    await harness.send_direct_message("why on earth", ts="1795255400.000100")
    await harness.wait_until_settled(2)
    harness.perplexity.script("/v1/agent", BROKEN, BROKEN)
    await harness.mention("why ever", ts="1795255300.000100")
    await harness.wait_until_settled(3)

    shown = [post for post in harness.slack.posts if post.payload.get("blocks")]
    assert [text for post in shown for text in lines(post) if text.startswith("“")] == []


MENTIONED = [
    ("search python wheels", "/search", {"query": "python wheels"}),
    ("Search --n 3 python wheels", "/search", {"query": "python wheels", "max_results": 3}),
    ("ask --effort high why", "/v1/agent", {"input": "why", "effort": "high"}),
    ("news about mars?", "/v1/agent", {"input": "news about mars?"}),
    ("searching for meaning", "/v1/agent", {"input": "searching for meaning"}),
]


@pytest.mark.parametrize(
    ("typed", "path", "sent", "direct"),
    one_in(3, [(*mentioned, direct) for mentioned in MENTIONED for direct in (False, True)]),
)
async def test_a_message_that_begins_with_a_command_is_that_command_or_else_a_question(
    harness: Driver, typed: str, path: str, sent: dict[str, Any], direct: bool
) -> None:
    assert await (harness.send_direct_message if direct else harness.mention)(typed) == 200
    await harness.perplexity.wait_for(1)

    request = harness.perplexity.requests[0]
    body = request.json | ({"input": asked_in(request)} if path == "/v1/agent" else {})
    assert (request.path, body | sent) == (path, body)
    await harness.wait_until_settled(1)


async def test_news_in_a_mention_is_news(harness: Driver) -> None:
    harness.perplexity.script("/v1/agent", text_reply(STORIES))
    await harness.mention("news tech chips")
    await harness.wait_until_settled(1)

    (shown,) = harness.slack.thread("C1", "1795255200.000100")
    assert "*Technology news* · chips" in shown.shown_text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("help", "`/ask` and your question"),
        ("search help", "`@Web Answers search python free threading`"),
        ("news help", "`@Web Answers news tech`"),
    ],
)
async def test_help_in_a_mention_is_for_the_asker_alone(harness: Driver, typed: str, said: str) -> None:
    await harness.mention(typed)
    await harness.wait_until_settled(1)

    (shown,) = [post for post in harness.slack.posts if post.method == "chat.postEphemeral"]
    assert said in shown.shown_text
    assert ("--public" in shown.shown_text, "For admins" in shown.shown_text) == (False, False)
    assert harness.slack.thread("C1", "1795255200.000100") == []
    assert harness.perplexity.requests == []


async def test_help_lists_no_agent_where_none_is_set_up_and_what_each_option_does(harness: Driver) -> None:
    helped = await harness.ask("/ask help")
    (button,) = [block["elements"][0] for block in helped["blocks"] if block["type"] == "actions"]
    assert (button["action_id"], button["text"]["text"]) == ("all_options", "All options")
    await harness.click_button("all_options", button["value"])

    shown = "".join(block["text"]["text"] for block in harness.slack.modal("U1").blocks)
    assert "--agent" not in shown
    assert "`--lang en,de`  Answer in this language" in shown
    assert "`--effort fast|low|medium|high|xhigh`" in shown
    (unknown,) = await asyncio.gather(harness.ask("/ask --agent why"))
    assert "Searching" in unknown["text"]
