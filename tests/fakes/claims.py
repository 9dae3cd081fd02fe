"""A Perplexity on loopback that is asked to check a message: each search and each judgement has its own answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.perplexity import FakePerplexity, fixture
from tests.fakes.service import whole

CLAIM = re.compile(r"<claim>(.*?)</claim>", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that a search finds."""

    text: str
    title: str = "A page"
    url: str = "https://a.example/1"
    date: str | None = "2026-11-02"


@dataclass(frozen=True, kw_only=True)
class ScriptedClaim:
    """What is found for a claim, and what the model then says of it."""

    claim: str
    pages: Sequence[Page] = ()
    reply: str = "<verdict>\nverdict: unclear\n</verdict>"


def verdict(named: str, quote: str, *, page: int = 1) -> str:
    """Return a model's judgement in the form that it is asked for."""
    return f"<verdict>\nverdict: {named}\npage: {page}\nquote: {quote}\n</verdict>"


def claims_block(claims: Sequence[str]) -> str:
    """Return a model's proposal in the form that it is asked for."""
    return "\n".join(["<claims>", *(f"{number}. {claim}" for number, claim in enumerate(claims, 1)), "</claims>"])


@dataclass
class Script:
    """The answers: the proposal, and those by claim. What is not scripted finds nothing."""

    proposal: str = ""
    claims: Mapping[str, ScriptedClaim] = field(default_factory=dict)

    @classmethod
    def of(cls, *claims: ScriptedClaim, proposal: str | None = None) -> Script:
        """Return the script in which a model proposes these claims."""
        block = claims_block([each.claim for each in claims]) if proposal is None else proposal
        return cls(proposal=block, claims={each.claim: each for each in claims})


class ScriptedPerplexity(FakePerplexity):
    """The server. `script` may be replaced between two messages; a fault that was scripted for a path comes first."""

    script_of_claims = Script()

    async def _search(self, request: web.Request) -> web.StreamResponse:
        body = await self.received(request)
        if (fault := await self.fault(request)) is not None:
            return fault
        scripted = self.script_of_claims.claims.get(body["query"])
        reply = json.loads(fixture("search.200.json"))
        reply["results"] = [
            {"title": page.title, "url": page.url, "snippet": page.text, "date": page.date}
            for page in (scripted.pages if scripted else ())
        ]
        return whole(json.dumps(reply).encode())

    async def _agent(self, request: web.Request) -> web.StreamResponse:
        body = await self.received(request)
        if (fault := await self.fault(request)) is not None:
            return fault
        asked = body["input"][-1]["content"]
        claim = CLAIM.search(asked)
        scripted = self.script_of_claims.claims.get(claim[1]) if claim else None
        text = (scripted.reply if scripted else "") if claim else self.script_of_claims.proposal
        return whole(json.dumps(written(text)).encode())


def written(text: str) -> dict[str, Any]:
    """Return the recorded answer of the agent endpoint with another text and without a search."""
    body: dict[str, Any] = json.loads(fixture("agent.200.json"))
    message = body["output"][-1]
    message["content"][0]["text"] = text
    return body | {"output": [message]}
