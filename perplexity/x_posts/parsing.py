"""Decides which posts of a response count: reads Grok's JSON, the addresses of posts, and the links in a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from perplexity.errors import MalformedResponse
from perplexity.markdown import DASHES
from perplexity.scope import N_, say
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
_MAX_PASSES = 5  # Removing a link can join the text around it to another link, which the next pass removes.
_ONLY_NUMBERS = re.compile(rf"(?:web:|[\d\s,;，；、{DASHES}])+")


def post_url(url: str) -> str | None:
    """Return a post's address up to its number, None for any other page."""
    match = _POST.match(url.strip())
    return match[0] if match else None


def post_id(url: str) -> str:
    """Return the number that identifies a post, whichever author its address names; "" for any other page."""
    match = _POST.match(url.strip())
    return match[1] if match else ""


def renumber_links(summary: str, posts: Sequence[Source]) -> str:
    """Replace each link to a listed post by the post's marker, remove all other links, and return the text.

    The service numbers its markers in an order of its own, so only the addresses in the links identify posts. The words
    of links are kept.
    """
    numbers = {post_id(post.url): post.number for post in posts}
    for _ in range(_MAX_PASSES):
        before, summary = summary, _LINK.sub(lambda match: _replacement(match, numbers), summary)
        if summary == before:
            break
    return summary


def _replacement(match: re.Match[str], numbers: Mapping[str, int]) -> str:
    words = match["words"] if match["words"] and not _ONLY_NUMBERS.fullmatch(match["words"]) else ""
    number = numbers.get(post_id(match["url"]))
    marker = f"[{number}]" if number else ""
    return f"{match['space'] if words or marker else ''}{words}{marker}"


NO_POSTS = N_("No posts on X were read for this, so it may rest on the model’s memory alone.")
NOT_CONFIRMED = N_("Only the model names these posts, so their sentiment is not counted.")
MORE_THAN_READ = N_("More posts are listed than were read on X, so their sentiment is not counted.")

UNKNOWN = "unknown"

_LOOKS_LIKE_JSON = re.compile(r'\A\s*(?:```(?:json)?\s*)?(?:\{|\[\s*[{\]])|"(?:posts|summary)"\s*:')


def validate_response(response: GrokResponse) -> PostSummary:
    """Return the summary with the posts that count. Raises MalformedResponse.

    The response contains what the model says about posts, not the posts themselves. So a post counts only if it has
    the address of a post on X. If the service itself names posts, only those count. If the service says that it read no
    posts, none counts. Sentiment is counted only if the service names posts, and if no more posts count than it
    says it read.
    """
    if not response.text.strip():
        raise _malformed("the response has no text", response)
    prose = {"summary": response.text, "posts": [{"url": url, "mood": UNKNOWN} for url in response.annotation_urls]}
    reply = _decode(response) or prose
    confirmed = frozenset(filter(None, map(post_id, response.confirmed_urls)))
    posts = [] if response.posts_read == 0 else list(_valid_posts(reply, confirmed=confirmed))
    sources = tuple(source for source, _ in posts)
    unreliable = _unreliable_reason(len(posts), confirmed=confirmed, fetched=response.posts_read)
    return PostSummary(
        text=renumber_links(as_text(reply.get("summary")).strip(), sources),
        posts=sources,
        sentiment=Sentiment()
        if unreliable
        else Sentiment(**{mood: sum(one == mood for _, one in posts) for mood in SENTIMENT_LABELS}),
        posts_read=response.posts_read,
        unreliable=unreliable,
        incomplete=response.incomplete,
        provider=response.provider,
        model=response.model,
        cost_usd=response.cost_usd,
    )


def _unreliable_reason(posts: int, *, confirmed: frozenset[str], fetched: int | None) -> str | None:
    """Return a sentence on why the summary is unreliable and its sentiment is not counted; None if it is reliable."""
    if not posts:
        return say(NO_POSTS)
    if fetched is not None and posts > fetched:
        return say(MORE_THAN_READ)
    return None if confirmed else say(NOT_CONFIRMED)


def _decode(response: GrokResponse) -> Mapping[str, JSON] | None:
    """Return the requested object, None for prose. Raises MalformedResponse for any other JSON."""
    if not _LOOKS_LIKE_JSON.search(response.text):
        return None
    without_markers = _LINK.sub(lambda match: "" if match["marker"] else match[0], response.text)
    reply = _load_object(response.text) or _load_object(without_markers)
    if reply is None:
        raise _malformed("the text is not the requested JSON", response)
    if not as_text(reply.get("summary")).strip():
        raise _malformed("the JSON has no summary", response)
    return reply


def _malformed(why: str, response: GrokResponse) -> MalformedResponse:
    return MalformedResponse(why, provider=response.provider, cost_usd=response.cost_usd)


def _load_object(written: str) -> dict[str, JSON] | None:
    """Return the JSON object in a text, even in a code block or after a sentence; None if there is none."""
    try:
        loaded: dict[str, JSON] = json.JSONDecoder().raw_decode(written, written.index("{"))[0]
    except (ValueError, RecursionError):
        return None
    return loaded


def _valid_posts(reply: Mapping[str, JSON], *, confirmed: frozenset[str]) -> Iterator[tuple[Source, str]]:
    """Yield each post that counts, once, with its sentiment; its number is its position in the model's list."""
    seen: set[str] = set()
    for number, post in enumerate(as_objects(reply.get("posts"))[:MAX_POSTS], 1):
        address, mood = post_url(as_text(post.get("url"))), as_text(post.get("mood"))
        key = post_id(address or "")
        if address and key not in seen and mood in {*SENTIMENT_LABELS, UNKNOWN} and (not confirmed or key in confirmed):
            seen.add(key)
            yield Source(number=number, title=as_text(post.get("about")).strip() or "Post on X", url=address), mood
