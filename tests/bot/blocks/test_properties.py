"""What must hold for any text whatever."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks import escaping
from bot.blocks.answer import answer_messages
from bot.blocks.escaping import clean
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import split_markdown
from bot.blocks.messages import without_blocks
from bot.blocks.sources import results_messages
from bot.model.message import Audience, OutgoingMessage
from fake_slack.limits import check_message
from perplexity.citations import number_citations
from perplexity.errors import Attempt
from perplexity.filters import Filters
from perplexity.types import Answer, AnswerKind, Passage, Query, SearchResults, Source
from perplexity.urls import safe_url
from tests.fakes.hostile_text import short, wild
from tests.fakes.renderer import all_links, links, mentions, shown

ADDRESSES = (
    "https://docs.python.org/3.14/whatsnew/3.14.html",
    "https://en.wikipedia.org/wiki/Python_(genus)?a=1&copy;=2|x>y z",
    "http://xn--bcher-kva.example/ü@here/'\"`*_[]",
    "https://user:pass@evil.com/",
    "javascript:alert(1)",
    "https://evil.com/\u202egnp.exe",
)
SOURCES = tuple(
    Source(number=n, title=f"T{n} <!here> | @channel & ]( *x*", url=url, date="2026-11-01", snippet="s")
    for n, url in enumerate(ADDRESSES, 1)
)
OURS = {address for url in ADDRESSES if (address := safe_url(url))}

sources = st.lists(st.sampled_from(SOURCES), max_size=6, unique=True).map(tuple)
many = settings(max_examples=200, deadline=None)


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W\d_]", re.sub(r"&#?\w+;", "", text)))


def holds(small: str, large: str) -> bool:
    """Return whether all letters of one text are in another, in order."""
    rest = iter(large)
    return all(letter in rest for letter in small)


def check(messages: Iterable[OutgoingMessage], allowed: set[str]) -> None:
    for message in messages:
        payload = {"text": message.text, "blocks": list(message.blocks)}

        assert check_message(payload) == []
        assert not re.search(
            "[\u202a-\u202e\u2066-\u2069]", str(payload["text"]) + json.dumps(payload, ensure_ascii=False)
        )
        assert mentions(payload) == []
        assert set() == set(all_links(payload)) - allowed
        assert message == escaping.sanitize_message(message)
        json.dumps(payload, ensure_ascii=False).encode()
        bare = without_blocks(message)
        assert check_message({"text": bare.text}) == []
        assert set() == set(all_links({"text": bare.text})) - allowed


@given(wild, sources)
@many
def test_any_answer_becomes_messages_that_slack_takes_without_a_mention_or_a_foreign_link(
    text: str, known: tuple[Source, ...]
) -> None:
    answer = Answer(text=text, sources=known, provider="P <!here>", notes=(text[:50],), incomplete=text[:20])

    check(answer_messages(answer, audience=Audience.ASKER), OURS)


@given(wild, sources)
@many
def test_no_letter_of_any_answer_is_lost(text: str, known: tuple[Source, ...]) -> None:
    cited = number_citations(clean(text), known)

    rendered = [
        part.text for part in split_markdown(insert_placeholders(cited), ["https://ok.example/"] * len(cited.sources))
    ]

    assert len(rendered) <= 1
    assert holds(letters(cited.text), letters("".join(map(shown, rendered))))


@given(st.lists(wild, min_size=1, max_size=4).map("\n\n".join), st.integers(150, 600))
@many
def test_no_letter_is_lost_and_no_link_arises_where_a_text_is_split(text: str, room: int) -> None:
    cited = number_citations(clean(text), SOURCES)
    addresses = ["https://ok.example/"] * len(cited.sources)

    rendered = [part.text for part in split_markdown(insert_placeholders(cited), addresses, limit=room)]

    assert holds(letters(cited.text), letters("".join(map(shown, rendered))))
    assert set() == {link for part in rendered for link in links(part)} - {"https://ok.example/"}


@given(st.lists(st.tuples(wild, st.integers(1, 9)), max_size=5), sources, wild)
@many
def test_any_passages_become_quotes_that_hold_them_word_for_word(
    found: list[tuple[str, int]], known: tuple[Source, ...], text: str
) -> None:
    passages = tuple(Passage(text=text, source=number) for text, number in found)
    answer = Answer(text=text, sources=known, provider="P", kind=AnswerKind.PASSAGES, passages=passages)

    messages = answer_messages(answer, audience=Audience.CHANNEL)

    check(messages, OURS)
    quoted = json.dumps([message.blocks for message in messages])
    assert all(json.dumps(f"{clean(p.text)} ")[1:-1] in quoted for p in passages if clean(p.text).strip())


@given(st.lists(st.tuples(short, short, wild), max_size=20), wild, wild)
@many
def test_any_results_become_messages_without_a_mention_or_a_foreign_link(
    found: list[tuple[str, str, str]], query: str, note: str
) -> None:
    listed = tuple(
        Source(number=n, title=title, url=url if n % 2 else ADDRESSES[n % 6], snippet=snippet, date=url)
        for n, (title, url, snippet) in enumerate(found, 1)
    )
    failed = (Attempt(provider=note, seconds=1, error_class="X", summary=query),)
    results = SearchResults(results=listed, provider="P", notes=(note,), failed=failed, cost_usd=0.0)
    filters = Filters(recency="week", domains=(query, f"-{note}"), languages=(note,))

    messages = results_messages(results, query=Query(text=query, filters=filters), audience=Audience.ASKER)

    check(messages, OURS | {address for source in listed if (address := safe_url(source.url))})


@given(wild)
@many
def test_sanitizing_breaks_every_mention_once(text: str) -> None:
    blocks = ({"type": "markdown", "text": text}, {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]})

    sealed = escaping.sanitize_message(OutgoingMessage(text=text, blocks=blocks))

    assert mentions({"text": sealed.text, "blocks": list(sealed.blocks)}) == []
    assert sealed == escaping.sanitize_message(sealed)
    json.dumps([sealed.text, *sealed.blocks], ensure_ascii=False).encode()
