"""Prose from outside for a `markdown` block, which makes links and images of more than its author can see.

Whatever CommonMark, GitHub's extensions or a linkifier would turn into a link is broken with an invisible joiner: it
stays on the screen, letter by letter, and leads nowhere. Our own links are put in afterwards (`marks.py`).
"""

from __future__ import annotations

import html
import re

from bot.blocks.escaping import JOINER, break_mentions

_SIGNS = re.compile(
    r"<(?=[^\s\u2060])"  # HTML, autolinks, Slack's own tokens
    r"|\](?=[(:])"  # links, images, definitions
    r"|[:/](?=/)"  # addresses, with or without a scheme
    r"|\b(?:mailto|xmpp|tel|sms|skype|slack|javascript|data|file):(?=[^\s\u2060])",
    re.IGNORECASE,
)
# A linkifier takes the joiner for a letter when it stands before the dot, GitHub's parser when it stands after it.
_HOST_DOT = re.compile(r"(?<=\S)(\\?)\.(?=[^\W\d_])")
_ENTITY = re.compile(r"&(?=(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
_OF_ADDRESSES = frozenset(".:/@")
# Emphasis that begins or ends with punctuation beside a letter is none (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run);
# between words without spaces, as in Chinese and Japanese, it is meant all the same.
_BOLD = re.compile(r"(?<!\*)\*\*(?![*\s])([^*\n]+)(?<![*\s])\*\*(?!\*)")


def defuse(prose: str) -> str:
    """Break every link, image, HTML tag and mention in a stretch of Markdown outside code. Idempotent."""
    prose = _ENTITY.sub(_broken_entity, prose)
    prose = _SIGNS.sub(rf"\g<0>{JOINER}", prose)
    prose = _HOST_DOT.sub(_broken_dot, prose)
    return break_mentions(_BOLD.sub(_freed_bold, prose))


def _broken_entity(match: re.Match[str]) -> str:
    return f"&{JOINER}" if html.unescape(f"&{match[1]};") in _OF_ADDRESSES else "&"


def _broken_dot(match: re.Match[str]) -> str:
    return f"\\.{JOINER}" if match[1] else f"{JOINER}.{JOINER}"


def _freed_bold(match: re.Match[str]) -> str:
    text = match[1]
    start = JOINER if not text[0].isalnum() and _is_word(match.string, match.start() - 1) else ""
    end = JOINER if not text[-1].isalnum() and _is_word(match.string, match.end()) else ""
    return f"**{start}{text}{end}**"


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()
