"""Builds the app's Block Kit blocks, as plain JSON, and the text of a message that consists of blocks.

The text is for screen readers and notifications. It has the words of the blocks, as far as they fit, states and
warnings first.
https://docs.slack.dev/reference/methods/chat.postMessage#text-blocks-attachments
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest

from bot.blocks.escaping import WORD_JOINER, escape, neutralize, one_line, shorten
from bot.blocks.markdown.render import CODE, Part
from bot.blocks.words import STATES, warning
from bot.model.message import Audience, Block, OutgoingMessage
from bot.translation import N_
from bot.translation import gettext as _
from perplexity.markdown import regions

MAX_SERIES = 6
MAX_CATEGORIES = 20
MAX_TITLE = 50
MAX_LABEL = 20


def bar_chart(title: str, *, categories: Sequence[str], series: Mapping[str, Sequence[float]], y_label: str) -> Block:
    """Return a bar chart with a bar of each series for each category; numbers are rounded to three decimals.

    Only the first `MAX_SERIES` series and the first `MAX_CATEGORIES` categories are drawn.
    https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block
    """
    labels = [shorten(category, MAX_LABEL) for category in categories[:MAX_CATEGORIES]]
    drawn = [
        {
            "name": shorten(name, MAX_LABEL),
            "data": [{"label": label, "value": round(value, 3)} for label, value in zip(labels, values, strict=False)],
        }
        for name, values in list(series.items())[:MAX_SERIES]
    ]
    axis = {"categories": labels, "y_label": shorten(y_label, MAX_TITLE)}
    chart = {"type": "bar", "series": drawn, "axis_config": axis}
    return {"type": "data_visualization", "title": shorten(title, MAX_TITLE), "chart": chart}


MAX_TEXT = 3000
"""The most characters of a text object."""
MAX_HEADER = 150


def mrkdwn(text: str) -> Block:
    """Return a text object of escaped text; `verbatim` keeps Slack from linking URLs by itself."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def section(text: str) -> Block:
    """Return a paragraph of mrkdwn, shown in full."""
    return {"type": "section", "text": mrkdwn(text), "expand": True}


def longest(versions: Iterable[str]) -> str:
    """Return the first version of a text that fits into a section; if none fits, the beginning of the last version."""
    listed = [*versions]
    return next((text for text in listed if len(text) <= MAX_TEXT), listed[-1][:MAX_TEXT])


def header(text: str) -> Block:
    """Return a header of plain text."""
    return {"type": "header", "text": {"type": "plain_text", "text": shorten(text, MAX_HEADER), "emoji": False}}


def context(text: str) -> Block:
    """Return a block of small grey mrkdwn."""
    return {"type": "context", "elements": [mrkdwn(text)]}


def markdown(text: str) -> Block:
    """Return a block of standard Markdown."""
    return {"type": "markdown", "text": text}


def table(titles: Sequence[str], rows: Iterable[Sequence[Block]], *, numbers: bool = True) -> Block:
    """Return a table; `numbers` is whether all columns but the first contain numbers."""
    settings = [{"align": "right" if place and numbers else "left"} for place in range(len(titles))]
    return {"type": "table", "rows": [[cell(leaf(title)) for title in titles], *rows], "column_settings": settings}


def cell(element: Block) -> Block:
    """Return a cell of a table with one element of rich text."""
    if element["type"] == "text":
        return {"type": "raw_text", "text": one_line(element["text"]) or "–"}
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [element]}]}


def leaf(text: str) -> Block:
    """Return a text as an element of rich text."""
    return {"type": "text", "text": text}


def name(text: str) -> Block:
    """Return an untrusted name as an element of rich text, on one line."""
    return leaf(one_line(text) or "–")


def person(user_id: str) -> Block:
    """Return a person as an element of rich text: Slack shows the name, but mentions nobody.

    Slack refuses a view with an invalid id. In the ledger, erased people and the app have invalid ids, so words replace
    them.
    """
    known = re.fullmatch("[UW][A-Z0-9]+", user_id)
    return {"type": "user", "user_id": user_id} if known else leaf(_("erased people, and the app"))


def channel(channel_id: str) -> Block:
    """Return a channel as an element of rich text; Slack shows its name to the people who may know it."""
    if re.fullmatch("[CG][A-Z0-9]+", channel_id):
        return {"type": "channel", "channel_id": channel_id}
    return name(_("direct messages") if channel_id.startswith("D") else channel_id)


def rich_line(text: str, **elements: Block) -> Block:
    """Return a line of rich text, in which each name in braces is replaced by the element of that name."""
    parts = enumerate(re.split(r"\{(\w+)\}", text))
    line = [elements[part] if place % 2 else leaf(part) for place, part in parts if part]
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": line}]}


def bullets(items: Iterable[Sequence[Block]]) -> Block:
    """Return a list; each item is a line of rich text."""
    lines = [{"type": "rich_text_section", "elements": [*item]} for item in items]
    return {"type": "rich_text", "elements": [{"type": "rich_text_list", "style": "bullet", "elements": lines}]}


def plain(text: str) -> Block:
    """Return a text object of plain text."""
    return {"type": "plain_text", "text": text}


def button(label: str, action_id: str, value: str) -> Block:
    """Return a plain button."""
    return {"type": "button", "text": plain(label), "action_id": action_id, "value": value}


def actions(*elements: Block) -> Block:
    """Return a row of buttons and menus."""
    return {"type": "actions", "elements": [*elements]}


def page_turns(action_id: str, pages: Mapping[str, int]) -> list[Block]:
    """Return a row with a button for each page, or no row without pages; `pages` maps labels to page numbers.

    Slack accepts an action's id only once per row, so the page's number is added to each button's id.
    """
    return [actions(*(button(label, f"{action_id}{page}", "page") for label, page in pages.items()))] if pages else []


def primary_button(label: str, *, action_id: str, value: str) -> Block:
    """Return a row with one highlighted button, for the next step."""
    return actions(button(label, action_id, value) | {"style": "primary"})


def secondary_button(label: str, *, action_id: str, value: str) -> Block:
    """Return a row with one plain button, for an option."""
    return actions(button(label, action_id, value))


def confirmation(title: str, text: str, confirm: str) -> Block:
    """Return the dialog before a deletion or a stop; `confirm` is the label of the button that confirms it.

    https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object
    """
    shown = {"title": title, "text": text, "confirm": confirm, "deny": _("Cancel")}
    return {name: plain(one) for name, one in shown.items()} | {"style": "danger"}


def stop_button(question_id: str) -> Block:
    """Return a row with the button that stops a question."""
    return secondary_button(_("Stop"), action_id="stop", value=question_id)


def divider() -> Block:
    """Return a line between blocks."""
    return {"type": "divider"}


def link(address: str, label: str) -> str:
    """Return a link in mrkdwn; both parts are escaped. The label may contain pipes: only the first ends the URL."""
    return f"<{escape(address)}|{escape(label)}>"


def join_lines(pieces: list[str]) -> list[str]:
    """Join lines of mrkdwn to texts that each fit into one text object."""
    texts: list[str] = []
    for piece in pieces:
        if texts and len(texts[-1]) + len(piece) < MAX_TEXT:
            texts[-1] += f"\n{piece}"
        else:
            texts.append(piece)
    return texts


def note_lines(sentences: Iterable[str]) -> Iterator[str]:
    """Yield untrusted sentences as mrkdwn, one line each."""
    shown = (shorten(one_line(sentence), 500) for sentence in sentences)
    yield from (escape(sentence) for sentence in shown if sentence)


_MAX_NOTES = 450


def notes_block(sentences: Iterable[str]) -> list[Block]:
    """Return a block with untrusted sentences in one grey line; no block if all sentences are empty."""
    shown = " ".join(filter(None, map(one_line, sentences)))
    return [context(escape(shorten(shown, _MAX_NOTES)))] if shown else []


def warning_blocks(sentences: Iterable[str]) -> list[Block]:
    """Return the warnings to show above an answer, one line each."""
    return [context(warning(sentence)) for sentence in note_lines(sentences)]


MAX_QUESTION = 80


def quote_question(question: str, audience: Audience) -> str:
    """Return a shortened question in quotation marks as mrkdwn; empty if the question is visible above the answer."""
    shown = escape(shorten(one_line(question), MAX_QUESTION))
    return _("“{text}”").format(text=shown) if shown and audience is not Audience.THREAD else ""


def question_line(question: str, audience: Audience) -> list[Block]:
    """Return the line with the question above an answer, for readers who do not see the question itself."""
    quoted = quote_question(question, audience)
    return [context(quoted)] if quoted else []


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
