"""Words around every kind of reply: what a person must look past to read the answer, or would have to read beside it.

Counted are the words that are visible around an answer: notes, sources, labels of buttons and menus. Not counted are
the answer itself (its text, its stories, its results), the line with the question, and suggested questions. The word
on a symbol counts as its label; a symbol does not.

| kind | before | now | goal | why this goal |
|---|---|---|---|---|
| one-line answer | 75 | 10 | 12 | the issue's |
| normal /ask, private | 81 | 10 | 25 | the issue's |
| mention, thread | 84 | 8 | 25 | the issue's |
| direct message | 84 | 8 | 25 | the issue's |
| streamed ending | 84 | 8 | 25 | the same rows as without a stream |
| stand-in | 92 | 20 | 25 | names the service that did not answer, and the one that did |
| passages | 67 | 23 | 25 | also says that no model wrote it |
| search results | 28 | 7 | 12 | the results are the answer: buttons alone |
| news | 33 | 21 | 25 | the heading, and a note on stories that are left out |
| deep dive | 61 | 21 | 25 | parts, prices and date in one line |
| check | 18 | 1 | 5 | the claims are the answer |
| digest | 38 | 9 | 12 | the title, how many are new, and its buttons |
| failure | 20 | 15 | 20 | the sentence itself is counted |
| shared answer | 84 | 7 | 12 | who shares it |
| stopped | 16 | 12 | 15 | ends as one that broke off does |
| broken off | 93 | 19 | 20 | with the reference that an admin looks for |
| saved file | 71 | 14 | 15 | its list of sources is kept whole, and not counted |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from bot.blocks.answer import (
    Below,
    answer_actions,
    answer_ending,
    answer_messages,
    broken_off_blocks,
    sent_actions,
    stopped_blocks,
    with_actions,
)
from bot.blocks.messages import failure_message
from bot.blocks.sources import news_messages, results_messages
from bot.features import ANSWER_PARTS
from bot.features.checking import claims_messages
from bot.features.deepdive import deepdive_messages
from bot.features.digests.rendering import digest_messages
from bot.features.saving.document import result_file
from bot.features.sharing.preview import SharedAnswer, shared_messages
from bot.model.message import Audience, Block, OutgoingMessage
from bot.model.question import AnswerButtons
from perplexity.citations import number_citations
from perplexity.claims.types import CheckedClaim, CheckedClaims, Verdict
from perplexity.errors import Attempt
from perplexity.filters import Filters
from perplexity.news.stories import Story
from perplexity.news.summary import NewsSummary
from perplexity.types import Answer, AnswerKind, Passage, Query, SearchResults, Source, Usage
from tests.features.deepdive.test_rendering import report as deepdive_report
from tests.features.digests.test_rendering import report as digest_report

pytestmark = pytest.mark.features("ask_about", "checking", "deepdive", "digests", "feedback", "saving", "sharing")


ID = UUID(int=1)
AT = datetime(2026, 11, 21, tzinfo=UTC)
QUESTION = "does a heat pump pay off in an old house?"
PAGES = {
    "ise.fraunhofer.de": "Heat pumps in existing buildings: results of a field test",
    "verbraucherzentrale.de": "What a heat pump costs in an old building",
    "test.de": "Heat pumps compared",
    "energiesparen.example": "Saving energy at home",
    "umweltbundesamt.de": "Heating with a heat pump",
    "bafa.de": "Grants for efficient heating",
    "heise.de": "How loud may a heat pump be",
}
SOURCES = tuple(
    Source(number=number, title=title, url=f"https://{site}/{number}", snippet="It saves 2 tons.", date="2026-05-02")
    for number, (site, title) in enumerate(PAGES.items(), 1)
)
TEXT = (
    "**Yes, in most old houses a heat pump pays off.** It saves 2.4 tons a year [1][2]. It costs 20,000 euros [3]. "
    "It needs space [4], and a grant helps [5][9]."
)
ANSWER = Answer(
    text=TEXT, sources=SOURCES, provider="Perplexity", effort="fast", seconds=13.6, usage=Usage(cost_usd=0.005)
)
ONE_LINE = replace(ANSWER, text="Yes, in most of them [1][2][3][4][5].", seconds=2.0)
STAND_IN = replace(
    ANSWER,
    provider="OpenRouter",
    failed=(Attempt(provider="Perplexity", seconds=1, error_class="Unavailable", summary="could not be reached"),),
)
PASSAGES = replace(
    STAND_IN,
    kind=AnswerKind.PASSAGES,
    provider="DuckDuckGo",
    passages=(Passage(text="It pays off.", source=1), Passage(text="It costs.", source=2)),
)
RESULTS = SearchResults(results=SOURCES[:5], provider="Perplexity", seconds=0.8, cost_usd=0.005)
STORY = Story(headline="Chip plant opens", source=SOURCES[0], sentence="It opened.", others=SOURCES[1:3])
NEWS = NewsSummary(
    stories=(STORY,) * 5,
    provider="Perplexity",
    made_at=AT,
    category="technology",
    topic="chips",
    seconds=3.0,
    cost_usd=0.01,
    notes=("1 story left out: no source for it.",),
)
CHECKED = CheckedClaims(
    claims=(
        CheckedClaim(claim="The tower is tall.", verdict=Verdict.SUPPORTED, quote="It is tall.", source=SOURCES[0]),
    ),
    searched_by="Perplexity",
    judged_by="Perplexity",
    seconds=3.0,
    cost_usd=0.02,
)
BUTTONS = AnswerButtons(deeper=True, sources=len(SOURCES))


def below(buttons: AnswerButtons) -> tuple[Block, ...]:
    return answer_actions(Below(buttons=buttons, question_id=ID, private=True), ANSWER_PARTS)


PRIVATE = below(BUTTONS)
IN_THREAD = answer_actions(Below(buttons=BUTTONS, question_id=ID, private=False, in_thread=True), ANSWER_PARTS)
WITHOUT_MODEL = answer_actions(
    Below(buttons=replace(BUTTONS, deeper=False), question_id=ID, private=True), ANSWER_PARTS
)
BELOW_RESULTS = answer_actions(
    Below(buttons=AnswerButtons(ask_about=True, more=True), question_id=ID, private=True), ANSWER_PARTS
)
MENU = sent_actions(ID)
BELOW_NEWS = below(AnswerButtons(scheduled=True))
BELOW_REPORT = answer_actions(Below(buttons=AnswerButtons(sources=2), question_id=ID, private=True), ANSWER_PARTS)

TEXTS = frozenset({"markdown", "rich_text", "header", "data_visualization"})
ITEMS = TEXTS | {"section"}
"""The blocks of an answer's own text, and those of a list whose items are the answer, with the line below each."""


def blocks_of(messages: Sequence[OutgoingMessage]) -> list[Block]:
    return [block for message in messages for block in message.blocks]


def answered(answer: Answer, audience: Audience, actions: tuple[Block, ...]) -> list[Block]:
    return blocks_of(with_actions(answer_messages(answer, audience=audience, question=QUESTION), actions))


def visible(blocks: Sequence[Block], own: frozenset[str]) -> Iterator[str]:
    """Yield the texts that are visible in blocks, but for those of the answer's `own`."""
    before = ""
    for block in blocks:
        before, above = block["type"], before
        if above == "section" in own and block["type"] == "context":
            continue
        if block["type"] in own or str(block.get("block_id", "")).startswith("next-"):
            continue
        for element in [block] if "text" in block else block["elements"]:
            match element["type"]:
                case "overflow":
                    yield "menu"
                case "feedback_buttons":
                    yield from (element[f"{side}_button"]["text"]["text"] for side in ("positive", "negative"))
                case _:
                    yield element["text"] if isinstance(element["text"], str) else element["text"]["text"]


def words(texts: Iterator[str]) -> list[str]:
    shown = " ".join(texts)
    shown = re.sub(r"<!?[^|>]*\|([^>]*)>", r"\1", shown).replace(f"“{QUESTION}”", "").replace(QUESTION, "")
    return [word for word in re.sub(r":\w+:", "", shown).split() if re.search(r"\w", word)]


def saved_words() -> list[str]:
    """Return the words of a file but for its heading, its text and its list of sources."""
    lines = result_file(ANSWER, question=QUESTION, asked_at=AT).content.splitlines()
    own = (QUESTION, "pays off", "https://", "Sources:", *PAGES.values())
    return words(line for line in lines if not any(part in line for part in own))


Kind = Callable[[], list[str]]


def of(make: Callable[[], Sequence[Block]], own: frozenset[str] = TEXTS) -> Kind:
    return lambda: words(visible(make(), own))


KINDS: Mapping[str, tuple[Kind, int]] = {
    "one-line answer": (of(lambda: answered(ONE_LINE, Audience.ASKER, PRIVATE)), 12),
    "normal /ask, private": (of(lambda: answered(ANSWER, Audience.ASKER, PRIVATE)), 25),
    "mention, thread": (of(lambda: answered(ANSWER, Audience.THREAD, IN_THREAD)), 25),
    "direct message": (of(lambda: answered(ANSWER, Audience.THREAD, IN_THREAD)), 25),
    "streamed ending": (of(lambda: [*answer_ending(ANSWER, number_citations(TEXT, SOURCES)), *IN_THREAD]), 25),
    "stand-in": (of(lambda: answered(STAND_IN, Audience.ASKER, PRIVATE)), 25),
    "passages": (of(lambda: answered(PASSAGES, Audience.ASKER, WITHOUT_MODEL)), 25),
    "search results": (
        of(
            lambda: blocks_of(
                with_actions(
                    results_messages(RESULTS, query=Query(text=QUESTION), audience=Audience.ASKER), BELOW_RESULTS
                )
            ),
            ITEMS,
        ),
        12,
    ),
    "news": (
        of(lambda: blocks_of(with_actions(news_messages(NEWS, filters=Filters(recency="day")), BELOW_NEWS)), ITEMS),
        25,
    ),
    "deep dive": (
        of(
            lambda: blocks_of(
                with_actions(
                    deepdive_messages(
                        replace(deepdive_report(), topic=QUESTION), audience=Audience.ASKER, file_id=str(ID)
                    ),
                    BELOW_REPORT,
                )
            )
        ),
        25,
    ),
    "check": (of(lambda: blocks_of(with_actions(claims_messages(CHECKED), MENU)), ITEMS), 5),
    "digest": (of(lambda: blocks_of(digest_messages(digest_report(STORY, STORY))), ITEMS), 12),
    "failure": (
        of(
            lambda: list(
                failure_message(
                    "Perplexity did not answer in time. Try again in a minute.",
                    reference="abc12345",
                    question_id=str(ID),
                    question=QUESTION,
                ).blocks
            )
        ),
        20,
    ),
    "shared answer": (
        of(
            lambda: blocks_of(
                shared_messages(
                    SharedAnswer(result=ANSWER, query=Query(text=QUESTION), by="Nikki", asked=60), None, comment="Look"
                )
            )
        ),
        12,
    ),
    "stopped": (of(lambda: stopped_blocks(ANSWER, question_id=str(ID))), 15),
    "broken off": (
        of(
            lambda: [
                *answer_ending(ANSWER, number_citations(TEXT, SOURCES)),
                *broken_off_blocks(ANSWER, reference="abc12345", question_id=str(ID)),
            ]
        ),
        20,
    ),
    "saved file": (saved_words, 15),
}


def table() -> dict[str, tuple[int, int]]:
    """Return the two last figures of each row of the table above: what it says of today, and the goal."""
    rows = re.findall(r"^\| ([^|]+) \| \d+ \| (\d+) \| (\d+) \|", __doc__ or "", re.MULTILINE)
    return {kind: (int(now), int(goal)) for kind, now, goal in rows}


@pytest.mark.parametrize("kind", KINDS)
def test_around_a_reply_are_few_words(kind: str) -> None:
    find, goal = KINDS[kind]
    found = find()

    assert len(found) <= goal, " ".join(found)
    assert table()[kind] == (len(found), goal), " ".join(found)


def test_the_question_is_quoted_where_its_readers_do_not_see_it() -> None:
    quote = f"“{QUESTION}”"

    above = {audience: answered(ANSWER, audience, PRIVATE)[0] for audience in Audience}

    assert above[Audience.ASKER] == above[Audience.CHANNEL]
    assert above[Audience.ASKER]["elements"][0]["text"] == quote
    assert above[Audience.THREAD]["type"] == "markdown"


def test_a_long_question_is_cut_at_80_characters() -> None:
    (message,) = answer_messages(ANSWER, audience=Audience.ASKER, question="why " * 50)

    assert len(message.blocks[0]["elements"][0]["text"]) <= len("“”") + 80
