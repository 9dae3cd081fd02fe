"""Passages of pages as a section: each one a quotation that cites its own page and nothing else. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from perplexity.news.deepdive_inert import inert_line
from perplexity.quoting import quoted
from perplexity.types import Answer, AnswerKind

_BOLD = re.compile(r"[*_~]{2,}")


def quoting(answer: Answer) -> Answer:
    """Return passages as block quotes, each one line with its source's number; a written answer stays as it is.

    A page's own `[2]` is ‹2›, its links are their words, and it makes no heading, list, table or bold line, so that
    nothing which a page says can pose as a source or as another section.
    """
    if answer.kind is not AnswerKind.PASSAGES:
        return answer
    lines = [(_words(passage.text), passage.source) for passage in answer.passages]
    return replace(answer, text="\n\n".join(f"> {words} [{source}]" for words, source in lines if words))


def _words(text: str) -> str:
    # A link that is left out may have been all that kept its neighbours from being a marker.
    return quoted(inert_line(_BOLD.sub("", text)))
