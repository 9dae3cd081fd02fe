"""What a model at Perplexity says when it is asked for the news: one line a story, each of a page that was found."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.perplexity import fixture
from tests.fakes.service import Fault, json_reply

BUDGET = "Parliament passes the budget after a night of votes"
VOLCANO = "Volcano erupts near Reykjavik, villages evacuated"
PLANT = "Chipmaker opens its third plant in Dresden"
TEN = (
    BUDGET,
    VOLCANO,
    PLANT,
    "Whales return to the bay",
    "Court frees the mayor",
    "Rail strike paralyses Lyon",
    "Banana prices double",
    "Chess champion retires",
    "Asteroid passes between Earth and Moon",
    "Dam bursts in Kenya",
)


def text_reply(text: str, *, day: str | None = None) -> Fault:
    """Return the recorded answer of the agent endpoint with another text; its pages are of this day, or of none.

    The day that was recorded is none of the past day, whenever a test runs.
    """
    body: dict[str, Any] = json.loads(fixture("agent.200.json"))
    pages, message = body["output"]
    for page in pages["results"]:
        page["date"] = day
    message["content"][0]["text"] = text
    return json_reply(body)


def news_answer(*headlines: str, cost: float = 0.0025, site: str = "site.example") -> Fault:
    """Return the answer of the agent endpoint that tells these stories, found on pages of one site."""
    body: dict[str, Any] = json.loads(fixture("agent.200.json"))
    pages, message = body["output"]
    pages["results"] = [
        {
            "id": number,
            "title": headline,
            "url": f"https://{site}/{number}",
            "snippet": "What happened.",
            "source": "web",
        }
        for number, headline in enumerate(headlines, 1)
    ]
    lines = [f"{headline} | 2026-11-21 | It is so. [{number}]" for number, headline in enumerate(headlines, 1)]
    message["content"][0]["text"] = "\n".join(lines) or "NONE"
    body["usage"]["cost"]["total_cost"] = cost
    return json_reply(body)
