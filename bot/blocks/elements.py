"""Builds the app's Block Kit blocks, as plain JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bot.blocks.escaping import escape, one_line, shorten
from bot.blocks.words import warning
from bot.model.message import Audience, Block
from bot.translation import gettext as _

MAX_SERIES = 6
MAX_CATEGORIES = 20
MAX_TITLE = 50
MAX_LABEL = 20


def bar_chart(title: str, *, categories: Sequence[str], series: Mapping[str, Sequence[float]], y_label: str) -> Block:
    """Return a bar chart with one bar of every series for each category; numbers are rounded to three decimals.

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
    """Return the first of the `versions` of a text that fits into a section; if none fits, the last one cut off."""
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
    """Return the dialog before a deletion or a stop; `confirm` is the label of its button.

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


def static_select(action_id: str, options: Mapping[str, str], *, chosen: str) -> Block:
    """Return a menu of `options`, which are labels by value; the option with the value `chosen` is shown."""
    listed = [{"text": {"type": "plain_text", "text": shorten(label, 75)}, "value": v} for v, label in options.items()]
    initial = next((option for option in listed if option["value"] == chosen), listed[0])
    return {"type": "static_select", "action_id": action_id, "options": listed, "initial_option": initial}


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
