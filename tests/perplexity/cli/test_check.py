"""`check` as a process: the claims of a text, with its output in a pipe, on a terminal, as JSON and for a model."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest

from tests.fakes.claims import Page, Script, ScriptedClaim, ScriptedPerplexity, verdict
from tests.fakes.command import CommandResult, run
from tests.fakes.perplexity import KEY
from tests.fakes.service import json_reply
from tests.fakes.terminal import terminal

TEXT = "The Eiffel Tower is 330 m tall. It was built in 1989. It is the most visited monument."
TOWER = Page(
    text="The tower is **330 metres** tall, about the same height as an 81-storey building. It has lifts.",
    title="Eiffel Tower",
    url="https://en.wikipedia.org/wiki/Eiffel_Tower",
)
HISTORY = Page(
    text="Constructed from 1887 to 1889 as the centrepiece of the 1889 World’s Fair.",
    title="History of the Eiffel Tower",
    url="https://www.toureiffel.paris/history",
    date=None,
)
SCRIPT = Script.of(
    ScriptedClaim(
        claim="The Eiffel Tower is 330 m tall.",
        pages=[TOWER],
        reply=verdict("supported", "The tower is 330 metres tall, about the same height as an 81-storey building."),
    ),
    ScriptedClaim(
        claim="The Eiffel Tower was built in 1989.",
        pages=[TOWER, HISTORY],
        reply=verdict("contradicted", HISTORY.text, page=2),
    ),
    ScriptedClaim(claim="The Eiffel Tower is the most visited monument.", pages=[TOWER]),
)
PLAIN = """\
1. Supported: The Eiffel Tower is 330 m tall.
   “The tower is 330 metres tall, about the same height as an 81-storey building.”
   Eiffel Tower · en.wikipedia.org · 2 Nov 2026
   https://en.wikipedia.org/wiki/Eiffel_Tower

2. See what the page says: The Eiffel Tower was built in 1989.
   “Constructed from 1887 to 1889 as the centrepiece of the 1889 World’s Fair.”
   History of the Eiffel Tower · toureiffel.paris
   https://www.toureiffel.paris/history

3. Unclear: The Eiffel Tower is the most visited monument.
   No page that was found says so or denies it.

Quotations are word for word from the pages’ excerpts.

Perplexity Search · Perplexity · 0.0 s · $0.0076
"""
RAW = """\
<result>
- supported: The Eiffel Tower is 330 m tall. “The tower is 330 metres tall, about the same height as an 81-storey \
building.” [1]
- unclear: The Eiffel Tower was built in 1989. “Constructed from 1887 to 1889 as the centrepiece of the 1889 \
World’s Fair.” [2]
- unclear: The Eiffel Tower is the most visited monument. (No page that was found says so or denies it.)
</result>

<references>
- [1] Eiffel Tower (2026-11-02) [https://en.wikipedia.org/wiki/Eiffel_Tower]
- [2] History of the Eiffel Tower (N/A) [https://www.toureiffel.paris/history]
</references>
"""


@pytest.fixture
async def fake() -> AsyncIterator[ScriptedPerplexity]:
    async with ScriptedPerplexity() as server:
        server.script_of_claims = SCRIPT
        yield server


@pytest.fixture
def settings(fake: ScriptedPerplexity) -> dict[str, str]:
    """The environment of a command that can reach the fake only."""
    return {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": fake.base_url, "DDGS_PROXY": "http://127.0.0.1:9"}


def timeless(ended: CommandResult) -> tuple[int, str, str]:
    return ended.code, re.sub(r"\d+\.\d s", "0.0 s", ended.out), ended.err


async def test_a_pipe_is_given_the_claims_with_their_quotations(settings: dict[str, str]) -> None:
    assert timeless(await run("check", TEXT, settings=settings)) == (0, PLAIN, "")


async def test_the_text_may_come_through_a_pipe(fake: ScriptedPerplexity, settings: dict[str, str]) -> None:
    assert timeless(await run("check", "-", piped=TEXT, settings=settings)) == (0, PLAIN, "")
    assert fake.requests[0].json["input"][-1]["content"] == f"<message>\n{TEXT}\n</message>"


async def test_raw_is_what_a_model_is_given(settings: dict[str, str]) -> None:
    assert timeless(await run("check", "--raw", TEXT, settings=settings)) == (0, RAW, "")


async def test_json_is_everything(settings: dict[str, str]) -> None:
    ended = await run("check", "--json", TEXT, settings=settings)

    told = json.loads(ended.out)
    assert [claim["verdict"] for claim in told["claims"]] == ["supported", "unclear", "unclear"]
    assert told["claims"][0]["source"]["url"] == TOWER.url
    assert (told["cost_usd"], told["judged_by"]) == (pytest.approx(0.00756), "Perplexity")


async def test_a_terminal_shows_the_same_in_colours(settings: dict[str, str]) -> None:
    async with terminal("check", TEXT, settings=settings) as screen:
        code, _ = await screen.wait()

    assert code == 0
    assert "\x1b[1;32mSupported: " in screen.shown
    assert "\x1b[1;33mSee what the page says: " in screen.shown
    plain = " ".join(re.sub(r"\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[\d;?]*[A-Za-z]", "", screen.shown).split())
    for line in PLAIN.splitlines()[:-1]:
        assert " ".join(line.split()) in plain


async def test_pages_that_disagree_are_both_shown(fake: ScriptedPerplexity, settings: dict[str, str]) -> None:
    other = Page(text="The Eiffel Tower is not 330 m tall.", title="B", url="https://b.example/")
    page = Page(text="The Eiffel Tower is 330 m tall.", title="A", url="https://a.example/")
    claim = ScriptedClaim(
        claim="The Eiffel Tower is 330 m tall.", pages=[page, other], reply=verdict("supported", page.text)
    )
    fake.script_of_claims = Script.of(claim)
    ended = await run("check", "The Eiffel Tower is 330 m tall.", settings=settings)

    assert ended.out.startswith(
        "1. The pages disagree: The Eiffel Tower is 330 m tall.\n   “The Eiffel Tower is 330 m tall.”"
    )
    assert "   “The Eiffel Tower is not 330 m tall.”\n   B · b.example" in ended.out


async def test_filters_are_those_of_the_searches(fake: ScriptedPerplexity, settings: dict[str, str]) -> None:
    await run("check", "--domain", "wikipedia.org", TEXT, settings=settings)

    searches = [request.json for request in fake.requests if request.path == "/search"]
    assert [body["search_domain_filter"] for body in searches] == [["wikipedia.org"]] * 3
    assert {body["search_type"] for body in searches} == {"fast"}


async def test_without_a_model_that_answers_the_sentences_themselves_are_checked(
    fake: ScriptedPerplexity, settings: dict[str, str]
) -> None:
    error = {"error": {"message": "no", "type": "authentication_error", "code": 401}}
    fake.lasting["/v1/agent"] = json_reply(error, status=401)
    ended = await run("check", "The Eiffel Tower is 330 m tall.", settings=settings)

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        "1. See what the page says: The Eiffel Tower is 330 m tall.\n   No model could pick a passage"
    )
    assert "“The tower is 330 metres tall" in ended.out
    assert "No model proposed the claims: they are sentences of the text." in ended.out


@pytest.mark.parametrize("text", ["Hello!", "What is the time?"])
async def test_a_text_that_states_nothing(text: str, fake: ScriptedPerplexity, settings: dict[str, str]) -> None:
    fake.script_of_claims = Script(proposal="<claims>\n</claims>")
    ended = await run("check", text, settings=settings)

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "python -m perplexity check: This text states nothing that could be checked.\n"


async def test_a_page_cannot_move_the_cursor(fake: ScriptedPerplexity, settings: dict[str, str]) -> None:
    claim = "Oslo is the capital of Norway."
    page = Page(text="Oslo is\x1b[2J the capital of Norway.", title="O\x1b[2Jslo", url="https://a.example/\x1b[2J")
    reply = verdict("supported", "Oslo is[2J the capital of Norway.")
    fake.script_of_claims = Script.of(ScriptedClaim(claim=claim, pages=[page], reply=reply))
    ended = await run("check", f"{claim}\x1b[2J", settings=settings)

    assert ended.code == 0
    assert "\x1b" not in ended.out
