"""Redaction: what is left out of a text, however it is written, and what stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.privacy.confusables import plain_letters
from bot.privacy.detectors import KINDS
from bot.privacy.redaction import (
    Redactor,
    compile_patterns,
    parse_kinds,
)
from bot.privacy.sent_requests import count_left_out, left_out_text
from perplexity.errors import InvalidRequest
from perplexity.filters import Filters
from perplexity.types import Message, Query, Question
from tests.rare import one_in

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
        "anna%40example.com",
        "anna%2540example.com",  # an address within an address
        "anna&#64;example.com",
        "anna&#x40;example&period;com",
        "anna&commat;example.com",
        "anna\\u0040example.com",
        "anna\\x40example.com",
        "anna\\@example\\.com",
        "anna%EF%BC%A0example.com",  # full width, in an address
        "%D0%B0nna@example.com",
        "anna(at)example.com",
        "anna (at) example (dot) com",
        "anna [AT] example [DOT] com",
        "anna@example[.]com",
        "anna{at}mail.example.com",
        "anna@[192.168.10.1]",
        "anna@example。com",
        "anna @ example.com",
        "an\u3164na@example.com",  # a letter that is blank
        "anna.müller@bücher.example",
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
        "%2B49%2030%201234567",
        "+49.30.1234567",
        "+49 (0)30 / 123 45 67",
        "+33 6 12 34 56 78",
        "06 12 34 56 78",
        "+44 20 7946 0958",
        "+91 98765 43210",
        "(415)555-0132",
        "415/555-0132",
        "+۴۹۳۰۱۲۳۴۵۶۷",  # Persian digits
        "+४९३०१२३४५६७",  # Devanagari digits
    ],
    "card": [
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "5555555555554444",
        "378282246310005",
        "４１１１１１１１１１１１１１１１",
        "4111\u200b 1111 1111 1111",
        "4111.1111.1111.1111",
        "4111_1111_1111_1111",
        "4111/1111/1111/1111",
        "4111,1111,1111,1111",
        "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "4111\n1111\n1111\n1111",
        "4111 1111\r\n1111 1111",
        "3782.822463.10005",
        "4111%201111%201111%201111",
        "٤١١١ ١١١١ ١١١١ ١١١١",  # Arabic digits
    ],
    "key": [
        "xoxb-123456789012-abcdefABCDEF",
        "xoxp-1-abcdefgh12345678",
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "pplx-0123456789abcdef0123456789abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef",
        "eyJhbGciOiJub25lIn0.e30.x",
        "eyJhbGciOiJkaXIifQ..aaaa.bbbb.cccc",
        "xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4",
        "xapp-1-A012-345-abcdef",
        "hooks.slack.com/services/T012345/B012345/abcdefghijklmnop",
        "xai-abcdefghijklmnop0123456789",
        "sk-ant-api03-abcdefghijklmnop",
        "sk-or-v1-0123456789abcdef0123",
        "sk_live_51Habcdefghijklmnop",
        "rk_test_abcdefgh12345678",
        "whsec_abcdefghijklmnop0123456789",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "ya29.a0AfH6SMBabcdefghijklmnop",
        "GOCSPX-abcdefghijklmnop0123",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "gho_abcdefghijklmnopqrstuvwxyz0123456789",
        "glpat-abcdefghij0123456789",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
        "SG.abcdefghijklmnop.qrstuvwxyz0123456",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----",
        "%73k-proj-abcdefghijklmnopqrstuvwx",
        "хoxb-123456789012-abcdefABCDEF",  # Cyrillic х
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE and no end",
    ],
}

PARTS = {
    "postgres://anna:hunter2@db.example.com/x": "postgres://[key]/x",
    "https://anna:s3cret@localhost:5432": "https://[key]@localhost:5432",
    "redis://:s3cret@10.0.0.1": "redis://[key]@10.0.0.1",
    "Authorization: Bearer abcdef0123456789": "Authorization: Bearer [key]",
    "password=Tr0ub4dor&3": "password=[key]&3",
    'api_key: "abcdef0123456789"': 'api_key: "[key]"',
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY0": "aws_secret_access_key = [key]",
    "https://a.example/?api_key=abcdef0123456789&q=1": "https://a.example/?api_key=[key]&q=1",
    "tel:030 12345678": "tel:[phone number]",
    "DE89 3704 0044 0532 0130 00 is mine": "[bank account] is mine",
    "DE89370400440532013000": "[bank account]",
    "GB82 WEST 1234 5698 7654 32, please": "[bank account], please",
    "fr76-3000-6000-0112-3456-7890-189": "[bank account]",
    "<mailto:anna@example.com|anna@example.com>": "<mailto:[e-mail address]|[e-mail address]>",
    "see https://a.example/?to=anna%40example.com&x=1": "see https://a.example/?to=[e-mail address]&x=1",
    "a&amp;b and c%20d": "a&amp;b and c%20d",
}
"""What is left out of the middle of something else."""

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
    "react@18.2.0, lodash@^4.17.21 and actions/checkout@v4.1",
    "git clone git@github.com:owner/repo.git",
    "use f(at) x, or look (at) it",
    "did @anna.b say so, or @ noon",
    "3 1 4 1 5 9 2 6 5 3 5 8 9 7 9",
    "40,41,42,43,44,45,46,47,48,49 and 4,000,000,000,000,006",
    "ISBN 0-306-40615-2",
    "ISBN 0306406152 and ISBN-10: 0-19-852663-6",
    "978-0-306-40615-7",
    "doi:10.1038/s41586-020-2649-2",
    "arXiv:2401.01234v2",
    "RFC 9110, ISO/IEC 7812-1:2017",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "00:1A:2B:3C:4D:5E",
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "10.0.0.0/8, 172.16.0.0/12 and 255.255.255.0:8080",
    "52.520008, 13.404954",
    "+10.5 12.5 13.5 14.5 15.5 percent",
    "0.5 1.5 2.5 3.5 4.5 5.5",
    "2020 2021 2022 2023",
    "2016\n2017\n2018\n2019\n2020",
    "2000.2001.2002.2003.2004",
    "$1,299.99 and €0.99 and 12.345.678,90 EUR",
    "EAN 4006381333931",
    "part number 415-555-0132A, order 4711-0815",
    "5-7 people, 1-2-3, 10-12-2024",
    "https://a.example/?from=2024-01-02%2003%3A04%3A05&to=2024-02-03",
    "https://a.example/2024/01/02/100%25-sure",
    "C++17, C++20 and C++23",
    "eyJ is how a JSON Web Token begins",
    "what is an IBAN such as DE00 1234 5678 9012 3456 78",
    "the password: it must have eight letters",
    "password=None, api_key=os.environ",
    "sk-learn-contrib-something-long",
    "the bearer of this letter",
    "http://localhost:8080/@user and https://a.example:443/x",
    "0 errors, 12 warnings, 345 notes",
    "24.12.2024 – 06.01.2025, 18:00-20:30",
    "3.4028235e38 and 6.02214076e23",
    "1 000 000 000 000 and 1'000'000'000'000",
    "12 003 004 005 006 people, 10 000 000 123",
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in LEFT_OUT.items() for text in texts])
def test_it_is_left_out(kind: str, text: str) -> None:
    told, found = ALL.redact(f"ask {text} about it")

    assert told == f"ask [{KINDS[kind].label}] about it" or (
        text.endswith("no end") and told == f"ask [{KINDS[kind].label}]"
    )
    assert [one.kind for one in found] == [kind]


@pytest.mark.parametrize(("text", "told"), PARTS.items())
def test_a_part_is_left_out(text: str, told: str) -> None:
    assert ALL.redact(text)[0] == told


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

    told, found = ALL.request(question)

    assert "a@b.com" not in repr(told)
    assert count_left_out(found) == {"email": 1}
    assert ALL.request(Query(text="a@b.com c@d.org"))[0].text == "[e-mail address] [e-mail address]"
    nothing = Question(messages=(Message(role="user", content="why"),))
    assert ALL.request(nothing)[0] is nothing


def test_a_private_site_is_not_sent_as_a_filter_and_still_left_out() -> None:
    redactor = Redactor(patterns=compile_patterns("falcon"))
    denied = Filters(domains=("-falcon.example", "-b.example"))

    told, found = redactor.request(Query(text="why", filters=denied))
    assert told.filters == Filters(domains=("-b.example",), excluded=("falcon.example",))
    assert set(told.filters.enforced) == set(denied.domains)
    assert count_left_out(found) == {"private": 1}
    with pytest.raises(InvalidRequest, match="must not leave"):
        redactor.request(
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
    with pytest.raises(ValueError, match=r"names is not allowed; it takes key, email, card, iban, phone"):
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
    "percents": "%40" * 13_000,
    "nested percents": "%2525" * 8_000,
    "entities": "&#64;" * 8_000,
    "backslashes": "\\" * 40_000,
    "at in brackets": "a (at) " * 6_000,
    "dots in brackets": "a@" + "b[.]" * 10_000,
    "open brackets": "a [" * 13_000,
    "addresses": "a://" * 10_000,
    "names in addresses": "a://b:" * 7_000,
    "cards": "4111." * 8_000,
    "lines of digits": "4111\n" * 8_000,
    "accounts": "DE89" * 10_000,
    "account groups": "DE89 " * 8_000,
    "passwords": "password=" * 4_500,
    "bearers": "bearer " * 6_000,
    "tokens": "eyJaaaaa." * 4_500,
}


@pytest.mark.parametrize("text", one_in(9, LONG.values()), ids=LONG.keys())
def test_a_long_text_takes_time_in_proportion(text: str) -> None:
    redactor = Redactor(kinds=tuple(KINDS), patterns=compile_patterns(r"(a+)+$ (a|a)*b (\w+\s?)*x"))

    def seconds(one: str) -> float:
        def once() -> float:
            started = time.process_time()
            redactor.redact(one)
            return time.process_time() - started

        return min(once() for _ in range(3))

    assert seconds(text) < 12 * seconds(text[: len(text) // 4]) + 0.05
