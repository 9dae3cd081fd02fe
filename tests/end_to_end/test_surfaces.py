"""What people see around an answer: the placeholder, which goes or stays true, and the question in private answers."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from tests.end_to_end.conftest import AppHarness
from tests.fakes.news_answers import written
from tests.fakes.perplexity import fixture, replied
from tests.fakes.slack import Fault, Post

STORIES = "Chip plant opens in Dresden | 2026-11-20 | It opened on Friday. [1][2]"
BROKEN = replied({"error": {"type": "x", "message": "no"}}, status=500)


def removals(world: AppHarness) -> int:
    return sum(bool(body.get("delete_original")) for way, body in world.slack.calls if way == "response_url")


def footers(post: Post) -> list[str]:
    """Return the small grey texts of a message."""
    blocks = post.payload.get("blocks") or []
    return [block["elements"][0]["text"] for block in blocks if block["type"] == "context"]


def long_answer(words: int) -> Any:
    body = json.loads(fixture("agent.200.json"))
    paragraphs = (" ".join(f"w{n}" for n in range(start, start + 60)) for start in range(0, words, 60))
    body["output"][1]["content"][0]["text"] = "\n\n".join(paragraphs)
    return replied(body)


COMMANDS = [
    ("/ask --public --model sonar-pro why", "the web for “why”"),
    ("/search --public --n 3 --recency week python wheels", "the web for “python wheels”"),
    ("/news --public tech --recency week chips", "the news for “tech chips”"),
]


@pytest.mark.parametrize(("typed", "shown"), COMMANDS)
async def test_a_public_answer_removes_the_placeholder_which_shows_no_options_and_stays_true(
    world: AppHarness, typed: str, shown: str
) -> None:
    if typed.startswith("/news"):
        world.perplexity.script("/v1/agent", written(STORIES))
    ack = await world.asks(typed)
    await world.settled(1)

    assert ack["text"] == f"Searching {shown} has started. The answer is for everyone here."
    assert "--" not in json.dumps(ack)
    (post,) = world.slack.posts
    assert (post.payload["response_type"], removals(world)) == ("in_channel", 1)


@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=429), Fault(status=404, body="used_url")])
async def test_a_removal_that_fails_is_not_tried_again_and_the_answer_stands(world: AppHarness, fault: Fault) -> None:
    world.slack.fail("response_url", Fault(status=200, body="ok", accept=True), fault)
    await world.asks("/ask --public why")
    await world.settled(1)

    assert ("Example answer" in world.slack.posts[0].words, removals(world)) == (True, 1)
    assert len(world.slack.posts) == 1


async def test_a_private_answer_takes_the_placeholder_s_place_and_nothing_is_removed(world: AppHarness) -> None:
    ack = await world.asks("/ask --model sonar-pro why")
    await world.settled(1)

    assert ack["text"] == "Searching the web for “why”"
    assert (world.slack.posts[0].payload["replace_original"], removals(world)) == (True, 0)


async def test_a_public_answer_of_many_parts_has_every_use_of_the_address(world: AppHarness) -> None:
    world.perplexity.script("/v1/agent", long_answer(12_000))
    await world.asks("/ask --public tell me everything")
    await world.settled(1)

    ways = [post.way for post in world.slack.posts]
    assert (ways[:5], set(ways[5:]), removals(world)) == (["response_url"] * 5, {"chat.postMessage"}, 0)


async def test_six_parallel_private_answers_each_begin_their_footer_with_their_question(world: AppHarness) -> None:
    questions = [f"what is the {n}th question about?" for n in range(6)]
    for n, question in enumerate(questions):
        await world.asks(f"/ask --recency week {question}", trigger=f"t{n}")
    await world.settled(5)
    posts = [post for post in world.slack.posts if "Example answer" in post.words]

    for post in posts:
        question = questions[int(str(post.payload["token"]).removeprefix("t"))]
        assert footers(post)[-1].startswith(f"“{question}” · Perplexity · fast · ")
    assert len(posts) >= 5


async def test_a_long_question_is_shortened_and_nothing_in_it_mentions_anyone(world: AppHarness) -> None:
    await world.asks("/ask &lt;!here&gt; *why*\n\n" + "and why not " * 40)
    await world.settled(1)
    (post,) = world.slack.posts

    quoted = footers(post)[-1].split(" · ")[0]
    assert re.fullmatch(r"“&lt;\u2060!here&gt; \*why\* and why not .* …”", quoted)
    assert len(quoted) < 130
    assert world.slack.refusals == []


async def test_every_part_of_a_private_answer_quotes_the_question(world: AppHarness) -> None:
    world.perplexity.script("/v1/agent", long_answer(6_000))
    await world.asks("/ask tell me everything")
    await world.settled(1)

    total = len(world.slack.posts)
    assert total > 2
    for number, post in enumerate(world.slack.posts, 1):
        (quoting,) = [text for text in footers(post) if text.startswith("“tell me everything” · ")]
        assert footers(post)[-1].endswith(f"Part {number} of {total}")
        assert number == total or quoting == f"“tell me everything” · Part {number} of {total}"


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        ("/search --n 3 python wheels", "“python wheels” · Perplexity Search · "),
        ("/news tech --recency week chips", "“tech chips” · Perplexity · "),
        ("/ask --public why", "“why” · Reference "),
        ("/search python wheels", "“python wheels” · Reference "),
        ("/deepdive heat pumps", "“heat pumps” · Deep dive · "),
    ],
)
async def test_searches_news_reports_and_failures_quote_it_too(world: AppHarness, typed: str, quoted: str) -> None:
    if typed.startswith("/news"):
        world.perplexity.script("/v1/agent", written(STORIES))
    if "Reference" in quoted:
        refused = {"error": {"message": "no", "type": "invalid_request"}}
        world.perplexity.fail("/v1/agent", status=400, body=refused)
        world.perplexity.fail("/search", status=400, body=refused)
    await world.asks(typed)
    await world.settled(1)

    assert any(text.startswith(quoted) for text in footers(world.slack.posts[-1]))
    assert world.slack.refusals == []


async def test_what_everyone_sees_does_not_quote_it(world: AppHarness) -> None:
    await world.asks("/ask --public why")
    await world.settled(1)
    await world.mentions("why not")
    await world.settled(2)
    world.perplexity.script("/v1/agent", BROKEN, BROKEN)
    await world.mentions("why ever", ts="1795255300.000100")
    await world.settled(3)

    shown = [*world.slack.posts, *world.slack.thread("C1", "1795255200.000100")]
    assert [text for post in shown for text in footers(post) if text.startswith("“")] == []


MENTIONED = [
    ("search python wheels", "/search", {"query": "python wheels"}),
    ("Search --n 3 python wheels", "/search", {"query": "python wheels", "max_results": 3}),
    ("ask --effort high why", "/v1/agent", {"input": "why", "effort": "high"}),
    ("news about mars?", "/v1/agent", {"input": "news about mars?"}),
    ("searching for meaning", "/v1/agent", {"input": "searching for meaning"}),
]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize(("typed", "path", "sent"), MENTIONED)
async def test_a_message_that_begins_with_a_command_is_that_command_or_else_a_question(
    world: AppHarness, typed: str, path: str, sent: dict[str, Any], direct: bool
) -> None:
    assert await (world.writes if direct else world.mentions)(typed) == 200
    await world.perplexity.wait_for(1)

    request = world.perplexity.requests[0]
    assert (request.path, request.json | sent) == (path, request.json)
    await world.settled(1)


async def test_news_in_a_mention_is_news(world: AppHarness) -> None:
    world.perplexity.script("/v1/agent", written(STORIES))
    await world.mentions("news tech chips")
    await world.settled(1)

    (shown,) = world.slack.thread("C1", "1795255200.000100")
    assert "*Technology news* · chips" in shown.words


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("help", "`@Web Answers --domain docs.python.org how do t-strings work`"),
        ("search help", "`@Web Answers search python free threading`"),
        ("news help", "`@Web Answers news tech`"),
        ("", "“@Web Answers help” shows all options"),
    ],
)
async def test_help_in_a_mention_shows_lines_as_they_are_typed(world: AppHarness, typed: str, said: str) -> None:
    await world.mentions(typed)
    await world.settled(1)

    (shown,) = world.slack.thread("C1", "1795255200.000100")
    assert said in shown.words
    assert "--public" not in shown.words
    assert world.perplexity.requests == []


async def test_help_lists_no_agent_where_none_is_set_up_and_what_each_option_does(world: AppHarness) -> None:
    shown = json.dumps(await world.asks("/ask help"), ensure_ascii=False)
    await world.mentions("help")
    await world.settled(1)

    assert ("--agent" in shown, "--agent" in str(world.slack.posts)) == (False, False)
    assert "`--lang en,de`  Answer in this language" in shown
    assert "`--effort fast|low|medium|high|xhigh`" in shown
    (unknown,) = await asyncio.gather(world.asks("/ask --agent why"))
    assert "Searching" in unknown["text"]
