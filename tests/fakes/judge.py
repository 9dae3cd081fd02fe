"""Judges what is shown, as the most eager client would read it: whom it calls, where it leads, what it hides.

It knows nothing of the app: Slack's tokens are read by a scanner of its own, Markdown by markdown-it, addresses by the
standard library.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from linkify_it import LinkifyIt  # type: ignore[import-untyped]
from markdown_it import MarkdownIt

from tests.fakes.renderer import EAGER, EAGER_FOR_FILES, tokens

HIDDEN = frozenset({"private_metadata", "metadata", "value", "action_id", "block_id", "callback_id", "id", "hash"})
"""What no one is shown."""

_CALL = re.compile(r"<[@#!]|@(?:here|channel|everyone|group)(?![^\W_])", re.IGNORECASE)
_OUR_DATE = re.compile(r"<!date\^\d{1,12}\^[^<>|^]*\|[^<>|]*>")
_TOKEN = re.compile(r"<([^<>]*)>")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_ADDRESS_AS_LABEL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*://|www\.)", re.IGNORECASE)
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKUP = re.compile(r"<\s*/?\s*(?:pages|result|references|message|claims?|passage|verdict)\b", re.IGNORECASE)
_LINKIFIER = LinkifyIt(options={"fuzzy_link": False, "fuzzy_email": False}).add("//", None)
"""Slack links what has a scheme."""

MAX_URL = 2_000


def harms_of_message(message: Mapping[str, Any], allowed: Iterable[str]) -> list[str]:
    """Return what could harm in a message, or in a view.

    Its links may lead to the `allowed` addresses only, and it may name the channels whose ids are among them.
    """
    known = frozenset(allowed)
    if message.get("blocks") and "text" in message:
        # What is shown in notifications has no links of a client's own.
        message = {**message, "text": {"type": "mrkdwn", "text": message["text"], "verbatim": True}}
    shown = dict.fromkeys((kind, text) for _, kind, text in texts_of(message))
    return [harm for kind, text in shown for harm in _harms(kind, text, known)]


def harms_of_markdown(text: str, allowed: Iterable[str], *, bare_hosts: bool = True) -> list[str]:
    """Return what could harm in a Markdown text of Slack, or in a file, whose readers make no link of a bare host."""
    known = frozenset(allowed)
    if bare_hosts:
        return list(_harms("markdown", text, known))
    return [*_hidden_characters(text), *_markdown(text, known, EAGER_FOR_FILES, calls=False)]


def harms_of_plain_text(text: str) -> list[str]:
    """Return what could harm in a terminal, or in a text that no client reads for links: hidden characters."""
    return list(_hidden_characters(text))


def harms_of_tool_result(text: str) -> list[str]:
    """Return what could harm in a text for a model: hidden characters, and markup that it could take for ours."""
    return [*harms_of_plain_text(text), *(f"markup: {found}" for found in _MARKUP.findall(text))]


def texts_of(value: Any, place: str = "", kind: str = "mrkdwn") -> Iterator[tuple[str, str, str]]:
    """Yield each text that is shown with its place and the way in which it is read.

    Kinds are "mrkdwn", which a client links by itself, "verbatim", "bare", "markdown", "plain", "url", and
    "element" for a part of a rich text or a picture that is itself a harm.
    """
    if isinstance(value, str):
        yield place, kind, value
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from texts_of(item, f"{place}[{number}]", kind)
    elif isinstance(value, Mapping):
        own = _kind_of(value)
        if own == "element" or any(name.startswith("image_") for name in value):
            yield place, "element", str(value.get("channel_id") or json.dumps(value)[:80])
            return
        for name, item in value.items():
            if name not in HIDDEN:
                inside = "url" if name == "url" else kind if name == "text" and not place and not own else own or kind
                yield from texts_of(item, f"{place}.{name}", inside)


_KINDS = {
    "mrkdwn": "mrkdwn",
    "markdown": "markdown",
    "markdown_text": "markdown",
    "plain_text": "plain",
    "raw_text": "plain",
    "text": "plain",
    "link": "plain",
    "user": "element",
    "usergroup": "element",
    "broadcast": "element",
    "channel": "element",
    "team": "element",
    "task_card": "bare",
    "plan": "bare",
    "image": "element",
    "video": "element",
    "file": "element",
}


def _kind_of(value: Mapping[str, Any]) -> str:
    kind = _KINDS.get(str(value.get("type", "")), "plain" if "type" in value else "")
    return "verbatim" if kind == "mrkdwn" and value.get("verbatim") is True else kind


@lru_cache(maxsize=4_096)
def _harms(kind: str, text: str, allowed: frozenset[str]) -> tuple[str, ...]:
    found: list[str] = [*_hidden_characters(text), *_noncharacters(text)]
    if kind == "element":
        found += [] if text in allowed else [f"shows {text}"]
    elif kind == "url":
        found += _bad_address(text, allowed)
    elif kind == "markdown":
        found += _calls(text)
        found += _markdown(text, allowed)
    elif kind == "bare":  # a string of which Slack does not say how it is read
        found += _calls(text)
    elif kind in {"mrkdwn", "verbatim"}:
        found += _calls(_OUR_DATE.sub("", text))
        found += _mrkdwn(text, allowed, verbatim=kind == "verbatim")
    return tuple(f"{kind}: {harm}" for harm in found)


def _hidden_characters(text: str) -> Iterator[str]:
    for sign in dict.fromkeys(text):
        if sign in _REORDERING or (unicodedata.category(sign) in {"Cc", "Cs"} and sign not in "\n\t"):
            yield f"character U+{ord(sign):04X}"


def _noncharacters(text: str) -> Iterator[str]:
    """Yield what the app uses inside itself as marks, and Slack may drop."""
    yield from (f"noncharacter U+{ord(sign):04X}" for sign in dict.fromkeys(text) if "\ufdd0" <= sign <= "\ufdef")


def _calls(text: str, *, entities: bool = True) -> Iterator[str]:
    """Yield the tokens that call someone, also those that a client would see after decoding entities once."""
    for read in dict.fromkeys((text, html.unescape(text) if entities else text)):
        for match in _CALL.finditer(read):
            yield f"calls {read[match.start() : match.start() + 30]!r}"


def _markdown(text: str, allowed: frozenset[str], parser: MarkdownIt = EAGER, *, calls: bool = True) -> Iterator[str]:
    labels: list[str] = []
    address = ""
    for token in tokens(text, parser):
        if token.type == "link_open":
            address, labels = str(token.attrs["href"]), []
            yield from _bad_address(address, allowed)
        elif token.type == "link_close" and token.info != "auto":
            yield from _bad_label("".join(labels), address)
        elif token.type == "image":
            yield f"shows {token.attrs['src']}"
        elif token.type in {"html_inline", "html_block"}:
            yield f"has HTML {token.content[:40]}"
        elif token.type in {"text", "code_inline", "fence", "code_block"}:
            labels.append(token.content)
            # Its entities are decoded already.
            yield from _calls(token.content, entities=False) if calls else ()


def _mrkdwn(text: str, allowed: frozenset[str], *, verbatim: bool) -> Iterator[str]:
    for match in _TOKEN.finditer(_OUR_DATE.sub("", text)):
        address, _, label = match[1].partition("|")
        yield from _bad_address(html.unescape(address), allowed)
        yield from _bad_label(html.unescape(label), html.unescape(address))
    if not verbatim:
        said = html.unescape(_TOKEN.sub(" ", _CODE.sub(" ", text)))
        for found in _LINKIFIER.match(said) or ():
            yield from _bad_address(str(found.url), allowed)


def _bad_address(address: str, allowed: frozenset[str]) -> Iterator[str]:
    if address not in allowed:
        yield f"leads to {address[:80]!r}"
        return
    parts = urlsplit(address)
    host = parts.hostname or ""
    plain = parts.scheme in {"http", "https"} and parts.username is None and host.isascii() and host
    if not plain or len(address) > MAX_URL or not address.isprintable() or any(sign in address for sign in " <>|\\\"'"):
        yield f"has the address {address[:80]!r}"


def _bad_label(label: str, address: str) -> Iterator[str]:
    """Yield a label that reads as the address of another site than that to which it leads."""
    said = label.replace("\u2060", "").strip()
    if _ADDRESS_AS_LABEL.match(said):
        named = said if "://" in said else f"https://{said}"
        try:
            host = urlsplit(named).hostname
        except ValueError:
            host = None
        if host != urlsplit(address).hostname:
            yield f"says {said[:60]!r} and leads to {address[:60]!r}"
