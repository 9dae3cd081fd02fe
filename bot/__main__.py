"""The app's command line: `python -m bot` or `web-answers`, with `run`, `worker`, `migrate`, `doctor` and others."""

# Most imports are inside functions, because they are slow, and the signal handlers must be installed first.
# `perplexity` is imported only after `wrong_package` has checked that it is this project's package.

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bot.command_line import (
    NO_OAUTH,
    Stopped,
    StopSignals,
    Subcommand,
    channel_id,
    fail,
    open_database,
    say,
    say_aside,
    update_database,
)

if TYPE_CHECKING:
    from bot.playground.server import Playground
    from bot.settings import Settings

OUR_PACKAGE = Path(__file__).parent.parent / "perplexity"
"""The folder of this project's `perplexity` package, which is installed next to `bot`."""

DISTRIBUTION = "web-answers-for-slack"
_WRONG_PACKAGE = (
    "`import perplexity` finds {found}, because another package, such as Perplexity's SDK (perplexityai), has the same "
    f"import name: install {DISTRIBUTION} in a virtual environment of its own."
)


def wrong_package() -> str | None:
    """Return a sentence with the fix if `import perplexity` finds a wrong package; None if it finds this project's.

    The check itself does not import `perplexity`. If Perplexity's SDK (`perplexityai` on PyPI) is installed in the same
    environment, both packages are in one folder: the `__init__.py` that was installed later has replaced the other one,
    and the SDK's folder `types` hides our `types.py`.
    """
    found = find_spec("perplexity")
    if found is None or found.origin is None:
        return _WRONG_PACKAGE.format(found="no complete package")
    if _is_ours(Path(found.origin)) and not _is_shared(Path(found.origin).parent):
        return None
    return _WRONG_PACKAGE.format(
        found=f"a package that is not, or not only, {DISTRIBUTION}'s (in {Path(found.origin).parent})"
    )


def _is_ours(start: Path) -> bool:
    """Return whether `start` (an `__init__.py`, maybe compiled) is in `OUR_PACKAGE` and contains `DISTRIBUTION`."""
    return start.parent.resolve() == OUR_PACKAGE.resolve() and DISTRIBUTION.encode() in start.read_bytes()


def _is_shared(folder: Path) -> bool:
    """Return whether Perplexity's SDK is also installed into `folder`, or a subfolder hides one of our modules."""
    hidden = any(module.with_suffix("").is_dir() for module in folder.glob("*.py"))
    return hidden or any(folder.parent.glob("perplexityai-*.dist-info"))


OUTPUT_FAILS = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG)
"""The error numbers with which writing to a pipe, a disk or a terminal fails."""

DEFAULT_MAX_USD = 500_000
"""The most that `doctor --live` may spend by default, in micro-dollars."""

STOPPABLE = ("run", "worker", "migrate", "rotate-keys")
PRINTING = ("doctor", "manifest", "install-url")
"""The commands of the core that only print. They fail at once if the standard output is closed."""

ORDER = (
    "run", "worker", "migrate", "doctor", "export", "erase", "manifest", "audit", "install-url", "provider-key",
    "settings", "rotate-keys",
)  # fmt: skip
"""The order in which help lists the subcommands; others follow."""

_NO_PLAYGROUND = (
    "SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (or SLACK_OAUTH_CLIENT_ID and the settings next to it) are missing, but "
    "the database is that of a workspace ({team}). The playground does not start there: it would take the workspace's "
    "questions and digests. Set them, or have DATABASE_URL, or DATA_DIR without one, name another database"
)


def main(arguments: Sequence[str] | None = None, *, program: str = "python -m bot", exiting: bool = False) -> int:
    """Run one command and return the exit code: 0 for success, 1 for a failure, 2 for wrong settings or options.

    Arguments that cannot be parsed raise SystemExit. If a signal stops a command of `STOPPABLE`, the exit code is 0; a
    second signal ends the process with code 130. `program` is the program's name in messages. `exiting` means that the
    process ends as soon as this function returns.
    """
    if (problem := wrong_package()) is not None:
        return fail(f"{program}: {problem}", code=1)
    parsed = _parse(program, sys.argv[1:] if arguments is None else arguments)
    if isinstance(parsed, str):
        return fail(parsed, code=1)
    # Python sets a standard stream to None if it was closed when the process started.
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115 - it stays open until the process ends
    if sys.stdout is None and (parsed.command in PRINTING or (parsed.feature and parsed.feature.only_prints)):
        return fail(f"{program} {parsed.command}: the standard output is closed.", code=1)
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    stop = StopSignals()
    with stop.handled(exiting=exiting) if parsed.command in STOPPABLE else nullcontext():
        return _run_installed(parsed, stop)


def _run_installed(parsed: argparse.Namespace, stop: StopSignals) -> int:
    """Run the command; if it needs an extra that is not installed, print the extra's name."""
    from perplexity.errors import MissingExtra
    from perplexity.extras import require

    try:
        require("bot")
        return _run_reporting_errors(parsed, stop)
    except MissingExtra as error:
        return fail(f"{parsed.program} {parsed.command}: {error}", code=1)


def _run_reporting_errors(parsed: argparse.Namespace, stop: StopSignals) -> int:
    """Run the command; turn each expected error into a sentence and an exit code."""
    # Imported here because these imports take most of a second.
    from psycopg import OperationalError
    from psycopg.errors import LockNotAvailable

    from bot.errors import SocketRefused
    from bot.settings import SettingsError
    from bot.storage.embedded import NoEmbeddedServer
    from bot.storage.migrate import DatabaseNewer, MigrationRefused

    try:
        return _run_and_print(parsed, stop)
    except Stopped:
        return 0
    except KeyboardInterrupt:
        return 130
    except (SettingsError, NoEmbeddedServer) as error:
        text, code = f"Settings:\n{error}", 2
    except (DatabaseNewer, MigrationRefused) as error:
        text, code = str(error), 1
    except LockNotAvailable:
        text, code = "The database's tables are in use by a long transaction. End it, then start again.", 1
    except OperationalError as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        text, code = f"The database cannot be reached: {why}\nCheck DATABASE_URL.", 1
    except SocketRefused as error:
        text, code = f"Slack rejects SLACK_APP_TOKEN ({error}). Run `python -m bot doctor` to see how to fix it.", 1
    except OSError as error:
        text, code = f"{error.strerror or error}.", 1
    return fail(text, code=code)


def _run_and_print(parsed: argparse.Namespace, stop: StopSignals) -> int:
    """Run the command and flush the standard output. Raises OSError, for example if the output cannot be written."""
    try:
        code = _run_doctor(parsed) if parsed.command == "doctor" else _run_command(parsed, stop)
        sys.stdout.flush()
    except OSError as error:
        if error.errno in OUTPUT_FAILS:
            # Otherwise Python would flush the output again as it exits, and fail again:
            # https://docs.python.org/3/library/signal.html#note-on-sigpipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
    return code


def _parse(program: str, arguments: Sequence[str]) -> argparse.Namespace | str:
    """Return the parsed arguments, or a sentence if a feature's command needs an extra that is not installed.

    Wrong arguments end the process. Importing the features takes a second, so for a command in `STOPPABLE` they are
    imported only if an argument is unknown.
    """
    first = arguments[0] if arguments else ""
    if first in (*STOPPABLE, "--version"):
        parsed, unknown = _parser(program).parse_known_args(arguments)
        if not unknown:
            return parsed
    from perplexity.errors import MissingExtra
    from perplexity.extras import require

    try:
        require("bot")
    except MissingExtra as error:
        if first in OWN or not first or first.startswith("-"):
            return _parser(program).parse_args(arguments)
        return f"{program} {first}: {error}"
    from bot.features import BROUGHT

    parser = _parser(program, BROUGHT.subcommands)
    parser.set_defaults(brought=BROUGHT)
    return parser.parse_args(arguments)


def _parser(program: str, features: Sequence[Subcommand] = ()) -> argparse.ArgumentParser:
    from perplexity.version import __version__

    parser = argparse.ArgumentParser(prog=program, description="Answers questions in Slack from the live web.")
    parser.set_defaults(program=program, feature=None)
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    of_features = {one.name: one for one in features}
    places = {name: place for place, name in enumerate(ORDER)}
    for name in sorted((*OWN, *of_features), key=lambda name: places.get(name, len(ORDER))):
        if (one := of_features.get(name)) is not None:
            command = commands.add_parser(name, help=one.help)
            command.set_defaults(feature=one)
            one.add_arguments(command)
        else:
            does, add_arguments = OWN[name]
            add_arguments(commands.add_parser(name, help=does))
    return parser


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-worker", action="store_true", help="serve HTTP only; workers run elsewhere")


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--live", action="store_true", help="try Slack and the providers for real, which costs money")
    kind.add_argument("--release", action="store_true", help="fail only for what a release must not go out with")
    parser.add_argument(
        "--channel", type=channel_id, metavar="C…", help="where --live posts; it deletes what it has posted"
    )
    parser.add_argument("--keep", action="store_true", help="keep what --live posts")
    parser.add_argument(
        "--max-usd",
        type=_parse_dollars,
        default=DEFAULT_MAX_USD,
        metavar="USD",
        help="what --live may spend (default: 0.50)",
    )


def _manifest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", type=_parse_https, metavar="https://…", help="the app's public address")
    parser.add_argument("--oauth", action="store_true", help="for an app that workspaces install by OAuth")
    parser.add_argument("--json", action="store_true", help="as JSON, even if PyYAML is installed")


OWN: Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("serve HTTP and answer questions", _run_arguments),
    "worker": ("answer questions only", _no_arguments),
    "migrate": ("bring the database up to date and exit", _no_arguments),
    "doctor": ("check everything the app needs, and print how to fix what is wrong", _doctor_arguments),
    "manifest": ("print the manifest for creating the app in Slack", _manifest_arguments),
    "install-url": ("print the address at which workspaces install the app", _no_arguments),
    "rotate-keys": ("encrypt all tokens with the first of ENCRYPTION_KEYS; the app may run", _no_arguments),
}
"""The subcommands of the core."""


def _parse_https(url: str) -> str:
    from perplexity.urls import is_https_or_loopback

    if not (url.startswith("https://") and is_https_or_loopback(url)):
        raise argparse.ArgumentTypeError("must be an https address, such as https://answers.example.com")
    return url


def _parse_dollars(amount: str) -> int:
    from bot.budgets import parse_amount

    try:
        return parse_amount(amount)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{amount!r} must be an amount of dollars, such as 0.50") from None


def _run_command(parsed: argparse.Namespace, stop: StopSignals) -> int:
    from bot import logs
    from bot.settings import load_settings

    settings = load_settings(complete=parsed.command != "migrate")
    logs.configure(settings.log_level, sys.stderr, secrets=settings.secrets)
    if parsed.feature is not None:
        return int(parsed.feature.run(settings, parsed))
    match parsed.command:
        case "manifest":
            return _print_manifest(settings, parsed)
        case "install-url":
            return _print_install_url(settings)
        case "rotate-keys":
            return _rotate_keys(settings, stop)
    return _run_app(settings, parsed, stop)


def _run_doctor(parsed: argparse.Namespace) -> int:
    from bot import logs
    from bot.doctor import checks
    from bot.doctor.diagnosis import diagnose
    from bot.features import CHECKS, OFFERS
    from bot.settings import load_settings, read_settings

    logs.configure("ERROR", sys.stderr)
    # NO_COLOR counts only in the environment, not in `.env`: https://no-color.org
    signs = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if parsed.live:
        return _run_live(load_settings(), parsed, symbols=signs)
    if parsed.channel or parsed.keep or parsed.max_usd != DEFAULT_MAX_USD:
        return fail("doctor: --channel, --keep and --max-usd need --live.", code=2)
    settings, problems = read_settings()
    findings = checks.run(diagnose(settings, problems, now=time.time, offers=OFFERS, checks=CHECKS))
    findings = checks.for_release(findings) if parsed.release else findings
    sys.stdout.write(checks.render(findings, symbols=signs))
    return checks.exit_code(findings)


def _run_live(settings: Settings, parsed: argparse.Namespace, *, symbols: bool) -> int:
    from bot.doctor.checks import exit_code
    from bot.doctor.live import LiveRun, check_live

    if parsed.channel is None or settings.slack_bot_token is None:
        return fail("doctor: --live needs --channel, such as C012AB3CD, and SLACK_BOT_TOKEN.", code=2)
    with Path("acceptance.jsonl").open("w", buffering=1, encoding="utf-8") as file:
        run = LiveRun(
            settings=settings, channel=parsed.channel, most=parsed.max_usd, keep=parsed.keep, file=file,
            show=say, symbols=symbols,
        )  # fmt: skip
        say("This takes about five minutes. Have the channel open in Slack.")
        code = exit_code(asyncio.run(check_live(run)))
    say("\nThe verdicts are in acceptance.jsonl, without texts and secrets. Please attach it to an issue.")
    return code


def _print_manifest(settings: Settings, parsed: argparse.Namespace) -> int:
    from bot.features import OFFERS
    from bot.manifest import EXAMPLE, as_json, render
    from bot.slack.scopes import Features

    if parsed.url is not None and settings.slack_app_token is not None:
        return fail("--url: the app uses Socket Mode and needs no address, because SLACK_APP_TOKEN is set.", code=2)
    url = None if settings.slack_app_token is not None else parsed.url or settings.public_url or EXAMPLE
    features = Features.from_settings(settings)
    write = as_json if parsed.json else render
    sys.stdout.write(
        write(
            OFFERS,
            prefix=settings.command_prefix,
            url=url,
            features=features,
            oauth=parsed.oauth or settings.oauth_configured,
        )
    )
    return 0


def _print_install_url(settings: Settings) -> int:
    if not settings.oauth_configured:
        return fail(NO_OAUTH.format(what="There is no address to install the app at"), code=2)
    from bot.workspaces.oauth import INSTALL_PATH

    say(f"{settings.public_address}{INSTALL_PATH}")
    if settings.public_url is None:
        say_aside("Only browsers on this machine reach this address. Set PUBLIC_URL to the app's https address.")
    return 0


def _rotate_keys(settings: Settings, stop: StopSignals) -> int:
    if not settings.key_bytes:
        return fail(NO_OAUTH.format(what="There is nothing to encrypt"), code=2)
    from bot.workspaces.encryption import KeyRing
    from bot.workspaces.rotation import rotate_keys, summary

    with open_database(settings, stop) as (conninfo, _):
        result = asyncio.run(stop.run_until_stopped(rotate_keys(conninfo, KeyRing.of(settings.key_bytes))))
    say(summary(result))
    return 1 if result.unreadable else 0


def _run_app(settings: Settings, parsed: argparse.Namespace, stop: StopSignals) -> int:
    from bot.errors import CannotListen
    from bot.settings import SettingsError
    from perplexity.errors import ConnectionFailed

    if parsed.command == "worker" and not settings.slack_configured:
        raise SettingsError(
            "SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET are missing. Without them only the playground works, which runs "
            "inside `python -m bot run`"
        )
    with open_database(settings, stop) as (conninfo, described):
        applied = asyncio.run(stop.run_until_stopped(update_database(conninfo, tell=say)))
        if parsed.command == "migrate":
            say(f"Database  {described}\nMigrated  {applied} applied")
            return 0
        if not settings.slack_configured and (team := asyncio.run(_workspace_in(conninfo))) is not None:
            raise SettingsError(_NO_PLAYGROUND.format(team=team))
        settings, began = asyncio.run(_with_first_budget(settings, conninfo))
        try:
            asyncio.run(_serve(settings, parsed, stop, conninfo=conninfo, described=f"{described}{began}"))
        except ConnectionFailed as error:  # The environment names an unusable proxy.
            raise SettingsError(error.message) from None
        except CannotListen as error:
            return fail(_cannot_listen(error.__cause__, settings), code=1)
    return 0


async def _workspace_in(conninfo: str) -> str | None:
    """Return the id of the workspace that uses the database; None if at most the playground uses it."""
    from bot.storage.database import connect
    from bot.storage.installation import other_installation
    from fake_slack.workspace import TEAM_ID

    async with await connect(conninfo) as connection:
        return await other_installation(connection, TEAM_ID)


async def _with_first_budget(settings: Settings, conninfo: str) -> tuple[Settings, str]:
    """Return the settings with the database's first budget, and a line on this budget for the terminal.

    A new installation begins with a first budget per person and day. If the settings set a budget per person and day,
    they are returned unchanged. The line is empty unless the first budget is in force.
    """
    from bot.budgets import first_budget_sentence
    from bot.commands.base import ROOT_COMMAND
    from bot.storage.budgets import first_budget_in_force, with_first_budget
    from bot.storage.database import connect

    async with await connect(conninfo) as connection:
        begun = await with_first_budget(settings, connection)
        amount = await first_budget_in_force(settings, connection)
    if amount is None:
        return begun, ""
    return begun, f"\nBudget    {first_budget_sentence(amount, slash=f'/{settings.command_prefix}{ROOT_COMMAND}')}"


def _cannot_listen(cause: BaseException | None, settings: Settings) -> str:
    """Return a sentence on the setting that the system rejected, and on how to correct it."""
    host, port = settings.bind_host, settings.port
    match cause.errno if isinstance(cause, OSError) else None:
        case errno.EADDRINUSE:
            return (
                f"Port {port} is taken (PORT={port}): another program, or this app, already listens on {host}:{port}. "
                "Stop it, or set PORT to another port."
            )
        case errno.EACCES | errno.EPERM:
            return (
                f"Port {port} is not allowed (PORT={port}): this user may not listen on it. Set PORT to 1024 or higher."
            )
        case _:
            return f"{host} is not an address of this machine (HOST={host}). Correct HOST, or unset it."


async def _serve(
    settings: Settings, parsed: argparse.Namespace, stop: StopSignals, *, conninfo: str, described: str
) -> None:
    from bot.app import compose

    event = stop.event()
    async with compose(settings, conninfo=conninfo, http=parsed.command == "run") as app:
        say(f"Database  {described}")
        say(f"Providers {', '.join(provider.name for provider in app.providers) or 'none'}")
        say(f"Slack     {_describe_slack(settings)}")
        # Everything imported and built by now stays until the end. If it were not frozen, every full garbage
        # collection would examine it again and block the event loop for 60 milliseconds.
        gc.collect()
        gc.freeze()
        await app.serve(
            event,
            work=not getattr(parsed, "no_worker", False),
            ready=lambda: _print_ready(settings, parsed, playground=app.playground),
        )


def _describe_slack(settings: Settings) -> str:
    if not settings.slack_configured:
        return "playground (no Slack token is set)"
    if settings.oauth_configured:
        return f"every workspace of ALLOWED_TEAMS that installs the app at {settings.public_address}/slack/install"
    return "a real workspace" + (
        ", by Socket Mode: for development; in production set SLACK_SIGNING_SECRET and unset SLACK_APP_TOKEN"
        if settings.slack_app_token is not None
        else ""
    )


def _print_ready(settings: Settings, parsed: argparse.Namespace, *, playground: Playground | None) -> None:
    if playground is not None:
        say(f"Open      {playground.address}  (Ctrl-C stops)")
    elif parsed.command == "worker":
        say("Working   on questions  (Ctrl-C stops)")
    elif settings.slack_signing_secret is not None:
        say(f"Listening on {settings.bind_host}:{settings.port}; Slack's request URL ends in /slack/events")
    else:
        say(f"Listening on {settings.bind_host}:{settings.port}; requests arrive by Socket Mode")


def web_answers() -> int:
    """Run the app's command line, as `python -m bot` does."""
    return main(program="web-answers", exiting=True)


def pplx() -> int:
    """Run the command line of the library, as `python -m perplexity` does."""
    if (problem := wrong_package()) is not None:
        return fail(f"pplx: {problem}", code=1)
    from perplexity.__main__ import run

    return run()


if __name__ == "__main__":
    sys.exit(main(exiting=True))
