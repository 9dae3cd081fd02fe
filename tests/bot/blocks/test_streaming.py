"""An answer that is shown while it is written: each piece is final, and safe wherever the text was cut."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.blocks.answer import answer_messages
from bot.blocks.growing import StreamedText, render_answer_text
from bot.blocks.markdown.blocks import rendered_size
from bot.model.message import Audience
from bot.playground.examples import RECORDINGS
from perplexity.types import Answer, AnswerKind, Done, Passage, Source, Sources, TextDelta
from perplexity.urls import safe_url
from perplexity.wire.agent import AgentStream
from tests.benchmarks.answers import answer_text
from tests.benchmarks.texts import KINDS, text_of
from tests.fakes import renderer
from tests.fakes.hostile_text import SCRAPS, wild
from tests.fakes.linear import Shape, assert_linear, some_or_all
from tests.fakes.renderer import LIVE, links
from tests.rare import one_in

SOURCES = (
    Source(number=1, title="One", url="https://docs.python.org/3.14/whatsnew/3.14.html"),
    Source(number=2, title="Two", url="https://en.wikipedia.org/wiki/Python_(genus)?a=1&copy;=2|x>y z"),
    *(Source(number=n, title=f"T{n}", url=f"https://site{n}.example/path/{n}") for n in range(3, 9)),
)
OURS = {safe_url(source.url) for source in SOURCES}
ONE, TWO = (f"[[{n}]]({safe_url(source.url)})" for n, source in enumerate(SOURCES[:2], 1))

HEAT_PUMP = """\
**Yes, in most buildings a heat pump costs less.**[2] It needs a third of the energy, see
[Title](https://site3.example/path/3). [3] What it costs (about $9,000 & more)
depends on the house; e.g. one *without* a garden.

## Costs [4]

| House | Price | Source |
|---|---|---:|
| New | $9,000 | [1] |
| Old, with radiators | $14,000, or more. | [2][5] |

1. Ask three companies. At <https://site6.example/path/6>
2. Compare:
   - the price.
   - the `noise`, in dB.

```python
def saved(years):
    return 400 * years  # [1]

print(saved(10))
```

> Prices fall. They did in 2025.[7]

---

The power is \\(P = U I\\), and $E = mc^2$. So:

$$
E = \\frac{a}{b}
$$

That is all. AT&T says 3 < 4.
"""
ORDINARY = (
    {
        "heat pump": HEAT_PUMP,
        "windows lines": HEAT_PUMP.replace("\n", "\r\n"),
        "numbers": "Costs fell by 3.5 % in 2025 [web:2], i.e. “much”【3】; see 1. and 2. – lots [1][2, 3].\n\nEnd [8].",
        "German": (
            "Ja, das „lohnt“ sich.[1] Öl kostet 1.000 € – Gas z. B. mehr …\n\n* Punkt 1: gut\n* Punkt 2: besser[2]\n"
        ),
        "Japanese": "はい、ヒートポンプは安い。[1]**「重要」**です。例：東京、大阪。\n\n- 項目一。[2]\n- 項目二。",
        "Arabic": (
            "نعم، المضخة أرخص في معظم المباني.[1]\n\nOpenAI أعلنت اليوم عن "
            "نموذج جديد. وهو أسرع.[2]\n\n- GPT نموذج كبير جدا"
        ),
        "Latin in Arabic": (
            "نعم، المضخة أرخص في معظم المباني هنا، وهي أهدأ من الغاز أيضا.[1]\n\n"
            "نعم.\n\nChatGPT and Gemini, Claude also. أسرع\n\nMore.\n\nWords.\n\nPower is $x^2$. End."
        ),
        "Japanese address": "例は https://site5.example/path/5、次です。終わり。\n",
        "only a bracket": "He said \\(sic. And then, he left.\n\nNext one. End. A list:\n- \\(a. b\n\nEnd.",
        "emoji": "Great! 👍🏽 Two flags: 🇩🇪🇫🇷. Family: 👩\u200d👩\u200d👧.[1] é and e\u0301, done.",
        "stars": (
            "*Note:* 5 * 3 is 15, snake_case stays, **bold *and* nested**, "
            "~~gone~~. A footnote* too.\n\n***Both.*** End."
        ),
        "code first": "```\nno language\n\n```\n\nThen `a. b` and ``c ` d``, end.\n\n    indented\n\n    more\n\nLast.",
        "tables": "| a | b |\n|---|---|\n| 1 | 2 |\n\nText | with a bar.\nMore.\n\na | b\n--|--\n1 | 2\n3 | 4\nEnd.",
        "spaced formula": (
            "So:\n\n\\[\n\nx = \\frac{1}{2}\n\n\\]\n\nThen \\(y\\). And $5 "
            "to $6 more.\n\n$$\na\n$$\n\nb \\alpha\n\n$$\nc\n$$"
        ),
        "links": (
            "See [x](http://other.example/a_(b)), www.site5.example or https://site5.example/path/5. [5] A [b], [c][1]."
        ),
        "rule": "One.\n\n---\n\nTwo.\n\n***\n\nThree.\n",
    }
    | {kind: text_of(kind, 900) for kind in KINDS}
    | {"sections": answer_text(1_500)}
)

RED_TEAM = {
    "mentions": "Hi <!channel>, <@U1>. <!here|x> @here, @channel. &lt;!here&gt; <\u202e!here> x@group.com; @everyone",
    "split mentions": (
        "a <\u2060@U1> <@\nU1> @\u202ahere, <!sub\u2066team^S1>. `<!here>` @CHANNEL.\n\n```\n@here, <@U1>\n```\n"
    ),
    "links": (
        "[a](http://evil.com), ![i](http://evil.com/i.png). [a][b] <http://evil.com> www.evil.com. [b]: http://e.com"
    ),
    "bare": (
        "evil.com, a@evil.com. //localhost/x mailto:a@localhost ftp://evil.com. https&#58;//evil&period;com evil\\.com"
    ),
    "html": "<a href='http://evil.com'>t</a>. <img src=x onerror=y> <!-- c -->, <script>x</script>. &copy; &#64;here",
    "markers": (
        "A [9], [1-999999]. [[1]](http://evil.com) [1](https://evil.com/x), "
        "\\[1\\] [１]. [ [1] ] [1,\n2] [[2]]. [a [2] b"
    ),
    "moved": (
        "[Words [2] and [9]](https://site3.example/path/3), [x [1]](http://evil.com). ![a [2]](http://evil.com/i) end."
    ),
    "fences": (
        "```js\nx\n~~~\n```\n\n~~~~\n```\na. b\n~~~\n~~~~\n\n````md\n```\n@here\n````\n\n- x\n  ```\n  <@U1>\n\n  y\n"
    ),
    "open": "A `b. c\nd, e **f. g *h, i _j. k ~~l. m [n, o (p. q\n\nr \\(s. t \\[u. v $w, x\n\n$$\ny\n\nz. End",
    "headings": "# A [1]. b\n\nB [2].\n===\n\n# C\nd. e\n---\n| f. g |\n--\n\n#\n\n####### h. i\n",
    "lists": "- a\n-\n- [ ] b. c\n1. d\n10) e\n\n\n   f. g\n> h. i\nj\n>> k\n\n* * *\n+ l\n    m. n\n\n      o. p",
    "tables": "a. b | c\n|-|-|\n| d | e | f. g |\n| `h | i` | $j |\n- k\n",
    "wide table": "\n".join(["|" + "a. b|" * 25, "|" + "-|" * 25, "|b. c|" + "d|" * 26]),
    "odd": "A\u200b. B\x00\ufdd0\ufdd2\ufdef. C\ud800, D\u2028E\x85. \x1b[31mF \u2066G. H\r\rI.\r\n\r\nJ\tk. \u2060 L",
    "right to left": (
        "abc. مرحبا, def مرحبا. \n\n| a | مرحبا |\n|-|-|\n| b. c | د |\n\nمرحبا $x^2$. A `مرحبا` b. مرحبا مرحبا"
    ),
}
SCRAPS_IN_TEXT = {scrap: f"One. Before, {scrap} after. Next {scrap}, [1] end." for scrap in SCRAPS}


@cache
def golden(text: str, sources: Sequence[Source] = SOURCES) -> str:
    return render_answer_text(answer(text, sources))[0]


def answer(text: str, sources: Sequence[Source] = SOURCES) -> Answer:
    return Answer(text=text, sources=tuple(sources), provider="P")


def take_all(streamed: StreamedText) -> str:
    return "".join(iter(streamed.take, ""))


def stream(pieces: Iterable[str], sources: Sequence[Source] = SOURCES) -> tuple[StreamedText, list[str]]:
    """Feed a text, and return what is shown after each piece of it."""
    streamed, shown = StreamedText(), [""]
    streamed.add_sources(sources)
    for piece in pieces:
        streamed.feed(piece)
        shown.append(shown[-1] + take_all(streamed))
    return streamed, shown


def assert_harmless(shown: str) -> None:
    assert not LIVE.search(shown)
    assert not set(links(shown)) - OURS


def assert_final(streamed: StreamedText, shown: str, text: str) -> bool:
    """Return whether what was shown is how the answer begins, which the ending must say."""
    ending = streamed.finish(answer(text))
    assert ending.is_correct == golden(text).startswith(shown)
    rest = take_all(streamed)
    assert shown + rest == golden(text) if ending.is_correct else not rest
    return ending.is_correct


@pytest.mark.parametrize("name", one_in(4, ORDINARY))
def test_the_pieces_of_an_ordinary_answer_are_the_answer(name: str) -> None:
    text = ORDINARY[name]
    for step in (1, 7, 20):
        streamed, shown = stream(text[place : place + step] for place in range(0, len(text), step))
        for now in dict.fromkeys(shown):
            assert_harmless(now)
        assert assert_final(streamed, shown[-1], text)


@some_or_all
@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_answer_that_is_cut_anywhere_is_the_answer(name: str, step: int) -> None:
    text = ORDINARY[name][: 400 if name in KINDS else 700]  # the first repeats itself
    for place in range(0, len(text), step):
        streamed, shown = stream([text[:place], text[place:]])
        assert golden(text).startswith(shown[1]), place
        assert golden(text).startswith(shown[2]), place
    assert streamed.finish(answer(text)).is_correct


@pytest.mark.parametrize("name", one_in(3, RED_TEAM))
def test_nothing_becomes_live_wherever_a_hostile_text_is_cut(name: str) -> None:
    text = RED_TEAM[name]
    seen: set[str] = set()
    for place in range(len(text)):
        streamed, shown = stream([text[:place], text[place:]])
        seen.update(shown)
        assert_final(streamed, shown[-1], text)
    streamed, shown = stream(text)
    assert_final(streamed, shown[-1], text)
    for now in seen.union(shown):
        assert_harmless(now)


@pytest.mark.parametrize("name", one_in(9, SCRAPS_IN_TEXT))
def test_nothing_becomes_live_wherever_a_scrap_is_cut(name: str) -> None:
    text = SCRAPS_IN_TEXT[name]
    seen: set[str] = set()
    for place in range(len(text)):
        streamed, shown = stream([text[:place], text[place:]])
        seen.update(shown)
        assert_final(streamed, shown[-1], text)
    for now in seen.union(stream(text)[1]):
        assert_harmless(now)


@given(wild, st.integers(1, 30), st.integers(0, 400))
@settings(max_examples=150, deadline=None)
def test_any_text_is_harmless_and_its_beginning_unless_the_ending_says_otherwise(
    text: str, step: int, known_from: int
) -> None:
    streamed, shown = StreamedText(), ""
    for place in range(0, len(text), step):
        if place >= known_from:
            streamed.add_sources(SOURCES)
        streamed.feed(text[place : place + step])
        shown += take_all(streamed)
        assert_harmless(shown)
    assert_final(streamed, shown, text)


_words = st.sampled_from(
    [
        *("a heat pump", "ca. 5 houses", "costs $9,000", "3.5 %", "the U.S. market", "**less**", "*much*", "`x. y`"),
        *("z. B.", "\\(a. b\\)", "AT&T", "なぜ。はい", "[Two](https://en.wikipedia.org/wiki/Python_(genus)?a=1)"),
    ]
)
_sentences = st.builds(
    lambda words, end, markers: " ".join(words) + end + "".join(f"[{n}]" for n in markers),
    st.lists(_words, min_size=1, max_size=5),
    st.sampled_from([".", ".", "!", "?", ":", "…"]),
    st.lists(st.integers(1, 9), max_size=2),
)
_lines = st.lists(_sentences, min_size=1, max_size=4)
_blocks = st.one_of(
    _lines.map(" ".join),
    _lines.map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    _lines.map(lambda lines: "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1))),
    _lines.map(lambda lines: "\n".join(["| a | b |", "|---|---|", *(f"| {line} | 1 |" for line in lines)])),
    _lines.map(lambda lines: "\n".join(["```", *lines, "```"])),
    _lines.map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    _sentences.map(lambda line: f"## {line}"),
    st.integers(1, 99).map(lambda n: f"$$\nE = \\frac{{m}}{{{n}}} c^2.\n$$"),
)
written_answers = st.lists(_blocks, min_size=1, max_size=3).map("\n\n".join)


def assert_nothing_is_taken_back(text: str, step: int, known_from: int) -> None:
    """Cut an answer at every event: what is shown stays, but for the numbers of markers."""
    streamed, shown = StreamedText(), ""
    seen = [""]
    for place in range(0, len(text), step):
        if place >= known_from:
            streamed.add_sources(SOURCES)
        streamed.feed(text[place : place + step])
        seen.append(streamed.first_sentences())
        shown += take_all(streamed)
        seen.append(shown)
    whole = _NUMBER.sub("[[n]]", golden(text))
    for now in dict.fromkeys(seen):
        assert whole.startswith(_NUMBER.sub("[[n]]", now))
        assert_harmless(now)


_NUMBER = re.compile(r"\[\[\d+\]\]")


@given(written_answers, st.integers(4, 40), st.integers(0, 200))
@settings(deadline=None, max_examples=60)
def test_nothing_that_is_shown_of_an_answer_is_taken_back(text: str, step: int, known_from: int) -> None:
    assert_nothing_is_taken_back(text, step, known_from)


@pytest.mark.rare
@given(written_answers, st.integers(4, 40), st.integers(0, 200))
@settings(deadline=None, max_examples=1_000)
def test_nothing_that_is_shown_of_a_thousand_answers_is_taken_back(text: str, step: int, known_from: int) -> None:
    assert_nothing_is_taken_back(text, step, known_from)


@pytest.mark.parametrize("name", one_in(6, ORDINARY))
def test_the_first_sentences_end_with_one(name: str) -> None:
    text = ORDINARY[name]
    streamed = StreamedText()
    streamed.add_sources(SOURCES)
    for place in range(0, len(text), 7):
        streamed.feed(text[place : place + 7])
        shown = streamed.first_sentences()
        assert golden(text).startswith(shown)
        assert_harmless(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Yes, it pays off", ""),
        ("Yes, it pays off. ", ""),
        ("Yes, it pays off. I", "Yes, it pays off."),
        ("Yes, it pays off.\n", ""),
        ("Yes, in ca. 5 houses. Most", "Yes, in ca. 5 houses."),
        ("Yes.[1] More of", f"Yes.{ONE}"),
        ("Yes.[9] More of", ""),
        ("**Yes. And more", ""),
        ("Here are three:\n\n1. One of\n2. Tw", "Here are three:\n\n1. One of"),
        ("はい。次", "はい。"),
    ],
)
def test_the_first_sentences_are_whole(text: str, shown: str) -> None:
    streamed = StreamedText()
    streamed.add_sources(SOURCES)
    streamed.feed(text)

    assert streamed.first_sentences() == shown


@pytest.mark.parametrize("name", one_in(4, ["heat pump", "numbers", "Japanese", "links"]))
def test_no_marker_is_shown_before_its_source_is_known(name: str) -> None:
    text = ORDINARY[name]
    for place in range(0, len(text), 11):
        streamed, shown = stream([text[now : now + 3] for now in range(0, place, 3)], sources=())
        assert not re.search(r"\[[^a-z]", re.sub(r"(?s)```.*", "", shown[-1]))
        streamed.add_sources(SOURCES)
        now = shown[-1] + take_all(streamed)
        streamed.feed(text[(place + 2) // 3 * 3 :])
        assert assert_final(streamed, now + take_all(streamed), text)


def test_a_marker_of_a_source_that_is_not_known_yet_waits_for_it_alone() -> None:
    streamed, shown = stream(["It is cheap [1]. Then this [2], and that. So"], SOURCES[:1])
    assert shown[-1] == f"It is cheap {ONE}."

    streamed.add_sources(SOURCES[:2])

    assert take_all(streamed) == f" Then this {TWO}, and that."


def test_a_marker_that_no_source_has_is_left_out_with_its_space_at_the_end() -> None:
    text = "One [1] thing. Another [12]. More."
    streamed, shown = stream([text])

    ending = streamed.finish(answer(text))

    assert (shown[-1], take_all(streamed)) == (f"One {ONE} thing.", " Another. More.")
    assert ending.is_correct
    assert ending.cited.dangling == 1


FIRST_PIECES = {
    "sentence": (
        "Yes, in most buildings a heat pump costs less. It needs",
        "Yes, in most buildings a heat pump costs less.",
    ),
    "bold": ("**Yes, it does.** [1] More words", f"**Yes, it does.** {ONE}"),
    "marker": ("It does.[1][2] More", f"It does.{ONE}{TWO}"),
    "long clause": ("In most of the buildings that exist today, it", "In most of the buildings that exist today,"),
    "short line": ("Costs\n\nM", "Costs"),
    "heading": ("## Costs\nM", "## Costs"),
    "item": ("- **Price:** it is low. It", "- **Price:** it is low."),
    "row": ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    "code": ("```python\nx = 1\ny = 2", "```python\nx = 1"),
    "Chinese": ("是的，热泵更便宜。它", "是的，热泵更便宜。"),
    "Arabic": ("نعم، المضخة أرخص. وهي", "نعم، المضخة أرخص."),
    "no clause": ("word " * 30, " ".join(["word"] * 30)),
}


@pytest.mark.parametrize(("text", "piece"), FIRST_PIECES.values(), ids=FIRST_PIECES)
def test_the_first_clause_is_shown_as_soon_as_it_is_complete(text: str, piece: str) -> None:
    assert stream([text])[1][-1] == piece


def test_the_first_piece_comes_with_the_first_clause() -> None:
    text = "Yes, in most buildings a heat pump costs less. It needs a third of the energy."
    _, shown = stream(text[place : place + 20] for place in range(0, len(text), 20))

    assert shown == ["", "", "", *["Yes, in most buildings a heat pump costs less."] * 2]


HELD = {
    "open bracket": "Costs less. See [Dr. No, and",
    "link": "Costs less. See [Title](https://site3.example/pa",
    "link before its marker": "Costs less. See [Title](https://site3.example/path/3). [",
    "address": "Costs less. https://site3.example/a.",
    "code": "Costs less. Run `a. b, c",
    "bold": "Costs less. **Very. Much, so",
    "emphasis": "Costs less. *Very. Much, so",
    "formula": "Costs less. \\(a. b, c",
    "displayed formula": "Costs less. \\[\na. b, c",
    "dollars": "Costs less. $x_1, y. ",
    "header of a table": "Costs less.\n| A. b | C, d. |",
    "line of dashes": "Costs less.\n\nMore\n--",
    "heading": "Costs less.\n\n## All. Of, it",
    "row": "Costs less.\n\n| a | b |\n|---|---|\n| c. d",
    "fence": "Costs less.\n\n```python\nx = 1. a",
    "longer fence": "Costs less.\n\n````md\n```\nx\n```\n",
    "sign of an item": "Costs less.\n\n1. ",
    "spaced formula": "Costs less.\n\n\\[\n\nx. y,\n\n",
}


@pytest.mark.parametrize("text", HELD.values(), ids=HELD)
def test_what_may_become_something_else_is_held_back(text: str) -> None:
    assert stream([text])[1][-1] in ("Costs less.", "Costs less. See", "Costs less. Run")


NOT_FORESEEN = {
    "heading": "Yes, it costs less. Much less.\n---\n",
    "row with more cells": "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 | 5 |\n",
    "fence in code": "```\nx\n```python\ny\n```",
}


@pytest.mark.parametrize("text", NOT_FORESEEN.values(), ids=NOT_FORESEEN)
def test_the_ending_says_what_could_not_be_foreseen(text: str) -> None:
    streamed, _ = stream(text)

    ending = streamed.finish(answer(text))

    assert (ending.is_correct, take_all(streamed)) == (False, "")


def test_a_text_that_was_corrected_at_its_end_is_not_correct() -> None:
    streamed, shown = stream(["It costs less. More"])
    assert shown[-1] == "It costs less."

    assert not streamed.finish(answer("It costs more. Less")).is_correct


def test_passages_have_no_text() -> None:
    passages = Answer(
        text="x", sources=SOURCES, provider="P", kind=AnswerKind.PASSAGES, passages=(Passage(text="x", source=1),)
    )
    streamed = StreamedText()
    assert streamed.finish(passages).is_correct
    assert take_all(streamed) == ""
    assert not stream(["It costs less. More"])[0].finish(passages).is_correct


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["It costs less.[1] And it", " is quiet. Very"], "It costs less.[1] And it is quiet."),
        (["It costs less.[1] And it is quiet.[9] Very quiet. "], "It costs less.[1]"),
        (["It"], ""),
    ],
)
def test_a_text_that_broke_off_ends_with_its_last_whole_clause(pieces: list[str], whole: str) -> None:
    streamed, shown = stream(pieces)

    cut = streamed.whole_clauses()

    assert cut.rstrip() == whole
    assert render_answer_text(answer(cut))[0].startswith(shown[-1] if shown else "")
    assert streamed.finish(answer(cut)).is_correct


SEAMS = {
    "code": ("```python\nx = 1\ny", "\n```", " = 2\nz = 3\n```\n", "```python\ny = 2\nz = 3\n```"),
    "code that ends there": ("```python\nx = 1\n`", "\n```", "``\n\nMore. And", "More."),
    "table": (
        "| a | b |\n|---|---|\n| 1 | 2 |\n", "", "| 3 | 4 |\n|",
        "| a | b |\n| --- | --- |\n| 3 | 4 |",
    ),
    "table that ends there": ("| a | b |\n|---|---|\n| 1 | 2 |\n", "", "\nMore. And", "More."),
    "paragraph": ("It costs less. And", "", " it is quiet. So", "And it is quiet."),
    "paragraph, as a list": ("It costs less. - And", "", " it is quiet. So", "\u2060- And it is quiet."),
    "list": ("- It costs less.\n-", "", " It is quiet. So", "- It is quiet."),
    "code in a list": ("- Run:\n  ```sh\n  a\n", "\n  ```", "  b\n  ```\n- End. ", "- ```sh\n  b\n  ```\n- End."),
    "code in a quotation": ("> ```sh\n> a\n", "\n> ```", "> b\n> ```\n\nEnd. ", "> ```sh\n> b\n> ```\n\nEnd."),
}  # fmt: skip


@pytest.mark.parametrize(("first", "closing", "then", "second"), SEAMS.values(), ids=SEAMS)
def test_a_full_message_is_closed_and_the_next_opened_again(first: str, closing: str, then: str, second: str) -> None:
    streamed, _ = stream([first])
    assert streamed.size > 0

    assert streamed.close_message() == closing
    assert (streamed.size, streamed.blocks) == (0, 0)
    streamed.feed(then)

    assert take_all(streamed) == second
    assert streamed.size == rendered_size(second)
    assert streamed.finish(answer(first + then)).is_correct


def test_size_and_blocks_are_those_of_the_message() -> None:
    streamed, shown = stream(["# A & b\n\nC < d.\n\n- e\n- f\n\n---\n\ng"])

    assert streamed.size == rendered_size(shown[-1]) == len(shown[-1]) + 4 + 3
    assert streamed.blocks == 3


def test_a_message_without_text_is_not_closed() -> None:
    streamed, _ = stream([""])

    assert streamed.close_message() == ""
    streamed.feed("- It costs less. And")
    assert take_all(streamed) == "- It costs less."


@pytest.mark.parametrize("text", one_in(4, [*ORDINARY.values(), *RED_TEAM.values()]), ids=[*ORDINARY, *RED_TEAM])
def test_messages_that_are_closed_after_every_piece_are_harmless_and_lose_nothing(text: str) -> None:
    streamed, messages = StreamedText(), []
    streamed.add_sources(SOURCES)
    for place in range(0, len(text), 5):
        streamed.feed(text[place : place + 5])
        while piece := streamed.take():
            messages.append(piece + streamed.close_message())
    ending = streamed.finish(answer(text))
    messages.append(take_all(streamed))

    for message in messages:
        assert_harmless(message)
    said = iter("".join(map(renderer.shown, messages)))
    if ending.is_correct:
        assert all(letter in said for letter in renderer.shown(golden(text)) if letter.isalnum())


def test_a_rest_that_is_long_can_be_taken_in_pieces() -> None:
    text = f"First, it costs less. Then [77]. {answer_text(12_000)}"
    streamed, shown = stream([text])
    assert shown[-1] == "First, it costs less."

    ending = streamed.finish(answer(text))
    pieces = [*iter(streamed.take, "")]

    assert ending.is_correct
    assert shown[-1] + "".join(pieces) == golden(text)
    assert (len(pieces) > 5, max(map(rendered_size, pieces)) < 4_000) == (True, True)


def test_the_rest_of_a_corrected_answer_that_begins_as_shown_can_be_taken() -> None:
    streamed, shown = stream(["It costs less. Mch"])
    corrected = f"It costs less. Much less. {answer_text(5_000)}"

    assert streamed.finish(answer(corrected)).is_correct
    assert streamed.length >= 5_000
    assert shown[-1] + take_all(streamed) == golden(corrected)


def test_the_rest_begins_a_message_after_one_that_is_full() -> None:
    streamed, _ = stream(["It costs less. - And"])
    streamed.close_message()

    assert streamed.finish(answer("It costs less. - And")).is_correct
    assert take_all(streamed) == "\u2060- And"


def test_nothing_is_read_again_while_a_source_is_awaited() -> None:
    text = f"First, it costs less. Then [77]. {answer_text(100_000)}"
    streamed, _ = stream([text])

    begun = time.perf_counter()
    assert [streamed.take() for _ in range(1_000)] == [""] * 1_000
    assert time.perf_counter() - begun < 0.5


def test_a_number_is_a_link_if_its_address_follows() -> None:
    streamed, shown = stream(["It costs less. See [77]", "(https://site3.example/path/3) now. So"])

    assert shown[1:] == ["It costs less.", "It costs less. See [[1]](https://site3.example/path/3) now."]
    assert streamed.close_message() == ""


def test_a_long_delta_is_shown_in_pieces() -> None:
    text = answer_text(20_000)
    streamed = StreamedText()
    streamed.add_sources(SOURCES)
    streamed.feed(text)

    pieces = [*iter(streamed.take, "")]

    assert max(map(rendered_size, pieces)) < 4_000
    assert streamed.finish(answer(text)).is_correct


def test_the_text_is_that_of_the_messages() -> None:
    for text in ORDINARY.values():
        (message,) = answer_messages(answer(text), audience=Audience.CHANNEL)
        assert "".join(block["text"] for block in message.blocks if block["type"] == "markdown") == golden(text)


@pytest.mark.parametrize("name", ["answer", "table", "news", "situation"])
def test_a_recorded_stream_is_shown_as_its_answer(name: str) -> None:
    streamed, wire, shown, correct = StreamedText(), AgentStream(), [""], False
    for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines():
        for event in wire.feed(json.loads(line)["event"]):
            match event:
                case Sources(sources=sources):
                    streamed.add_sources(sources)
                case TextDelta(text=text):
                    streamed.feed(text)
                    shown.append(streamed.take())
                case Done(answer=done):
                    correct = streamed.finish(done).is_correct
    assert correct
    assert len([*filter(None, shown)]) > 4


NOT_FINAL = ["`", "*", "[", "[a](", "|", "| a | b |\n", "\n", "<", "&", "\ud83d", "x", "- ", "$$\n"]
"""What no clause ends in, however often it is repeated."""


@pytest.mark.parametrize("repeated", one_in(8, NOT_FINAL))
def test_a_text_of_which_nothing_is_final_is_not_read_anew_with_every_delta(repeated: str) -> None:
    def read(text: str) -> None:
        streamed = StreamedText()
        for place in range(0, len(text), 50):
            streamed.feed(text[place : place + 50])
            take_all(streamed)

    assert_linear(read, Shape("", repeated), short=2_000, long=8_000)


@pytest.mark.parametrize(
    ("repeated", "delta"),
    one_in(
        8,
        product([*NOT_FINAL, "word ", "One. Two, three.\n\n", "  - a\n", "> a. b\n", "[1] a. "], [1, 4_096, 100_000]),
    ),
)
def test_an_extreme_text_is_shown_to_its_end(repeated: str, delta: int) -> None:
    text = (repeated * 10_000)[: 600 if delta == 1 else 10_000]
    streamed, shown = stream([text[place : place + delta] for place in range(0, len(text), delta)])

    assert assert_final(streamed, shown[-1], text)


@pytest.mark.parametrize("kind", one_in(8, [*KINDS, "sections"]))
def test_all_takes_together_take_time_in_proportion_to_the_answer(kind: str) -> None:
    def read(text: str) -> None:
        streamed = StreamedText()
        streamed.add_sources(SOURCES)
        for place in range(0, len(text), 50):
            streamed.feed(text[place : place + 50])
            streamed.take()

    written = answer_text(2_000) if kind == "sections" else text_of(kind, 2_000)
    assert_linear(read, Shape("", written), short=2_000, long=8_000)
