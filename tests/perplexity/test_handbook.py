from __future__ import annotations

from pathlib import Path

import pytest

from perplexity.errors import NothingFound
from perplexity.providers.handbook import Handbook, Section, load_pages, sections, slug
from perplexity.providers.handbook_text import readable
from perplexity.types import AnswerKind, Done, Message, Query, Question, Sources, TextDelta

README = """Intro about everything.

# Deploying

Push it to a host.

## Set `HOST` and PORT

The port is 3000.

```bash
# not a heading
make run
```

~~~
```
# not one either
~~~

## Empty

### Deploying #

A second time.
"""
PAGES = {"README.md": README, "docs/limits.md": "# Limits\n\nTwenty results, no more."}


@pytest.fixture
def handbook() -> Handbook:
    return Handbook(PAGES, base_url="http://127.0.0.1:3000/docs/", clock=lambda: 3.0)


def test_a_page_is_split_at_its_headings_and_not_inside_code() -> None:
    found = sections("README.md", README)

    assert [(section.heading, section.anchor) for section in found] == [
        ("", ""),
        ("Deploying", "deploying"),
        ("Set HOST and PORT", "set-host-and-port"),
        ("Deploying", "deploying-1"),
    ]
    assert "# not a heading" in found[2].text
    assert "# not one either" in found[2].text


def test_a_section_is_the_text_word_for_word() -> None:
    assert sections("a.md", "# One\r\nTwo\r\n") == [Section(page="a.md", heading="One", anchor="one", text="Two")]


@pytest.mark.parametrize(
    ("heading", "anchor"), [("What it is, and isn't", "what-it-is-and-isnt"), ("Über `x_y`", "über-x_y"), ("", "")]
)
def test_an_anchor_is_the_one_that_renderers_make(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


async def test_a_search_finds_the_section_with_an_address_that_opens(handbook: Handbook) -> None:
    found = await handbook.search(Query(text="which port?"))

    (source,) = found.results
    assert (source.number, source.title) == (1, "README › Set HOST and PORT")
    assert source.url == "http://127.0.0.1:3000/docs/README.md#set-host-and-port"
    assert source.snippet == "The port is 3000.\n\n# not a heading\nmake run\n\n```\n# not one either"
    assert (found.provider, found.cost_usd, found.seconds) == ("Handbook", 0.0, 0.0)
    assert found.notes == ("The web was not searched: these are pages of this app’s own handbook.",)


async def test_the_best_section_comes_first_and_no_more_than_were_asked_for(handbook: Handbook) -> None:
    everything = await handbook.search(Query(text="deploying to a host, twenty results", max_results=2))

    assert [source.title for source in everything.results] == ["limits › Limits", "README › Deploying"]


async def test_text_above_the_first_heading_is_the_pages_own() -> None:
    found = await Handbook(PAGES, base_url="").search(Query(text="everything"))

    assert [(source.title, source.url) for source in found.results] == [("README", "README.md")]


@pytest.mark.parametrize("text", ["quokka", "?!", ""])
async def test_what_fits_nothing_is_told_so(handbook: Handbook, text: str) -> None:
    with pytest.raises(NothingFound):
        await handbook.search(Query(text=text))


async def test_no_pages_hold_nothing() -> None:
    with pytest.raises(NothingFound):
        await Handbook({}, base_url="").search(Query(text="port"))


async def test_any_common_word_is_enough(handbook: Handbook) -> None:
    assert (await handbook.search(Query(text="what is the capital of France"))).results


async def test_a_question_is_answered_with_passages(handbook: Handbook) -> None:
    question = Question(messages=(Message(role="user", content="How many results?"),))

    answer = await handbook.answer(question)
    events = [event async for event in handbook.stream(question)]

    assert (answer.kind, answer.text) == (AnswerKind.PASSAGES, "Twenty results, no more. [1]")
    assert [type(event) for event in events] == [Sources, TextDelta, Done]


def test_pages_are_loaded_from_the_root_and_the_docs(tmp_path: Path) -> None:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for path in ("README.md", "docs/a.md", "docs/deep/b.md", "docs/c.txt", "elsewhere/d.md"):
        (tmp_path / path).write_text(f"Läs {path}", encoding="utf-8")

    assert load_pages(tmp_path) == {path: f"Läs {path}" for path in ("README.md", "docs/a.md", "docs/deep/b.md")}


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("one `two`\n**three** [four](docs/x.md)", "one two three four"),
        ("- one\n- two\n  - three", "one\n\ntwo\n\nthree"),
        ("| A | B |\n|---|---|\n| `PORT` | 3000 |\n| x | |", "PORT – 3000\n\nx"),
        ("```sh\nmake run\n```\n\n![picture](x.png)", "make run"),
        ("> quoted\n\n    code", "quoted\n\ncode"),
    ],
)
def test_a_section_reads_without_markdown_s_signs(markdown: str, words: str) -> None:
    assert readable(markdown) == words
