"""At the most talkative log level, nothing that anybody wrote and no secret is in the log."""

from __future__ import annotations

from aiohttp import ClientSession

from tests.fakes.perplexity import FakePerplexity
from tests.fakes.person import Person
from tests.fakes.process import DEVELOPMENT, Process
from tests.fakes.slack import BOT_TOKEN, FakeSlack, Fault

SIGNING_CANARY = "canary-signing-5e1f"
KEY_CANARY = "pplx-canary-77aa"
WORDS_CANARY = "canary-words-of-a-person"
ANSWER_WORDS = "Example answer"


async def test_no_text_and_no_secret_is_logged_at_debug(database: str) -> None:
    async with FakeSlack() as slack, FakePerplexity(key=KEY_CANARY) as perplexity, ClientSession() as session:
        process = await Process.start(
            "run",
            options=DEVELOPMENT,
            SLACK_BOT_TOKEN=BOT_TOKEN,
            SLACK_SIGNING_SECRET=SIGNING_CANARY,
            SLACK_API_URL=slack.api_url,
            PERPLEXITY_API_KEY=KEY_CANARY,
            PERPLEXITY_BASE_URL=perplexity.base_url,
            DATABASE_URL=database,
            LOG_LEVEL="DEBUG",
        )
        person = Person(session=session, app_url=process.url, response_url=slack.response_url, secret=SIGNING_CANARY)
        slack.fail("response_url", Fault(status=404, body="used_url"))
        perplexity.fail("/search", status=401, body={"error": {"message": KEY_CANARY, "type": "invalid_api_key"}})
        for number, line in enumerate((f"/ask {WORDS_CANARY}", f"/search {WORDS_CANARY}", f"/ask --{WORDS_CANARY}")):
            async with await person.type_command(line, trigger=str(number)) as response:
                assert response.status == 200
        stranger = Person(session=session, app_url=process.url, response_url=slack.response_url, secret="x")
        async with await stranger.type_command(f"/ask {WORDS_CANARY}") as response:
            assert response.status == 401
        await slack.wait_for(2, seconds=40)
        await process.logs("question.settled", 2)
        await process.terminate()

    everything = "\n".join([*process.log, *process.output])
    found = [c for c in (SIGNING_CANARY, KEY_CANARY, WORDS_CANARY, ANSWER_WORDS, BOT_TOKEN) if c in everything]
    assert found == []
    assert "question.received" in everything
