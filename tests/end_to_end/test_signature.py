"""A request counts if Slack signed its raw bytes within five minutes; nothing is parsed before that."""

from __future__ import annotations

import ast
import hashlib
import hmac
import inspect
import time
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from bot.web import signature
from tests.driver import Driver
from tests.fakes.person import SIGNING_SECRET, signed, slash_command

pytestmark = pytest.mark.trust(3)

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BODY = urlencode(slash_command("/ask why", trigger="t1", user="U1", url="https://hooks.slack.com/1")).encode()
MALFORMED = b"{not json"
NO_WORK = b"ssl_check=1&token=deprecated"
"""Slack's look at the address, which asks for nothing."""

Headers = Mapping[str, str] | list[tuple[str, str]]


async def sent(harness: Driver, body: bytes, headers: Headers) -> tuple[int, str]:
    async with harness.session.post(f"{harness.url}/slack/events", data=body, headers=headers) as response:
        return response.status, await response.text()


async def questions(harness: Driver) -> int:
    async with await psycopg.AsyncConnection.connect(harness.database) as connection:
        row = await (await connection.execute("SELECT count(*) FROM questions")).fetchone()
    assert row is not None
    return int(row[0])


def times(headers: Mapping[str, str], *names: str) -> list[tuple[str, str]]:
    """Return the headers, with some of them twice."""
    return [*headers.items(), *((name, headers[name]) for name in names)]


def table() -> Iterable[tuple[str, Headers]]:
    now = time.time()
    good = signed(MALFORMED, at=now)
    stamp, signature_ = "X-Slack-Request-Timestamp", "X-Slack-Signature"
    yield "no headers", {}
    yield "no signature", {stamp: good[stamp]}
    yield "no time", {signature_: good[signature_]}
    yield "two signatures", times(good, signature_)
    yield "two times", times(good, stamp)
    yield "another secret", signed(MALFORMED, secret="another", at=now)
    yield "another body", signed(b"another", at=now)
    yield "old", signed(MALFORMED, at=now - 330)
    yield "new", signed(MALFORMED, at=now + 330)
    yield "another version", good | {signature_: "v1" + good[signature_][2:]}
    yield "capitals", good | {signature_: good[signature_].upper()}
    yield "shorter", good | {signature_: good[signature_][:-1]}
    yield "longer", good | {signature_: good[signature_] + "0"}
    yield "with a sign", good | {stamp: f"+{good[stamp]}"}
    arabic = good[stamp].translate(dict(zip(b"0123456789", "٠١٢٣٤٥٦٧٨٩", strict=True)))
    digest = hmac.new(SIGNING_SECRET.encode(), f"v0:{arabic}:".encode() + MALFORMED, hashlib.sha256).hexdigest()
    yield "of another script, and signed so", {stamp: arabic, signature_: f"v0={digest}"}


async def test_what_slack_did_not_sign_is_401__before_anything_is_parsed(harness: Driver) -> None:
    for name, headers in table():
        merged = [*headers] if isinstance(headers, list) else [*headers.items()]
        status, said = await sent(harness, MALFORMED, [*merged, ("Content-Type", "application/json")])
        # A body that had been parsed would be 400.
        assert (name, status) == (name, 401)
        assert "json" not in said
    assert (await sent(harness, MALFORMED, signed(MALFORMED) | {"Content-Type": "application/json"}))[0] == 400
    assert await questions(harness) == 0


async def test_five_minutes_either_way(harness: Driver) -> None:
    for seconds, status in ((-290, 200), (290, 200), (-310, 401), (310, 401)):
        at = time.time() + seconds
        assert (await sent(harness, NO_WORK, signed(NO_WORK, at=at) | FORM))[0] == status, seconds


signs = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=90)
hexadecimal = st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda digits: f"v0={digits}")


@given(
    stamp=st.one_of(signs, st.integers(0, 2**40).map(str), st.just("now")),
    given_signature=st.one_of(signs, hexadecimal),
    body=st.one_of(st.just(BODY), st.binary(max_size=80)),
)
@with_settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
async def test_no_other_signature_is_taken(harness: Driver, stamp: str, given_signature: str, body: bytes) -> None:
    stamp = str(int(time.time())) if stamp == "now" else stamp
    headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": given_signature} | FORM

    assert (await sent(harness, body, headers))[0] == 401
    assert await questions(harness) == 0


@given(place=st.integers(0, len(BODY) - 1), sign=st.integers(0, 255))
@with_settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
async def test_a_signature_holds_for_every_byte(harness: Driver, place: int, sign: int) -> None:
    changed = BODY[:place] + bytes([sign]) + BODY[place + 1 :]
    assume(changed != BODY)

    assert (await sent(harness, changed, signed(BODY) | FORM))[0] == 401


def test_signatures_are_compared_in_constant_time() -> None:
    tree = ast.parse(inspect.getsource(signature.verify))
    compared = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}

    assert not compared & {"expected", "signature"}
    assert "hmac.compare_digest" in called


@pytest.mark.parametrize("secret", ["", " ", SIGNING_SECRET.upper()])
async def test_another_secret_signs_nothing(harness: Driver, secret: str) -> None:
    assert (await sent(harness, BODY, signed(BODY, secret=secret) | FORM))[0] == 401
