"""The app's own errors; each becomes one sentence for the asker or the admin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.translation import N_
from perplexity.errors import AllProvidersFailed, NotPermitted, PerplexityError

if TYPE_CHECKING:
    from perplexity.errors import Attempt


class UsageError(Exception):
    """A command cannot be parsed; the asker is told at once, privately.

    `problem` is one or two sentences of mrkdwn, not escaped yet, that name the option, the value and the allowed
    values. Code is in backticks; values from the asker contain no backticks. `option` is the name of the option with
    the wrong value, empty if the text after the options is wrong.
    """

    def __init__(self, problem: str, *, option: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.option = option


class Interrupted(Exception):
    """A question returned to the queue too often because its workers died or were stopped."""


class AgentNotSetUp(PerplexityError):
    """No agent is configured; the message names the missing setting, for the log."""

    summary = N_("is not set up")


class Refused(PerplexityError):
    """The request is not possible here; `sentence` tells the asker why, in mrkdwn that is not escaped yet."""

    summary = N_("was not asked")

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class SpendingRefused(Refused, NotPermitted):
    """A paid call may not be made now, and was not made."""


class BudgetUsedUp(SpendingRefused):
    """The call's possible cost does not fit into a budget."""


class SpendingPaused(SpendingRefused):
    """An admin has paused all spending."""


class QuestionErased(SpendingRefused):
    """The question was erased with all of its asker's data while it was being answered."""


class BudgetUnknown(SpendingRefused):
    """The database is unavailable, so the remaining budgets are unknown."""


class NoKey(AllProvidersFailed):
    """No key is set, and no service without a key can be reached.

    `sentence` tells the asker what to do, in mrkdwn that is not escaped yet.
    """

    def __init__(self, attempts: Sequence[Attempt], *, sentence: str) -> None:
        super().__init__(attempts)
        self.sentence = sentence


class SocketRefused(Exception):
    """Slack does not let the app open a Socket Mode connection; the text is the name of Slack's error."""


class CannotListen(Exception):
    """The server cannot listen on its address; the cause is the operating system's error."""


class NotClearedUp(Exception):
    """Messages or runs of a closed question may remain in Slack or at a service.

    `seconds` is how long to wait before the next try, 0 if this is not known.
    """

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(seconds)
        self.seconds = seconds or 0.0


class NotOurs(Exception):
    """Only another process can answer a question.

    If only a newer version of the app knows the question's command, the error's text is this command. Otherwise the
    text is the id of the question's workspace: the workspace belongs to another installation, or only other processes
    have the key that decrypts its token.
    """


class Undecryptable(Exception):
    """A ciphertext was changed, was made for another column, or was made with a key that is not in the ring."""
