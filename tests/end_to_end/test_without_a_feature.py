"""The app without one feature answers as before: a feature is a leaf."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.feature import Feature
from bot.features import FEATURES
from fake_slack.streams import Ending
from tests.driver import Driver
from tests.fakes.answers import whole_stream
from tests.fakes.perplexity import stream_reply

TS = "1795255200.000100"
TEXT = (
    "**Yes, a heat pump costs less to run** than a gas boiler in most buildings.[1] "
    "The price of electricity decides the rest.[2]\n\n"
    "- It needs a low flow temperature[1]\n- It needs an installer\n\nAsk two of them, and compare their offers."
)


@pytest.fixture(params=FEATURES, ids=lambda feature: feature.name)
def features(request: pytest.FixtureRequest) -> Sequence[Feature]:
    return [feature for feature in FEATURES if feature is not request.param]


async def test_it_answers_commands_mentions_and_streams(harness: Driver) -> None:
    await harness.ask("/search heat pumps", trigger="t1")
    await harness.wait_until_settled(1)
    await harness.ask("/ask do heat pumps pay off?", trigger="t2")
    await harness.wait_until_settled(2)
    assert await harness.mention("<@UBOT> do heat pumps pay off?") == 200
    await harness.wait_until_settled(3)
    harness.perplexity.script("/v1/agent", stream_reply(*whole_stream(TEXT), pause=0.25))
    await harness.send_direct_message("do heat pumps pay off?", ts=TS)
    await harness.wait_until_settled(4)

    assert sorted(await harness.rows("SELECT surface, command, state FROM questions")) == [
        ("im", "ask", "answered"),
        ("mention", "ask", "answered"),
        ("slash", "ask", "answered"),
        ("slash", "search", "answered"),
    ]
    (stream,) = harness.slack.streams("DU1", TS)
    assert stream.ending is Ending.STOPPED
    assert not harness.slack.refusals
