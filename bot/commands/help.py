"""Renders pending messages, usage errors, help and short notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bot.blocks.elements import context, join_lines, section, stop_button
from bot.blocks.escaping import code, escape, one_line, shorten, unescape_slack
from bot.blocks.words import ago
from bot.commands.base import Command, Option
from bot.errors import UsageError
from bot.model.message import OutgoingMessage
from perplexity.formatting import pluralize

TOO_MANY_OPEN = "You have too many unanswered questions. Ask again when one of them is answered."

_MAX_QUESTION = 150


MAX_LISTED = 10
"""The most open questions that are listed to a user who has too many."""

SHOWN_AHEAD = 10
"""So many questions that wait ahead of one are mentioned; fewer are begun in a moment."""


def pending_message(
    command: Command[Any, Any], request: Any, *, question_id: str, public: bool = False, ahead: int = 0
) -> OutgoingMessage:
    """Render the message that the answer to a request replaces; so many questions wait `ahead` of it.

    A `public` answer to a slash command is posted next to it, so it must stay true in case it cannot be deleted.
    """
    if command.render_pending is not None:
        return command.render_pending(request, question_id, public)
    question = command.question_text(request) if command.question_text is not None else ""
    quoted = escape(shorten(one_line(question), _MAX_QUESTION))
    text = f"{command.pending_label} for “{quoted}”" if question.strip() else command.pending_label
    text = f"{text} has started. The answer is for everyone here." if public else text
    busy = [f"I’m busy: {ahead} questions are ahead of yours."] if ahead >= SHOWN_AHEAD else []
    message = _sections_message([text, *busy])
    if not command.stoppable:
        return message
    return OutgoingMessage(text=message.text, blocks=(*message.blocks, stop_button(question_id)))


def text_message(text: str) -> OutgoingMessage:
    """Render one text, which is not escaped yet."""
    return _sections_message([escape(shorten(text, 1_500)) or "…"])


def too_many_open_message(questions: Sequence[tuple[str, str, float]]) -> OutgoingMessage:
    """Render that a user has too many open questions; each is a command, a text and an age in seconds."""
    count = len(questions)
    head = f"You have {pluralize(count, 'unanswered question')}. Ask again when one of them is answered."
    if count >= MAX_LISTED:
        head = (
            f"You have {count} or more unanswered questions; these are the oldest. "
            "Ask again when one of them is answered."
        )
    elif count < 2:
        head = "You have an unanswered question. Ask again when it is answered." if questions else TOO_MANY_OPEN
    listed = (
        f"•  {code(command)} {escape(shorten(one_line(unescape_slack(text)), 80))}  ({ago(age)})"
        for command, text, age in questions
    )
    return _sections_message(join_lines([head, *listed]))


def usage_message(command: Command[Any, Any], error: UsageError, *, slash: str) -> OutgoingMessage:
    """Render a usage error with the command's usage; `slash` is the name that the user typed."""
    problem = f"{escape(shorten(error.problem, 1_000))}\n{_usage(command, slash)}"
    message = _sections_message([problem])
    hint = context(f"{_command_line(slash, 'help')} shows everything with examples")
    return OutgoingMessage(text=message.text, blocks=(*message.blocks, hint))


def help_message(command: Command[Any, Any], *, slash: str, in_thread: str | None = None) -> OutgoingMessage:
    """Render the help of a command: summary, options and examples.

    `in_thread` is what to type in a thread, for a slash command, of which Slack runs none there.
    """
    options = ["*Options*", *(_option(option) for option in command.options)] if command.options else []
    examples = [f"{_command_line(slash, arguments)}  {escape(what)}" for arguments, what in command.examples]
    shown = ["*Examples*", *examples] if examples else []
    threads = [f"Slack runs no slash commands in threads. Mention me there: {code(in_thread)}"] if in_thread else []
    return _sections_message(
        [f"{escape(command.summary)}.\n{_usage(command, slash)}", *join_lines(options), *join_lines(shown), *threads]
    )


def help_overview(
    commands: Sequence[Command[Any, Any]], *, slash: str, unknown: str | None = None, closest: str | None = None
) -> OutgoingMessage:
    """Render the list of commands; `unknown` is a word that names none, `closest` a command that it resembles."""
    rows = [
        f"{_command_line(f'{slash} {command.name}', command.usage)}\n{escape(command.summary)}" for command in commands
    ]
    more = f"{_command_line(slash, 'help', commands[0].name)} shows every option with examples" if commands else ""
    sections = [*_unknown_command(unknown, closest), *join_lines(rows)]
    message = _sections_message(sections or ["There are no commands."])
    return OutgoingMessage(text=message.text, blocks=(*message.blocks, *([context(more)] if more else [])))


def _unknown_command(word: str | None, nearest: str | None) -> Iterator[str]:
    if word is not None:
        meant = f" Did you mean {code(nearest)}?" if nearest else ""
        yield f"I don’t know the command {code(shorten(word, 80))}.{meant}"


def _usage(command: Command[Any, Any], slash: str) -> str:
    return f"*Usage*  {_command_line(slash, command.usage)}"


def _command_line(slash: str, *rest: str) -> str:
    """Return a line to type; in a direct message it has no prefix."""
    return code(" ".join(filter(None, (slash, *rest))))


def _option(option: Option) -> str:
    names = [f"{option.name} {option.value}".strip(), *([option.short] if option.short else [])]
    return f"{', '.join(map(code, names))}  {escape(option.help)}"


def _sections_message(texts: Sequence[str]) -> OutgoingMessage:
    return OutgoingMessage(text=shorten("\n".join(texts), 3_000), blocks=tuple(section(text) for text in texts))
