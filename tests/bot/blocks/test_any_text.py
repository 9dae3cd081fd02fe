"""Escaping and counting, for any text whatever."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bot.blocks.escaping import break_mentions, clean, escape, neutralize
from bot.blocks.markdown.blocks import rendered_size
from tests.fakes.hostile_text import wild

JOINER = "\u2060"
LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85]")
SPACES = re.compile(r"[\x0b\x0c\x1c-\x1f]")
UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")
SURROGATES = re.compile(r"[\ud800-\udfff]")
TOKEN = re.compile(r"(<|&lt;|&LT;|&#0{0,5}60;|&#[xX]0{0,5}3[cC];)(?=[@!#])")
BROADCAST = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
SCHEMES = "|".join(
    rf"(?<=\b{scheme}:)" for scheme in ("mailto", "xmpp", "tel", "sms", "skype", "slack", "javascript", "data", "file")
)
SIGNS = re.compile(rf"<(?=[^\s\u2060])|\](?=[(:])|/(?=/)|:(?:(?=/)|(?:{SCHEMES})(?=[^\s\u2060]))", re.IGNORECASE)

signs = st.text("<>&;:/.()[]@!#*\\ \n\t`_-ahtpilo\u2060\u200d\u00a0\u3000\u202e\x00é日", max_size=60)
schemes = st.lists(
    st.sampled_from(
        ["mailto:", "FILE:", "ſms:", "s\u212aype:", "x", " ", "://", "//", "data:", "]:", "](", "<", "a", "\n"]
    )
).map("".join)
texts = wild | signs | schemes | st.text()


@given(texts)
def test_clean(text: str) -> None:
    expected = SPACES.sub(" ", LINE_ENDS.sub("\n", text))

    assert clean(text) == SURROGATES.sub("\ufffd", UNWANTED.sub("", expected))


@given(texts)
def test_break_mentions(text: str) -> None:
    assert break_mentions(text) == BROADCAST.sub(f"@{JOINER}", TOKEN.sub(rf"\1{JOINER}", text))


@given(texts)
def test_escape(text: str) -> None:
    expected = break_mentions(clean(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    assert escape(text) == expected


@given(texts)
def test_counted(text: str) -> None:
    assert rendered_size(text) == sum({"&": 5, "<": 4, ">": 4}.get(character, 1) for character in text)


@given(texts.map(lambda text: re.sub(r"[.&*@]", "", text)))
def test_defuse__breaks_signs_as_one_pattern_would(text: str) -> None:
    expected = SIGNS.sub(rf"\g<0>{JOINER}", text)

    assert neutralize(text) == TOKEN.sub(rf"\1{JOINER}", expected)
