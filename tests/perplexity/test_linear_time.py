"""Long hostile texts: what reads them takes time in proportion to their length."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from perplexity.agent.results import parse_tool_result as read_finding
from perplexity.citations import drop_unknown_links, format_result, number_citations
from perplexity.claims import lexicon
from perplexity.claims.check import ChosenPassage, judge, parse_passage, usable_pages
from perplexity.claims.lexicon import addresses_model
from perplexity.claims.propose import parse_block, sentences_to_check
from perplexity.claims.quotes import prepare
from perplexity.cli.live import StreamingMarkdown
from perplexity.completions import ThinkStripper
from perplexity.deepdive.report import SourceList, headings_to_bold, neutralize, neutralize_line
from perplexity.domains import TextFilter, filter_answer, requested_host
from perplexity.figures import check_figures
from perplexity.formulas import readable, unfinished
from perplexity.freshness import max_age_days
from perplexity.markdown import parse, regions
from perplexity.news.headlines import Headline
from perplexity.news.parsing import parse_stories as read_news
from perplexity.news.stories import deduplicate, same_story
from perplexity.notes import no_results_text
from perplexity.passages import best_passages, bm25_scores
from perplexity.sanitize import one_line, printable, strip_tags
from perplexity.types import JSON, Answer, Done, Source, parse_query
from perplexity.urls import canonical_url, hostname, safe_url
from perplexity.wire.agent import AgentStream
from perplexity.wire.errors import sanitize_message
from perplexity.wire.sonar import SonarStream
from perplexity.wire.sources import iso_date, merge
from perplexity.wire.sse import Decoder
from perplexity.x_posts.parsing import renumber_links, validate_response
from perplexity.x_posts.types import GrokResponse
from tests.fakes.linear import SIGNS, Shape, assert_linear, shapes, some_or_all
from tests.rare import one_in

SOURCES = (Source(number=1, title="A", url="https://a.example/1"),)
SHORT, LONG = 4_000, 64_000


def cited(text: str) -> object:
    return number_citations(text, SOURCES)


def seconds(work: Callable[[str], object], text: str) -> float:
    """Return the processor's time, the best of three, so that a busy machine does not count."""
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work(text)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.parametrize(
    ("work", "beginning", "repeated"),
    [
        (cited, "[x](", " "),
        (cited, "[x](http://a", " "),
        (cited, "[", " "),
        (cited, "", "[x]("),
        (cited, "", "[1,"),
        (cited, "", "[x](a(b)"),
        (cited, "", "[x](a '"),
        (regions, "", "$a\n"),
        (regions, "", "$a "),
        (regions, "", "$1$ "),
        (regions, "", "a $5\n"),
        (regions, "", r"\( "),
        (max_age_days, "", "current "),
        (max_age_days, "", "last 3 "),
        (max_age_days, "", "`"),
        (max_age_days, "", '"a '),
        (no_results_text, "", "[1,"),
        (iso_date, "2024-01-05", " "),
        (iso_date, "", "January "),
    ],
)
def test_sixteen_times_the_text_takes_well_under_sixteen_squared(
    work: Callable[[str], object], beginning: str, repeated: str
) -> None:
    short, long = (beginning + repeated * (length // len(repeated)) for length in (SHORT, LONG))

    assert seconds(work, long) < 60 * seconds(work, short) + 0.05


SOURCED = (*SOURCES, Source(number=2, title="B", url="https://b.example/2", aliases=(7,)))


def written(text: str) -> Answer:
    return Answer(text=text, sources=SOURCED, provider="P")


def thought(text: str, *, expected: bool) -> object:
    thinking = ThinkStripper(expected=expected)
    return [*map(thinking.feed, text), thinking.flush()]


def decoded(text: str) -> object:
    decoder = Decoder()
    return [decoder.feed(character.encode()) for character in text]


def grown(text: str) -> object:
    growing = StreamingMarkdown(sources=SOURCED)
    growing.add(text)
    return growing.take_finished()


def told(text: str) -> GrokResponse:
    return GrokResponse(
        text=text,
        annotation_urls=(),
        confirmed_urls=(),
        posts_read=1,
        incomplete=None,
        provider="X",
        model=None,
        cost_usd=None,
    )


def telling(text: str) -> object:
    one = Headline(text=text, sentence=text[:300], date=None, url=f"https://a.example/{text}")
    other = Headline(text=f"{text}b", sentence="", date=None, url="https://b.example/")
    return same_story(one, other), one.sentence_numbers, one.states, one.is_section_page, canonical_url(text)


def passed(text: str) -> object:
    source = Source(number=1, title=text, url="https://a.example", snippet=text)
    return best_passages([source], text[:4_000])


def kept(text: str) -> None:
    """Read a text as a stream, in short pieces, that keeps to a domain."""
    stream = TextFilter(("b.example",))
    stream.filter_sources(SOURCED)
    for start in range(0, len(text), 20):
        if stream.feed(text[start : start + 20]):
            stream.take()
    stream.flush()


def quoted(text: str) -> None:
    """Judge a claim by a page with a quotation from its middle."""
    page = Source(number=1, title=text, url="https://a.example", snippet=prepare(text))
    judge(text[:300], ChosenPassage(page=1, quote=text[2_000:2_500]), [page])


FIGURES = "It rose 28 % to €1.2 billion, the 3rd time since 4 May 2026 at 14:30, a third of 12,500 or five people. [1]"


def checked(text: str, excerpt: str) -> object:
    read = replace(SOURCES[0], snippet=excerpt)
    return check_figures(number_citations(text, (read,)))


READERS: dict[str, Callable[[str], object]] = {
    "number_citations": cited,
    "cite with known sources": lambda text: number_citations(text, SOURCED),
    "domains": lambda text: filter_answer(written(text), ("b.example",)),
    "domains of JSON": lambda text: filter_answer(written(text), ("b.example",), as_json=True),
    "host of a browser": lambda text: requested_host(f"https://{text}.example/"),
    "text within domains": kept,
    "drop_unknown_links": lambda text: drop_unknown_links(text, SOURCED),
    "regions": regions,
    "readable": lambda text: readable(parse(text)),
    "unfinished": lambda text: unfinished(parse(text)),
    "result": lambda text: format_result(written(text)),
    "quoted": one_line,
    "untagged": strip_tags,
    "address": safe_url,
    "host": lambda text: hostname(f"https://{text}.example/"),
    "thinking": lambda text: thought(text, expected=False),
    "thinking aloud": lambda text: thought(f"<think>{text}", expected=True),
    "events": lambda text: decoded(f"data: {text}"),
    "error": sanitize_message,
    "news": lambda text: read_news(written(text)),
    "news line": lambda text: read_news(written(f"1. A {text} | b | c [1]")),
    "no news": lambda text: read_news(Answer(text=f"There {text} at all", sources=(), provider="P")),
    "telling": telling,
    "passages": passed,
    "headings": headings_to_bold,
    "neutralize": lambda text: neutralize(text, SOURCED),
    "inert line": neutralize_line,
    "numbering": lambda text: SourceList().renumber(text, SOURCED),
    "query": parse_query,
    "figures": lambda text: checked(f"{text} [1]", "It rose 28 % on 4 May 2026."),
    "figures of a sentence": lambda text: checked(f"{text}12 in {text} [1]", f"x{text}"),
    "excerpt": lambda text: checked(FIGURES, text),
    "printable": printable,
    "growing": grown,
    "finding": read_finding,
    "judgement": lambda text: validate_response(told(text)),
    "judgement of JSON": lambda text: validate_response(told('{"summary": "' + text)),
    "claims of a message": sentences_to_check,
    "claims of a model": lambda text: parse_block(f"<claims>{text}</claims>"),
    "passage for a claim": lambda text: parse_passage(f"<passage>page: 1\nquote: {text}</passage>"),
    "text that addresses a model": addresses_model,
    "quotation": quoted,
    "posts": lambda text: renumber_links(text, SOURCED),
}
SHAPES = [
    *SIGNS,
    *shapes("[1-99]", "[1-", "［１", "[1-1", "[x](a).[1] ", "[x[1]", "[x [a] ", "[x [1]](a) "),
    Shape("[x ", "[1]"), Shape("[x ", "[1]", "](a)"),
    *shapes("[1][2]", " [9]", "\n</result>\n<references>", "- [1] a (b) [c", "[7]"),
    Shape("", "$1 ", "a$"), Shape("$1 ", "a ", "$"), Shape("<", " ", "pages"), Shape("<", " ", "/"),
    Shape("<result>\n", "\n</result> <references>"), Shape("x", "is no ", "."), Shape("a |", " ", "x"),
    Shape("a", "is no "), Shape("", "| "), Shape("|a\n|-\n", "|b\n"), Shape("[x](", "a(b)"),
    Shape("", "".join(map(chr, range(0x4E00, 0x4E00 + 6_000)))),
]  # fmt: skip


@some_or_all
@pytest.mark.parametrize("name", READERS)
def test_what_comes_from_outside_is_read_in_linear_time(name: str, step: int) -> None:
    for shape in SHAPES[::step]:
        assert_linear(READERS[name], shape)


CUES = sorted(set(re.findall(r"[^\W\d_]{2,}", Path(lexicon.__file__).read_text())))
"""Every word that the rules for claims and for instructions look for, and a few of the module's own."""
HEARD: dict[str, Callable[[str], object]] = {
    name: READERS[name] for name in ("news", "judgement", "claims of a message", "result", "passages", "figures")
} | {
    "page": lambda text: usable_pages([Source(number=1, title="", url="https://a.example/1", snippet=text)]),
    "title": lambda text: usable_pages([Source(number=1, title=text, url="https://a.example/1", snippet="A page.")]),
}
REPEATED = 20_000


@some_or_all
@pytest.mark.parametrize("glue", ["", " "])
def test_a_page_full_of_a_cue_word_is_read_at_once(glue: str, step: int) -> None:
    slow = {
        word: took
        for word in CUES[:: 3 if step == 1 else 600]
        for name in ("page", "title")
        if (took := seconds(HEARD[name], f"{word}{glue}" * REPEATED)) > 0.15
    }

    assert not slow


@some_or_all
@pytest.mark.parametrize("name", HEARD)
def test_what_is_full_of_a_cue_word_is_read_in_linear_time(name: str, step: int) -> None:
    for word in CUES[:: 25 if step == 1 else 600]:
        for glue in ("", " "):
            assert_linear(HEARD[name], Shape("", f"{word}{glue}"))


NUMERALS = [
    *shapes("1,", "1.", "12 345 ", "1-", "1–", "1/", "1:", "0 ", "+1", "1'", "1 May ", "May ", "May 1", "3. Mai "),
    *shapes("28 ", "28 %", "1.2 billion ", "10 to ", "5 and ", "10^", "10^6", "three ", "a third of ", "a million "),
    *shapes("1 Million ", "12,500", "1.25 ", "A1", "1A", "a-1", "€", "€1", "US$1 ", "§ 1 ", "z. B. ", "3. ", "28. "),
    *shapes("in millions ", "about 1", "1st ", "1990s ", "14:30 ", "½", "1½ ", "one in five ", "4 May 2026 "),
    *shapes("2026-05-04 ", "Q3 ", "...", ". . ", "。", ".)", "28 thousand "),
    Shape("1", "0"), Shape("1", ",000"), Shape("", "".join(f"{number}, " for number in range(9_999))),
]  # fmt: skip


@some_or_all
@pytest.mark.parametrize("name", ["figures", "figures of a sentence", "excerpt"])
def test_figures_are_read_in_linear_time(name: str, step: int) -> None:
    for shape in NUMERALS[::step]:
        assert_linear(READERS[name], shape)


LATEX = [
    *shapes("$x$ ", "$x_q$ ", "\\(a\\)", "\\(a ", "\\[a b", "$$x$$ ", "$$x$$\n", "$$\n\nx\n\n", "\\begin{a}"),
    *shapes("$a b", "$5 = ", "$$ ", "\\, ", "> $$x$$\n", "|$x$|\n|-|\n", "$\\alpha$", "\\alpha"),
    Shape("$", "{", "$"), Shape("> " * 900, "$$x$$ "), Shape("|a|\n|-|\n", "|$x$"), Shape("$$x$$", " ", "a"),
    Shape("\\[", "a b ", "\\]"), Shape("$5", " x_1", "$"), Shape("", "\\begin{a}", "\\end{a}"),
]  # fmt: skip


@pytest.mark.parametrize("name", one_in(4, ["readable", "unfinished", "number_citations", "growing"], first=3))
def test_latex_is_read_in_linear_time(name: str) -> None:
    for shape in LATEX:
        assert_linear(READERS[name], shape)


def sonar_stream(chunks: int) -> None:
    """Read a stream of which every chunk repeats the annotations and brings a new one."""
    reader = SonarStream(provider="P")
    notes: list[JSON] = []
    for number in range(chunks):
        notes = [*notes[-20:], {"url_citation": {"url": f"https://a.example/{number}", "title": "t"}}]
        delta = {"content": f"word [{number}] ", "annotations": notes}
        reader.feed({"object": "chat.completion.chunk", "choices": [{"delta": delta}]})
    reader.feed({"object": "chat.completion.done", "choices": [{"message": {"content": ""}, "finish_reason": "stop"}]})


def sonar_repeating(chunks: int) -> None:
    reader = SonarStream(provider="P")
    notes = [{"url_citation": {"url": f"https://a.example/{number}", "title": "t"}} for number in range(30)]
    for _ in range(chunks):
        reader.feed({"choices": [{"delta": {"content": "a ", "annotations": notes}}]})


def agent_stream(chunks: int) -> None:
    """Read a stream of which every event brings pages, a new part of the text and the whole part so far."""
    reader = AgentStream()
    for number in range(chunks):
        page = {"url": f"https://a.example/{number}", "title": "t", "id": 1}
        reader.feed({"type": "response.reasoning.search_results", "results": [page] * 5})
        reader.feed({"type": "response.output_text.delta", "output_index": number, "delta": "text "})
        reader.feed({"type": "response.output_text.done", "output_index": number, "text": "text "})


def merged(pages: int) -> None:
    merge({"url": f"https://a.example/{number}", "id": 1} for number in range(pages))
    merge({"url": "https://a.example/", "id": number} for number in range(pages))


def newspaper(stories: int) -> None:
    sources = [Source(number=n, title="", url=f"https://a.example/{n}") for n in range(1, stories + 1)]
    lines = "\n".join(f"{n}. A {n} | b | c [{n}]" for n in range(1, stories + 1))
    deduplicate(read_news(Answer(text=lines, sources=tuple(sources), provider="P")).stories)


def ranked(size: int) -> None:
    bm25_scores(" ".join(map(str, range(size))), [f"a {number}" for number in range(size)])


@pytest.mark.parametrize("work", one_in(3, [sonar_stream, sonar_repeating, agent_stream, merged, newspaper, ranked]))
def test_many_small_things_take_time_in_proportion_to_their_number(work: Callable[[int], None]) -> None:
    assert_linear(lambda text: work(len(text)), Shape("", "x"), short=750, long=3_000)


def test_sources_that_came_late_in_a_long_stream_are_all_there_at_its_end() -> None:
    reader = SonarStream(provider="P")
    for number in range(500):
        note = {"url_citation": {"url": f"https://a.example/{number}"}}
        reader.feed({"choices": [{"delta": {"content": "a ", "annotations": [note]}}]})

    *_, done = reader.feed({"object": "chat.completion.done", "choices": [{"message": {"content": ""}}]})

    assert isinstance(done, Done)
    assert len(done.answer.sources) == 500


def test_only_so_many_stories_are_read_and_the_others_counted() -> None:
    lines = "\n".join(f"{n}. Story {n} | b | c [1]" for n in range(140))

    found = read_news(written(lines))

    assert (len(found.stories), found.unread) == (100, 40)
