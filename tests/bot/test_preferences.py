"""Which setting outranks which, and that nothing comes back from outside a channel's sites."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.ask import ASK
from bot.commands.base import Command
from bot.commands.news import NEWS
from bot.commands.search import SEARCH
from bot.errors import UsageError
from bot.model.message import Audience
from bot.model.question import ChannelSettings, PersonSettings, Preferences, Rules, WorkspaceSettings
from bot.preferences import (
    Restricting,
    allows_all,
    are_restricted,
    check_narrows,
    excludes_posts,
    may_ask,
    preferred,
    restrict,
    within_rules,
)
from perplexity.domains import DomainPolicy, filter_answer, filter_results
from perplexity.errors import InvalidRequest
from perplexity.filters import MAX_DOMAINS, Filters, validate
from perplexity.models import EFFORTS, Effort, resolve
from perplexity.steps import SteppedProvider
from perplexity.types import Answer, Done, Message, Query, Question, SearchResults, Source
from tests.fakes.provider import FakeProvider

WHY = (Message(role="user", content="why"),)
HIGH, PUBLIC = PersonSettings(model="high"), PersonSettings(visibility="public")
DEFAULTS = ChannelSettings(model="low", visibility="public", language="de")


def holds(command: Command[Any, Any], text: str, person: PersonSettings, channel: ChannelSettings) -> dict[str, Any]:
    """Return what holds for a question."""
    assert command.prefer is not None
    request = command.prefer(command.parse(text), preferred(Preferences(person=person, channel=channel)))
    asked = getattr(request, "question", None) or getattr(request, "query", None) or request
    return {
        "model": getattr(asked, "model", None),
        "public": command.audience(request) is Audience.CHANNEL,
        "languages": asked.filters.languages,
        "domains": asked.filters.domains,
    }


@pytest.mark.parametrize(
    ("command", "text", "person", "channel", "expected"),
    [
        (ASK, "why", PersonSettings(), ChannelSettings(), {"model": None, "public": False}),
        (ASK, "why", PersonSettings(), DEFAULTS, {"model": "low", "public": True, "languages": ("de",)}),
        (ASK, "why", HIGH, DEFAULTS, {"model": "high", "public": True, "languages": ("de",)}),
        (ASK, "--effort fast why", HIGH, DEFAULTS, {"model": "fast"}),
        (ASK, "-r why", HIGH, DEFAULTS, {"model": None}),
        (ASK, "--agent why", HIGH, DEFAULTS, {"model": None}),
        (ASK, "--lang ja why", PersonSettings(language="fr"), DEFAULTS, {"languages": ("ja",)}),
        (ASK, "why", PersonSettings(language="fr"), DEFAULTS, {"languages": ("fr",)}),
        (ASK, "--private why", PUBLIC, DEFAULTS, {"public": False}),
        (ASK, "--public why", PersonSettings(visibility="private"), ChannelSettings(), {"public": True}),
        (ASK, "why", PersonSettings(visibility="private"), DEFAULTS, {"public": False}),
        (SEARCH, "why", PUBLIC, DEFAULTS, {"public": True, "languages": ()}),
        (SEARCH, "--private why", PUBLIC, DEFAULTS, {"public": False}),
        (NEWS, "tech", PUBLIC, DEFAULTS, {"public": True, "languages": ("de",)}),
        (ASK, "why", PersonSettings(domains=("a.com",)), DEFAULTS, {"domains": ("a.com",)}),
        (ASK, "--domain b.com why", PersonSettings(domains=("a.com",)), DEFAULTS, {"domains": ("b.com",)}),
        (ASK, "why", PersonSettings(domains=("a.com",)), ChannelSettings(allow=("b.com",)), {"domains": ()}),
        (
            ASK,
            "why",
            PersonSettings(domains=("x.b.com",)),
            ChannelSettings(allow=("b.com",)),
            {"domains": ("x.b.com",)},
        ),
    ],
)
def test_precedence(
    command: Command[Any, Any], text: str, person: PersonSettings, channel: ChannelSettings, expected: dict[str, Any]
) -> None:
    assert holds(command, text, person, channel).items() >= expected.items()


def test_both_visibilities_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="contradict"):
        ASK.parse("--public --private why")


@pytest.mark.parametrize(
    ("asked", "allow", "deny", "domains", "excluded"),
    [
        ((), ("a.com",), (), ("a.com",), ()),
        (("a.com",), ("a.com", "b.com"), (), ("a.com",), ()),
        (("x.a.com",), ("a.com",), (), ("x.a.com",), ()),
        (("a.com",), ("x.a.com", "b.com"), (), ("x.a.com",), ()),
        (("-x.a.com",), ("a.com",), (), ("a.com",), ("x.a.com",)),
        ((), (), ("c.com",), ("-c.com",), ()),
        (("-d.com",), (), ("c.com",), ("-c.com", "-d.com"), ()),
        (("a.com",), (), ("x.a.com", "c.com"), ("a.com",), ("x.a.com",)),
        (("a.com",), ("www.a.com",), (), ("www.a.com",), ()),
        ((), ("a.com", "b.com"), ("b.com",), ("a.com",), ()),
        ((), (), tuple(f"d{n}.com" for n in range(25)), tuple(f"-d{n}.com" for n in range(20)), None),
    ],
)
def test_a_channel_s_sites_narrow_what_was_asked(
    asked: tuple[str, ...], allow: tuple[str, ...], deny: tuple[str, ...], domains: tuple[str, ...], excluded: Any
) -> None:
    filters = restrict(Filters(domains=asked), ChannelSettings(allow=allow, deny=deny))

    assert filters.domains == domains
    assert validate(filters) == filters
    assert excluded is None or filters.excluded == excluded


@pytest.mark.parametrize(
    ("asked", "channel"),
    [
        (("c.com",), ChannelSettings(allow=("a.com",))),
        (("c.com",), ChannelSettings(deny=("c.com",))),
        (("-a.com",), ChannelSettings(allow=("a.com",))),
    ],
)
def test_what_a_channel_leaves_nothing_of_is_refused(asked: tuple[str, ...], channel: ChannelSettings) -> None:
    with pytest.raises(InvalidRequest, match="in this channel"):
        restrict(Filters(domains=asked), channel)


HOSTS = ("a.com", "x.a.com", "y.x.a.com", "www.a.com", "b.com", "x.b.com", "c.org", "nota.com", "com.evil")
hosts = st.lists(st.sampled_from(HOSTS[:7]), max_size=4, unique=True).map(tuple)


policies = st.tuples(hosts, hosts)


@given(asked=hosts, deny_asked=st.booleans(), workspace=policies, channel=policies)
def test_nothing_is_asked_for_or_cited_from_outside_the_sites_of_the_workspace_and_the_channel(
    asked: tuple[str, ...],
    deny_asked: bool,
    workspace: tuple[tuple[str, ...], tuple[str, ...]],
    channel: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    """Whatever was asked and however a provider answers."""
    rules = (
        WorkspaceSettings(allow=workspace[0], deny=workspace[1]),
        ChannelSettings(allow=channel[0], deny=channel[1]),
    )
    typed = tuple(f"-{host}" for host in asked) if deny_asked else asked
    allowed = [DomainPolicy(one.allow) for one in rules]
    denied = [DomainPolicy([f"-{host}" for host in one.deny]) for one in rules]
    policies = [*allowed, *denied, DomainPolicy(typed)]
    left = [host for host in HOSTS if not any(one.excludes(f"https://{host}") for one in policies)]
    pages = tuple(Source(number=n, title=host, url=f"https://{host}/p") for n, host in enumerate(HOSTS, start=1))
    text = " ".join(f"{host} [{n}] [t](https://{host}/l)." for n, host in enumerate(HOSTS, start=1))
    try:
        filters = restrict(Filters(domains=typed), *rules)
    except InvalidRequest as error:
        refusal = error
    else:
        refusal = InvalidRequest("none")
    if refusal.field:
        assert (left, refusal.field, "answers in this" in (refusal.allowed or "")) == ([], "domain", True)
        return
    answer = filter_answer(Answer(text=text, sources=pages, provider="P"), filters.enforced)
    found = filter_results(SearchResults(results=pages, provider="P"), filters.enforced)

    assert [urlsplit(one.url).hostname for one in found.results] == left
    assert {urlsplit(one.url).hostname for one in answer.sources} <= set(left)
    assert [host for host in HOSTS if f"](https://{host}/l)" in answer.text and host not in left] == []
    wanted = [domain for domain in filters.domains if not domain.startswith("-")]
    assert not [one for one in wanted if any(policy.excludes(f"https://{one}") for policy in allowed)]
    assert not {*workspace[1], *channel[1]} & set(wanted)
    assert len(filters.domains) <= MAX_DOMAINS
    assert allows_all(found.results, rules)


@pytest.mark.parametrize(
    ("allow", "problem"),
    [
        (("b.com",), "answers in this workspace come from a.com only"),
        (("x.a.com",), ""),
        (("a.com", "b.com"), ""),
        ((), ""),
    ],
)
def test_a_channel_that_would_be_left_nothing_by_the_workspace_is_not_saved(
    allow: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem) if problem else nullcontext():
        check_narrows(ChannelSettings(allow=allow), WorkspaceSettings(allow=("a.com",)))


async def test_every_call_of_a_provider_is_restricted() -> None:
    provider = FakeProvider("P")
    restricted = SteppedProvider(provider=provider, steps=[Restricting(rules=[ChannelSettings(allow=("a.com",))])])
    question = Question(messages=(Message(role="user", content="why"),))

    await restricted.search(Query(text="why"))
    await restricted.answer(question)
    async for _ in restricted.stream(question):
        pass

    asked = [one.filters for one in provider.queries] + [one.filters for one in provider.questions]
    assert [filters.domains for filters in asked] == [("a.com",)] * 3
    assert (restricted.name, restricted.capabilities) == ("P", provider.capabilities)


@pytest.mark.parametrize(
    ("askers", "user", "is_admin", "expected"),
    [
        ("everyone", "U1", False, True),
        ("admins", "U1", False, False),
        ("admins", "U1", True, True),
        ("U1 U2", "U2", False, True),
        ("U1 U2", "U3", False, False),
        ("U1 U2", "U3", True, True),
        ("U12", "U1", False, False),
    ],
)
def test_who_may_ask(askers: str, user: str, is_admin: bool, expected: bool) -> None:
    assert may_ask(ChannelSettings(askers=askers), user, is_admin=is_admin) is expected


@pytest.mark.parametrize(
    ("channel", "restricted", "without_posts"),
    [
        (ChannelSettings(), False, False),
        (ChannelSettings(allow=("a.com",)), True, True),
        (ChannelSettings(allow=("x.com",)), True, False),
        (ChannelSettings(deny=("a.com",)), True, False),
        (ChannelSettings(deny=("x.com",)), True, True),
    ],
)
def test_posts_on_x_are_pages_too(channel: ChannelSettings, restricted: bool, without_posts: bool) -> None:
    assert (are_restricted([channel]), excludes_posts([channel])) == (restricted, without_posts)


@pytest.mark.parametrize(
    ("asked", "rules", "expected", "note"),
    [
        (Question(messages=WHY), WorkspaceSettings(max_effort="fast"), (None, False), ""),
        (Question(messages=WHY, model="high"), ChannelSettings(max_effort="xhigh"), ("high", False), ""),
        (Question(messages=WHY, model="xhigh"), ChannelSettings(max_effort="high"), ("high", False), "much longer"),
        (
            Question(messages=WHY, model="sonar-deep-research"),
            WorkspaceSettings(max_effort="low"),
            ("low", False),
            "low",
        ),
        (
            Question(messages=WHY, reasoning=True),
            WorkspaceSettings(max_effort="low"),
            ("low", False),
            "a little",
        ),
        (Question(messages=WHY, reasoning=True), WorkspaceSettings(store_nothing=True), (None, True), ""),
        (Question(messages=WHY, model="high", run_id="r"), WorkspaceSettings(store_nothing=True), ("high", False), ""),
        (Question(messages=WHY, model="a/b"), WorkspaceSettings(max_effort="fast"), ("a/b", False), ""),
        (
            Question(messages=WHY, model="a/b", reasoning=True),
            WorkspaceSettings(max_effort="fast"),
            ("a/b", False),
            "fast",
        ),
    ],
)
def test_an_effort_that_is_too_high_is_lowered(
    asked: Question, rules: Rules, expected: tuple[str | None, bool], note: str
) -> None:
    within, told = within_rules(asked, [rules])

    assert (within.model, within.reasoning) == expected
    assert bool(told) is bool(note)
    assert told == "" or f"as this {rules.place}’s settings say." in told


efforts = st.none() | st.sampled_from(EFFORTS)


@given(asked=efforts, workspace=efforts, channel=efforts, reasoning=st.booleans(), store_nothing=st.booleans())
def test_no_effort_passes_the_lowest_limit(
    asked: Effort | None, workspace: Effort | None, channel: Effort | None, reasoning: bool, store_nothing: bool
) -> None:
    rules = (
        WorkspaceSettings(max_effort=workspace, store_nothing=store_nothing),
        ChannelSettings(max_effort=channel),
    )
    question = Question(messages=WHY, model=asked, reasoning=reasoning and asked is None)
    wanted = resolve(question.model, reasoning=question.reasoning)

    within, note = within_rules(question, rules)

    got = resolve(within.model, reasoning=within.reasoning)
    limits = [one for one in (workspace, channel, "medium" if store_nothing else None) if one is not None]
    assert EFFORTS.index(got.effort) == min(map(EFFORTS.index, [wanted.effort, *limits]))
    assert bool(note) is (got.effort != wanted.effort)
    assert not (store_nothing and got.background)


async def test_a_stream_says_at_its_end_that_it_got_less_effort() -> None:
    provider = FakeProvider("P")
    restricted = SteppedProvider(provider=provider, steps=[Restricting(rules=[ChannelSettings(max_effort="fast")])])

    events = [event async for event in restricted.stream(Question(messages=WHY, model="high"))]

    assert provider.questions[0].model == "fast"
    assert [one.answer.stand_in for one in events if isinstance(one, Done)] == [
        "I thought quickly instead of much longer, as this channel’s settings say."
    ]


def test_instructions_go_before_the_conversation__those_of_the_workspace_first() -> None:
    rules: list[Rules] = [WorkspaceSettings(instructions="One."), ChannelSettings(instructions="Two.")]

    within, _ = within_rules(Question(messages=WHY), rules)

    assert [message.role for message in within.messages] == ["system", "system", "user"]
    assert [message.content[-4:] for message in within.messages[:2]] == ["One.", "Two."]
