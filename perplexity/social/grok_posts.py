"""Posts on X by their addresses: which ones xAI says that it came across, and which one a marker means. Pure.

https://docs.x.ai/docs/guides/tools/overview
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from perplexity.types import JSON, Source
from perplexity.wire.reading import mappings, text, texts

_POST = re.compile(r"https://(?:www\.)?(?:x|twitter)\.com/(?:i|\w{1,15})/status/(\d{1,20})\b", re.ASCII)
_LINK = re.compile(
    r"(?P<space>[ \t]{0,8})(?:\[\[(?P<marker>[^\[\]\n]{1,40})\]\]|\[(?P<words>[^\[\]\n]{1,400})\])"
    r"\([ \t]{0,8}<?(?P<url>[^\s()<>]{1,300})>?[^()\n]{0,100}\)"
)
_ONLY_NUMBERS = re.compile(r"[\d ,;]+")


def post_address(url: str) -> str | None:
    """Return a post's address without what follows its number; None for any other page."""
    match = _POST.match(url.strip())
    return match[0] if match else None


def status(url: str) -> str:
    """Return the number by which X knows a post, whoever its address names; "" for any other page."""
    match = _POST.match(url.strip())
    return match[1] if match else ""


def linked(body: Mapping[str, JSON]) -> Iterator[str]:
    """Yield the addresses that the response's text is annotated with."""
    messages = (item for item in mappings(body.get("output")) if item.get("type") == "message")
    for part in (part for message in messages for part in mappings(message.get("content"))):
        for note in mappings(part.get("annotations")):
            if note.get("type") == "url_citation":
                yield text(note.get("url"))


def met(body: Mapping[str, JSON], summary: str) -> frozenset[str]:
    """Return the status numbers of the posts that the service itself names; empty where it names none.

    It does so in its list of citations, in annotations, and in the linked markers that it puts into the text.
    """
    inline = (match["url"] for match in _LINK.finditer(summary) if match["marker"])
    return frozenset(filter(None, map(status, [*texts(body.get("citations")), *linked(body), *inline])))


def with_own_markers(summary: str, posts: Sequence[Source]) -> str:
    """Return the text with each link to a post as the marker of that post; links to posts not listed are removed.

    The service numbers its own markers in an order of its own, so their numbers mean nothing: the address does.
    """
    numbers = {status(post.url): post.number for post in posts}
    return _LINK.sub(lambda match: _marked(match, numbers), summary)


def _marked(match: re.Match[str], numbers: Mapping[str, int]) -> str:
    key = status(match["url"])
    if not key:
        return match[0]
    words = match["words"] if match["words"] and not _ONLY_NUMBERS.fullmatch(match["words"]) else ""
    marker = f"[{numbers[key]}]" if key in numbers else ""
    return f"{match['space'] if words or marker else ''}{words}{marker}"
