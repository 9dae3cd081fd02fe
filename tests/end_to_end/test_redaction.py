"""What an admin has redacted leaves with no command and in no disguise, and the answer says so."""

from __future__ import annotations

import json

import pytest

from bot.privacy.detectors import KINDS
from bot.settings import Settings, SettingsError, load_settings
from bot.slack.scopes import CHANNEL_HISTORY
from tests.docs.pages import is_here
from tests.driver import Driver
from tests.fakes.all_services import Services, services, with_all_services
from tests.fakes.slack import FakeSlack

pytestmark = pytest.mark.trust(26)

__all__ = ["services"]

SECRETS = {
    "canary.person@example.com": "canary",
    "+49 30 1234567": "1234567",
    "4111 1111 1111 1111": "1111 1111",
    "xoxb-123456789012-canaryKEY": "canaryKEY",
    "ｃａｎａｒｙ@ｅｘａｍｐｌｅ.ｃｏｍ": "ｃａｎａｒｙ",
    "can\u200bary2@example.com": "ary2",
    "PRJ-4711": "4711",
}
"""What is written, and the part of it that must not arrive anywhere."""

TEXT = " or ".join(SECRETS)
LINES = tuple(
    filter(
        is_here,
        (
            f"/ask who is {TEXT}",
            f"/ask --reasoning who is {TEXT}",
            f"/ask --model high who is {TEXT}",
            f"/ask --agent who is {TEXT}",
            f"/search {TEXT}",
            f"/news technology {TEXT}",
            f"/deepdive {TEXT}",
        ),
    )
)
SENTENCE = (
    "1 key, 3 e-mail addresses, 1 card number, 1 phone number and 1 private term were left out of what I sent to "
    "search services."
)


@pytest.fixture
def settings(settings: Settings, services: Services, slack: FakeSlack) -> Settings:
    slack.workspace.scopes += [scope.name for scope in CHANNEL_HISTORY]
    redacted = {"redact": ",".join(KINDS), "redact_patterns": r"PRJ-\d+", "thread_history": "full"}
    return with_all_services(settings, services).model_copy(update=redacted)


def leaked(services: Services) -> list[tuple[str, str]]:
    """Return which part of what was written arrived where; JSON writes what is not ASCII as an escape."""
    bodies = [(path, body) for _, path, body in services.received()]
    bodies += [("/v1/chat/completions", json.dumps(one)) for one in services.model.requests]
    return [
        (path, part)
        for path, body in bodies
        for part in SECRETS.values()
        if part in body or json.dumps(part).strip('"') in body
    ]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split(" who")[0].split(" canary")[0])
async def test_nothing_of_it_leaves_and_the_answer_says_so(harness: Driver, services: Services, line: str) -> None:
    await harness.answered(line)

    assert services.received()
    assert leaked(services) == []
    assert SENTENCE in harness.slack.posts[-1].shown_text


async def test_a_site_with_a_private_name_is_no_filter_that_is_sent(harness: Driver, services: Services) -> None:
    await harness.answered("/ask --domain -PRJ-4711.example,-b.example why")
    assert services.received()
    assert leaked(services) == []
    assert "b.example" in json.dumps([body for _, _, body in services.received()])
    assert "1 private term was left out" in harness.slack.posts[-1].shown_text

    sent = len(services.received())
    await harness.answered("/ask --domain PRJ-4711.example why")
    assert len(services.received()) == sent
    assert "your admin keeps this name from search services" in harness.slack.posts[-1].shown_text


async def test_conversations_and_threads_lose_it_too(harness: Driver, services: Services) -> None:
    ts = "1795255200.000000"
    harness.slack.write("U2", f"write to {TEXT}", ts=ts, thread_ts=ts)
    for number, text in enumerate((f"is {TEXT} right", "and why"), 1):
        await harness.mention(text, ts=f"179525520{number}.000100", thread_ts=ts, id=f"Ev{number}")
        await harness.wait_until_settled(number)

    (first, second) = (one.json for one in services.perplexity.requests)
    assert leaked(services) == []
    assert "write to [e-mail address]" in json.dumps(second)
    assert len(second["input"]) > len(first["input"])


async def test_what_was_sent_shows_the_labels_and_the_counts(harness: Driver) -> None:
    answer = await harness.answered(f"/ask who is {TEXT}")
    assert await harness.told(answer, "more", "sent") == ""

    shown = json.dumps(harness.slack.modal("U1").blocks, ensure_ascii=False)
    assert "who is [e-mail address] or [phone number] or [card number] or [key]" in shown
    assert SENTENCE in shown
    assert "canary.person" not in shown


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("REDACT", "email,names", "REDACT cannot be 'email,names': names is not allowed; it takes key, email, card"),
        ("REDACT_PATTERNS", r"PRJ-( ok", r"REDACT_PATTERNS cannot be 'PRJ-( ok': PRJ-( is not a pattern: missing )"),
        ("REDACT_PATTERNS", r"(?=x)", r"(?=x) is not a pattern"),
        ("REDACT_PATTERNS", r".*", ".* would match everywhere"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_at_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings()

    assert said in str(refused.value)
