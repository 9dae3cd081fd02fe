"""`completion`: scripts for shells to complete commands, options and values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from perplexity.cli.base import CliCommand, ProcessIO
from perplexity.filters import MODES, RECENCIES
from perplexity.models import EFFORTS, SONAR
from perplexity.news.summary import CATEGORIES
from perplexity.providers import PROVIDERS
from perplexity.tools import TOOLS

SCRIPT = "pplx"
"""The name of the installed program."""

_VALUES: Mapping[str, Sequence[str]] = {
    "recency": RECENCIES,
    "mode": MODES,
    "model": (*SONAR, *EFFORTS),
    "effort": EFFORTS,
    "providers": tuple(PROVIDERS),
    "category": tuple(CATEGORIES),
    "tool": tuple(tool.name for tool in TOOLS),
}
"""The values of arguments that argparse does not check."""

_LISTS = frozenset({"providers"})
_FILES = frozenset({"schema"})


@dataclass(frozen=True, kw_only=True)
class ArgumentSpec:
    """An option or a positional argument with its known values; a list (`is_list`) takes several, with commas."""

    names: tuple[str, ...]
    takes: str
    help: str
    values: tuple[str, ...] = ()
    is_list: bool = False
    is_file: bool = False
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class CommandSpec:
    """A command and its arguments."""

    name: str
    summary: str
    arguments: tuple[ArgumentSpec, ...]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(parsed: argparse.Namespace, process: ProcessIO, *, commands: Callable[[], Sequence[CliCommand]]) -> None:
    """Write the script."""
    process.stdout.write(SHELLS[parsed.shell]([describe_command(command) for command in commands()]))


def describe_command(command: CliCommand) -> CommandSpec:
    """Return a command with the arguments that it declares."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    command.add(parser)
    found = tuple(_argument(action) for action in parser._actions)
    return CommandSpec(name=command.name, summary=command.summary, arguments=found)


def _argument(action: argparse.Action) -> ArgumentSpec:
    shown = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return ArgumentSpec(
        names=tuple(action.option_strings),
        takes="" if action.nargs == 0 else shown,
        help=action.help or "",
        values=tuple(map(str, action.choices or _VALUES.get(action.dest, ()))),
        is_list=action.dest in _LISTS,
        is_file=action.dest in _FILES,
        repeats=action.nargs == "*" or type(action).__name__ == "_AppendAction",
    )


def _bash(commands: Sequence[CommandSpec]) -> str:
    """Return the script for bash, including version 3.2 of macOS."""
    names = " ".join(command.name for command in commands)
    values = "\n".join(case for command in commands for case in _bash_values(command))
    words = "\n".join(_bash_words(command) for command in commands)
    return f"""\
# Completion of {SCRIPT} for bash. Load it with:  source <({SCRIPT} completion bash)
_{SCRIPT}() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command="" index IFS=$' \\t\\n'
    COMPREPLY=()
    # bash treats the = of --option=value as a separate word.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    for ((index = 1; index < COMP_CWORD; index++)); do
        if [[ " {names} " == *" ${{COMP_WORDS[index]}} "* ]]; then
            command=${{COMP_WORDS[index]}}
            break
        fi
    done
    case "$command $prev" in
{values}
    esac
    case "$command" in
        "") COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur")) ;;
{words}
    esac
}}
complete -F _{SCRIPT} {SCRIPT}
"""


def _bash_values(command: CommandSpec) -> Iterator[str]:
    for option in command.arguments:
        if not (option.names and option.takes):
            continue
        pattern = "|".join(f'"{command.name} {name}"' for name in option.names)
        if option.is_file:
            does = """IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; return"""
        elif option.is_list:
            does = (
                'prev=""; if [[ $cur == *,* ]]; then prev=${cur%,*},; fi; '
                f'COMPREPLY=($(compgen -P "$prev" -W "{" ".join(option.values)}" -- "${{cur##*,}}")); return'
            )
        elif option.values:
            does = f'COMPREPLY=($(compgen -W "{" ".join(option.values)}" -- "$cur")); return'
        else:
            does = "return"
        yield f"        {pattern}) {does} ;;"


def _bash_words(command: CommandSpec) -> str:
    options = " ".join(name for argument in command.arguments for name in argument.names)
    names = f'COMPREPLY=($(compgen -W "{options}" -- "$cur"))'
    values = " ".join(next((argument.values for argument in command.arguments if not argument.names), ()))
    if values:
        names = f'[[ $cur == -* ]] && {names} || COMPREPLY=($(compgen -W "{values}" -- "$cur"))'
    return f"        {command.name}) {names} ;;"


def _zsh(commands: Sequence[CommandSpec]) -> str:
    """Return the script for zsh."""
    summaries = " ".join(_single(f"{command.name}:{command.summary}") for command in commands)
    cases = "\n".join(
        f"                {command.name})\n"
        f"                    _arguments {' '.join(spec for one in command.arguments for spec in _zsh_specs(one))}\n"
        "                    ;;"
        for command in commands
    )
    return f"""\
#compdef {SCRIPT}
# Completion of {SCRIPT} for zsh. Load it with:  source <({SCRIPT} completion zsh)
_{SCRIPT}() {{
    local curcontext=$curcontext state line
    local -a commands
    commands=({summaries})
    _arguments -C '(- *)'{{-h,--help}}'[show help and exit]' '(- *)--version[show the version and exit]' \\
        '1:command:->command' '*::argument:->argument'
    case $state in
        command) _describe -t commands command commands ;;
        argument)
            case $words[1] in
{cases}
            esac
            ;;
    esac
}}
if [[ $funcstack[1] == _{SCRIPT} ]]; then
    _{SCRIPT} "$@"
else
    compdef _{SCRIPT} {SCRIPT}
fi
"""


def _zsh_specs(argument: ArgumentSpec) -> Iterator[str]:
    if argument.is_file:
        action = "_files"
    elif argument.is_list:
        action = f"_sequence compadd - {' '.join(argument.values)}"
    else:
        action = f"({' '.join(argument.values)})" if argument.values else " "
    value = f":{_zsh_text(argument.takes)}:{action}" if argument.takes else ""
    if not argument.names:
        yield _single(f"{'*' if argument.repeats else ''}{value}")
    for name in argument.names:
        others = "*" if argument.repeats else f"({' '.join(argument.names)})"
        sign = "=" if argument.takes and name.startswith("--") else ""
        yield _single(f"{others}{name}{sign}[{_zsh_text(argument.help)}]{value}")


def _zsh_text(text: str) -> str:
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    return text


def _fish(commands: Sequence[CommandSpec]) -> str:
    """Return the script for fish."""
    lines = [
        f"# Completion of {SCRIPT} for fish. Load it with:  {SCRIPT} completion fish | source",
        f"complete -c {SCRIPT} -f",
        f"complete -c {SCRIPT} -n __fish_use_subcommand -s h -l help -d 'show help and exit'",
        f"complete -c {SCRIPT} -n __fish_use_subcommand -l version -d 'show the version and exit'",
    ]
    for command in commands:
        lines.append(
            f"complete -c {SCRIPT} -n __fish_use_subcommand -a {command.name} -d {_fish_text(command.summary)}"
        )
        lines += [_fish_line(command.name, argument) for argument in command.arguments]
    return "\n".join(filter(None, lines)) + "\n"


def _fish_line(command: str, argument: ArgumentSpec) -> str:
    joined = " ".join(argument.values)
    values = f" -a {_fish_text(joined)}" if joined else ""
    begin = f"complete -c {SCRIPT} -n '__fish_seen_subcommand_from {command}'"
    if not argument.names:
        return f"{begin}{values}" if values else ""
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in argument.names)
    takes = " -r -F" if argument.is_file else " -x" if argument.takes else ""
    if argument.is_list:
        values = f" -a {_fish_text(f'(__fish_append , {joined})')}"
    return f"{begin}{names}{takes}{values} -d {_fish_text(argument.help)}"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _single(text: str) -> str:
    """Return the text in single quotes, as every shell but fish reads them."""
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS: Mapping[str, Callable[[Sequence[CommandSpec]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def completion_command(commands: Callable[[], Sequence[CliCommand]]) -> CliCommand:
    """Return the command; `commands` returns all commands, this one among them."""
    return CliCommand(
        name="completion",
        summary="write the completions for bash, zsh or fish",
        add=add,
        run=partial(run, commands=commands),
        extras=(),
    )
