"""An answer's text in a markdown block: every trick by which a text could become a link, a mention or nothing."""

from __future__ import annotations

import html

import pytest

from bot.blocks.answer import EMPTY, answer_messages
from bot.blocks.markdown.blocks import insert_placeholders
from bot.blocks.markdown.render import split_markdown
from bot.blocks.messages import without_blocks
from bot.model.message import Audience
from perplexity.citations import number_citations
from perplexity.types import Answer, Source
from tests.fakes.renderer import links, mentions, shown

ONE = "https://one.example/"
SOURCES = (Source(number=1, title="One", url=ONE), Source(number=2, title="Two", url="javascript:alert(1)"))


def markdown(text: str) -> str:
    blocks = answer_messages(Answer(text=text, sources=SOURCES, provider="P"), audience=Audience.ASKER)[0].blocks
    return str(blocks[0]["text"])


def visible(text: str) -> str:
    return markdown(text).replace("\u2060", "")


@pytest.mark.parametrize(
    "text",
    [
        "[a](http://evil.example)",
        "[a](<http://evil.example> 'T')",
        "[a]( //evil.example )",
        "![a](http://evil.example/i.png)",
        "[a][b] and [b] and [b][]\n\n[b]: http://evil.example",
        "[b]:\nhttp://evil.example\n\n[b]",
        "> [b]: http://evil.example\n\n[b]",
        "<http://evil.example>",
        "<mailto:a@b>",
        "<a@evil.com>",
        "<a href=http://evil.example>x</a>",
        "<img src=http://evil.example/i.png>",
        "<script>x</script>",
        "<!-- x -->",
        "<?x?>",
        "http://evil.example/x",
        "HTTPS://1.2.3.4/",
        "http://localhost/",
        "//evil.com/x",
        "//localhost/x",
        "www.evil.com",
        "evil.com and sub.evil.co.uk/x?y",
        "evil.com.",
        "1.2.evil.com",
        "☃.com",
        "рф.рф",
        "a@evil.com",
        "mailto:a@localhost",
        "ftp://evil.com",
        "https&colon;//evil.com",
        "https&#58;//evil&#46;com",
        "www&period;evil&period;com",
        r"https\://evil.com",
        r"evil\.com",
        r"\[a](http://evil.example)",
        "**[a](http://evil.example)**",
        "~~www.evil.com~~",
        "# www.evil.com",
        "- [a](http://evil.example)\n  1. www.evil.com",
        "| www.evil.com | [a](http://evil.example) |\n|---|---|\n| <http://evil.example> | `x` |",
        "    www.evil.com",
        "a `b` www.evil.com `c`",
        "`a www.evil.com",
        "```\nx\n```\nwww.evil.com",
        "$www.evil.com$",
        "x [1](http://evil.example) y [[1]](http://evil.example)",
        "![[1]](http://evil.example)",
        "[[1](http://evil.example)](http://evil.example)",
        "[a [1] b](http://evil.example)",
        "[2](http://evil.example)",
        "[2]: http://evil.example\n\n[2]",
        "[1]: http://evil.example\n\n[1]",
    ],
)
def test_nothing_becomes_a_link_but_the_markers_of_retrieved_pages(text: str) -> None:
    assert {ONE} >= set(links(markdown(text)))


@pytest.mark.parametrize("text", ["evil&period;com", "https&#58;//1.2.3.4", "a&commat;evil&#46;com", "http:&sol;/evil"])
def test_an_address_spelled_with_entities_is_none_even_to_a_renderer_that_decodes_first(text: str) -> None:
    assert links(html.unescape(markdown(text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "<!here>",
        "<!channel|x>",
        "<@U1>",
        "<#C1>",
        "<!subteam^S1>",
        "<!date^1^{date}|x>",
        "`<!here>`",
        "```\n<!here> @here\n```",
        "&lt;!here>",
        "&#60;!here>",
        "&#x3C;@U1>",
        "@here",
        "@Channel.",
        "x@everyone",
        "@GROUP",
        "`@here`",
        "<[1]@U1>",
        "<\x00!here>",
    ],
)
def test_no_text_becomes_a_mention(text: str) -> None:
    assert mentions({"text": "", "blocks": [{"type": "markdown", "text": markdown(text)}]}) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a [1].", f"a [[1]]({ONE})."),
        ("a [1][1] b", f"a [[1]]({ONE}) b"),
        ("wow![1]", f"wow![[1]]({ONE})"),
        ("a [2] b", "a [1] b"),
        ("`[1]` [1]", f"`[1]` [[1]]({ONE})"),
        ("a < b && c > d", "a < b && c > d"),
        ("x\r\ny\rz", "x\ny\nz"),
        ("a\x00b\x1bc\x0cd", "abc d"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("```python title=x\na\n```", "```python\ntitle=x\na\n```"),
        ("~~~sh\nls ```\n~~~", "````sh\nls ```\n````"),
        ("    indented", "```\nindented\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("Title\n===", "# Title"),
        ("# " + "long " * 40, ("long " * 40).strip()),
        ("a\n***\nb", "a\n\n---\n\nb"),
        ("a|b\n-|-\n1|2|3", "| a | b |  |\n| - | - | --- |\n| 1 | 2 | 3 |"),
        ("|a|\n|-|\n|x \\| y|", "| a |\n| - |\n| x \\| y |"),
    ],
)
def test_the_text_is_written_as_slack_shows_it_best(text: str, expected: str) -> None:
    assert expected == visible(text)


def test_latex_is_readable_in_the_blocks_in_the_text_alone_and_in_the_notification() -> None:
    text = "So \\(E = mc^2\\), \\(\\binom{n}{k}\\,*\\) and $5 [1].\n\n\\[\na\\,*b*\n\\]\n\n$$[2]$$"
    message = answer_messages(Answer(text=text, sources=SOURCES, provider="P"), audience=Audience.ASKER)[0]

    assert "So E = mc², `\\binom{n}{k}\\,*` and $5 [[1]]" in message.blocks[0]["text"]
    assert "```latex\na\\,*b*\n```" in message.blocks[0]["text"]
    assert "```latex\na\\,*b*\n```" in without_blocks(message).text
    for words in ("So E = mc², \\binom{n}{k}\\,* and $5 [1].", "a\\,*b*"):
        assert words in message.text.replace("\u2060", "")


def test_an_exclamation_mark_before_a_marker_makes_no_image() -> None:
    assert links(markdown("wow![1]")) == [ONE]


def test_an_escaped_bracket_before_a_marker_keeps_the_link() -> None:
    assert links(markdown("odd \\\\[1] \\ [1]"))[:1] == [ONE]


def test_code_is_copied_as_it_was_written() -> None:
    text = "`curl https://api.example/x`\n\n```sh\ncurl https://api.example/x | jq '.a.b'\n```"

    assert text == markdown(text)


@pytest.mark.parametrize("text", ["日本語**「重要」**です", "한국어**(강조)**는", "a**“b”**c"])
def test_bold_next_to_letters_is_bold_if_words_have_no_spaces(text: str) -> None:
    assert "**" not in shown(markdown(text))


def test_a_table_too_wide_for_slack_becomes_tables_that_repeat_the_first_column() -> None:
    header, row = (" | ".join([name, *(f"{name}{n} [1]" for n in range(1, 41))]) for name in ("h", "c"))

    text = markdown(f"{header}\n{'|'.join([':-:'] * 41)}\n{row}\nd | d1\n| | e1 |")

    tables = [table.splitlines() for table in text.split("\n\n")]
    assert text.count(f"[[1]]({ONE})") == 80
    assert [[line.split(" | ")[0] for line in table] for table in tables] == [
        ["| h", "| :-:", "| c", "| d", "| "],
        ["| h", "| :-:", "| c"],
        ["| h", "| :-:", "| c"],
    ]
    assert [len(line.split(" | ")) for table in tables for line in table] == [15] * 5 + [15] * 3 + [13] * 3


@pytest.mark.parametrize(
    ("info", "language"), [("c++", "c++"), ("python:main.py", "python"), ("js {1,3}", "js"), ("{.r}", "r"),
                           ('ts title="a b"', "ts"), ("go main.go", "go"), ("no language at all", "")]
)  # fmt: skip
def test_code_keeps_its_language(info: str, language: str) -> None:
    assert markdown(f"```{info}\na\n```").startswith(f"```{language}\n")


@pytest.mark.parametrize("text", ["", "  \n", "\x00"])
def test_an_empty_answer_says_so(text: str) -> None:
    messages = answer_messages(Answer(text=text, sources=(), provider="P"), audience=Audience.ASKER)

    assert EMPTY in [block.get("text", {}).get("text") for block in messages[0].blocks]


def test_an_answer_without_sources_says_so() -> None:
    messages = answer_messages(Answer(text="So it is.", sources=(), provider="P"), audience=Audience.ASKER)

    assert "This answer has no sources, so nothing in it can be checked here." in str(messages[0].blocks)


def test_rendering_marked_text_twice_is_the_same() -> None:
    cited = number_citations("a [1] www.evil.com", SOURCES)

    assert split_markdown(insert_placeholders(cited), [ONE]) == split_markdown(insert_placeholders(cited), [ONE])
