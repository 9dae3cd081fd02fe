"""No text of a question, an answer, a page, a thread, a form or a name is in the log, at any level."""

from __future__ import annotations

import io
import json

import pytest

from bot.logs import FIELDS
from bot.settings import Settings
from bot.slack.scopes import CHANNEL_HISTORY
from tests.docs.pages import is_here
from tests.driver import Driver, actions
from tests.end_to_end.test_no_secret_is_shown import log
from tests.fakes.all_services import Services, services, with_all_services
from tests.fakes.slack import FakeSlack

pytestmark = pytest.mark.trust(10)

__all__ = ["log", "services"]

CANARY = "canarywords"
LINES = (
    f"/ask why {CANARY}",
    f"/ask --reasoning {CANARY}",
    f"/ask --agent {CANARY}",
    f"/ask --{CANARY}",
    f"/search {CANARY}",
    f"/search --domain {CANARY}.example {CANARY}",
    f"/news technology {CANARY}",
    f"/deepdive {CANARY}",
    f"/check {CANARY} is a fact.",
    f'/pplx watch technology "{CANARY}" daily 9:00',
    f"/pplx {CANARY}",
)
OWN = {"time", "level", "logger", "event", "exception", "trace"}


@pytest.fixture
def settings(settings: Settings, services: Services, slack: FakeSlack) -> Settings:
    slack.workspace.scopes += [scope.name for scope in CHANNEL_HISTORY]
    slack.workspace.profiles["U1"] = {"name": CANARY, "real_name": CANARY, "profile": {"email": f"{CANARY}@a.example"}}
    return with_all_services(settings, services).model_copy(update={"thread_history": "full", "next_questions": True})


async def test_no_text_is_logged(log: io.StringIO, harness: Driver, services: Services) -> None:
    services.perplexity.fail("/search", status=400, body={"error": {"message": CANARY, "type": CANARY}})
    answers = [await harness.answered(line) for line in LINES if is_here(line)]
    await harness.click(answers[0], "more", "go_deeper")
    if "share" in actions(answers[0]):
        await harness.click(answers[0], "share")
        await harness.submit(comment=CANARY)
    await harness.click(answers[0], "more", "sent")
    ts = "1795255200.000000"
    harness.slack.write("U2", f"{CANARY} in a thread", ts=ts, thread_ts=ts)
    await harness.mention(f"what of {CANARY}", ts="1795255201.000100", thread_ts=ts, id="Ev-1")
    await harness.send_direct_message(f"what of {CANARY}", ts="1795255202.000100", id="Ev-2")
    async with harness.session.get(f"{harness.url}/{CANARY}?{CANARY}", headers={"X-Canary": CANARY}) as response:
        assert response.status == 404
    async with harness.session.post(f"{harness.url}/slack/events", data=f"text={CANARY}") as response:
        assert response.status == 401
    of_features = [line for line in LINES if line.startswith(("/deepdive", "/pplx watch")) and is_here(line)]
    await harness.wait_until_settled(9 + len(of_features))

    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert {line["event"] for line in lines} >= {"question.received", "question.settled", "answer.kept"}
    assert [line for line in lines if CANARY in json.dumps(line) or "Example answer" in json.dumps(line)] == []
    assert set().union(*lines) <= FIELDS | OWN
