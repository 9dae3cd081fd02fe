"""Which addresses are linked, and how they look then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perplexity.urls import hostname, is_https_or_loopback, is_loopback, safe_url


@pytest.mark.parametrize(
    ("url", "linked"),
    [
        ("https://a.example/x", "https://a.example/x"),
        (" HTTPS://A.Example:443 ", "https://a.example/"),
        ("http://a.example:8080/?q=1#f", "http://a.example:8080/?q=1#f"),
        ("http://127.0.0.1:3000/playground/docs/README.md#x", "http://127.0.0.1:3000/playground/docs/README.md#x"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://a.example/x_(y)|z> \"'`", "https://a.example/x_%28y%29%7Cz%3E%20%22'%60"),
        ("https://a.example/100%/%41", "https://a.example/100%25/%41"),
        ("https://a.example/?a=1&copy;=2", "https://a.example/?a=1&copy%3B=2"),
        ("https://a.example/@here/@HERE/@user", "https://a.example/%40here/%40HERE/@user"),
        ("https://a_b.example/", "https://a_b.example/"),
    ],
)
def test_a_web_address_is_linked_in_one_form(url: str, linked: str) -> None:
    assert linked == safe_url(url)


@pytest.mark.parametrize("url", ["https://a.example/x_(y)|z", "HTTP://A.EXAMPLE", "https://bücher.example/ü%"])
def test_the_form_of_a_linked_address_is_its_own_form(url: str) -> None:
    linked = safe_url(url)

    assert linked is not None
    assert linked == safe_url(linked)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.example",
        "/x",
        "javascript:alert(1)",
        "slack://open",
        "ftp://a.example/",
        "https://",
        "https:///x",
        "https://user@a.example/",
        "https://user:pass@a.example/",
        "https://a.example\\@b.example/",
        "https://a.example:99999/",
        "https://a.example:x/",
        "https://[::1]/",
        "https://[x/",
        "https://a..example/",
        "https://" + "a" * 64 + ".example/",
        "https://a b.example/",
        "https://a%2eexample/",
        "https://a.example/\u202egnp.exe",
        "https://a.example/\u200bx",
        "https://a.example/\nx",
        "https://a.example/\x00",
        "https://a.example/\ud800",
        "https://a.example/" + "x" * 2000,
        "https://a.example/" + "ü" * 400,
    ],
)
def test_what_could_mislead_is_not_linked(url: str) -> None:
    assert safe_url(url) is None


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.A.example/x", "a.example"),
        ("https://bücher.example", "xn--bcher-kva.example"),
        ("https://faß.de", "xn--fa-hia.de"),
        ("https://STRASSE.example", "strasse.example"),
        ("nothing", ""),
        ("https://[x", ""),
        ("https://a..b/", ""),
    ],
)
def test_the_site_is_the_host_as_it_is_asked_for(url: str, host: str) -> None:
    assert host == hostname(url)


PARTS = [
    "a",
    "b1",
    "-",
    "_",
    ".",
    "..",
    ".com",
    ".de",
    "www.",
    "/",
    "//",
    "?",
    "=",
    "&",
    "#",
    "%",
    "@",
    "~",
    ",",
    ";",
    "A",
    ":80",
]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_safe_url__does_not_depend_on_how_the_scheme_is_written(rest: str) -> None:
    assert safe_url(f"https://a{rest}") == safe_url(f"HTTPS://a{rest}")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("localhost", True), ("LOCALHOST", True), ("localhost.", True), ("app.localhost", True)),
        *(("127.0.0.1", True), ("127.255.0.1", True), ("::1", True), ("::ffff:127.0.0.1", True)),
        *(("", False), ("localhost.evil.example", False), ("evil-localhost", False), ("8.8.8.8", False)),
        *(("::", False), ("10.0.0.1", False), ("::ffff:10.0.0.1", False)),
    ],
)
def test_loopback_names_mean_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        *(
            ("https://a.example", True),
            ("http://localhost:8000/v1", True),
            ("http://app.localhost", False),
            ("http://[::1]:8000", True),
        ),
        *(("http://a.example", False), ("https://user@a.example", False), ("https://a.example?q=1", False)),
        *(("https://a.example#f", False), ("https://a.example:0", False), ("http://[::1", False), ("ftp://a", False)),
    ],
)
def test_a_key_is_only_sent_by_https_or_to_this_machine(url: str, allowed: bool) -> None:
    assert is_https_or_loopback(url) is allowed
