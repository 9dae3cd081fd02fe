"""A search service gets the question, its thread and the filters, and nothing of the person or the place."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from bot.privacy.sent_requests import load_sent
from bot.settings import Settings
from bot.slack.scopes import CHANNEL_HISTORY
from tests.docs.pages import is_here
from tests.driver import KEY, Driver
from tests.fakes.all_services import Services, services, with_all_services
from tests.fakes.person import BOT_USER
from tests.fakes.rows import SENT
from tests.fakes.slack import BOT_TOKEN, FakeSlack

pytestmark = pytest.mark.trust(25)

__all__ = ["services"]

ASKER, OTHER = "UCANARY1", "UCANARY2"
NAME, EMAIL, PLACE = "Canary Personname", "canary@person.example", "CCANARY"
CANARIES = (ASKER, OTHER, NAME, EMAIL, PLACE, BOT_USER, BOT_TOKEN, "DUCANARY", "response_url", "/respond/")


@pytest.fixture
def settings(settings: Settings, services: Services, slack: FakeSlack) -> Settings:
    slack.workspace.scopes += [scope.name for scope in CHANNEL_HISTORY]
    for user in (ASKER, OTHER):
        slack.workspace.profiles[user] = {
            "name": "canary",
            "real_name": NAME,
            "profile": {"email": EMAIL, "real_name": NAME},
        }
    return with_all_services(settings, services).model_copy(update={"thread_history": "full", "next_questions": True})


COMMANDS = tuple(
    filter(
        is_here,
        (
            "/ask why is the sky blue",
            "/ask --reasoning --public --domain a.example why",
            "/ask --agent why is grass green",
            "/ask --model high how",
            "/search --recency week why",
            "/news tech",
            "/deepdive heat pumps",
        ),
    )
)


async def test_nothing_of_the_person_leaves_with_any_command(harness: Driver, services: Services) -> None:
    person = replace(harness.person, user=ASKER)
    own = replace(harness, person=person)
    answers = [await own.answered(line) for line in COMMANDS]
    await own.as_user(ASKER).click(answers[0], "more", "go_deeper")
    await own.as_user(ASKER).click(answers[0], "more", "regenerate")
    harness.slack.write(
        OTHER, f"I think it is blue, <@{OTHER}>, see <#{PLACE}|>", ts="1795255200.000000", thread_ts="1795255200.000000"
    )
    for ts, text in (
        ("1795255201.000100", f"who is right, <@{ASKER}> or <@{OTHER}>"),
        ("1795255202.000100", "and why"),
    ):
        await own.mention(text, ts=ts, thread_ts="1795255200.000000", id=f"Ev{ts}")
        await own.send_direct_message(text, channel=f"D{ASKER}", ts=ts, id=f"Im{ts}")
        await harness.wait_until_settled(len(COMMANDS) + 2)
    await harness.wait_until_settled(len(COMMANDS) + 6)

    received = [body for _, _, body in services.received()] + [json.dumps(one) for one in services.model.requests]
    headers = [str(one.headers) for fake in (services.perplexity, services.posts) for one in fake.served]
    assert len(received) >= len(COMMANDS) + 6
    assert any("I think it is blue" in body for body in received)
    leaked = [canary for canary in CANARIES for sent in (*received, *headers) if canary in sent]
    assert leaked == []


async def test_perplexity_is_asked_not_to_store_unless_a_restart_must_resume_it(
    harness: Driver, services: Services
) -> None:
    for line in COMMANDS:
        await harness.answered(line)

    bodies = [one.json for one in services.perplexity.requests if one.path == "/v1/agent" and one.method == "POST"]
    assert {(bool(body.get("background")), body.get("store", True)) for body in bodies} == {
        (False, False),
        (True, True),
    }
    assert all(not one.json.get("store", False) for one in services.posts.requests if one.json)


async def sent_requests(harness: Driver) -> Counter[tuple[str, str, str]]:
    """Return how often each request was sent, by what is kept with the questions."""
    rows = await harness.records(SENT)
    requests = [request for row in rows for request in load_sent(row["sent"]).requests]
    return Counter((one.service, one.path, one.body) for one in requests)


def number(line: str, place: int) -> str:
    """Return a line that no other question has."""
    return f"{line} {place}" if not line.startswith(("/news", COMMANDS[-1])) else line


@pytest.mark.parametrize("questions", [125, pytest.param(500, marks=pytest.mark.rare)])
async def test_what_is_kept_as_sent_is_what_the_services_received(
    harness: Driver, services: Services, questions: int
) -> None:
    """By command: every request that left, word for word, and no other."""
    services.perplexity.fail("/v1/agent", status=503, body={"error": {"message": "busy"}})
    lines = ["/ask why", "/ask why", "/search what", "/ask --reasoning --domain a.example é", "/news tech"]
    lines = lines * 24 + ["/ask --agent how"] * 3 + [COMMANDS[-1]] * 2
    lines *= questions // len(lines)
    for place, line in enumerate(lines):
        own = replace(harness, person=replace(harness.person, user=f"U{place % 50}"))
        await own.ask(number(line, place), trigger=f"t{place}")
    await harness.wait_until_settled(questions)

    kept, received = await sent_requests(harness), Counter(services.received())
    model_host = services.model.base_url.split("//")[1].split(":")[0]
    model = Counter(json.dumps(one, sort_keys=True) for one in services.model.requests)
    kept_model = Counter(
        {
            json.dumps(json.loads(body), sort_keys=True): count
            for (host, path, body), count in kept.items()
            if (host, path) == (model_host, "/v1/chat/completions")
        }
    )
    assert len(lines) == questions
    assert kept_model == model
    assert Counter({one: count for one, count in kept.items() if one[1] != "/v1/chat/completions"}) == received
    assert sum(received.values()) > questions
    assert KEY not in str(kept)


async def test_the_asker_and_no_one_else_sees_what_was_sent(harness: Driver, services: Services) -> None:
    answer = await harness.answered("/ask --domain a.example why is the sky blue")
    assert await harness.as_user("U2").told(answer, "more", "sent") == "Only the person who asked can use this button."
    assert await harness.told(answer, "more", "sent") == ""

    shown = json.dumps(harness.slack.modal("U1").blocks, ensure_ascii=False)
    (request,) = services.perplexity.requests
    assert "why is the sky blue" in shown
    assert "/v1/agent" in shown
    assert "127.0.0.1" in shown
    assert "a.example" in shown
    for text in (request.json["instructions"], request.json["model"]) if "instructions" in request.json else ():
        assert json.dumps(text, ensure_ascii=False)[1:-1] in shown


BELOW = ("/news tech", "/deepdive heat pumps", "/pplx check The sky is blue.")


@pytest.mark.parametrize("line", [line for line in BELOW if is_here(line)])
async def test_what_was_sent_is_below_every_answer(harness: Driver, services: Services, line: str) -> None:
    answer = await harness.answered(line)
    assert await harness.told(answer, "more", "sent") == ""

    shown = json.dumps(harness.slack.modal("U1").blocks, ensure_ascii=False)
    assert services.received()
    assert all(path in shown for _, path, _ in services.received())


async def test_what_asks_no_service_has_no_such_menu(harness: Driver) -> None:
    harness.slack.workspace.admins.add("U1")
    for line in filter(is_here, ("/pplx status", "/pplx settings channel", "/pplx watch list")):
        answer = await harness.answered(line)
        assert "overflow" not in json.dumps(answer), line


async def test_an_answer_for_which_nothing_left_says_so(harness: Driver) -> None:
    answer = await harness.answered("/ask why")
    await harness.execute("DELETE FROM sent_requests")

    assert "I sent nothing to a search service" in await harness.told(answer, "more", "sent")
