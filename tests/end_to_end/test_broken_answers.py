"""Once text of an answer is visible, nothing is asked again by itself; what was shown stays, and says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from pydantic import SecretStr

from bot.settings import Settings
from tests.driver import Driver, stop_button
from tests.end_to_end.test_streaming import BUSY, SHOWN, TEXT, TS
from tests.fakes import brave
from tests.fakes.answers import KEEP_ALIVE, RUN, beginning, deltas, whole_stream
from tests.fakes.brave import FakeBrave
from tests.fakes.faults import PERPLEXITY
from tests.fakes.perplexity import FakePerplexity, Fault, sse, stream_reply
from tests.fakes.slack import FakeSlack, Post
from tests.fakes.slack import Fault as SlackFault
from tests.rare import one_in
from tests.spending import booked

pytestmark = pytest.mark.trust(24)

AGENT = "/v1/agent"
CHANNELS = {"im": "DU1", "mention": "C1"}
LOST_REPLY = SlackFault(status=0, serve_first=True)
FAILED = {"status": "failed", "error": {"code": "server_error", "message": "Oops"}}


@dataclass(frozen=True, kw_only=True)
class Break:
    """How an answer breaks off: the last events of its stream, and what the app makes of them."""

    events: tuple[bytes, ...] = ()
    reset: bool = False
    hang: bool = False
    error: str
    cost: int | None = None

    def after(self, *chunks: bytes) -> Fault:
        """Return the answer that breaks off behind these events, which are shown by then."""
        quiet = [KEEP_ALIVE] * 25
        return stream_reply(*chunks, *quiet, *self.events, pause=0.05, reset=self.reset, hang=self.hang)


BREAKS = {
    "cut": Break(error="StreamTruncated"),
    "reset": Break(reset=True, error="ConnectionFailed"),
    "failed": Break(events=(sse({"type": "response.failed", "response": {"id": RUN, **FAILED}}),), error="ServerError"),
    "failed, with its cost": Break(
        events=(
            sse(
                {
                    "type": "response.failed",
                    "response": {"id": RUN, **FAILED, "usage": {"cost": {"total_cost": 0.0023}}},
                }
            ),
        ),
        error="ServerError",
        cost=2_300,
    ),
    "429": Break(
        events=(sse({"type": "error", "error": {"type": "rate_limit_exceeded", "code": 429, "message": "slow"}}),),
        error="RateLimitError",
    ),
    "hang": Break(hang=True, error="TimedOut"),
}
CUT = BREAKS["cut"]


@pytest.fixture
async def second(slack: FakeSlack) -> AsyncIterator[FakeBrave]:
    async with FakeBrave() as fake:
        yield fake


@pytest.fixture
def settings(settings: Settings, second: FakeBrave) -> Settings:
    """Return settings with a second service, and with little time for an answer."""
    return settings.model_copy(
        update={
            "providers": "perplexity,brave",
            "brave_api_key": SecretStr(brave.KEY),
            "brave_base_url": second.base_url,
            "answer_chain_seconds": 13.0,
        }
    )


async def rows(harness: Driver, query: str) -> list[dict[str, Any]]:
    return await harness.records(query)


async def ask(harness: Driver, surface: str) -> None:
    send = harness.send_direct_message if surface == "im" else harness.mention
    await send("do heat pumps pay off?", ts=TS)


def asked(perplexity: FakePerplexity) -> int:
    return sum(request.path == AGENT and request.method == "POST" for request in perplexity.requests)


def thread(harness: Driver, surface: str) -> list[Post]:
    return harness.slack.thread(CHANNELS[surface], TS)


def assert_broken_off(message: Post, *, why: str = "the answer broke off") -> None:
    """Check that a message shows the beginning of the answer with its sources, and what the reader can do."""
    assert message.markdown
    assert SHOWN.startswith(message.markdown)
    assert "[[1]](https://a.example/1)" in message.markdown
    assert "<https://a.example/1|a.example>" in message.shown_text
    assert '"action_id": "sources"' in message.shown_text
    assert f"This is only a part: {why}" in message.shown_text
    assert "Try again" in message.shown_text
    assert "Reference `" in message.shown_text
    assert '"stop"' not in message.shown_text
    assert "Sorry" not in message.shown_text


@pytest.mark.parametrize(
    ("broken", "surface"),
    one_in(3, product(BREAKS.values(), CHANNELS)),
    ids=map("-".join, product(BREAKS, CHANNELS)),
)
async def test_after_text_is_visible_nothing_is_asked_again(
    harness: Driver, second: FakeBrave, surface: str, broken: Break
) -> None:
    harness.perplexity.script(AGENT, broken.after(*beginning(), *deltas(TEXT)[:8]))

    await ask(harness, surface)
    await harness.wait_until_settled(1)

    assert (asked(harness.perplexity), len(second.requests)) == (1, 0)
    (message,) = thread(harness, surface)
    assert_broken_off(message, why="I stopped after" if broken.hang else "the answer broke off")
    (row,) = await rows(harness, "SELECT state, outcome, error, cost_usd, result, remembered FROM questions")
    assert (row["state"], row["outcome"], row["error"]) == ("failed", "failed", broken.error)
    kept = row["result"]["answer"]
    assert (kept["provider"], kept["usage"]["cost_usd"]) == ("Perplexity", None if broken.cost is None else 0.0023)
    assert row["remembered"] is None
    (call,) = await booked(harness.database, 1)
    assert (call["state"], call["cost"]) == (
        ("cut", call["reserved"]) if broken.cost is None else ("settled", broken.cost)
    )
    assert not harness.slack.refusals
    assert all(stream.ending for stream in harness.slack.streams(CHANNELS[surface], TS))


@pytest.mark.parametrize("surface", CHANNELS)
async def test_try_again_asks_it_again_in_its_place(harness: Driver, surface: str) -> None:
    harness.perplexity.script(
        AGENT, CUT.after(*beginning(), *deltas(TEXT)[:8]), stream_reply(*whole_stream(TEXT), pause=0.02)
    )
    await ask(harness, surface)
    await harness.wait_until_settled(1)
    ((_, ts),) = [place for place in harness.slack.shown if place[0] == CHANNELS[surface]]
    (question,) = await rows(harness, "SELECT id FROM questions")

    await harness.click_button("retry", str(question["id"]), channel=CHANNELS[surface], message=ts)
    await harness.wait_until_settled(2)

    assert asked(harness.perplexity) == 2
    (message,) = thread(harness, surface)
    assert message.markdown == SHOWN
    assert "broke off" not in message.shown_text


@pytest.mark.parametrize("surface", CHANNELS)
@pytest.mark.parametrize("shown", [beginning(), [*beginning(), *deltas("It is")]], ids=["searches", "half a clause"])
async def test_before_text_is_visible_it_is_asked_again(harness: Driver, surface: str, shown: list[bytes]) -> None:
    harness.perplexity.script(AGENT, CUT.after(*shown), stream_reply(*whole_stream(TEXT), pause=0.02))

    await ask(harness, surface)
    await harness.wait_until_settled(1)

    assert asked(harness.perplexity) == 2
    (message,) = thread(harness, surface)
    assert message.markdown == SHOWN


async def test_what_a_private_command_has_not_shown_is_asked_again(harness: Driver) -> None:
    harness.perplexity.script(
        AGENT, CUT.after(*beginning(), *deltas(TEXT)[:2]), stream_reply(*whole_stream(TEXT), pause=0.02)
    )

    await harness.ask("/ask do heat pumps pay off?")
    await harness.wait_until_settled(1)

    assert asked(harness.perplexity) == 2
    assert harness.slack.posts[-1].markdown == SHOWN
    assert not any("broke off" in post.shown_text for post in harness.slack.posts)


async def test_what_a_private_command_has_shown_stays(harness: Driver, second: FakeBrave) -> None:
    harness.perplexity.script(AGENT, CUT.after(*beginning(), *deltas(TEXT)[:8]))

    await harness.ask("/ask do heat pumps pay off?")
    await harness.wait_until_settled(1)

    assert (asked(harness.perplexity), len(second.requests)) == (1, 0)
    *_, growing, last = harness.slack.posts
    assert "still writing…" in growing.shown_text
    assert last.markdown.startswith(growing.markdown)
    assert_broken_off(last)


@pytest.mark.parametrize(("surface", "method"), [("im", "chat.startStream"), ("mention", "chat.update")])
async def test_text_that_may_have_arrived_counts_as_visible(
    harness: Driver, second: FakeBrave, surface: str, method: str
) -> None:
    harness.slack.fail(method, LOST_REPLY)
    harness.perplexity.script(AGENT, CUT.after(*beginning(), *deltas(TEXT)[:8]))

    await ask(harness, surface)
    await harness.wait_until_settled(1)

    assert (asked(harness.perplexity), len(second.requests)) == (1, 0)
    await harness.slack.wait_until(lambda: len(thread(harness, surface)) == 1)
    (message,) = thread(harness, surface)
    assert_broken_off(message)


@pytest.mark.parametrize("surface", CHANNELS)
async def test_text_that_slack_surely_did_not_take_is_asked_for_again(harness: Driver, surface: str) -> None:
    harness.slack.lasting |= {"chat.startStream": BUSY, "chat.update": BUSY}
    harness.perplexity.script(
        AGENT, CUT.after(*beginning(), *deltas(TEXT)[:8]), stream_reply(*whole_stream(TEXT), pause=0.02)
    )

    await ask(harness, surface)
    await harness.perplexity.wait_for(2)
    harness.slack.lasting.clear()
    await harness.wait_until_settled(1)

    assert asked(harness.perplexity) == 2
    (message,) = thread(harness, surface)
    assert message.markdown == SHOWN


async def test_a_stop_after_the_break_finds_nothing_to_stop(harness: Driver) -> None:
    harness.perplexity.script(AGENT, CUT.after(*beginning(), *deltas(TEXT)[:8]))
    await ask(harness, "im")
    await harness.slack.wait_until(lambda: any('"stop"' in one.shown_text for one in thread(harness, "im")))
    question = next(stop_button(one.payload) for one in thread(harness, "im") if '"stop"' in one.shown_text)
    await harness.wait_until_settled(1)

    await harness.click_button("stop", question, channel="DU1")

    (message,) = thread(harness, "im")
    assert_broken_off(message)


async def test_a_question_that_fails_before_its_answer_is_a_failure_as_always(harness: Driver) -> None:
    harness.perplexity.lasting[AGENT] = PERPLEXITY["401 key"]

    await ask(harness, "im")
    await harness.wait_until_settled(1)

    (message,) = thread(harness, "im")
    assert "broke off" not in message.shown_text
