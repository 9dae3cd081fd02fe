"""An answer that comes late, or elsewhere than where it was asked for."""

from __future__ import annotations

from bot.texts.times import age, ago

ANSWER_NOW = "Answer it now"
SENT_DIRECTLY = "sent to you directly"
"""Who can see such an answer, in its footer."""


def note(seconds: float) -> str:
    """Return what is said below an answer to a message that was written so long ago."""
    return f"You asked this {age(seconds)} ago; I couldn’t answer before."


def question(asked: str, seconds: float) -> str:
    """Return what is asked before an answer to a message that was written so long ago; `asked` may be empty."""
    what = f" “{asked}”" if asked else " this"
    return f"You asked{what} {age(seconds)} ago, and it reached me only now. Do you still want an answer?"


def sent_directly(asked: str, *, rest: bool, public: bool, unconfirmed: bool, seconds: float | None) -> str:
    """Return why an answer, or the `rest` of one, comes as a direct message.

    `asked` is the question, which may be empty, `seconds` its age if the answer is late, `public` whether it was for
    everyone there, `unconfirmed` whether it may have been posted there.
    """
    when = f" {ago(seconds)}" if seconds is not None else ""
    why = f"You asked “{asked}”{when}." if asked else f"You asked me something{when}."
    what = "the rest of my answer" if rest else "my answer"
    there, to = ("for everyone there", " to you") if public else ("there", "")
    if unconfirmed:
        return f"{why} Slack didn’t confirm {what} {there}, so here it is again as a direct message{to}."
    return f"{why} I couldn’t post {what} {there}, so here it is as a direct message{to}."
