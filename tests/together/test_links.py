"""A link leads to a page that was found, by http or https and in its safe form; nothing else is a link."""

from __future__ import annotations

import pytest

from perplexity.urls import safe_url
from tests.fakes.attacks import TARGETS, attacks
from tests.together.surfaces import SURFACES, LinkedPage, every_ninth_or_all, judged, some_of

pytestmark = [
    pytest.mark.trust(14),
    pytest.mark.features(
        "ask_about", "budgets", "checking", "deepdive", "digests", "home", "limits", "saving", "settings", "sharing"
    ),
]


LINKS = attacks("link")

NEVER_LINKED = (
    "no scheme", "bare host", "www", "user", "password", "backslashes", "javascript", "script, split", "data", "file",
    "Slack", "mail", "telephone", "line end", "override", "long",
)  # fmt: skip


@every_ninth_or_all
@pytest.mark.parametrize("name", SURFACES)
def test_no_text_makes_a_link_or_a_picture(name: str, step: int) -> None:
    assert judged(SURFACES[name], some_of(LINKS, name, step)) == {}


@pytest.mark.parametrize("name", TARGETS)
def test_a_page_is_linked_in_its_safe_form_or_not_at_all(name: str) -> None:
    assert [harm for one in LinkedPage(url=TARGETS[name]).harms() for harm in one] == []
    if name in NEVER_LINKED:
        assert safe_url(TARGETS[name]) is None


@pytest.mark.parametrize(
    ("written", "linked"),
    [
        ("https://ехample.com/", "https://xn--ample-ywe6i.com/"),
        ("HTTPS://Example.COM:443/a b", "https://example.com/a%20b"),
        ("http://example.com:80", "http://example.com/"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://a.example/x|y<z>", "https://a.example/x%7Cy%3Cz%3E"),
    ],
)
def test_the_safe_form(written: str, linked: str) -> None:
    assert safe_url(written) == linked
    assert [harm for one in LinkedPage(url=written).harms() for harm in one] == []


def test_a_link_has_at_most_2000_characters() -> None:
    address = "https://a.example/" + "x" * 1_982
    assert safe_url(address) == address
    assert safe_url(address + "x") is None
