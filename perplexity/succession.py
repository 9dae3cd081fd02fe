"""Which wire a question takes, when the service may retire one while we run."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from perplexity.answers import Answers
from perplexity.errors import EndpointRetired
from perplexity.types import Question

log = logging.getLogger(__name__)


class Succession:
    """Ways to an answer, each the successor of the one before it. The last one is where runs can be resumed."""

    def __init__(self, ways: Sequence[Answers]) -> None:
        self._ways = list(ways)

    def current(self, question: Question) -> Answers:
        """Return the way that this question takes."""
        return self._ways[-1 if question.run_id is not None else 0]

    def leave(self, way: Answers, error: EndpointRetired) -> None:
        """Go on to the successor, for good. Raises the error where there is none.

        Of many questions that hear of it at once the first one says so in the log; the others find it done.
        """
        if way is self._ways[-1]:
            raise error
        if way is self._ways[0]:
            del self._ways[0]
            log.warning("answers.endpoint_retired", extra={"path": way.wire.path, "instead": self._ways[0].wire.path})

    async def finish(self) -> None:
        """Wait for what abandoned questions left to do."""
        for way in self._ways:
            await way.finish()
