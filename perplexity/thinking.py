"""The think block before an answer: `<think>…</think>`, of models that think aloud. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from perplexity.errors import MalformedResponse
from perplexity.types import Answer

_OPEN = "<think>"
_CLOSE = "</think>"


@dataclass
class Thinking:
    """Takes the pieces of a text and gives what stands behind its think block, wherever the pieces are cut.

    Of a model that thinks aloud (`expected`) the block is everything up to the first `</think>`, opened or not; of any
    other it is a block that the text opens with.
    """

    expected: bool
    reasoning: str | None = None
    _held: str = ""
    _opened: bool = False
    _over: bool = False
    _begun: bool = False

    def feed(self, piece: str) -> str:
        """Return what of the piece belongs to the answer; the space between block and answer does not."""
        if self._over:
            return self._behind(piece)
        # A marker may begin in what is held already.
        searched = max(0, len(self._held) - len(_CLOSE))
        self._held += piece
        if not self._may_think():
            return self.rest()
        end = self._held.find(_CLOSE, searched)
        if end < 0:
            return ""
        block, behind = self._held[:end], self._held[end + len(_CLOSE) :]
        self._held, self._over = "", True
        self.reasoning = block.strip().removeprefix(_OPEN).strip()
        return self._behind(behind)

    def rest(self) -> str:
        """Return what was held back and turned out to be the answer, as it is: no marker came."""
        held, self._held = self._held, ""
        self._begun = self._begun or bool(held)
        self._over = self._over or bool(held)
        return held

    def _may_think(self) -> bool:
        if not (self.expected or self._opened):
            start = self._held.lstrip()
            self._opened = start.startswith(_OPEN)
            return self._opened or _OPEN.startswith(start)
        return True

    def _behind(self, piece: str) -> str:
        piece = piece if self._begun else piece.lstrip()
        self._begun = self._begun or bool(piece)
        return piece


def without_thinking(answer: Answer, *, expected: bool) -> Answer:
    """Return the answer with its think block as `reasoning`. Raises MalformedResponse when nothing stands behind it."""
    thinking = Thinking(expected=expected)
    text = thinking.feed(answer.text) + thinking.rest()
    if thinking.reasoning is None:
        return answer
    if not text:
        raise MalformedResponse("the answer has no text", provider=answer.provider)
    return replace(answer, text=text, reasoning=thinking.reasoning)
