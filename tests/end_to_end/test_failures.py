"""Whatever fails, a person sees a sentence and a reference, and nothing of the exception or the service."""

from __future__ import annotations

import re

import pytest

from bot.settings import Settings
from tests.driver import Driver
from tests.fakes.perplexity import FakePerplexity, stream_reply
from tests.fakes.service import Fault, json_reply

pytestmark = pytest.mark.trust(11)

CANARY = "Traceback (most recent call last): canary.py http://10.0.0.1/internal"
INSIDE = ("Traceback", "canary", "10.0.0.1", "127.0.0.1", "psycopg", "aiohttp", "Error(", ".py", "0x")
REFERENCE = re.compile(r"[0-9a-f]{4}-[0-9a-f]{4}")

FAULTS: dict[str, Fault] = {
    "an error with a trace": json_reply({"error": {"message": CANARY, "type": CANARY}}, status=500),
    "a refusal": json_reply(
        {"error": {"message": CANARY, "type": "invalid_request_error", "param": CANARY}}, status=400
    ),
    "a page of a proxy": Fault(status=502, chunks=(f"<html>{CANARY}</html>".encode(),), content_type="text/html"),
    "no JSON": Fault(chunks=(b"{" + CANARY.encode(),)),
    "another shape": json_reply([[[CANARY]]]),
    "an error in the stream": stream_reply(b'data: {"type": "error", "message": "' + CANARY.encode() + b'"}\n\n'),
    "a wrong key": json_reply({"error": {"message": CANARY, "type": "authentication_error"}}, status=401),
    "a cut connection": Fault(reset=True),
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    short = dict.fromkeys(("search_chain_seconds", "answer_chain_seconds", "reasoning_chain_seconds"), 1.0)
    return settings.model_copy(update={"providers": "perplexity", **short})


def shown(harness: Driver) -> str:
    return "\n".join(post.shown_text for post in harness.slack.posts)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_failed_question_shows_a_sentence_and_a_reference(
    harness: Driver, perplexity: FakePerplexity, fault: Fault
) -> None:
    perplexity.lasting["*"] = fault
    for line in ("/ask why", "/search why", "/news technology"):
        await harness.answered(line)
    await harness.mention("why")
    await harness.wait_until_settled(4)

    failures = [post.shown_text for post in harness.slack.posts if "Sorry" in post.shown_text]
    assert len(failures) == 4
    assert all(REFERENCE.search(text) for text in failures)
    assert [part for part in INSIDE if part in shown(harness)] == []


async def test_an_error_of_the_app_itself_shows_a_sentence_and_a_reference(harness: Driver) -> None:
    """A table is missing that the answer of an admin's command needs."""
    harness.slack.workspace.profiles["U1"] = {"is_admin": True}
    await harness.execute("DROP TABLE feedback CASCADE")
    await harness.answered("/pplx status")

    assert "Sorry, something went wrong on my side" in shown(harness)
    assert REFERENCE.search(shown(harness))
    assert [part for part in (*INSIDE, "feedback") if part in shown(harness)] == []
