"""What the app itself can fail with; each becomes one friendly sentence for the asker or the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perplexity.errors import AllProvidersFailed, PerplexityError

if TYPE_CHECKING:
    from perplexity.attempts import Attempt


class UsageError(Exception):
    """A command that cannot be understood; shown to the asker at once, privately.

    `problem` is one or two sentences of mrkdwn that name the option, the value and what is allowed. Code stands in
    backticks; values that came from the asker hold no backtick of their own. Nothing in it is escaped yet.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class AgentNotSetUp(PerplexityError):
    """There is no agent here; the message names the setting that is missing, for the log."""

    summary = "is not set up"


class NoKey(AllProvidersFailed):
    """No key is set, and no service without a key can be reached.

    `sentence` says what to do, in mrkdwn that is not escaped yet.
    """

    def __init__(self, attempts: Sequence[Attempt], *, sentence: str) -> None:
        super().__init__(attempts)
        self.sentence = sentence


class SocketRefused(Exception):
    """Slack does not let the app open a connection of its own; the text is Slack's word for why, and no more."""


class CannotListen(Exception):
    """The server cannot listen on its address; the cause is the system's error."""


class UnknownCommand(Exception):
    """Only a newer version knows a question's command; the text is the command."""
