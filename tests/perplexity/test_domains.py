"""Only what belongs to the domains that were asked for comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.domains import DomainPolicy, TextFilter, filter_answer, filter_results, requested_host
from perplexity.filters import parse_domains
from perplexity.markdown import RegionKind, regions
from perplexity.types import Answer, SearchResults, Source
from tests.fakes.hostile_text import wild

ONLY_A, NOT_B = ("a.example",), ("-b.example",)
SOURCES = tuple(
    Source(number=number, title=f"T{number}", url=f"https://{host}/p")
    for number, host in enumerate(("a.example", "b.example", "sub.a.example", "c.example"), start=1)
)


def answer(text: str, sources: Sequence[Source] = SOURCES) -> Answer:
    return Answer(text=text, sources=tuple(sources), provider="P", notes=("Said before.",))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x?y#z", "a.example"),
        (" HTTPS://A.Example. ", "a.example"),
        ("https://a.example:8443", "a.example"),
        ("https://user:pass@a.example:1/", "a.example"),
        ("https://a.example@b.example/", "b.example"),
        ("https://b.example\\@a.example/", "b.example"),
        ("https:/a.example/", "a.example"),
        ("//a.example/x", "a.example"),
        ("www.a.example/x", "www.a.example"),
        ("https://B%2eexample/", "b.example"),
        ("https://bü\tcher.example/", "xn--bcher-kva.example"),
        ("https://XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("https://ａ。example/", "a.example"),
        ("https://1.2.3.4/", "1.2.3.4"),
        ("https://a..example/", None),
        ("https://[::1]/", None),
        ("https://[x/", None),
        ("https://a b.example/", None),
        ("https://" + "a" * 64 + ".example/", None),
        ("https://" + "a." * 50_000, None),
        ("https://", None),
        ("a.example/x", None),
        ("mailto:x@a.example", None),
        ("javascript://a.example/%0aalert(1)", None),
        ("", None),
    ],
)
def test_the_host_is_the_one_that_a_browser_would_ask(url: str, expected: str | None) -> None:
    assert expected == requested_host(url)


@pytest.mark.parametrize(
    ("domains", "url", "foreign"),
    [
        ("a.example", "https://a.example/", False),
        ("a.example", "https://sub.a.example/", False),
        ("a.example", "https://x.sub.A.example.:80/", False),
        ("a.example", "https://www.a.example/", False),
        ("a.example", "https://nota.example/", True),
        ("a.example", "https://a.example.evil.example/", True),
        ("a.example", "https://example/", True),
        ("a.example", "https://b.example/?a.example", True),
        ("a.example", "https://a.example@b.example/", True),
        ("a.example", "nonsense", True),
        ("sub.a.example", "https://a.example/", True),
        ("www.a.example", "https://a.example/", False),
        ("www.a.example", "https://www.a.example/", False),
        ("www.a.example", "https://sub.a.example/", True),
        ("A.example.", "https://a.example/", False),
        ("bücher.example", "https://www.xn--bcher-kva.example/", False),
        ("xn--bcher-kva.example", "https://BÜCHER.example/", False),
        ("fass.de", "https://faß.de/", True),
        ("faß.de", "https://faß.de/", False),
        ("a.example b.example", "https://b.example/", False),
        ("-b.example", "https://b.example/", True),
        ("-b.example", "https://sub.B.example./", True),
        ("-b.example", "https://www.b.example/", True),
        ("-b.example", "https://x@b.example/", True),
        ("-b.example", "https://notb.example/", False),
        ("-b.example", "nonsense", False),
        ("-www.b.example", "https://b.example/", True),
        ("-b.example -c.example", "https://c.example/", True),
    ],
)
def test_a_subdomain_belongs_to_its_domain_and_a_longer_name_does_not(domains: str, url: str, foreign: bool) -> None:
    assert DomainPolicy(parse_domains(domains.split())).excludes(url) is foreign


@pytest.mark.parametrize(
    ("domains", "said"),
    [
        ("a.example", "outside a.example"),
        ("a.example b.example", "outside a.example and b.example"),
        ("-a.example -b.example -c.example", "on a.example, b.example and c.example"),
        ("a.example b.example c.example d.example e.example", "outside a.example, b.example, c.example and 2 more"),
    ],
)
def test_the_domains_are_named_as_far_as_a_line_holds_them(domains: str, said: str) -> None:
    assert said == DomainPolicy(domains.split()).place


@pytest.mark.parametrize(
    ("domains", "kept", "note"),
    [
        ((), [1, 2, 3, 4], None),
        (("z.example",), [], "4 results outside z.example left out, so no result is left."),
        (ONLY_A, [1, 3], "2 results outside a.example left out."),
        (NOT_B, [1, 3, 4], "1 result on b.example left out."),
        (("-z.example",), [1, 2, 3, 4], None),
    ],
)
def test_foreign_results_are_left_out_and_counted(domains: tuple[str, ...], kept: list[int], note: str | None) -> None:
    found = filter_results(SearchResults(results=SOURCES, provider="P", notes=("Said before.",)), domains)

    assert [source.title for source in found.results] == [f"T{number}" for number in kept]
    assert [source.number for source in found.results] == list(range(1, len(kept) + 1))
    assert found.notes == (*filter(None, [note]), "Said before.")


@pytest.mark.parametrize(
    ("domains", "text", "left", "notes"),
    [
        ((), "x [1][2] https://b.example/", "x [1][2] https://b.example/", []),
        (ONLY_A, "x [1]. y [2]. z [3][4].", "x [1]. y. z [3].", ["2 sources … left out, with 2 references to them."]),
        (ONLY_A, "x [1-4].", "x [1][3].", ["2 sources … left out, with 2 references to them."]),
        (ONLY_A, "x [2, 9] [９].", "x [9] [９].", ["2 sources … left out, with 1 reference to them."]),
        (ONLY_A, "x【2】y［４］", "xy", ["2 sources … left out, with 2 references to them."]),
        (ONLY_A, "`a[2]` [1]", "`a[2]` [1]", ["2 sources … left out."]),
        (ONLY_A, "```\n[2] https://b.example/\n```", "```\n[2] https://b.example/\n```", ["2 sources … left out."]),
        (
            ONLY_A,
            "the [B](https://b.example/p 'T') says [this](https://www.a.example/), www.c.example/x too",
            "the B says [this](https://www.a.example/), too",
            ["2 sources … left out.", "2 links … removed."],
        ),
        (ONLY_A, "[2](https://b.example/p) x", "x", ["2 sources … left out, with 1 reference to them."]),
        (ONLY_A, "x [2](https://a.example/p)", "x [2](https://a.example/p)", ["2 sources … left out."]),
        (ONLY_A, "x [1](https://evil.example/)", "x [1]", ["2 sources … left out.", "1 link … removed."]),
        (ONLY_A, "[x](https&#58;//b\\.example) [y](#z)", "x [y](#z)", ["2 sources … left out.", "1 link … removed."]),
        (ONLY_A, "![i](https://b.example/i.png)", "i", ["2 sources … left out.", "1 link … removed."]),
    ],
)
def test_foreign_sources_go_with_their_markers_and_links(
    domains: tuple[str, ...], text: str, left: str, notes: list[str]
) -> None:
    kept = filter_answer(answer(text), domains)

    assert kept.text == left
    assert kept.notes == (*(note.replace("…", "outside a.example") for note in notes), "Said before.")
    assert [source.number for source in kept.sources] == ([1, 3] if domains else [1, 2, 3, 4])


def test_an_answer_of_which_no_source_is_left_says_so() -> None:
    kept = filter_answer(answer("x [1].", SOURCES[1:2]), ONLY_A)

    assert kept.sources == ()
    assert kept.notes[0] == ("1 source outside a.example left out; no source is left.")


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"a": ["x [2].", "y [3]"], "n": [2, 4], "u": None}, {"a": ["x.", "y [2]"], "n": [2, 4], "u": None}),
        ("see https://b.example/", "see"),
        ([1, 2], [1, 2]),
    ],
)
def test_json_stays_json_and_counts_by_the_place_in_the_list(value: object, left: object) -> None:
    kept = filter_answer(answer(json.dumps(value)), ONLY_A, as_json=True)

    assert json.loads(kept.text) == left
    assert [(source.number, source.title) for source in kept.sources] == [(1, "T1"), (2, "T3")]


@pytest.mark.parametrize("text", ["[2] no json", "[" * 100_000 + "]" * 100_000])
def test_text_that_is_not_json_is_read_as_text(text: str) -> None:
    assert "[2]" not in filter_answer(answer(text), ONLY_A, as_json=True).text


def outside_code(text: str) -> str:
    return " ".join(text[r.start : r.end] for r in regions(text) if r.kind is RegionKind.PROSE)


@given(wild, st.sampled_from([ONLY_A, NOT_B]))
def test_no_text_keeps_a_foreign_marker_or_link(text: str, domains: tuple[str, ...]) -> None:
    left = filter_answer(answer(text + " [2] https://b.example/x"), domains)
    policy = DomainPolicy(domains)

    prose = outside_code(left.text)
    shown = {source.number for source in left.sources}
    assert not ({2} - shown) & {int(number) for number in re.findall(r"\[([0-9]{1,3})\]", prose)}
    assert not [url for url in re.findall(r"https?://[\w.-]+", prose) if policy.excludes(url)]
    assert filter_answer(left, domains) == left


def streamed(text: str, sizes: Sequence[int], *, as_json: bool = False) -> list[str]:
    """Return the pieces that are shown of a text that comes in pieces of these sizes."""
    kept, shown, place = TextFilter(ONLY_A, as_json=as_json), [""], 0
    kept.filter_sources(SOURCES)
    for size in [*sizes, len(text)]:
        piece, place = text[place : place + size], place + size
        if kept.feed(piece):
            shown.append(kept.take())
    return [*shown, kept.flush()]


@given(wild, st.lists(st.integers(1, 9), max_size=60))
def test_however_a_text_is_streamed_what_is_shown_is_the_whole_answer_s(text: str, sizes: list[int]) -> None:
    assert "".join(streamed(text, sizes)) == filter_answer(answer(text), ONLY_A).text


def test_words_are_shown_before_their_paragraph_ends_and_links_once_they_are_whole() -> None:
    text = "One [1] two three [b](https://b.example/p 'A title') four https://b.example/x five\n\nsix seven"

    pieces = [piece for piece in streamed(text, [1] * len(text)) if piece]

    assert "".join(pieces) == "One [1] two three b four five\n\nsix seven"
    assert len(pieces) > 5
    assert not [piece for piece in pieces if "b.example" in piece or "http" in piece]


def test_json_is_shown_at_its_end() -> None:
    assert streamed('{"a": "x [2] y"}', [3] * 5, as_json=True) == ["", '{"a": "x y"}']


def test_sources_that_become_known_late_take_their_later_markers_with_them() -> None:
    kept = TextFilter(ONLY_A)
    assert kept.feed("One [2]. ")
    assert kept.take() == "One [2]."

    assert kept.filter_sources(SOURCES) == (SOURCES[0], SOURCES[2])
    kept.feed("Two [2]. Three [1].")
    assert kept.flush() == " Two. Three [1]."


names = st.lists(st.sampled_from(["a", "b", "example", "www", "com"]), min_size=1, max_size=4).map(".".join)


@given(names, st.lists(names, max_size=3))
def test_excludes__a_domain_denies_itself_what_is_below_it_and_its_www(name: str, denied: list[str]) -> None:
    policy = DomainPolicy([f"-{domain}" for domain in denied])

    expected = any(name == d or name.endswith(f".{d}") or d == f"www.{name}" for d in denied)

    assert policy.excludes(f"https://{name}/x") is expected
