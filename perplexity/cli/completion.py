"""`completion`: scripts for shells to complete commands, options and values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""The values of arguments for which argparse has no `choices`, by the name of the argument."""

_LISTS = frozenset({"providers"})
_FILES = frozenset({"schema"})


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(parsed: argparse.Namespace, process: ProcessIO, *, commands: Callable[[], Sequence[CliCommand]]) -> None:
    """Write the script."""
    process.stdout.write(SHELLS[parsed.shell](commands()))


def _arguments(command: CliCommand) -> Sequence[argparse.Action]:
    """Return the arguments that a command declares."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    command.add(parser)
    return parser._actions


def _takes(argument: argparse.Action) -> str:
    """Return the name of an argument's value, as in the help; empty if the argument takes no value."""
    if argument.nargs == 0:
        return ""
    return argument.metavar if isinstance(argument.metavar, str) else argument.dest.upper()


def _values(argument: argparse.Action) -> str:
    """Return the known values of an argument, separated by spaces."""
    return " ".join(map(str, argument.choices or _VALUES.get(argument.dest, ())))


def _bash(commands: Sequence[CliCommand]) -> str:
    """Return the script for bash; it also runs in bash 3.2, which macOS has."""
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


def _bash_values(command: CliCommand) -> Iterator[str]:
    for option in _arguments(command):
        if not (option.option_strings and _takes(option)):
            continue
        pattern = "|".join(f'"{command.name} {name}"' for name in option.option_strings)
        values = _values(option)
        if option.dest in _FILES:
            does = """IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; return"""
        elif option.dest in _LISTS:
            does = (
                'prev=""; if [[ $cur == *,* ]]; then prev=${cur%,*},; fi; '
                f'COMPREPLY=($(compgen -P "$prev" -W "{values}" -- "${{cur##*,}}")); return'
            )
        elif values:
            does = f'COMPREPLY=($(compgen -W "{values}" -- "$cur")); return'
        else:
            does = "return"
        yield f"        {pattern}) {does} ;;"


def _bash_words(command: CliCommand) -> str:
    arguments = _arguments(command)
    options = " ".join(name for argument in arguments for name in argument.option_strings)
    names = f'COMPREPLY=($(compgen -W "{options}" -- "$cur"))'
    values = next((_values(argument) for argument in arguments if not argument.option_strings), "")
    if values:
        names = f'[[ $cur == -* ]] && {names} || COMPREPLY=($(compgen -W "{values}" -- "$cur"))'
    return f"        {command.name}) {names} ;;"


def _zsh(commands: Sequence[CliCommand]) -> str:
    """Return the script for zsh."""
    summaries = " ".join(_single(f"{command.name}:{command.summary}") for command in commands)
    cases = "\n".join(
        f"                {command.name})\n"
        f"                    _arguments {' '.join(spec for one in _arguments(command) for spec in _zsh_specs(one))}\n"
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


def _zsh_specs(argument: argparse.Action) -> Iterator[str]:
    names, takes, values = argument.option_strings, _takes(argument), _values(argument)
    if argument.dest in _FILES:
        action = "_files"
    elif argument.dest in _LISTS:
        action = f"_sequence compadd - {values}"
    else:
        action = f"({values})" if values else " "
    value = f":{_zsh_text(takes)}:{action}" if takes else ""
    repeats = argument.nargs == "*" or type(argument).__name__ == "_AppendAction"
    if not names:
        yield _single(f"{'*' if repeats else ''}{value}")
    for name in names:
        others = "*" if repeats else f"({' '.join(names)})"
        sign = "=" if takes and name.startswith("--") else ""
        yield _single(f"{others}{name}{sign}[{_zsh_text(argument.help or '')}]{value}")


def _zsh_text(text: str) -> str:
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    return text


def _fish(commands: Sequence[CliCommand]) -> str:
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
        lines += [_fish_line(command.name, argument) for argument in _arguments(command)]
    return "\n".join(filter(None, lines)) + "\n"


def _fish_line(command: str, argument: argparse.Action) -> str:
    listed = _values(argument)
    values = f" -a {_fish_text(listed)}" if listed else ""
    begin = f"complete -c {SCRIPT} -n '__fish_seen_subcommand_from {command}'"
    if not argument.option_strings:
        return f"{begin}{values}" if values else ""
    spelled = argument.option_strings
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in spelled)
    takes = " -x" if _takes(argument) else ""
    if argument.dest in _FILES:
        takes = " -r -F"
    if argument.dest in _LISTS:
        values = f" -a {_fish_text(f'(__fish_append , {listed})')}"
    return f"{begin}{names}{takes}{values} -d {_fish_text(argument.help or '')}"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _single(text: str) -> str:
    """Return the text in single quotes, with the quotes inside it escaped for zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS: Mapping[str, Callable[[Sequence[CliCommand]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def completion_command(commands: Callable[[], Sequence[CliCommand]]) -> CliCommand:
    """Return the command; `commands` returns all commands, this one among them."""
    return CliCommand(
        name="completion",
        summary="write the completions for bash, zsh or fish",
        add=add,
        run=partial(run, commands=commands),
        extras=(),
    )
