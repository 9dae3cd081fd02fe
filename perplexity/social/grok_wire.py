"""xAI's Responses API with its search of X: the request, and what is believed of the answer. Pure.

https://docs.x.ai/docs/guides/tools/overview
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date

from perplexity.errors import BillingError, MalformedResponse, RateLimitError, RunFailed
from perplexity.social.grok_posts import linked, met, post_address, status, with_own_markers
from perplexity.social.pulse import MOODS, MOST_POSTS, Moods, Pulse
from perplexity.types import JSON, Source
from perplexity.wire.errors import Dialect
from perplexity.wire.reading import mapping, mappings, text, whole

PATH = "/responses"
MODEL = "grok-4.3"
PROVIDER = "Grok"
TICKS_PER_DOLLAR = 10**10
DIALECT = Dialect(kinds={"insufficient_quota": BillingError, "rate_limit_exceeded": RateLimitError})

NO_POSTS = "No post on X was read for this, so it may be only what the model remembers."
NOT_CONFIRMED = "Only the model's word stands for these posts, so their moods are not counted."
MORE_THAN_READ = "More posts are listed than were read on X, so their moods are not counted."

UNKNOWN = "unknown"

_MOST_SEARCHES = 3
_ASKED = f"""\
Search X for what people say about the topic. Read at most {MOST_POSTS} posts, in at most {_MOST_SEARCHES} searches. \
Take posts of different people and opinions, no advertisements and no copies.
`posts`: each post that you found and used, with its address and the mood of its author towards the topic: positive, \
neutral, negative or mixed. `about`: who says what, in at most ten words.
`summary`: what people say and why, in at most 200 words. Behind each statement put the numbers of the posts that say \
it in square brackets, such as [1] or [2][3]; the first of `posts` is 1. Do not quote posts word for word.
Where you found no posts, leave `posts` empty and say so in `summary`."""


def build(topic: str, *, since: date, until: date) -> dict[str, JSON]:
    """Return the request's body. Both days are included; the search is forced, or it might answer from memory."""
    return {
        "model": MODEL,
        "input": [{"role": "system", "content": _ASKED}, {"role": "user", "content": f"Topic: {topic}"}],
        "tools": [{"type": "x_search", "from_date": since.isoformat(), "to_date": until.isoformat()}],
        "tool_choice": "required",
        "max_turns": _MOST_SEARCHES + 1,
        "text": {"format": {"type": "json_schema", "name": "pulse", "schema": _SCHEMA, "strict": True}},
        # They would be numbered in another order than ours, and stand inside the JSON.
        "include": ["no_inline_citations"],
        "store": False,
    }


def read(body: Mapping[str, JSON]) -> Pulse:
    """Return what people say. Raises RunFailed or MalformedResponse.

    The posts that the search returned are not in the response, only what the model says of them. So a post counts when
    its address is that of a post, and the response does not name other ones as all that it came across. Moods are
    counted here, and only where the service names the posts and has read as many. Where no post was fetched, none
    counts.
    """
    if text(body.get("status")) not in {"", "completed", "incomplete"}:
        raise RunFailed("the response says that it failed", provider=PROVIDER)
    written = _written(body)
    if not written.strip():
        raise MalformedResponse("the response holds no text", provider=PROVIDER)
    usage = mapping(body.get("usage"))
    fetched = whole(mapping(usage.get("server_side_tool_usage_details")).get("x_posts_fetched"))
    told = _decoded(written) or {"summary": written, "posts": [{"url": url, "mood": UNKNOWN} for url in linked(body)]}
    summary = text(told.get("summary")).strip()
    known = met(body, summary)
    posts = [] if fetched == 0 else list(_posts(told, known=known))
    sources = tuple(source for source, _ in posts)
    degraded = _degraded(len(posts), known=known, fetched=fetched)
    return Pulse(
        text=with_own_markers(summary, sources),
        posts=sources,
        moods=Moods() if degraded else Moods(**{mood: sum(one == mood for _, one in posts) for mood in MOODS}),
        fetched=fetched,
        degraded=degraded,
        provider=PROVIDER,
        model=text(body.get("model")) or None,
        cost_usd=_dollars(usage),
    )


def _degraded(posts: int, *, known: frozenset[str], fetched: int | None) -> str | None:
    """Return why nobody's mood is counted, None where the posts are to be believed."""
    if not posts:
        return NO_POSTS
    if fetched is not None and posts > fetched:
        return MORE_THAN_READ
    return None if known else NOT_CONFIRMED


def _written(body: Mapping[str, JSON]) -> str:
    messages = (item for item in mappings(body.get("output")) if item.get("type") == "message")
    parts = (part for message in messages for part in mappings(message.get("content")))
    return "".join(text(part.get("text")) for part in parts if part.get("type") == "output_text")


def _decoded(written: str) -> Mapping[str, JSON] | None:
    """Return the object that was asked for; None for prose. Raises MalformedResponse for JSON of another kind."""
    if not written.lstrip().startswith(("{", "[")) or written.lstrip().startswith("[["):
        return None
    try:
        told = json.loads(written)
    except (ValueError, RecursionError):
        raise MalformedResponse("the text is not the JSON that was asked for", provider=PROVIDER) from None
    if not isinstance(told, dict) or not text(told.get("summary")).strip():
        raise MalformedResponse("the JSON has no summary", provider=PROVIDER)
    return told


def _posts(told: Mapping[str, JSON], *, known: frozenset[str]) -> Iterator[tuple[Source, str]]:
    """Yield each post that counts, once, with its mood; its number is its place in the model's list."""
    seen: set[str] = set()
    for number, post in enumerate(mappings(told.get("posts"))[:MOST_POSTS], 1):
        address, mood = post_address(text(post.get("url"))), text(post.get("mood"))
        key = status(address or "")
        if address and key not in seen and mood in {*MOODS, UNKNOWN} and (not known or key in known):
            seen.add(key)
            yield Source(number=number, title=text(post.get("about")).strip() or "Post on X", url=address), mood


def _dollars(usage: Mapping[str, JSON]) -> float | None:
    ticks = whole(usage.get("cost_in_usd_ticks"))
    return None if ticks is None else ticks / TICKS_PER_DOLLAR


_SCHEMA: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "posts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "url": {"type": "string"},
                    "mood": {"type": "string", "enum": [*MOODS]},
                    "about": {"type": "string"},
                },
                "required": ["url", "mood", "about"],
                "additionalProperties": False,
            },
        },
        "summary": {"type": "string"},
    },
    "required": ["posts", "summary"],
    "additionalProperties": False,
}
