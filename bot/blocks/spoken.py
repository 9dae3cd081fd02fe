"""Makes a message's text for screen readers and notifications: all words of its blocks, states and warnings first.

https://docs.slack.dev/reference/methods/chat.postMessage#text-blocks-attachments
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest

from bot.blocks.escaping import WORD_JOINER, escape
from bot.blocks.markdown.render import CODE, Part, neutralize
from bot.blocks.words import STATES
from bot.model.message import Block, OutgoingMessage
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.markdown import regions

MAX_BYTES = 3_900
"""The most bytes of a text. `chat.update` accepts 4,000 bytes; the same limit is used for all methods."""

REST = N_("The rest is in the message.")

REFERENCE = re.compile(r"\[\[(\d+)\]\]\(([^()\s]+)\)")
"""Matches a citation as the app writes it in Markdown: `[[1]](address)`."""

_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[\w+#.-]*")
_FENCE_END = re.compile(r"\n[ \t>]*(?:`{3,}|~{3,})\s*\Z")
_MRKDWN_CODE = re.compile(r"(`[^`\n]*`)")
_TOKEN = re.compile(r"<(?:[^<>|]+\|)?([^<>]*)>")
_SIGN = re.compile(r"^:(warning|white_check_mark|x|grey_question):[ ]", re.MULTILINE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_HEADING = re.compile(r"^([ \t>]*)#{1,6}(?=\s|$)", re.MULTILINE)
_EMPHASIS = (
    re.compile(r"(\*{1,3})(?![\s*])([^*|\n]+)(?<!\s)\1"),
    re.compile(r"(?<!\w)(_{1,3})(?![\s_])([^_|\n]+)(?<!\s)\1(?!\w)"),
    re.compile(r"(?<!\w)(~~?)(?![\s~])([^~|\n]+)(?<!\s)\1(?!\w)"),
)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?: ?\[\d+\])*(?=\s)|[。！？]|\n")
_MARKUP = "*_~#|\\`-=:"
# While markup is removed, noncharacters replace the signs that are part of words or code.
_HIDDEN = {ord(sign): 0xFDE0 + place for place, sign in enumerate(_MARKUP)}
_NO_MRKDWN = {ord(sign): _HIDDEN[ord(sign)] for sign in _MARKUP if sign not in "*_~"}
_SHOWN = {held: sign for sign, held in _HIDDEN.items()}
_EDGES = " \t>|-=:*_"
"""The signs of a line without words: a rule, or the line below a table's header."""


def spoken(*blocks: Block, sources: str = "") -> OutgoingMessage:
    """Return a message with these blocks, and the text that is made of them by `fallback_text`."""
    return OutgoingMessage(text=fallback_text(blocks, sources=sources), blocks=blocks)


def fallback_text(blocks: Iterable[Block | Part], *, sources: str = "") -> str:
    """Return the words of blocks, as `all_words` does, but cut to the length that Slack accepts; never empty.

    If possible, the cut is at the end of a sentence. `sources` are the titles of an answer's sources, which come last.
    """
    return fit(all_words(blocks, sources=sources)) or "…"


def all_words(blocks: Iterable[Block | Part], *, sources: str = "") -> str:
    """Return the words of blocks, states and warnings first, as mrkdwn without links; a table's rows are sentences."""
    ordered = sorted(blocks, key=lambda block: not _is_state(block))
    said = [line for words in (*map(_words, ordered), _hide(sources)) for line in _lines(words)]
    return escape(neutralize("\n".join(said).translate(_SHOWN).replace(WORD_JOINER, "")))


def fit(text: str) -> str:
    """Return an escaped text; if it is longer than Slack accepts, `REST` replaces its end."""
    if len(text.encode()) <= MAX_BYTES:
        return text
    rest = _(REST)
    cut = text.encode()[: MAX_BYTES - len(f"\n{rest}".encode())].decode(errors="ignore")
    half = len(cut) // 2
    ends = [match.end() for match in _SENTENCE_END.finditer(cut, half)]
    place = ends[-1] if ends else cut.rfind(" ", half)
    whole = cut[:place] if place > 0 else re.sub(r"&\w*\Z", "", cut)
    return f"{whole.rstrip()}\n{rest}"


def _is_state(block: Block | Part) -> bool:
    if isinstance(block, Part) or block["type"] != "context":
        return False
    return str(block["elements"][0]["text"]).startswith(tuple(map(_, STATES)))


def _words(block: Block | Part) -> str:
    """Return the words of a block. A noncharacter replaces each sign that looks like markup but is none."""
    if isinstance(block, Part):
        return _markdown_words(block.stretches)
    match block["type"]:
        case "markdown":
            text = block["text"]
            return _markdown_words((region.kind in CODE, text[region.start : region.end]) for region in regions(text))
        case "header":
            return _hide(block["text"]["text"])
        case "section":
            return _mrkdwn_words(block["text"]["text"])
        case "context":
            return _mrkdwn_words("\n".join(element["text"] for element in block["elements"]))
    return _drawn_words(block)


def _drawn_words(block: Block) -> str:
    match block["type"]:
        case "rich_text":
            return _rich_words(block)
        case "table":
            titles, *rows = ([_rich_words(cell).strip() for cell in row] for row in block["rows"])
            return "\n".join([_row(titles, cells) for cells in rows])
        case "data_visualization":
            points = ((one, point) for one in block["chart"]["series"] for point in one["data"])
            values = (f"{one['name']}, {point['label']}: {point['value']:g}." for one, point in points)
            return _hide("\n".join([block["title"], *values]))
        case "plan":
            tasks = (": ".join([one["title"], *_sites(one)]) for one in block["tasks"])
            return _hide("\n".join([block["title"], *tasks]))
    return ""


def _sites(task: Block) -> list[str]:
    named = ", ".join(source["text"] for source in task.get("sources", ()))
    return [named] if named else []


def _rich_words(element: Block) -> str:
    """Return the words of rich text, with the ids of people and channels.

    Only Slack knows their names; commands accept the ids.
    """
    match element["type"]:
        case "text" | "link" | "raw_text":
            return _hide(element["text"])
        case "user" | "channel":
            return str(element[f"{element['type']}_id"])
        case "rich_text_section":
            return f"{''.join(map(_rich_words, element['elements']))}\n"
    return "".join(map(_rich_words, element["elements"]))


def _markdown_words(stretches: Iterable[tuple[bool, str]]) -> str:
    return _without_markup(
        "".join([_hide(_bare(stretch)) if is_code else _prose_words(stretch) for is_code, stretch in stretches])
    )


def _prose_words(prose: str) -> str:
    return html.unescape(_ESCAPED.sub(lambda escaped: _hide(escaped[1]), REFERENCE.sub(r"[\1]", prose)))


def _mrkdwn_words(text: str) -> str:
    text = _SIGN.sub(lambda sign: f"{_('Warning:')} " if sign[1] == "warning" else "", text)
    pieces = _MRKDWN_CODE.split(html.unescape(_TOKEN.sub(r"\1", text)))
    return _without_markup(
        "".join([_hide(one[1:-1]) if place % 2 else one.translate(_NO_MRKDWN) for place, one in enumerate(pieces)])
    )


def _bare(code: str) -> str:
    """Return code without its fences or backticks; joiners keep inline code apart from emphasis next to it."""
    fence = _FENCE.match(code)
    # Inline code may also begin with three backticks and have several lines, but it ends with backticks after a word.
    if fence and (_FENCE_END.search(code) or not code.endswith("`")):
        return _FENCE_END.sub("", code[fence.end() :])
    return f"{WORD_JOINER}{code.strip('`')}{WORD_JOINER}"


def _hide(words: str) -> str:
    return words.translate(_HIDDEN)


def _without_markup(text: str) -> str:
    text = _HEADING.sub(r"\1", text)
    # Twice, because emphasis may contain emphasis.
    for signs in _EMPHASIS * 2:
        text = signs.sub(r"\2", text)
    return text


def _lines(words: str) -> Iterator[str]:
    """Yield the lines that contain words; each row of a table becomes a sentence."""
    titles: list[str] = []
    for line, following in pairwise([*words.split("\n"), ""]):
        if "|" not in line:
            titles = titles if line.strip() else []
            if line.strip(_EDGES):
                yield line.strip()
        elif not line.strip(_EDGES):
            if titles and "|" not in following:
                yield "; ".join(filter(None, titles))
        elif titles:
            yield _row(titles, _cells(line))
        elif {"|", "-"} <= {*following} and not following.strip(_EDGES):
            titles = _cells(line)
        else:
            yield line.strip()


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip(" \t>").removeprefix("|").removesuffix("|").split("|")]


def _row(titles: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as "header: value; header: value."."""
    named = zip_longest(titles, cells, fillvalue="")
    said = "; ".join([f"{title}: {value}" if title and value else value for title, value in named if value])
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."
