"""What is believed of Grok's answer, by whichever service it came. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from perplexity.errors import MalformedResponse
from perplexity.social.grok_posts import post_address, status, with_own_markers, without_markers
from perplexity.social.grok_told import Told
from perplexity.social.pulse import MOODS, MOST_POSTS, Moods, Pulse
from perplexity.types import JSON, Source
from perplexity.wire.reading import mappings, text

NO_POSTS = "No post on X was read for this, so it may be only what the model remembers."
NOT_CONFIRMED = "Only the model's word stands for these posts, so their moods are not counted."
MORE_THAN_READ = "More posts are listed than were read on X, so their moods are not counted."

UNKNOWN = "unknown"

_LIKE_JSON = re.compile(r'\A\s*(?:```(?:json)?\s*)?(?:\{|\[\s*[{\]])|"(?:posts|summary)"\s*:')


def judged(told: Told) -> Pulse:
    """Return what people say. Raises MalformedResponse.

    The posts that the search returned are not in the response, only what the model says of them. So a post counts when
    its address is that of a post, and the response does not name other ones as all that it came across. Moods are
    counted here, and only where the service names the posts and has read as many. Where no post was fetched, none
    counts.
    """
    if not told.written.strip():
        raise _unreadable("the response holds no text", told)
    said = _decoded(told) or _prose(told)
    known = frozenset(filter(None, map(status, told.named)))
    posts = [] if told.fetched == 0 else list(_posts(said, known=known))
    sources = tuple(source for source, _ in posts)
    degraded = _degraded(len(posts), known=known, fetched=told.fetched)
    return Pulse(
        text=with_own_markers(text(said.get("summary")).strip(), sources),
        posts=sources,
        moods=Moods() if degraded else Moods(**{mood: sum(one == mood for _, one in posts) for mood in MOODS}),
        fetched=told.fetched,
        degraded=degraded,
        incomplete=told.incomplete,
        provider=told.provider,
        model=told.model,
        cost_usd=told.cost_usd,
    )


def _degraded(posts: int, *, known: frozenset[str], fetched: int | None) -> str | None:
    """Return why nobody's mood is counted, None where the posts are to be believed."""
    if not posts:
        return NO_POSTS
    if fetched is not None and posts > fetched:
        return MORE_THAN_READ
    return None if known else NOT_CONFIRMED


def _prose(told: Told) -> Mapping[str, JSON]:
    return {"summary": told.written, "posts": [{"url": url, "mood": UNKNOWN} for url in told.annotated]}


def _decoded(told: Told) -> Mapping[str, JSON] | None:
    """Return the object that was asked for; None for prose. Raises MalformedResponse for JSON of another kind."""
    if not _LIKE_JSON.search(told.written):
        return None
    said = _loaded(told.written) or _loaded(without_markers(told.written))
    if said is None:
        raise _unreadable("the text is not the JSON that was asked for", told)
    if not text(said.get("summary")).strip():
        raise _unreadable("the JSON has no summary", told)
    return said


def _unreadable(why: str, told: Told) -> MalformedResponse:
    return MalformedResponse(why, provider=told.provider, cost_usd=told.cost_usd)


def _loaded(written: str) -> dict[str, JSON] | None:
    """Return the object in a text, which may stand in a fence or behind a sentence; None where there is none."""
    try:
        loaded: dict[str, JSON] = json.JSONDecoder().raw_decode(written, written.index("{"))[0]
    except (ValueError, RecursionError):
        return None
    return loaded


def _posts(said: Mapping[str, JSON], *, known: frozenset[str]) -> Iterator[tuple[Source, str]]:
    """Yield each post that counts, once, with its mood; its number is its place in the model's list."""
    seen: set[str] = set()
    for number, post in enumerate(mappings(said.get("posts"))[:MOST_POSTS], 1):
        address, mood = post_address(text(post.get("url"))), text(post.get("mood"))
        key = status(address or "")
        if address and key not in seen and mood in {*MOODS, UNKNOWN} and (not known or key in known):
            seen.add(key)
            yield Source(number=number, title=text(post.get("about")).strip() or "Post on X", url=address), mood
