"""Renders usage errors, help and short notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from bot.blocks.elements import context, join_lines, secondary_button, section, spoken
from bot.blocks.escaping import code, escape, one_line, shorten, unescape_slack
from bot.blocks.examples import example_buttons
from bot.blocks.words import ago
from bot.commands.base import ROOT_COMMAND, Command, Option
from bot.errors import UsageError
from bot.model.message import Block, OutgoingMessage
from bot.translation import N_
from bot.translation import gettext as _

TOO_MANY_OPEN = N_("You have too many unanswered questions. Ask again when one of them is answered.")

MAX_LISTED = 10
"""The most open questions that are listed to a user who has too many."""


def text_message(text: str) -> OutgoingMessage:
    """Render one text, which is not escaped yet."""
    return _sections_message([escape(shorten(text, 1_500)) or "…"])


def too_many_open_message(questions: Sequence[tuple[str, str, float]]) -> OutgoingMessage:
    """Render the notice that a user has too many open questions; each is a command, a text and an age in seconds."""
    count = len(questions)
    head = _("You have {count} unanswered questions. Ask again when one of them is answered.")
    if count >= MAX_LISTED:
        head = _(
            "You have {count} or more unanswered questions; these are the oldest. "
            "Ask again when one of them is answered."
        )
    elif count < 2:
        one = N_("You have an unanswered question. Ask again when it is answered.")
        head = _(one if questions else TOO_MANY_OPEN)
    listed = (
        f"•  {code(command)} {escape(shorten(one_line(unescape_slack(text)), 80))}  ({ago(age)})"
        for command, text, age in questions
    )
    return _sections_message(join_lines([head.format(count=count), *listed]))


def usage_message(command: Command[Any, Any], error: UsageError, *, slash: str) -> OutgoingMessage:
    """Render a usage error with an example; `slash` is the name as the user typed it."""
    example = _("For example: {example}").format(example=_command_line(slash, command.example))
    message = _sections_message([f"{escape(shorten(error.problem, 1_000))}\n{example}"])
    return replace(message, blocks=(*message.blocks, options_button(command.name, slash)))


def help_message(command: Command[Any, Any], *, slash: str, in_thread: str | None = None) -> OutgoingMessage:
    """Render the purpose of a command, with examples, and a button for its options.

    `in_thread` is the text to type in a thread instead of a slash command, since Slack runs none there.
    """
    lines = [f"*{escape(_(command.summary))}*", *_examples(command, slash)]
    if in_thread:
        in_threads = _("Slack runs no slash commands in threads. Mention me there: {text}")
        lines.append(in_threads.format(text=code(in_thread)))
    message = _sections_message(join_lines(lines))
    return replace(message, blocks=(*message.blocks, options_button(command.name, slash)))


def help_overview(
    commands: Sequence[Command[Any, Any]],
    *,
    slash: str,
    admin: bool = False,
    unknown: str | None = None,
    closest: str | None = None,
) -> OutgoingMessage:
    """Render the purpose of the app, in at most five lines, with examples to press.

    `slash` is the umbrella as it is typed. Only an `admin` sees the commands for admins. `unknown` is a typed word that
    names no command, None if there is none. `closest` is a command that this word resembles, or None.
    """
    known = {command.name for command in commands}
    asked = {"search": _("lists pages"), "news": _("the day’s news"), "deepdive": _("writes a report")}
    asks = ", ".join(f"{code(_slash_name(slash, one))} {does}" for one, does in asked.items() if one in known)
    set_up = {"watch": _("sets up a digest of news"), "settings": _("sets your language and sites")}
    sets = ", ".join(f"{_command_line(slash, one)} {does}" for one, does in set_up.items() if one in known)
    own = _("•  {command} and your question: only you see the answer, until you share it.")
    lines = [
        _("*Ask me anything: I search the web and answer with sources.*"),
        own.format(command=code(_slash_name(slash, "ask"))),
        _("•  Mention me with a question: I answer in a thread, for everyone there. In a direct message, just write."),
        *([_("•  {commands}. Type one alone for its form.").format(commands=asks)] if asks else []),
        *([f"•  {sets}."] if sets else []),
    ]
    message = _sections_message([*_unknown_command(unknown, closest), "\n".join(lines)])
    names = ", ".join(_command_line(slash, command.name) for command in commands if command.for_admins)
    for_admins = [context(_("For admins: {commands}").format(commands=names))] if admin and names else []
    buttons = (*example_buttons()[:2], options_button(EVERY_COMMAND, slash))
    return spoken(*message.blocks, *for_admins, *buttons)


OPTIONS = "all_options"
"""The id of the button that shows options."""

EVERY_COMMAND = "all"


def options_button(command: str, slash: str) -> Block:
    """Return a row with the button that shows the options of a command, or of all commands for `EVERY_COMMAND`.

    `slash` is what people type for the command; for all commands, it is the umbrella as it is typed.
    """
    return secondary_button(_("All options"), action_id=OPTIONS, value=f"{command} {slash}")


def options_of(commands: Sequence[Command[Any, Any]], value: str, *, admin: bool) -> list[str]:
    """Return options and examples as mrkdwn, for the commands named by the value of an `options_button`.

    If the value names all commands, the examples come first, then each option once, since commands share options.
    """
    name, __, slash = value.partition(" ")
    if name != EVERY_COMMAND:
        return [text for command in commands if command.name == name for text in _options(command, slash)]
    texts: list[str] = []
    takers: dict[str, list[str]] = {}
    for one in commands:
        if admin or not one.for_admins:
            typed = _slash_name(slash, one.name) if one.has_slash_command else f"{slash} {one.name}"
            texts.append("\n".join([f"*{escape(_(one.summary))}*", *(_examples(one, typed) or [code(typed)])]))
            for option in one.options:
                takers.setdefault(_option(option), []).append(code(typed))
    groups: dict[str, list[str]] = {}
    for line, of in takers.items():
        groups.setdefault(_("*Options of* {commands}").format(commands=", ".join(of)), []).append(line)
    return [*texts, *("\n".join([heading, *lines]) for heading, lines in groups.items())]


def _slash_name(umbrella: str, name: str) -> str:
    return f"{umbrella.removesuffix(ROOT_COMMAND)}{name}"


def _options(command: Command[Any, Any], slash: str) -> Iterator[str]:
    heading = f"*{escape(_(command.summary))}*\n{_command_line(slash, command.usage)}"
    yield from join_lines([heading, *(_option(option) for option in command.options), *_examples(command, slash)])


def _examples(command: Command[Any, Any], slash: str) -> list[str]:
    return [f"{_command_line(slash, arguments)}  {escape(_(what))}" for arguments, what in command.examples]


def _unknown_command(word: str | None, nearest: str | None) -> Iterator[str]:
    if word is not None:
        meant = " " + _("Did you mean {name}?").format(name=code(nearest)) if nearest else ""
        yield _("I don’t know the command {name}.").format(name=code(shorten(word, 80))) + meant


def _command_line(slash: str, *rest: str) -> str:
    """Return a line to type, as code; `slash` is empty in a direct message, where no prefix is needed."""
    return code(" ".join(filter(None, (slash, *rest))))


def _option(option: Option) -> str:
    names = [f"{option.name} {option.value}".strip(), *([option.short] if option.short else [])]
    return f"{', '.join(map(code, names))}  {escape(_(option.help))}"


def _sections_message(texts: Sequence[str]) -> OutgoingMessage:
    return spoken(*map(section, texts))
