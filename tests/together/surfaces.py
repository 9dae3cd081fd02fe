"""Every place in which text from outside is shown, filled with it, and which links may be there.

A surface takes hostile texts, a few at a time, and yields what it shows with the addresses that it may link to.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice
from urllib.parse import urlencode
from uuid import UUID

import pytest

from bot.blocks.answer import (
    Below,
    answer_actions,
    answer_messages,
    answer_progress_message,
    growing_message,
    progress_line_message,
    stopped_message,
    writing_message,
)
from bot.blocks.escaping import one_line
from bot.blocks.growing import StreamedText
from bot.blocks.messages import (
    as_direct_message,
    asked_message,
    failure_message,
    late_message,
    question_stopped_message,
)
from bot.blocks.sources import news_messages, results_messages
from bot.commands.ask import ASK
from bot.commands.conversation import BEGIN, END, take_next_questions
from bot.commands.help import help_overview, text_message, too_many_open_message, usage_message
from bot.errors import UsageError
from bot.features import ANSWER_PARTS, COMMANDS
from bot.features.ask_about import question_view
from bot.features.checking import _Message, checked_message, claims_messages, claims_view, reading_view
from bot.features.deepdive import deepdive_messages, deepdive_progress_message, deepdive_started_message
from bot.features.digests.model import Created, Digest, DigestAction, DigestList, DigestReport, Trigger, Updated
from bot.features.digests.rendering import digest_failed_message, digest_messages, digest_result_message
from bot.features.digests.rendering import home_blocks as digest_blocks
from bot.features.home.page import answer_blocks, home_blocks
from bot.features.home.store import HomeData, Recent, RunningQuestion
from bot.features.saving.document import result_file
from bot.features.settings.surface import settings_message, settings_view
from bot.features.sharing.preview import SharedAnswer, _Opened, share_view, shared_messages
from bot.listeners.clicks import markdown_file
from bot.model.message import Audience, OutgoingMessage
from bot.model.question import (
    AnswerButtons,
    ChannelSettings,
    Choice,
    KeptResult,
    PersonSettings,
    Preferences,
    Result,
    SearchPage,
)
from bot.preferences import load_channel, load_person
from bot.privacy.sent_requests import SentRequests
from bot.slack.users import Management
from bot.views.ask import ask_view
from bot.views.sent import sent_blocks
from bot.views.sources import sources_view
from perplexity.claims.types import CheckedClaim, CheckedClaims, ProposedClaims, Verdict
from perplexity.cli.output import as_json, claim_lines, format_answer, format_results
from perplexity.deepdive.report import as_document, assemble
from perplexity.deepdive.types import DeepDive, Stage, StageResult, StageUpdate
from perplexity.filters import Filters
from perplexity.mcp_server.tools import pages_text, response_text
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary
from perplexity.sanitize import format_pages
from perplexity.scope import SentRequest
from perplexity.types import Answer, AnswerKind, Passage, Query, SearchResults, Source
from perplexity.urls import safe_url
from tests.fakes.judge import harms_of_markdown, harms_of_plain_text, harms_of_tool_result
from tests.fakes.shown import Harms, of_messages, of_view
from tests.fakes.time import SATURDAY
from tests.features.digests.examples import OWNER, make_spec
from tests.together.admin_surfaces import admin_figures, admin_home, printed_for_operators

pytestmark = pytest.mark.features(
    "ask_about", "budgets", "checking", "deepdive", "digests", "home", "limits", "saving", "settings", "sharing"
)

AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
ID = UUID(int=7)

Surface = Callable[[Sequence[str]], Harms]


def pages(texts: Sequence[str]) -> tuple[Source, ...]:
    """Return pages whose titles, excerpts and dates are the texts; their addresses are plain."""
    return tuple(
        Source(number=n, title=text, url=f"https://s{n}.example/p", snippet=text, date=text)
        for n, text in enumerate(texts, 1)
    )


def addresses(sources: Iterable[Source]) -> set[str]:
    return {source.url for source in sources}


PLAIN = (
    Source(number=1, title="One", url="https://docs.python.org/3/"),
    Source(number=2, title="Two", url="https://s2.example/p"),
)


def answers(texts: Sequence[str], *, sources: tuple[Source, ...] = PLAIN) -> Iterator[Answer]:
    for text in texts:
        yield Answer(text=text, sources=sources, provider=text, model=text, notes=(text,), as_of=text, incomplete=text)


def an_answer(texts: Sequence[str]) -> Harms:
    for answer in answers(texts):
        yield from of_messages(answer_messages(answer, audience=Audience.ASKER), addresses(PLAIN))


def direct_messages(texts: Sequence[str]) -> Harms:
    """An answer that could not be posted where it was asked for: it quotes the question."""
    answer = next(answers(texts))
    for message in answer_messages(answer, audience=Audience.CHANNEL):
        for text in texts:
            direct = as_direct_message(message, part=0, question=text, public=True, age=300.0)
            yield from of_messages([direct], addresses(PLAIN))


def sources_of_an_answer(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    answer = Answer(text="It is so.[1] And so.[2]", sources=listed, provider="P")
    yield from of_messages(answer_messages(answer, audience=Audience.ASKER, question=texts[0]), addresses(listed))


def passages(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    found = tuple(Passage(text=text, source=n) for n, text in enumerate(texts, 1))
    answer = Answer(text=" ".join(texts), sources=listed, provider="P", kind=AnswerKind.PASSAGES, passages=found)
    yield from of_messages(answer_messages(answer, audience=Audience.CHANNEL), addresses(listed))


def results(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    found = SearchResults(results=listed, provider=texts[0], notes=tuple(texts))
    filters = Filters(domains=tuple(texts[:2]), languages=tuple(texts[2:3]))
    query = Query(text=texts[0], filters=filters)
    yield from of_messages(results_messages(found, query=query, audience=Audience.ASKER), addresses(listed))
    empty = SearchResults(results=(), provider="P")
    yield from of_messages(results_messages(empty, query=query, audience=Audience.ASKER))


def _stories(texts: Sequence[str]) -> tuple[tuple[Story, ...], set[str]]:
    listed = pages(texts)
    stories = tuple(
        Story(headline=one.title, source=one, sentence=one.title, date=date(2026, 11, 20), others=listed[:2])
        for one in listed
    )
    return stories, addresses(listed)


def _summary(texts: Sequence[str], stories: tuple[Story, ...]) -> NewsSummary:
    return NewsSummary(
        stories=stories, provider=texts[0], made_at=AT, category="technology", topic=texts[0], notes=tuple(texts)
    )


def news(texts: Sequence[str]) -> Harms:
    stories, allowed = _stories(texts)
    made = _summary(texts, stories)
    yield from of_messages(news_messages(made, filters=Filters()), allowed)


def _digest(text: str) -> Digest:
    return Digest(
        id=ID, number=2, owner=OWNER, channel_id="C1", spec=replace(make_spec(), topic=text), next_at=SATURDAY
    )


def digests(texts: Sequence[str]) -> Harms:
    stories, allowed = _stories(texts)
    for text in texts[:2]:
        digest = _digest(text)
        report = DigestReport(
            digest=digest,
            trigger=Trigger.SCHEDULED,
            earliest_slot=SATURDAY,
            slot=SATURDAY,
            now=SATURDAY,
            summary=_summary(texts, stories),
            stories=stories,
        )
        yield from of_messages(digest_messages(report), allowed)
        for told in (
            Created(digest=digest),
            DigestList(digests=[digest]),
            Updated(action=DigestAction.PAUSE, digest=digest),
        ):
            yield from of_messages([digest_result_message(told, command="/pplx watch", channel="C1")])
        failed = digest_failed_message(subject=text, digest_id=ID, sentence=text, reference="r")
        yield from of_messages([failed])


def _dive(texts: Sequence[str]) -> tuple[DeepDive, set[str]]:
    listed = pages(texts)
    text = "\n\n".join(f"{one.title} [{one.number}]" for one in listed)
    finding = StageResult(stage=Stage.SITUATION, text=text, sources=listed, notes=tuple(texts), stand_in=texts[0])
    pulse = StageResult(stage=Stage.PULSE, failure=texts[0])
    analysis = StageResult(stage=Stage.ANALYSIS, text=texts[-1], at="2026-11-21T12:00:00+00:00")
    return assemble(texts[0], finding, pulse, analysis, persona="Nikki"), addresses(listed)


def deep_dives(texts: Sequence[str]) -> Harms:
    dive, allowed = _dive(texts)
    yield from of_messages(deepdive_messages(dive, audience=Audience.CHANNEL), allowed)
    yield from of_messages([deepdive_started_message(texts[0], question_id="7", public=True)])
    stages = {Stage.SITUATION: StageUpdate(stage=Stage.SITUATION, started=0.0, result=dive.stages[0])}
    yield from of_messages([deepdive_progress_message(texts[0], stages, question_id="7", clock=9.0, now=AT)])


def checks(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    checked = tuple(
        CheckedClaim(
            claim=one.title,
            verdict=Verdict.DISAGREE,
            quote=one.title,
            source=one,
            other_quote=one.title,
            other_source=one,
            reason=one.title,
        )
        for one in listed
    )
    made = CheckedClaims(claims=checked, searched_by=texts[0], judged_by=texts[0], notes=tuple(texts))
    yield from of_messages(claims_messages(made), addresses(listed))


def notices(texts: Sequence[str]) -> Harms:
    """Failures, placeholders, help and lists, which quote what a person typed or a service said."""
    makers: Sequence[Callable[[str], OutgoingMessage]] = (
        lambda text: failure_message(text, reference="r", question_id="7"),
        lambda text: question_stopped_message(text, question_id="7"),
        lambda text: asked_message(text, about=text),
        text_message,
        lambda text: help_overview(COMMANDS, slash="/pplx", unknown=text, closest="ask"),
        lambda text: usage_message(ASK, UsageError(text), slash="/ask"),
        lambda text: ASK.pending_message(ASK.parse(f"-- {text or 'x'}"), question_id="7"),
    )
    # Each takes its turn; all of them escape alike.
    yield from of_messages(make(text) for make, text in zip(makers, [*texts, *texts], strict=False))
    yield from of_messages([too_many_open_message([("ask", text, 5.0) for text in texts])])


def refused_options(texts: Sequence[str]) -> Harms:
    """What each command says of an option or a value that it does not take."""
    for number, text in enumerate(texts):
        lines = (
            text,
            f"--{text}",
            f"--recency {text} why",
            f"--domain {text} why",
            f"set {text} {text}",
            f"user {text}",
        )
        for command in COMMANDS:
            try:
                command.parse(lines[number % len(lines)])
            except UsageError as error:
                yield from of_messages([usage_message(command, error, slash="/pplx")])


def progress(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    for start in range(0, len(texts), 3):
        queries = texts[start : start + 3]
        shown = (
            answer_progress_message(queries, listed, seconds=3.0, question_id="7"),
            answer_progress_message(queries, (), seconds=3.0, question_id="7"),
            progress_line_message(queries, listed, question_id="7"),
            writing_message(queries, listed, question_id="7"),
        )
        yield from of_messages(shown, addresses(listed))


def streams(texts: Sequence[str]) -> Harms:
    """An answer while it is written: its text comes in small pieces, and cut in two in a few places."""
    for text in texts:
        chance = random.Random(len(text))  # noqa: S311 - where a text is cut is no secret
        places = [chance.randrange(1, max(2, len(text)))]
        step = 3 if len(text) < 60 else 23
        cuts = [[text[:place], text[place:]] for place in places]
        for pieces in [*cuts, [text[at : at + step] for at in range(0, len(text), step)]]:
            yield from _streamed(pieces, text)


def _streamed(pieces: Sequence[str], text: str) -> Harms:
    streamed, shown, judged = StreamedText(), "", ""
    streamed.add_sources(PLAIN)
    for piece in pieces:
        streamed.feed(piece)
        if first := streamed.first_sentences():
            yield from of_messages([growing_message(first, question=text, question_id=str(ID))], addresses(PLAIN))
        shown += "".join(iter(streamed.take, ""))
        if shown != judged:
            yield harms_of_markdown(shown, addresses(PLAIN))
            judged = shown
    yield from of_messages(
        [stopped_message(shown, Answer(text=text, sources=PLAIN, provider="P"), question_id=str(ID))], addresses(PLAIN)
    )
    streamed.finish(Answer(text=text, sources=PLAIN, provider="P"))
    yield harms_of_markdown(shown + "".join(iter(streamed.take, "")), addresses(PLAIN))


def shares(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    text = "\n\n".join(f"## {one.title}\n\n{one.title} [{one.number}]" for one in listed)
    shared = SharedAnswer(
        result=Answer(text=text, sources=listed, provider="P"), query=Query(text=texts[0]), by=texts[0], asked=60.0
    )
    found = SearchPage(results=SearchResults(results=listed, provider="P"))
    opened = _Opened(question=ID, by=texts[0], asked=60, channel="general", response_url="", posts_there=True)
    for one in (shared, replace(shared, result=found)):
        yield from of_messages(shared_messages(one, None, comment=texts[0]), addresses(listed))
        view = share_view(one, opened)
        assert view is not None
        yield from of_view(view, addresses(listed))


def modals(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    answer = Answer(text="So. [1] 5 % [2]", sources=listed, provider="P", queries=tuple(texts))
    kept = KeptResult(question_id=ID, command="ask", text=texts[0], result=answer, asked_at=AT, limits=tuple(texts))
    page = SearchPage(results=SearchResults(results=listed, provider="P"))
    yield from of_view(sources_view(kept, answer, channel="C1"), addresses(listed))
    yield from of_view(question_view(page, {}), addresses(listed))
    messages = answer_messages(answer, audience=Audience.ASKER)
    yield from of_view({"type": "modal", "blocks": answer_blocks(messages)}, addresses(listed))
    for text in texts[::2]:
        named = _Message(text=text, author=text, channel="C1", channel_name=text, ts="1.2", link="")
        yield from of_view(reading_view(named))
        yield from of_view(claims_view(named, ProposedClaims(claims=(text,), from_model=True)))
        yield from of_messages([checked_message(named.metadata)])
    for text in texts[1::2]:
        chosen = Choice(command="ask", options={"--domain": text})
        yield from of_view(ask_view(COMMANDS, chosen, metadata={}, about=text))
        yield from of_view({"type": "modal", "blocks": answer_blocks([_only(text)])}, addresses(PLAIN))


def _only(text: str) -> OutgoingMessage:
    (message,) = answer_messages(Answer(text=text, sources=PLAIN, provider="P"), audience=Audience.ASKER)[:1]
    return message


def home(texts: Sequence[str]) -> Harms:
    ids = [str(UUID(int=n)) for n in range(len(texts))]
    recent = [Recent(id=one, command="ask", text="", state="answered", at=1e9, sources=1, kept=True) for one in ids]
    running = [RunningQuestion(id=one, command="ask", text="", state="working", age=3.0) for one in ids]
    blocks = home_blocks(
        HomeData(running=running, recent=recent),
        texts=dict(zip(ids, texts, strict=True)),
        sections=digest_blocks([_digest(text) for text in texts]),
        slash="",
    )
    yield from of_view({"type": "home", "blocks": blocks}, {"C1"})


def preferences(texts: Sequence[str]) -> Harms:
    """Settings whose rows in the database hold anything: what cannot be used is dropped, the rest is shown."""
    for text in texts[:2]:
        person = PersonSettings(model=text, language=text, domains=(text,))
        channel = ChannelSettings(model=text, allow=(text,), deny=(text,), askers=text)
        saved = {name: value for name, value in vars(person).items() if value is not None}
        loaded = Preferences(
            person=load_person(saved), channel=load_channel({"allow": [text], "deny": [text], "askers": text})
        )
        yield from of_messages(
            [settings_message(Preferences(person=person, channel=channel), in_channel=True, slash="/pplx", note=text)]
        )
        yield from of_view(settings_view(loaded, "C1", Management.ALLOWED))


def what_was_sent(texts: Sequence[str]) -> Harms:
    """The view of what left for an answer, in which a body may hold anything that a person or a page wrote."""
    encoded = [text.encode("utf-8", "replace").decode() for text in texts]
    requests = [
        SentRequest(
            service=text, path=f"/{text}?{urlencode({'q': text})}", body=json.dumps({text: [text, {"a": text}]}), at=1e9
        )
        for text in encoded
    ]
    yield from of_view(
        {"type": "modal", "blocks": sent_blocks(SentRequests(requests=tuple(requests), left_out={"email": 2}))}
    )


def questions_to_choose(texts: Sequence[str]) -> Harms:
    """Questions that a model or the person wrote, on buttons; and one that came too late."""
    for text in texts:
        answer = take_next_questions(
            Answer(text=f"So.\n{BEGIN}\n1. W{text}\n2. X{text}\n3. Y{text}\n{END}", sources=(), provider="P")
        )
        buttons = AnswerButtons(next_questions=answer.next_questions)
        row = answer_actions(Below(buttons=buttons, question_id=ID, private=True), ANSWER_PARTS)
        yield from of_messages([OutgoingMessage(text="So.", blocks=row), late_message(text, 9_000.0, question_id="7")])


def files(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    dive, allowed = _dive(texts)
    report = markdown_file(texts[0], beginning="deep-dive", title=texts[0], content=as_document(dive))
    yield harms_of_markdown(report.content, allowed, bare_hosts=False)
    results_page = SearchPage(results=SearchResults(results=listed, provider=texts[0], notes=tuple(texts)))
    made: list[tuple[Result, set[str]]] = [(one, addresses(PLAIN)) for one in answers(texts)]
    for result, known in [(results_page, addresses(listed)), *made]:
        file = result_file(result, question=texts[0], asked_at=AT)
        yield harms_of_markdown(file.content, known, bare_hosts=False)
        yield harms_of_plain_text(one_line(file.title))
        assert file.name.replace("-", "").replace(".", "").replace("_", "").isalnum(), file.name


def command_line(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    found = SearchResults(results=listed, provider=texts[0], notes=tuple(texts))
    shown = [format_results(found, ()), as_json(found)]
    for text, answer in zip(texts, answers(texts, sources=listed), strict=True):
        checked = CheckedClaim(
            claim=text,
            verdict=Verdict.DISAGREE,
            quote=text,
            source=listed[0],
            other_quote=text,
            other_source=listed[-1],
            reason=text,
        )
        shown += [format_answer(answer, ()), as_json(answer), "\n".join(claim_lines(checked))]
    for one in shown:
        yield harms_of_plain_text(one)


def mcp(texts: Sequence[str]) -> Harms:
    listed = pages(texts)
    found = SearchResults(results=listed, provider="P", notes=())
    yield harms_of_tool_result(pages_text(found))
    head, *lines, foot = format_pages(listed, characters=200).split("\n")
    assert (head, foot) == ("<pages>", "</pages>")
    yield harms_of_tool_result("\n".join(lines))
    for answer in answers(texts, sources=listed):
        yield harms_of_tool_result(response_text(replace(answer, notes=(), as_of="", incomplete=None)))


SURFACES: Mapping[str, Surface] = {
    one.__name__: one
    for one in (
        an_answer, direct_messages, sources_of_an_answer, passages, results, news, digests, deep_dives, checks, notices,
        progress, streams, shares, modals, home, preferences, what_was_sent, questions_to_choose, refused_options,
        admin_home, admin_figures, printed_for_operators, files, command_line, mcp,
    )
}  # fmt: skip
"""Every surface by its name."""


@dataclass(frozen=True, kw_only=True)
class LinkedPage:
    """A page whose address came from outside, on the surfaces that link pages."""

    url: str

    def harms(self) -> Harms:
        """Judge what is linked: the address in its one safe form, or nothing."""
        page = Source(number=1, title="A page", url=self.url, snippet="s")
        safe = {address} if (address := safe_url(self.url)) else set()
        answer = Answer(text="So. [1]", sources=(page,), provider="P")
        found = SearchResults(results=(page,), provider="P")
        yield from of_messages(answer_messages(answer, audience=Audience.ASKER), safe)
        yield from of_messages(results_messages(found, query=Query(text="q"), audience=Audience.ASKER), safe)
        story = Story(headline="H", source=page, others=(page,))
        yield from of_messages(news_messages(_summary(["P"], (story,)), filters=Filters()), safe)
        file = result_file(answer, question="q", asked_at=AT)
        yield harms_of_markdown(file.content, safe, bare_hosts=False)


every_ninth_or_all = pytest.mark.parametrize(
    "step", [pytest.param(9, id="every ninth"), pytest.param(1, id="all", marks=pytest.mark.rare)]
)
"""Has a test fill a surface with every ninth of its texts, and in `make rare` with all."""


def some_of(texts: Mapping[str, str], surface: str, step: int) -> dict[str, str]:
    """Return one text in `step`; the surfaces begin with different texts, so that each text is on some of them."""
    return dict(islice(texts.items(), list(SURFACES).index(surface) % step, None, step))


def judged(surface: Surface, texts: Mapping[str, str], *, at_once: int = 6) -> dict[str, list[str]]:
    """Return the harms of a surface by the names of the texts that it was filled with."""
    found: dict[str, list[str]] = {}
    listed = list(texts.items())
    for start in range(0, len(listed), at_once):
        group = listed[start : start + at_once]
        harms = [harm for one in surface([text for _, text in group]) for harm in one]
        if harms:
            found[", ".join(name for name, _ in group)] = harms[:5]
    return found
