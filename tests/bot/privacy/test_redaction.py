"""Redaction: what is left out of a text, however it is written, and what stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.privacy.redaction import (
    KINDS,
    Redactor,
    compile_patterns,
    count_left_out,
    left_out_text,
    parse_kinds,
    plain_letters,
)
from perplexity.errors import InvalidRequest
from perplexity.filters import Filters
from perplexity.types import Message, Query, Question

ALL = Redactor(kinds=tuple(KINDS))

LEFT_OUT = {
    "email": [
        "anna@example.com",
        "anna.b+news@mail.example.co.uk",
        "ANNA@EXAMPLE.COM",
        "o'neil@example.ie",
        "иван@пример.рф",
        "аnnа@exаmple.com",  # Cyrillic а
        "anna＠example．com",  # full width
        "an\u200bna@exam\u00adple.com",  # not seen
        "𝐚𝐧𝐧𝐚@example.com",
        "a\u0301nna@example.com",
        "anna﹫example․com",
    ],
    "phone": [
        "+49 30 1234567",
        "+1 (415) 555-0132",
        "415-555-0132",
        "(415) 555-0132",
        "1-800-555-0199",
        "0049 30 1234567",
        "030 12345678",
        "(030) 1234 5678",
        "0171/1234567",
        "+4930١٢٣٤٥٦٧",  # Arabic digits
        "＋４９ ３０ １２３４５６７",
        "+49\u200b30\u200b1234567",
        "+49‑30‑1234567",
    ],
    "card": [
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "5555555555554444",
        "378282246310005",
        "４１１１１１１１１１１１１１１１",
        "4111\u200b 1111 1111 1111",
    ],
    "key": [
        "xoxb-123456789012-abcdefABCDEF",
        "xoxp-1-abcdefgh12345678",
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "pplx-0123456789abcdef0123456789abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef",
        "хoxb-123456789012-abcdefABCDEF",  # Cyrillic х
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE and no end",
    ],
}

STAYS = [
    "what changed in python 3.14?",
    "from 2019 to 2024",
    "2024-11-23 10:30",
    "01.02.2024 12:00",
    "01.02.2024 - 03.04.2025",
    "0.123456789012",
    "it costs 1,234,567,890 dollars",
    "192.168.100.200",
    "version 10.15.7.19",
    "ISBN 978-3-16-148410-0",
    "1763856000000",  # milliseconds since 1970
    "4111 1111 1111 1112",  # a wrong check digit
    "user@localhost and @anna",
    "the sk-learn library, task-force, xoxo",
    "pi is 3.14159265358979",
    "SELECT * FROM t WHERE a@>b",
    "12 34 56 78 90 12",
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in LEFT_OUT.items() for text in texts])
def test_it_is_left_out(kind: str, text: str) -> None:
    told, found = ALL.redact(f"ask {text} about it")

    assert told == f"ask [{KINDS[kind].label}] about it" or (
        text.endswith("no end") and told == f"ask [{KINDS[kind].label}]"
    )
    assert [one.kind for one in found] == [kind]


@pytest.mark.parametrize("text", STAYS)
def test_it_stays(text: str) -> None:
    assert ALL.redact(text) == (text, ())


def test_only_the_chosen_kinds_are_left_out() -> None:
    assert Redactor(kinds=("phone",)).redact("anna@example.com +49 30 1234567")[0] == "anna@example.com [phone number]"
    assert not Redactor().is_set


def test_what_is_next_to_other_numbers_or_letters_is_found() -> None:
    assert ALL.redact("in 2024 415-555-0132")[0] == "in 2024 [phone number]"
    assert ALL.redact("5 4111 1111 1111 1111 12")[0] == "5 [card number] 12"
    assert ALL.redact("联系a@b.com谢谢")[0] == "联系[e-mail address]谢谢"
    assert ALL.redact("<anna@example.com>, (bert@example.com).")[0] == "<[e-mail address]>, ([e-mail address])."


def test_a_question_loses_it_in_every_text() -> None:
    question = Question(
        messages=(Message(role="user", content="a@b.com"), Message(role="assistant", content="I know a@b.com")),
        standalone="who is a@b.com",
    )

    told, found = ALL.question(question)

    assert "a@b.com" not in repr(told)
    assert count_left_out(found) == {"email": 1}
    assert ALL.query(Query(text="a@b.com c@d.org"))[0].text == "[e-mail address] [e-mail address]"
    nothing = Question(messages=(Message(role="user", content="why"),))
    assert ALL.question(nothing)[0] is nothing


def test_a_private_site_is_not_sent_as_a_filter_and_still_left_out() -> None:
    redactor = Redactor(patterns=compile_patterns("falcon"))
    denied = Filters(domains=("-falcon.example", "-b.example"))

    told, found = redactor.query(Query(text="why", filters=denied))
    assert told.filters == Filters(domains=("-b.example",), excluded=("falcon.example",))
    assert set(told.filters.enforced) == set(denied.domains)
    assert count_left_out(found) == {"private": 1}
    with pytest.raises(InvalidRequest, match="must not leave"):
        redactor.question(
            Question(messages=(Message(role="user", content="why"),), filters=Filters(domains=("falcon.example",)))
        )


def test_own_patterns_find_what_they_say_and_look_alikes_of_it() -> None:
    redactor = Redactor(patterns=compile_patterns(r"PRJ-\d+ (?i)project\s+falcon проект"))

    told, found = redactor.redact("PRJ-12, РRJ-13, Project  Falcon, проект, PRJ")

    assert told == "[private term], [private term], [private term], [private term], PRJ"
    assert count_left_out(found) == {"private": 4}


@pytest.mark.parametrize(
    ("patterns", "wrong"),
    [
        ("(", "( is not a pattern: missing )"),
        (r"(?=a)b", "(?=a)b is not a pattern"),
        ("x*", "x* would match everywhere"),
        ("a" * 501, "it takes at most 500"),
        (" ".join(["a"] * 21), "at most 20 patterns"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(patterns: str, wrong: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        compile_patterns(patterns)

    assert wrong in str(refused.value)
    assert capfd.readouterr().err == ""


def test_an_unknown_kind_is_refused() -> None:
    assert parse_kinds("Email, phone,,email") == ("email", "phone")
    with pytest.raises(ValueError, match=r"names is not allowed; it takes key, email, card, phone"):
        parse_kinds("email,names")


def test_the_sentence_counts_each_once() -> None:
    _, found = ALL.redact("a@b.com, a@b.com, c@d.org and +49 30 1234567")

    assert left_out_text(count_left_out(found)) == (
        "2 e-mail addresses and 1 phone number were left out of what I sent to search services."
    )
    assert left_out_text({"card": 1}) == "1 card number was left out of what I sent to search services."
    assert left_out_text({}) == ""


WILD = st.text(st.characters(codec="utf-8"), max_size=200) | st.text("@.a1+- ()/5\u200bа４", max_size=200)


@given(WILD)
def test_any_text_is_cut_only_where_something_was_found(text: str) -> None:
    told, found = ALL.redact(text)

    assert (told == text) is (not found)
    letters, places = plain_letters(text)
    assert len(letters) == len(places)


@given(before=WILD, after=WILD, local=st.from_regex(r"[a-z][a-z0-9]{0,20}", fullmatch=True))
def test_an_address_never_leaves_whatever_is_around_it(before: str, after: str, local: str) -> None:
    told, _ = ALL.redact(f"{before} {local}@example.com {after}")

    assert f"{local}@example.com" not in told


INVISIBLE = st.sampled_from(["", "", "\u200b", "\u2060", "\u00ad", "\ufeff", "\u0301"])


@given(st.data(), st.sampled_from(["anna@example.com", "+49301234567", "4111111111111111", "AKIAIOSFODNN7EXAMPLE"]))
def test_what_is_not_seen_hides_nothing(data: st.DataObject, secret: str) -> None:
    hidden = "".join(
        char + data.draw(INVISIBLE) if place + 1 < len(secret) else char for place, char in enumerate(secret)
    )

    told, found = ALL.redact(f"x {hidden} y")

    assert len(found) == 1
    assert plain_letters(told)[0].startswith("x [")
    assert told.endswith("] y")


LONG = {
    "letters": "a" * 40_000,
    "digits": "1" * 40_000,
    "digits and spaces": "4 " * 20_000,
    "zeros": "0 " * 20_000,
    "signs": "+" * 40_000,
    "half addresses": "a@" * 20_000,
    "dots": "a@" + "b." * 20_000,
    "keys": "sk-" * 13_000,
    "beginnings": "-----BEGIN PRIVATE KEY-----" * 1_500,
    "other letters": "é1" * 20_000,
    "parentheses": "(0" * 20_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_text_takes_time_in_proportion(text: str) -> None:
    redactor = Redactor(kinds=tuple(KINDS), patterns=compile_patterns(r"(a+)+$ (a|a)*b (\w+\s?)*x"))

    def seconds(one: str) -> float:
        def once() -> float:
            started = time.process_time()
            redactor.redact(one)
            return time.process_time() - started

        return min(once() for _ in range(3))

    assert seconds(text) < 12 * seconds(text[: len(text) // 4]) + 0.05
