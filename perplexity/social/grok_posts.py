"""Posts on X by their addresses: what is one, and which one a marker means. Pure.

https://docs.x.ai/docs/guides/tools/overview
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from perplexity.markers import DASHES
from perplexity.types import Source

_POST = re.compile(r"https://(?:www\.)?(?:x|twitter)\.com/(?:i|\w{1,15})/status/(\d{1,20})\b", re.ASCII)
_LINK = re.compile(
    r"(?P<space>[ \t]{0,8})(?:\[\[(?P<marker>[^\[\]\n]{1,40})\]\]"
    r"|(?:\\?\[|【)(?P<words>[^\[\]【】\n]{1,400}?)(?:\\?\]|】))"
    r"\([ \t]{0,8}<?(?P<url>[^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,4})>?"
    r"(?:[ \t]{1,8}[\"'][^\"'\n]{0,100}[\"'])?[ \t]{0,8}\)"
)
_MOST_PASSES = 5  # what is removed may have kept its neighbours from being a link
_ONLY_NUMBERS = re.compile(rf"(?:web:|[\d\s,;，；、{DASHES}])+")


def post_address(url: str) -> str | None:
    """Return a post's address without what follows its number; None for any other page."""
    match = _POST.match(url.strip())
    return match[0] if match else None


def status(url: str) -> str:
    """Return the number by which X knows a post, whoever its address names; "" for any other page."""
    match = _POST.match(url.strip())
    return match[1] if match else ""


def inline(written: str) -> Iterator[str]:
    """Yield the addresses of the linked markers that the service puts into a text; JSON may escape its slashes."""
    yield from (match["url"] for match in _LINK.finditer(written.replace(r"\/", "/")) if match["marker"])


def without_markers(written: str) -> str:
    """Return the text without the linked markers that the service puts into it."""
    return _LINK.sub(lambda match: "" if match["marker"] else match[0], written)


def with_own_markers(summary: str, posts: Sequence[Source]) -> str:
    """Return the text with each link to a post of the list as the marker of that post, and without any other link.

    The service numbers its own markers in an order of its own, so their numbers mean nothing: the address does. A
    link's own words stay.
    """
    numbers = {status(post.url): post.number for post in posts}
    for _ in range(_MOST_PASSES):
        before, summary = summary, _LINK.sub(lambda match: _marked(match, numbers), summary)
        if summary == before:
            break
    return summary


def _marked(match: re.Match[str], numbers: Mapping[str, int]) -> str:
    words = match["words"] if match["words"] and not _ONLY_NUMBERS.fullmatch(match["words"]) else ""
    number = numbers.get(status(match["url"]))
    marker = f"[{number}]" if number else ""
    return f"{match['space'] if words or marker else ''}{words}{marker}"
