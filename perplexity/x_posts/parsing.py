"""Posts on X by their addresses: what is one, and which one a marker means. Pure.

https://docs.x.ai/docs/guides/tools/overview
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from perplexity.errors import MalformedResponse
from perplexity.markers import DASHES
from perplexity.types import JSON, Source
from perplexity.wire.json import as_objects, as_text
from perplexity.x_posts.types import MAX_POSTS, SENTIMENT_LABELS, GrokResponse, PostSummary, Sentiment

_POST = re.compile(r"https://(?:www\.)?(?:x|twitter)\.com/(?:i|\w{1,15})/status/(\d{1,20})\b", re.ASCII)
_LINK = re.compile(
    r"(?P<space>[ \t]{0,8})(?:\[\[(?P<marker>[^\[\]\n]{1,40})\]\]"
    r"|(?:\\?\[|【)(?P<words>[^\[\]【】\n]{1,400}?)(?:\\?\]|】))"
    r"\([ \t]{0,8}<?(?P<url>[^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,4})>?"
    r"(?:[ \t]{1,8}[\"'][^\"'\n]{0,100}[\"'])?[ \t]{0,8}\)"
)
_MOST_PASSES = 5  # what is removed may have kept its neighbours from being a link
_ONLY_NUMBERS = re.compile(rf"(?:web:|[\d\s,;，；、{DASHES}])+")


def post_url(url: str) -> str | None:
    """Return a post's address without what follows its number; None for any other page."""
    match = _POST.match(url.strip())
    return match[0] if match else None


def post_id(url: str) -> str:
    """Return the number by which X knows a post, whoever its address names; "" for any other page."""
    match = _POST.match(url.strip())
    return match[1] if match else ""


def inline_links(written: str) -> Iterator[str]:
    """Yield the addresses of the linked markers that the service puts into a text; JSON may escape its slashes."""
    yield from (match["url"] for match in _LINK.finditer(written.replace(r"\/", "/")) if match["marker"])


def strip_links(written: str) -> str:
    """Return the text without the linked markers that the service puts into it."""
    return _LINK.sub(lambda match: "" if match["marker"] else match[0], written)


def renumber_links(summary: str, posts: Sequence[Source]) -> str:
    """Return the text with each link to a post of the list as the marker of that post, and without any other link.

    The service numbers its own markers in an order of its own, so their numbers mean nothing: the address does. A
    link's own words stay.
    """
    numbers = {post_id(post.url): post.number for post in posts}
    for _ in range(_MOST_PASSES):
        before, summary = summary, _LINK.sub(lambda match: _marked(match, numbers), summary)
        if summary == before:
            break
    return summary


def _marked(match: re.Match[str], numbers: Mapping[str, int]) -> str:
    words = match["words"] if match["words"] and not _ONLY_NUMBERS.fullmatch(match["words"]) else ""
    number = numbers.get(post_id(match["url"]))
    marker = f"[{number}]" if number else ""
    return f"{match['space'] if words or marker else ''}{words}{marker}"


NO_POSTS = "No post on X was read for this, so it may be only what the model remembers."
NOT_CONFIRMED = "Only the model's word stands for these posts, so their moods are not counted."
MORE_THAN_READ = "More posts are listed than were read on X, so their moods are not counted."

UNKNOWN = "unknown"

_LIKE_JSON = re.compile(r'\A\s*(?:```(?:json)?\s*)?(?:\{|\[\s*[{\]])|"(?:posts|summary)"\s*:')


def validate_response(told: GrokResponse) -> PostSummary:
    """Return what people say. Raises MalformedResponse.

    The posts that the search returned are not in the response, only what the model says of them. So a post counts when
    its address is that of a post, and the response does not name other ones as all that it came across. Moods are
    counted here, and only where the service names the posts and has read as many. Where no post was fetched, none
    counts.
    """
    if not told.text.strip():
        raise _unreadable("the response holds no text", told)
    said = _decoded(told) or _prose(told)
    known = frozenset(filter(None, map(post_id, told.confirmed_urls)))
    posts = [] if told.posts_read == 0 else list(_posts(said, known=known))
    sources = tuple(source for source, _ in posts)
    degraded = _degraded(len(posts), known=known, fetched=told.posts_read)
    return PostSummary(
        text=renumber_links(as_text(said.get("summary")).strip(), sources),
        posts=sources,
        sentiment=Sentiment()
        if degraded
        else Sentiment(**{mood: sum(one == mood for _, one in posts) for mood in SENTIMENT_LABELS}),
        posts_read=told.posts_read,
        unreliable=degraded,
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


def _prose(told: GrokResponse) -> Mapping[str, JSON]:
    return {"summary": told.text, "posts": [{"url": url, "mood": UNKNOWN} for url in told.annotation_urls]}


def _decoded(told: GrokResponse) -> Mapping[str, JSON] | None:
    """Return the object that was asked for; None for prose. Raises MalformedResponse for JSON of another kind."""
    if not _LIKE_JSON.search(told.text):
        return None
    said = _loaded(told.text) or _loaded(strip_links(told.text))
    if said is None:
        raise _unreadable("the text is not the JSON that was asked for", told)
    if not as_text(said.get("summary")).strip():
        raise _unreadable("the JSON has no summary", told)
    return said


def _unreadable(why: str, told: GrokResponse) -> MalformedResponse:
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
    for number, post in enumerate(as_objects(said.get("posts"))[:MAX_POSTS], 1):
        address, mood = post_url(as_text(post.get("url"))), as_text(post.get("mood"))
        key = post_id(address or "")
        if address and key not in seen and mood in {*SENTIMENT_LABELS, UNKNOWN} and (not known or key in known):
            seen.add(key)
            yield Source(number=number, title=as_text(post.get("about")).strip() or "Post on X", url=address), mood
