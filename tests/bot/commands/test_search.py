from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.search import SEARCH, SearchRequest, parse
from bot.errors import UsageError
from bot.model.message import Audience
from bot.model.question import SearchPage
from perplexity.filters import Filters
from perplexity.types import Query
from tests.fakes.commands import command_context
from tests.fakes.provider import FakeProvider, results_by

NO_FILTERS = Filters()


def request(text: str, *, filters: Filters = NO_FILTERS, n: int = 5, public: bool = False) -> SearchRequest:
    return SearchRequest(query=Query(text=text, filters=filters, max_results=n), public=public)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("python wheels", request("python wheels")),
        ("--n 20 x", request("x", n=20)),
        ("x -n 1 --public", request("x", n=1, public=True)),
        ("—recency “Week” what’s new", request("what’s new", filters=Filters(recency="week"))),
        ("--domain a.com,B.org. x", request("x", filters=Filters(domains=("a.com", "b.org")))),
        ("--domain -a.com x --domain -b.com", request("x", filters=Filters(domains=("-a.com", "-b.com")))),
        ("--lang EN,de x", request("x", filters=Filters(languages=("en", "de")))),
        ("--country de x", request("x", filters=Filters(country="DE"))),
        (
            "--after 2026-01-02 --before 2026-02-03 x",
            request("x", filters=Filters(after=date(2026, 1, 2), before=date(2026, 2, 3))),
        ),
        ("--mode academic x", request("x", filters=Filters(mode="academic"))),
        ("--mode sec x", request("x", filters=Filters(mode="sec"))),
        ("two\nlines", request("two lines")),
        ("“exact words” -not", request("“exact words” -not")),
    ],
)
def test_options_become_the_request(typed: str, read: SearchRequest) -> None:
    assert parse(typed) == read


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("--n 21 x", "`--n` must be between 1 and 20."),
        ("--n zero x", "`--n` must be between 1 and 20."),
        (
            "--recency weak x",
            "`--recency` cannot be `weak`. Did you mean week? It takes hour, day, week, month or year.",
        ),
        ("--mode acadmic x", "`--mode` cannot be `acadmic`. Did you mean academic? It takes web, academic or sec."),
        ("--recency `w`x x", "`--recency` cannot be `'w'x`. It takes hour, day, week, month or year."),
        ("--domain https://a.com x", "`--domain` cannot be `https://a.com`. It takes a host name such as example.com"),
        ("--domain a.com,-b.com x", "`--domain` cannot be `a.com, -b.com`. It takes at most 20 host names"),
        ("--lang english x", "`--lang` cannot be `english`. It takes a two-letter language code"),
        ("--country UK x", "`--country` cannot be `UK`. Did you mean GB? It takes a two-letter country code"),
        ("--after yesterday x", "`--after` cannot be `yesterday`. It takes a day as YYYY-MM-DD"),
        ("--before 2026-02-30 x", "`--before` cannot be `2026-02-30`. It takes a day as YYYY-MM-DD"),
        (
            "--recency day --after 2026-01-01 x",
            "`--recency` cannot be `day`. It cannot be combined with after or before.",
        ),
        ("--after 2026-02-02 --before 2026-01-01 x", "`--before` cannot be `2026-01-01`. It must not lie before after"),
        ("--recency day --recency week x", "`--recency` is given twice."),
        ("--reasoning x", "`--reasoning` works for answers only: a search lists pages."),
        ("x —model sonar", "`--model` works for answers only: a search lists pages."),
        ("x --publc", "I don’t know the option `--publc`. Did you mean `--public`?"),
        ("--n 3", "Add what to search for after the options."),
        ("", "Add what to search for"),
        ("\u200b", "That text is empty. Add a search."),
        ("x" * 4001, "That’s 4,001 characters; a search takes up to 4,000."),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(typed: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(typed)

    assert caught.value.problem.startswith(problem)


def test_every_example_of_the_help_parses() -> None:
    for typed, _ in SEARCH.examples:
        assert SEARCH.parse(typed).query.text


PIECES = st.sampled_from(
    [
        "--n",
        "—n",
        "5",
        "--recency",
        "week",
        "--domain",
        "a.com",
        "-b.com",
        "--after",
        "2026-01-01",
        "x",
        '"',
        "`",
        "--",
        "=",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map(" ".join), st.lists(PIECES).map("".join)))
def test_any_text_is_a_request_or_a_usage_error(text: str) -> None:
    try:
        read = parse(text)
    except UsageError:
        return

    assert (bool(read.query.text), 1 <= read.query.max_results <= 20) == (True, True)


@pytest.mark.parametrize(("typed", "audience"), [("x", Audience.ASKER), ("x --public", Audience.CHANNEL)])
def test_results_are_private_unless_asked_otherwise(typed: str, audience: Audience) -> None:
    assert SEARCH.audience(SEARCH.parse(typed)) is audience


async def test_it_searches_and_renders_what_was_found() -> None:
    provider = FakeProvider("One")
    read = SEARCH.parse("--n 3 pages --public")

    reply = await SEARCH.answer(read, command_context(provider))
    (message,) = SEARCH.render(reply, read, Audience.CHANNEL).messages

    assert (reply, provider.queries) == (SearchPage(results=results_by("One")), [read.query])
    assert "<https://example.com/1|A page>" in json.dumps(message.blocks)
    assert message.blocks[0]["elements"][0]["text"] == "“pages”"
