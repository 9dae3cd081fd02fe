"""A reader's two likely next questions: the model writes them after its answer, and the app removes them from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from perplexity.sanitize import one_line
from perplexity.types import Answer, Event, Message, Restarted, TextDelta

COUNT = 2
MAX_LENGTH = 40
"""A longer question is not suggested: on a phone, its button would not show it completely."""

BEGIN = "<next_questions>"
END = "</next_questions>"

INSTRUCTION = Message(
    role="system",
    content=(
        f"After your answer, write {COUNT} questions that the reader might ask next, in the language of the question, "
        f"each of at most {MAX_LENGTH} characters and understandable by itself, in exactly this form:\n"
        f"{BEGIN}\n1. …\n2. …\n{END}"
    ),
)

_LINE = re.compile(r"(\d)\. ([\w\"“„«¿].*)")
_OPTION = re.compile(r"(?<!\S)[-\u2010-\u2015\u2212\ufe63\uff0d]+[^\W\d_]")
"""Matches a word that looks like an option. A reader could take it for an option, as a malicious page may intend."""


@dataclass(frozen=True, kw_only=True)
class AnswerWithNext(Answer):
    """An answer, and a reader's likely next questions, which are empty if the model used another form."""

    next_questions: tuple[str, ...] = ()


def take_next_questions(answer: Answer) -> AnswerWithNext:
    """Return an answer without the block of questions at the end of its text; the result has the questions apart."""
    text, begin, rest = answer.text.partition(BEGIN)
    fields = vars(answer) | ({"text": text.rstrip()} if begin else {})
    return AnswerWithNext(**fields, next_questions=_read(rest))


def _read(rest: str) -> tuple[str, ...]:
    """Return the questions in `rest`, which is the text after `BEGIN`; empty unless it has exactly the requested form.

    A question is left out if it is too long, or has a word that looks like an option.
    """
    block, end, after = rest.partition(END)
    if not end or after.strip():
        return ()
    lines = [_LINE.fullmatch(line.strip()) for line in block.strip().splitlines()]
    questions = [one_line(line[2]) for line in lines if line is not None and line[1] == str(lines.index(line) + 1)]
    if len(lines) != COUNT or len(questions) != COUNT or len(set(questions)) != COUNT:
        return ()
    return tuple(one for one in questions if len(one) <= MAX_LENGTH and not _OPTION.search(one))


@dataclass(kw_only=True)
class WithoutNextQuestions:
    """Passes on the events of an answer, without the block of next questions and any text after it."""

    on_event: Callable[[Event], None]
    _held: str = field(default="")
    _begun: bool = False

    def __call__(self, event: Event) -> None:
        """Handle an event. Text that may be the beginning of the block is held until more follows."""
        match event:
            case TextDelta(text=text):
                self._take(text)
            case Restarted():
                self._held, self._begun = "", False
                self.on_event(event)
            case _:
                self.on_event(event)

    def _take(self, text: str) -> None:
        if self._begun:
            return
        text = self._held + text
        shown, begin, _ = text.partition(BEGIN)
        self._begun, self._held = bool(begin), ""
        if not begin:
            length = next((n for n in range(min(len(text), len(BEGIN) - 1), 0, -1) if BEGIN.startswith(text[-n:])), 0)
            shown, self._held = text[: len(text) - length], text[len(text) - length :]
        if shown:
            self.on_event(TextDelta(text=shown))
