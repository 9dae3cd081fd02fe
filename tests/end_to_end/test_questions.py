"""One question, end to end: typed, acknowledged, asked, rendered, delivered."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any

import psycopg
import pytest

from bot.commands.ask import SAME_LANGUAGE
from tests.driver import Driver, asked_in
from tests.fakes.perplexity import fixture, json_reply
from tests.fakes.slack import Fault


def texts(shown: dict[str, Any]) -> str:
    return json.dumps([shown.get("text"), shown.get("blocks")], ensure_ascii=False)


async def test_search__shows_results_privately_and_sends_the_right_body(harness: Driver) -> None:
    ack = await harness.ask("/search --n 7 --recency week --domain a.example,b.example python wheels")
    (post,) = await harness.slack.wait_for(1)

    assert ack["response_type"] == "ephemeral"
    assert "Searching" in ack["text"]
    assert (post.method, post.payload["response_type"], post.payload["replace_original"]) == (
        "response_url",
        "ephemeral",
        True,
    )
    assert "<https://a.example/1|Example A>" in post.shown_text
    assert "“python wheels”" in post.shown_text
    (request,) = harness.perplexity.requests
    assert request.path == "/search"
    assert request.json == {
        "query": "python wheels",
        "max_results": 7,
        "max_tokens_per_page": 1024,
        "search_recency_filter": "week",
        "search_domain_filter": ["a.example", "b.example"],
    }


async def test_ask__shows_the_answer_with_linked_sources(harness: Driver) -> None:
    await harness.ask("/ask what is example")
    (post,) = await harness.slack.wait_for(1)

    blocks = post.payload["blocks"]
    assert [block["type"] for block in blocks] == ["context", "markdown", "context", "actions"]
    assert blocks[0]["elements"][0]["text"] == "“what is example”"
    assert blocks[1]["text"] == (
        "Example answer with a claim.[[1]](https://a.example/1) Another claim — ü.[[2]](https://b.example/2)"
    )
    assert blocks[2]["elements"][0]["text"] == "<https://a.example/1|a.example> · <https://b.example/2|b.example>"
    (request,) = harness.perplexity.requests
    assert asked_in(request) == "what is example"
    assert (request.path, request.json) == (
        "/v1/agent",
        {"effort": "fast", "input": request.json["input"], "store": False, "stream": True},
    )


async def test_ask_reasoning__asks_with_medium_effort(harness: Driver) -> None:
    await harness.ask("/ask --reasoning compare a and b")
    (post,) = await harness.slack.wait_for(1)

    (request,) = harness.perplexity.requests
    assert request.json["effort"] == "medium"
    assert "“compare a and b”" in post.shown_text


async def test_a_question_about_a_payload_is_answered(harness: Driver) -> None:
    await harness.ask("/ask what is a payload")
    await harness.slack.wait_for(1)

    assert asked_in(harness.perplexity.requests[0]) == "what is a payload"


async def test_public__the_answer_goes_to_the_channel(harness: Driver) -> None:
    ack = await harness.ask("/ask --public why")
    (post,) = await harness.slack.wait_for(1)

    assert ack["response_type"] == "ephemeral"
    assert (post.payload["response_type"], post.payload["replace_original"]) == ("in_channel", False)
    assert "“why”" in post.shown_text


async def test_the_same_delivery_three_times_is_one_answer(harness: Driver) -> None:
    acks = await asyncio.gather(*(harness.ask("/ask why", trigger="same") for _ in range(3)))
    await harness.slack.wait_for(1)
    await harness.ask("/ask something else", trigger="other")
    await harness.slack.wait_for(2)

    assert [a["text"] for a in acks] == [acks[0]["text"]] * 3
    assert [asked_in(r) for r in harness.perplexity.requests] == ["why", "something else"]
    assert len(harness.slack.posts) == 2


async def test_an_unknown_option_is_answered_at_once_with_the_nearest(harness: Driver) -> None:
    ack = await harness.ask("/ask --recenty week why")

    assert "`--recenty`" in texts(ack)
    assert "Did you mean `--recency`?" in texts(ack)
    assert harness.perplexity.requests == []


async def test_help_is_short_and_each_command_has_its_own(harness: Driver) -> None:
    shown = [texts(await harness.ask(text)) for text in ("/ask help", "/search help", "/pplx help", "/pplx help ask")]

    expected = ["`/ask -r", "`/search python", "`/search` lists pages", "`/pplx ask -r"]
    assert [words for words, text in zip(expected, shown, strict=True) if words not in text] == []
    assert [text for text in shown if "--lang" in text or text.count("\n") > 7] == []
    assert harness.perplexity.requests == []


async def test_the_umbrella_and_a_prefixed_name_do_the_same(harness: Driver) -> None:
    await harness.ask("/pplx ask why", trigger="1")
    await harness.slack.wait_for(1)
    await harness.ask("/x-ask why", trigger="2")
    await harness.slack.wait_for(2)

    assert [asked_in(r) for r in harness.perplexity.requests] == ["why", "why"]


async def test_curly_dashes_and_quotes_parse(harness: Driver) -> None:
    await harness.ask("/search —n 3 —recency “day” what’s new")
    await harness.slack.wait_for(1)

    body = harness.perplexity.requests[0].json
    assert (body["max_results"], body["search_recency_filter"], body["query"]) == (3, "day", "what’s new")


def question_of(post: Any) -> str:
    actions = next(b for b in post.payload["blocks"] if b["type"] == "actions")
    value: str = actions["elements"][0]["value"]
    return value


async def test_a_failure_is_one_sentence_a_button_and_a_reference(harness: Driver) -> None:
    harness.perplexity.fail(
        "/v1/agent", status=400, body={"error": {"message": "secret words", "type": "invalid_request"}}
    )

    await harness.ask("/ask --public why")
    (post,) = await harness.slack.wait_for(1)

    assert post.payload["response_type"] == "ephemeral"
    assert "Sorry" in post.shown_text
    assert "Try again" in post.shown_text
    assert "secret words" not in post.shown_text
    assert re.search(r"Reference `[0-9a-f]{4}-[0-9a-f]{4}`", post.shown_text)


@pytest.mark.parametrize(("typed", "said"), [("/ask 何が変わりましたか", True), ("/ask --lang de why", False)])
async def test_the_model_is_told_to_keep_the_question_s_language__unless_one_is_asked_for(
    harness: Driver, typed: str, said: bool
) -> None:
    await harness.ask(typed)
    await harness.slack.wait_for(1)

    assert (SAME_LANGUAGE.content in str(harness.perplexity.requests[0].json["input"])) is said


async def test_try_again__a_double_click_is_one_new_answer(harness: Driver) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    await harness.ask("/ask why")
    (failure,) = await harness.slack.wait_for(1)
    question = question_of(failure)

    await asyncio.gather(*(harness.click_button("retry", question, token="click") for _ in range(2)))
    posts = await harness.slack.wait_for(3)

    searching, answer = posts[1], posts[2]
    assert "Searching" in searching.shown_text
    assert "Example answer" in answer.shown_text
    assert (answer.payload["token"], answer.payload["replace_original"]) == ("click", True)
    assert len(harness.perplexity.requests) == 2


async def test_try_again__only_for_the_asker(harness: Driver) -> None:
    harness.perplexity.fail("/v1/agent", status=400, body={"error": {"message": "no", "type": "invalid_request"}})
    await harness.ask("/ask why")
    (failure,) = await harness.slack.wait_for(1)
    question = question_of(failure)
    from dataclasses import replace

    other = replace(harness.person, user="U2")
    async with await other.click("retry", question) as response:
        assert response.status == 200
    await harness.click_button("retry", "not-a-question")
    (_, refused, unknown) = await harness.slack.wait_for(3)
    await harness.ask("/ask else", trigger="later")
    await harness.slack.wait_for(4)

    assert "Only the person who asked" in refused.shown_text
    assert "no longer have this question" in unknown.shown_text
    assert (refused.payload["response_type"], refused.payload["replace_original"]) == ("ephemeral", False)
    assert [asked_in(r) for r in harness.perplexity.requests] == ["why", "else"]


async def test_slack_says_wait__the_answer_comes_after_it(harness: Driver) -> None:
    harness.slack.fail("response_url", Fault(status=429, headers={"Retry-After": "1"}), Fault(status=429))

    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert "Example answer" in post.shown_text


async def test_slack_refuses_the_blocks__the_same_words_as_text(harness: Driver) -> None:
    harness.slack.fail("response_url", Fault(status=400, body="invalid_blocks"))

    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert "blocks" not in post.payload
    assert "Example answer with a claim." in post.payload["text"]
    assert "https://a.example/1" in post.payload["text"]


async def test_the_response_url_is_used_up__a_direct_message(harness: Driver) -> None:
    harness.slack.fail("response_url", Fault(status=404, body="used_url"))

    await harness.ask("/ask why")
    (post,) = await harness.slack.wait_for(1)

    assert (post.method, post.payload["channel"]) == ("chat.postMessage", "DU1")
    assert "Example answer" in post.shown_text


async def test_a_direct_message_whose_reply_got_lost_is_not_sent_twice(harness: Driver) -> None:
    harness.slack.fail("response_url", Fault(status=404, body="expired_url"))
    harness.slack.fail("chat.postMessage", Fault(status=503, take_message=True))

    await harness.ask("/ask why")
    await harness.ask("/ask else", trigger="t2")
    await harness.slack.wait_for(2)
    await asyncio.wait_for(harness.wait_until_settled(2), 20)

    assert len(harness.slack.posts) == 2


async def test_a_click_while_the_database_hangs_gets_a_timely_notice(harness: Driver, database: str) -> None:
    harness.perplexity.script(
        "/v1/agent", json_reply({"error": {"type": "invalid_api_key", "message": "no"}}, status=401)
    )
    await harness.ask("/ask why")
    (failure,) = await harness.slack.wait_for(1)
    ((value,),) = [[e["value"] for e in b["elements"]] for b in failure.payload["blocks"] if b["type"] == "actions"]
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("LOCK TABLE questions IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        await harness.click_button("retry", value)
        seconds = time.monotonic() - began

    assert seconds < 3
    assert "reach my database" in harness.slack.posts[1].shown_text


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://["])
async def test_a_foreign_response_url_is_never_called(harness: Driver, url: str) -> None:
    from dataclasses import replace

    stranger = replace(harness.person, response_url=lambda trigger: f"{url}{trigger}")
    async with await stranger.type_command("/ask why") as response:
        assert response.status == 200
    (post,) = await harness.slack.wait_for(1)

    assert post.method == "chat.postMessage"


async def test_health_readiness_and_metrics(harness: Driver) -> None:
    await harness.ask("/ask why")
    await harness.slack.wait_for(1)
    await harness.wait_until_settled(1)

    async with harness.session.get(f"{harness.url}/healthz") as response:
        assert response.status == 200
    assert await harness.wait_until_ready() == {"database": True, "worker": True, "providers": {}, "audit": True}
    async with harness.session.get(f"{harness.url}/metrics") as response:
        page = await response.text()
    assert 'questions_settled_total{command="ask",state="answered"} 1.0' in page
    assert 'provider_attempts_total{provider="Perplexity",result="ok"} 1.0' in page
    assert "why" not in page


async def test_looks_at_the_health_take_no_connection_from_questions(harness: Driver, database: str) -> None:
    async def looks(page: str) -> int:
        async with harness.session.get(f"{harness.url}/{page}") as response:
            return response.status

    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("LOCK TABLE attempts")
        looking = [asyncio.create_task(looks(page)) for page in ("readyz", "metrics") * 10]
        await asyncio.sleep(0.2)

        async with asyncio.timeout(3):  # Slack's limit
            assert "Searching" in (await harness.ask("/ask why"))["text"]

    assert set(await asyncio.gather(*looking)) <= {200, 503}


async def test_the_playground_is_not_served_with_a_real_slack(harness: Driver) -> None:
    async with harness.session.get(f"{harness.url}/playground") as response:
        assert response.status == 404


async def test_a_very_long_answer__every_word_arrives_in_order_in_numbered_messages(harness: Driver) -> None:
    words = [f"w{number}" for number in range(12_000)]
    body = json.loads(fixture("agent.200.json"))
    paragraphs = [" ".join(words[i : i + 60]) + " [1]." for i in range(0, len(words), 60)]
    body["output"][1]["content"][0]["text"] = "\n\n".join(paragraphs)
    harness.perplexity.script("/v1/agent", json_reply(body))

    await harness.ask("/ask tell me everything")

    def parts() -> list[int]:
        return [place for place, post in enumerate(harness.slack.posts) if "Part 1 of " in post.shown_text]

    await harness.slack.wait_until(lambda: bool(parts()))
    (before,) = parts()  # on a busy machine it says first how long it has been searching
    (total,) = map(int, re.findall(r"Part 1 of (\d+)", harness.slack.posts[before].shown_text))
    posts = (await harness.slack.wait_for(before + total))[before:]

    shown = [b["text"] for post in posts for b in post.payload["blocks"] if b["type"] == "markdown"]
    assert re.findall(r"w\d+", " ".join(shown)) == words
    uses = 5 - before  # of those that Slack allows of a response_url
    assert [post.method for post in posts] == ["response_url"] * uses + ["chat.postMessage"] * (total - uses)
    assert harness.slack.refusals == []
