"""One of each kind of message and view that the app makes: what `bot/doctor/samples.jsonl` holds for Slack to check.

`python -m tests.together.test_samples` writes that file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bot.blocks.answer import (
    Below,
    answer_actions,
    answer_messages,
    answer_progress_message,
    stopped_message,
    with_actions,
)
from bot.blocks.elements import REST, button
from bot.blocks.escaping import sanitize_message, sanitize_view
from bot.blocks.examples import greeting_message
from bot.blocks.messages import failure_message
from bot.blocks.sources import news_messages, results_messages
from bot.blocks.status import status_message
from bot.commands.help import help_message
from bot.features import ANSWER_PARTS, COMMANDS, data_requests
from bot.features.ask_about import question_view
from bot.features.budgets.command import budgets_section, budgets_view, spending_message
from bot.features.checking import _Message, claims_messages, claims_view
from bot.features.deepdive import deepdive_messages, deepdive_started_message
from bot.features.digests.model import Digest, DigestReport, DigestSpec, Owner, Trigger
from bot.features.digests.rendering import digest_failed_message, digest_messages, workspace_blocks
from bot.features.digests.rendering import home_blocks as digest_blocks
from bot.features.digests.surface import digest_view
from bot.features.feedback import feedback_view
from bot.features.home.admin import admin_blocks
from bot.features.home.page import home_blocks
from bot.features.home.store import AdminData, HomeData, Recent, RunningQuestion, Use, WorkspaceUse
from bot.features.limits import NAMES, Limit, limits_message, limits_section, limits_view
from bot.features.settings.surface import SETTINGS_BUTTON, settings_message, settings_view
from bot.features.sharing.preview import SharedAnswer, _Opened, share_view, shared_messages
from bot.model.admin import ProviderStats
from bot.model.membership import current_scope
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import AnswerButtons, Choice, KeptResult, Preferences, SearchPage
from bot.model.schedule import WEEKDAYS, Schedule
from bot.model.spending import NO_BUDGETS, NO_SPENDING
from bot.privacy.sent_requests import SentRequests
from bot.slack.users import Management
from bot.slack.views import View
from bot.translation import LANGUAGES, speaking
from bot.views.ask import ask_view
from bot.views.base import modal
from bot.views.sent import sent_blocks
from bot.views.sources import sources_view
from fake_slack.limits import check_message, check_view
from perplexity.claims.types import CheckedClaim, CheckedClaims, ProposedClaims, Verdict
from perplexity.deepdive.types import DeepDive, Stage, StageResult
from perplexity.filters import NO_FILTERS
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary
from perplexity.scope import SentRequest
from perplexity.types import Answer, AnswerKind, Passage, Query, SearchResults, Source, Usage
from perplexity.x_posts.types import Sentiment
from tests.fakes.spoken import missing_words

pytestmark = pytest.mark.features(
    "ask_about",
    "budgets",
    "checking",
    "data_requests",
    "deepdive",
    "digests",
    "feedback",
    "home",
    "limits",
    "saving",
    "settings",
    "sharing",
)


_ID, _PERSON, _CHANNEL = UUID(int=1), "U012AB3CD", "C012AB3CD"
_NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
_TEXT = "# Example\n\nAn **example** of 12 %[1].\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n```python\nprint()\n```"
_SOURCE = Source(
    number=1, title="Example", url="https://example.com/", snippet="An example of 12 %.", date="2026-01-02"
)
_ANSWER = Answer(text=_TEXT, sources=(_SOURCE,), provider="Perplexity", usage=Usage(cost_usd=0.001), effort="fast")
_PAGES = SearchResults(results=(_SOURCE,), provider="Perplexity")
_STORY = Story(headline="Example", source=_SOURCE, date=_NOW.date(), sentence="An example.")
_SUMMARY = NewsSummary(stories=(_STORY,), provider="Perplexity", made_at=_NOW, category="technology")
_SPEC = DigestSpec(category="technology", topic="", schedule=Schedule(days=WEEKDAYS, at=time(9), zone="UTC"))
_DIGEST = Digest(
    id=_ID, number=1, owner=Owner(team_id="T1", user_id=_PERSON), channel_id=_CHANNEL, spec=_SPEC, next_at=_NOW
)
_REPORT = DigestReport(
    digest=_DIGEST,
    trigger=Trigger.SCHEDULED,
    earliest_slot=_NOW,
    slot=_NOW,
    now=_NOW,
    summary=_SUMMARY,
    stories=(_STORY,),
)
_DIVE = DeepDive(
    topic="example",
    stages=tuple(
        StageResult(
            stage=stage,
            text=_TEXT,
            provider="Perplexity",
            sentiment=Sentiment(positive=1) if stage is Stage.PULSE else None,
        )
        for stage in Stage
    ),
    sources=(_SOURCE,),
    unused_sources=1,
    dangling=0,
    persona="Nikki",
    made_at=_NOW,
    seconds=60.0,
)
_CLAIM = CheckedClaim(claim="Example.", verdict=Verdict.SUPPORTED, quote="An example of 12 %.", source=_SOURCE)
_LIMITS = {name: Limit(name=name, value=5, own=5, host=5, bounded=False) for name in NAMES}
_SHARED = SharedAnswer(result=_ANSWER, query=Query(text="example"), by="Anna", asked=60.0)
_USE = (Use(name="2026-11-23", count=1, cost=1_000),)
_KEPT = KeptResult(question_id=_ID, command="ask", text="example", result=_ANSWER, asked_at=_NOW)

_LONG = Answer(text="Words. " * 3_000, sources=(), provider="Perplexity")

FILE = Path(__file__).parents[2] / "bot" / "doctor" / "samples.jsonl"


def samples() -> Iterator[dict[str, Any]]:
    """Yield the messages and the views with their kinds, as Slack gets them."""
    for kind, message in _messages():
        sent = sanitize_message(message)
        yield {"kind": kind, "message": {"text": sent.text, "blocks": list(sent.blocks)}}
    for kind, view in _views():
        assert view is not None
        yield {"kind": kind, "view": sanitize_view(view)}


def _messages() -> Iterator[tuple[str, OutgoingMessage]]:
    public, one = Audience.CHANNEL, str(_ID)
    buttons = AnswerButtons(deeper=True, sources=1, next_questions=("And then?",))
    offered = Below(buttons=buttons, question_id=_ID, private=True)
    thumbs = answer_actions(replace(offered, private=False), ANSWER_PARTS)[-1]
    rows = (*answer_actions(offered, ANSWER_PARTS), thumbs)
    passages = Answer(
        text="An example. [1]",
        sources=(_SOURCE,),
        provider="Brave",
        kind=AnswerKind.PASSAGES,
        passages=(Passage(text="An example.", source=1),),
    )
    yield "answer", with_actions(answer_messages(_ANSWER, audience=Audience.ASKER, question="example"), rows)[-1]
    yield "longest answer", answer_messages(_LONG, audience=Audience.ASKER)[0]
    yield "passages", answer_messages(passages, audience=public)[-1]
    yield "results", results_messages(_PAGES, query=Query(text="example"), audience=public)[-1]
    news = news_messages(_SUMMARY, filters=NO_FILTERS)
    below = answer_actions(Below(buttons=AnswerButtons(scheduled=True), question_id=_ID, private=False), ANSWER_PARTS)
    yield "news", with_actions(news, below)[-1]
    yield "small talk", greeting_message()
    yield "deep dive", deepdive_messages(_DIVE, audience=public, file_id=one)[-1]
    yield "deep dive under way", deepdive_started_message("example", question_id=one, public=True)
    yield "check", claims_messages(CheckedClaims(claims=(_CLAIM,), searched_by="Perplexity"))[-1]
    yield "digest", digest_messages(_REPORT)[-1]
    yield "failed digest", digest_failed_message(subject="example", digest_id=_ID, sentence="It failed.", reference="1")
    yield "failure", failure_message("It failed.", reference="1", question_id=one)
    yield "answer under way", answer_progress_message(["example"], [_SOURCE], seconds=2.0, question_id=one)
    yield "stopped answer", stopped_message("An example.", _ANSWER, question_id=one)
    here = replace(_SHARED, language=current_scope().language)
    yield "shared answer", shared_messages(here, None, comment="See this.")[-1]
    yield "settings", settings_message(Preferences(), in_channel=True, slash="/pplx")
    yield "limits", limits_message(_LIMITS.values(), slash="/pplx")
    yield "budgets", spending_message(NO_SPENDING, NO_BUDGETS, slash="/pplx")
    yield "status", status_message([ProviderStats(provider="Perplexity", asked=2, answered=1, p50=1.0, p95=2.0)])
    yield from ((f"help of {command.name}", help_message(command, slash="/")) for command in COMMANDS)


def _views() -> Iterator[tuple[str, View | None]]:
    place = {"url": "https://example.com/", "channel": _CHANNEL, "name": "general"}
    for command in COMMANDS:
        if command.form is not None:
            yield f"form of {command.name}", ask_view(COMMANDS, Choice(command=command.name), metadata=place)
    yield "form about a message", ask_view(COMMANDS, Choice(command="ask"), metadata={}, about="An example.")
    yield "form about results", question_view(SearchPage(results=_PAGES), {"question": str(_ID)})
    yield "form of a digest", digest_view(zone="Europe/Berlin", metadata=place)
    yield "settings", settings_view(Preferences(), _CHANNEL, Management.ALLOWED)
    yield "sources", sources_view(_KEPT, _ANSWER, channel=_CHANNEL)
    yield "feedback", feedback_view(_ID, by_asker=True)
    yield "claims", claims_view(_Message.read({}), ProposedClaims(claims=("An example.",)))
    yield "limits", limits_view(_LIMITS)
    yield "budgets", budgets_view(())
    shared = _Opened(question=_ID, by="Anna", asked=1, channel="general", response_url="", posts_there=True)
    yield "share", share_view(replace(_SHARED, language=current_scope().language), shared)
    request = SentRequest(service="example.com", path="/search", body='{"query": "example"}', at=_NOW.timestamp())
    yield "what was sent", modal("sent_modal", "What was sent", sent_blocks(SentRequests(requests=(request,))))
    running = RunningQuestion(id=str(_ID), command="ask", text="example", state="working", age=2.0)
    recent = Recent(id=str(_ID), command="ask", text="example", state="answered", at=0.0, sources=1, kept=True)
    home = home_blocks(
        HomeData(running=[running], recent=[recent], questions=1, cost=1_000),
        texts={str(_ID): "example"},
        slash="",
        top=[button("Set up a digest", "digest_modal", "home"), button("Settings", SETTINGS_BUTTON, "home")],
        end=data_requests.home_buttons(),
        sections=digest_blocks([_DIGEST]),
    )
    people = (Use(name=_PERSON, count=1, cost=1_000),)
    admin = AdminData(use=WorkspaceUse(days=_USE, people=people))
    sections = [*budgets_section(()), limits_section(_LIMITS.values(), {}, ())]
    page = admin_blocks(admin, sections=sections, end=[*workspace_blocks([_DIGEST])])
    yield "home", {"type": "home", "blocks": [*home, *page]}


def shape(value: object, name: str = "") -> object:
    """Return what Slack checks of a message besides its words."""
    if isinstance(value, dict):
        return {name: shape(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return value if name == "type" else type(value).__name__


def test_the_samples_are_what_the_app_makes() -> None:
    saved, made = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()], list(samples())

    assert [one["kind"] for one in saved] == [one["kind"] for one in made]
    assert shape(saved) == shape(made), "run `python -m tests.together.test_samples`"


def test_the_text_of_each_kind_of_message_says_what_it_shows() -> None:
    left_out = {kind: missing_words(sanitize_message(message)) for kind, message in _messages()}
    shortened = {kind for kind, message in _messages() if message.text.endswith(REST)}

    assert shortened == {"longest answer"}
    assert {kind: words for kind, words in left_out.items() if words and kind not in shortened} == {}


def test_slack_accepts_them_in_every_language() -> None:
    for language in LANGUAGES:
        with speaking(language):
            shown = list(samples())
        for one in shown:
            assert (check_view(one["view"]) if "view" in one else check_message(one["message"])) == [], one["kind"]


if __name__ == "__main__":
    FILE.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in samples()), encoding="utf-8")
