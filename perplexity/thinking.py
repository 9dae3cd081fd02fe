"""The think block before an answer: `<think>…</think>`, of models that think aloud. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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
    _held: list[str] = field(default_factory=list)
    _tail: str = ""
    _start: str = ""
    _opened: bool = False
    _over: bool = False
    _begun: bool = False

    def feed(self, piece: str) -> str:
        """Return what of the piece belongs to the answer; the space between block and answer does not."""
        if self._over:
            return self._behind(piece)
        self._held.append(piece)
        if not self._may_think(piece):
            return self.rest()
        # A marker may begin in what is held already; all of that is put together once, when the marker is there.
        self._tail += piece
        if _CLOSE not in self._tail:
            self._tail = self._tail[-len(_CLOSE) :]
            return ""
        block, _, behind = "".join(self._held).partition(_CLOSE)
        self._held, self._over = [], True
        self.reasoning = block.strip().removeprefix(_OPEN).strip()
        return self._behind(behind)

    def rest(self) -> str:
        """Return what was held back and turned out to be the answer, as it is: no marker came."""
        held, self._held = "".join(self._held), []
        self._begun = self._begun or bool(held)
        self._over = self._over or bool(held)
        return held

    def _may_think(self, piece: str) -> bool:
        if not (self.expected or self._opened):
            self._start = (self._start + piece).lstrip()
            self._opened = self._start.startswith(_OPEN)
            return self._opened or _OPEN.startswith(self._start)
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
        raise MalformedResponse("the answer has no text", provider=answer.provider, cost_usd=answer.usage.cost_usd)
    return replace(answer, text=text, reasoning=thinking.reasoning)
