from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.urls import add_site_operators

HOSTS = st.from_regex(r"[a-z]{1,9}(\.[a-z]{1,9}){1,2}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "domains", "written"),
    [
        ("rust", (), "rust"),
        ("rust", ("a.com",), "rust site:a.com"),
        ("rust", ("a.com", "b.org"), "rust (site:a.com OR site:b.org)"),
        ("rust", ("-a.com",), "rust -site:a.com"),
        ("rust", ("-a.com", "-b.org"), "rust -site:a.com -site:b.org"),
        ("rust", ("a.com", "-b.a.com"), "rust site:a.com -site:b.a.com"),
        ("", ("a.com",), "site:a.com"),
    ],
)
def test_domains_become_operators_after_the_words(text: str, domains: tuple[str, ...], written: str) -> None:
    assert add_site_operators(text, domains) == written


@given(domains=st.lists(st.tuples(st.sampled_from(["", "-"]), HOSTS).map("".join), max_size=20))
def test_every_domain_is_there_once_and_on_its_side(domains: list[str]) -> None:
    words = add_site_operators("", domains).replace("(", "").replace(")", "").split()

    allowed = [domain for domain in domains if not domain.startswith("-")]
    denied = [f"-{word.removeprefix('-site:')}" for word in words if word.startswith("-site:")]
    assert [word.removeprefix("site:") for word in words if word.startswith("site:")] == allowed
    assert denied == [domain for domain in domains if domain.startswith("-")]
    assert words.count("OR") == max(0, len(allowed) - 1)
